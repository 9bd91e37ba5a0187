"""Open items of a release: ``<SOURCE>/open.json``, their pairs, and their proof.

The proof of an open item is its row in ``open_items.parquet``, as that of an item with options is
in ``items.parquet``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from medrcube.build.build_tables import write_parquet
from medrcube.build.open_items.table import OpenItem, open_items_to_frame
from medrcube.build.questions.item_table import UNREVIEWED
from medrcube.build.release.picture_places import picture_path
from medrcube.build.release.review_verdicts import (
    HELD_BACK,
    LET_THROUGH,
    ReviewResults,
    ReviewVerdict,
    open_fingerprint,
)
from medrcube.build.stages.samples import Sample
from medrcube.forms import OPTION
from medrcube.forms.option import OptionTarget
from medrcube.release_format.item_sets import ItemSet, SetMember
from medrcube.release_format.open_rows import OPEN_ITEMS, open_row
from medrcube.release_format.rows import ReleaseRow
from medrcube.release_format.tree import OPEN_TABLE, dataset_name
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = [
    "released_pairs",
    "select_open_items",
    "write_open_items",
]


def select_open_items(
    items: Iterable[OpenItem],
    samples: Iterable[Sample],
    reviewed: ReviewResults | None,
    *,
    allow_unreviewed: bool,
) -> tuple[OpenItem, ...]:
    """Return the open items that may be released, each in the wording that was reviewed.

    As for items with options: one that was rebuilt after its review counts as not reviewed; one
    that a reviewer has objected to is left out, and so is every item on a case of which an image
    may identify the patient.
    """
    by_id = {sample.id: sample for sample in samples}
    held_samples = reviewed.held_samples if reviewed else frozenset()
    held_cases = {(by_id[name].source, by_id[name].case) for name in held_samples if name in by_id}
    selection = []
    for item in items:
        sample = by_id[item.sample]
        verdict = reviewed.verdicts.get(item.id) if reviewed else None
        spoken_against = verdict is not None and verdict.state in HELD_BACK
        if spoken_against or (sample.source, sample.case) in held_cases:
            continue
        if verdict is None or verdict.fingerprint != open_fingerprint(item, sample):
            if allow_unreviewed:
                selection.append(item)
        elif allow_unreviewed or verdict.state in LET_THROUGH:
            selection.append(_worded(item, verdict))
    return tuple(selection)


def _worded(item: OpenItem, verdict: ReviewVerdict) -> OpenItem:
    """Return the item in the wording that was reviewed; only options can have been edited."""
    worded = replace(item, question=verdict.question, state=verdict.state)
    if item.form != OPTION:
        return worded
    ask = json.dumps({"options": [option.text for option in verdict.options]}, ensure_ascii=False)
    return replace(worded, ask=ask, truth=json.dumps({"key": verdict.key}))


def released_pairs(items: Iterable[OpenItem]) -> tuple[ItemSet, ...]:
    """Return the pairs with at least one item in the release, sorted by id."""
    members: dict[str, list[OpenItem]] = defaultdict(list)
    for item in items:
        if item.set:
            members[item.set].append(item)
    return tuple(
        ItemSet(
            id=name,
            size=2,
            members=tuple(
                SetMember(dataset=dataset_name(item.source), id=item.id, role=item.role)
                for item in sorted(members[name], key=lambda item: item.id)
            ),
        )
        for name in sorted(members)
    )


def write_open_items(
    tree: Path,
    items: Sequence[OpenItem],
    pictures: Mapping[str, Sample],
    reviewed: ReviewResults | None,
) -> None:
    """Write ``open.json`` of every source that has open items, and their proof.

    The proof states the version of each wording in the review queue and the number of its
    reviewers, both 0 if it was not reviewed.
    """
    by_source: dict[str, list[object]] = defaultdict(list)
    for item in items:
        by_source[item.source].append(open_row(_row(item, pictures[item.sample])))
    for source, rows in sorted(by_source.items()):
        folder = tree / dataset_name(source)
        folder.mkdir(parents=True, exist_ok=True)
        text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (folder / OPEN_TABLE).write_text(f"[\n{text}\n]\n", encoding="utf-8")
    if items:
        frame = open_items_to_frame(items)
        judged = [_verdict_of(item, reviewed) for item in items]
        frame["version"] = [verdict.version if verdict else 0 for verdict in judged]
        frame["reviewers"] = [verdict.reviewers if verdict else 0 for verdict in judged]
        write_parquet(tree / OPEN_ITEMS, frame)


def _verdict_of(item: OpenItem, reviewed: ReviewResults | None) -> ReviewVerdict | None:
    if reviewed is None or item.state == UNREVIEWED:
        return None
    return reviewed.verdicts.get(item.id)


def _row(item: OpenItem, sample: Sample) -> ReleaseRow:
    target = item.target
    options = target if isinstance(target, OptionTarget) else None
    return ReleaseRow(
        id=item.id,
        dataset=dataset_name(item.source),
        question=item.question,
        options=tuple(options.options) if options else (),
        key=options.key if options else "",
        task=Task(item.task),
        modality=Modality(item.modality),
        parts=Anatomy(item.anatomy),
        image=picture_path(sample),
        original_task=item.field,
        restricted=not sample.redistribute,
        target=None if isinstance(target, OptionTarget) else target,
        stated_chance=item.chance,
    )

"""Review verdicts of a workspace's items, and the selection of items to release.

The review queue writes two files next to ``items.parquet``: ``accepted.jsonl``, one line per item
with its state and the wording that was reviewed, and ``review.json``, which holds the digest of the
former and the head of the audit trail. A release needs nothing else from the queue.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from medrcube.build.open_items.table import OpenItem
from medrcube.build.questions.item_table import UNREVIEWED, ChoiceItem, Option
from medrcube.build.stages.samples import Sample
from medrcube.errors import WorkspaceError

__all__ = [
    "HELD_BACK",
    "LET_THROUGH",
    "SCHEMA",
    "SUMMARY",
    "VERDICTS",
    "FailingStratum",
    "ReleaseSelection",
    "ReviewResults",
    "ReviewVerdict",
    "failing_strata",
    "fingerprint",
    "load_review_results",
    "open_fingerprint",
    "select_items",
]

SUMMARY, VERDICTS = "review.json", "accepted.jsonl"
SCHEMA = 1

LET_THROUGH = frozenset({"accepted", "released"})
"""States of items that clinicians have accepted."""
HELD_BACK = frozenset({"rejected", "quarantined", "needs_revision", "withdrawn"})
"""States of items that a reviewer has objected to; no option of a release includes these."""

_DETAILS = frozenset(column.name for column in fields(Option))
_LISTS = ("ids", "versions", "passed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewVerdict:
    """State of one item in the review queue.

    Attributes:
        id: id of the item.
        state: its state in the queue.
        version: number of its current wording.
        question: stem of that wording.
        options: options in display order.
        key: index of the right option.
        reviewers: number of people who have reviewed that wording.
        fingerprint: fingerprint of the item as it was imported.
        content_sha256: digest of that wording and its image, as the queue computes it.
    """

    id: str
    state: str
    version: int
    question: str
    options: tuple[Option, ...]
    key: int
    reviewers: int
    fingerprint: str
    content_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewResults:
    """All results of the review queue.

    Attributes:
        verdicts: by item id.
        held_samples: images that may identify the patient.
        summary: content of ``review.json``: head of the trail, coverage, agreement.
    """

    verdicts: Mapping[str, ReviewVerdict]
    held_samples: frozenset[str]
    summary: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSelection:
    """Items selected for a release.

    Attributes:
        items: in the wording that was reviewed, with their state in the queue.
        versions: id -> number of the wording; 0 if the queue does not know the item.
        reviewers: id -> number of people who have reviewed it.
        held_back: number of items left out because a reviewer has objected to them or their image.
        changed: number of items that were rebuilt after they were reviewed.
    """

    items: tuple[ChoiceItem, ...]
    versions: Mapping[str, int] = field(default_factory=dict)
    reviewers: Mapping[str, int] = field(default_factory=dict)
    held_back: int = 0
    changed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingStratum:
    """A stratum whose reviewer agreement is too low, or cannot be computed.

    Attributes:
        stratum: modality, task and strategy.
        items: number of its items selected for the release.
        reasons: the conditions that it does not meet, in words; empty without a valid review.
    """

    stratum: str
    items: int
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.stratum}: {' '.join(self.reasons) or 'no valid reviews'}"


def failing_strata(
    items: Iterable[ChoiceItem], reviewed: ReviewResults | None
) -> tuple[FailingStratum, ...]:
    """Return the strata of these items that fail the agreement gate of the review project."""
    rows = ((reviewed.summary.get("agreement") or {}) if reviewed else {}).get("strata", ())
    verdicts = {str(row["stratum"]): row for row in rows}
    strata = Counter(f"{item.modality} | {item.task} | {item.strategy}" for item in items)
    return tuple(
        FailingStratum(stratum=name, items=strata[name], reasons=_not_met(verdicts.get(name)))
        for name in sorted(strata)
        if name not in verdicts or verdicts[name]["may_be_released"] is not True
    )


def fingerprint(item: ChoiceItem, sample: Sample) -> str:
    """Return the identity of what an item asks, with its image; a verdict applies only to that."""
    texts = [option.text for option in item.options]
    content = [item.id, item.question, texts, item.key, sample.pixel_sha256]
    return sha256(json.dumps(content).encode()).hexdigest()


def open_fingerprint(item: OpenItem, sample: Sample) -> str:
    """Return the same for an open item."""
    content = [item.id, item.question, item.form, item.ask, item.truth, sample.pixel_sha256]
    return sha256(json.dumps(content).encode()).hexdigest()


def load_review_results(root: Path) -> ReviewResults | None:
    """Load the review results of a workspace; ``None`` if it has none.

    Raises:
        WorkspaceError: a file is missing or malformed, or the two do not belong together.
    """
    summary_path, verdicts_path = root / SUMMARY, root / VERDICTS
    if not summary_path.exists() and not verdicts_path.exists():
        return None
    again = f"write both again:  medrcube review export {root}"
    try:
        summary = json.loads(summary_path.read_text(encoding="utf-8"))
        data = verdicts_path.read_bytes()
        if summary["schema"] != SCHEMA:
            raise WorkspaceError(
                f"{summary_path}: schema {summary['schema']!r}, expected {SCHEMA}; {again}"
            )
        if sha256(data).hexdigest() != summary["accepted"]["sha256"]:
            raise WorkspaceError(
                f"{verdicts_path} is not the file whose digest {SUMMARY} records; {again}"
            )
        # Not splitlines(): a question may contain U+2028, which JSON does not escape.
        rows = [json.loads(line) for line in data.decode().split("\n") if line]
        verdicts = {verdict.id: verdict for verdict in map(_verdict, rows)}
        held_samples = frozenset(map(str, summary["held_samples"]))
        _ = summary["head"]["number"], summary["head"]["sha256"], summary["coverage"]["states"]
    except FileNotFoundError as error:
        raise WorkspaceError(f"{error.filename}: is missing; {again}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(
            f"{root}: the review files cannot be read: {error!r}; {again}"
        ) from None
    if len(verdicts) != len(rows):
        raise WorkspaceError(f"{verdicts_path}: an item occurs twice; {again}")
    return ReviewResults(verdicts=verdicts, held_samples=held_samples, summary=summary)


def select_items(
    items: Iterable[ChoiceItem],
    samples: Sequence[Sample],
    reviewed: ReviewResults | None,
    *,
    allow_unreviewed: bool,
) -> ReleaseSelection:
    """Return the items that may be released, each in the wording that was reviewed.

    An item that was rebuilt after its review counts as not reviewed. An item that a reviewer has
    objected to is always left out, and so is every item on a case of which an image may identify
    the patient.
    """
    if reviewed is None:
        plain = (replace(item, state=UNREVIEWED) for item in items)
        return ReleaseSelection(items=tuple(plain) if allow_unreviewed else ())
    by_id = {sample.id: sample for sample in samples}
    held_cases = {
        (sample.source, sample.case) for sample in samples if sample.id in reviewed.held_samples
    }
    selection: list[ChoiceItem] = []
    versions: dict[str, int] = {}
    reviewers: dict[str, int] = {}
    held_back = changed = 0
    for item in items:
        sample = by_id[item.sample]
        verdict = reviewed.verdicts.get(item.id)
        if (sample.source, sample.case) in held_cases or (verdict and verdict.state in HELD_BACK):
            held_back += 1
            continue
        holds = verdict is not None and verdict.fingerprint == fingerprint(item, sample)
        changed += verdict is not None and not holds
        if verdict is None or not holds:
            if allow_unreviewed:
                selection.append(replace(item, state=UNREVIEWED))
            continue
        if verdict.state in LET_THROUGH or allow_unreviewed:
            selection.append(_worded(item, verdict))
            versions[item.id], reviewers[item.id] = verdict.version, verdict.reviewers
    return ReleaseSelection(
        items=tuple(selection),
        versions=versions,
        reviewers=reviewers,
        held_back=held_back,
        changed=changed,
    )


def _not_met(verdict: Mapping[str, Any] | None) -> tuple[str, ...]:
    if verdict is None:
        return ()
    conditions = verdict["conditions"]
    return tuple(str(row["words"]) for row in conditions if row["passed"] is not True)


def _worded(item: ChoiceItem, verdict: ReviewVerdict) -> ChoiceItem:
    return replace(
        item,
        question=verdict.question,
        options=verdict.options,
        key=verdict.key,
        state=verdict.state,
    )


def _verdict(row: Mapping[str, Any]) -> ReviewVerdict:
    options = tuple(_option(option) for option in row["options"])
    key = int(row["key"])
    if not (2 <= len(options) <= 4 and 0 <= key < len(options)):
        raise ValueError(f"item {row['id']}: key {key} of {len(options)} options")
    return ReviewVerdict(
        id=str(row["id"]),
        state=str(row["state"]),
        version=int(row["version"]),
        question=str(row["question"]),
        options=options,
        key=key,
        reviewers=int(row["reviewers"]),
        fingerprint=str(row["fingerprint"]),
        content_sha256=str(row["content_sha256"]),
    )


def _option(row: Mapping[str, Any]) -> Option:
    fields_of_option = {name: value for name, value in row.items() if name in _DETAILS}
    for name in _LISTS:
        fields_of_option[name] = tuple(fields_of_option.get(name) or ())
    return Option(**{"concept": "", "strategy": "", "grade": "", **fields_of_option})

"""Release writer: the published tree layout, with recipes, checksums and audit.

``<SOURCE>/test.json`` holds exactly the published fields (arXiv 2604.13756), with option keys only
for existing options, because the published prompt prints every key. ``recipes.jsonl`` holds what is
needed to recreate each image: digests of all inputs, and the pixel hash. Restricted images are left
out unless the release is private; the editions differ only in these images and in the mark of the
private tree (``private_edition``).

Review results come from the two files that the review queue writes (``review_verdicts``).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from medrcube.build.audit.release_audit import write_audit
from medrcube.build.open_items.table import OpenItem, open_items_from_frame
from medrcube.build.questions.item_table import ChoiceItem, items_from_frame
from medrcube.build.release.changes import ReleaseChanges, find_changes, write_changes
from medrcube.build.release.editions.private_edition import mark_private, write_sums
from medrcube.build.release.image_writers import FolderWriter, ImageWriter, ShardWriter
from medrcube.build.release.item_files import write_items
from medrcube.build.release.metadata.licences import write_licences
from medrcube.build.release.metadata.metadata_files import write_metadata_files
from medrcube.build.release.metadata.release_facts import collect_facts, day_of
from medrcube.build.release.open_tables import released_pairs, select_open_items
from medrcube.build.release.picture_places import picture_place
from medrcube.build.release.released_sets import released_sets
from medrcube.build.release.review_verdicts import (
    LET_THROUGH,
    FailingStratum,
    ReleaseSelection,
    ReviewResults,
    failing_strata,
    load_review_results,
    select_items,
)
from medrcube.build.release.validation_record import write_validation_record
from medrcube.build.stages.samples import Sample, samples_from_frame
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.release_format.format_version import FORMAT_KEY, SYNTHETIC_KEY
from medrcube.release_format.item_sets import write_item_sets
from medrcube.sources._framework.contract import Source
from medrcube.workspace import WorkspaceFolder

__all__ = ["ReleaseReport", "release"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport:
    """Contents of a release.

    Attributes:
        out: its folder.
        items: number of items.
        pictures: number of images in it.
        withheld: number of images left out because they may not be redistributed.
        under_agreement: sources of these images that are obtained under an agreement; their
            answers and file names are in the release.
        unreviewed: number of items that no clinician has accepted.
        held: number of items left out because a clinician has objected to them.
        changed: number of items that were rebuilt after their review, so that it no longer applies.
        sets: number of sets of items that are scored together.
        incomplete_sets: number of sets that are not, because items were left out or changed by
            reviewers.
        open_items: number of items of tasks beyond the cube.
        failing_strata: strata that fail the agreement gate; empty without reviews.
        since: changes since an earlier release, if one was named.
    """

    out: Path
    items: int
    pictures: int
    withheld: int
    under_agreement: tuple[str, ...]
    unreviewed: int
    held: int
    changed: int
    sets: int = 0
    incomplete_sets: int = 0
    open_items: int = 0
    failing_strata: tuple[FailingStratum, ...] = ()
    since: ReleaseChanges | None = None


def release(
    workspace: WorkspaceFolder,
    sources: Mapping[str, Source],
    out: Path,
    *,
    name: str,
    allow_unreviewed: bool = False,
    private: bool = False,
    require_agreement: bool = False,
    since: Path | None = None,
    shard_size: int | None = None,
) -> ReleaseReport:
    """Write a release folder atomically.

    Args:
        workspace: a built workspace.
        sources: registry, for titles, licences and citations.
        out: folder to create; must not exist.
        name: version of the release.
        allow_unreviewed: include items that no clinician has accepted, and state this in the card;
            items that a clinician has objected to are still left out.
        private: keep images that may not be redistributed, and mark the tree.
        require_agreement: reject a release in which a stratum fails the agreement gate of the
            review project, or cannot be judged by it.
        since: an earlier release; ``CHANGES.md`` and ``changes.json`` list the changes.
        shard_size: put images into tar files of at most so many bytes; loose files by default.

    Raises:
        ReleaseError: the audit failed, a table breaks its contract, ``out`` exists, the build has
            no items, none may be released, an image is missing, or reviewers do not agree although
            this is required.
        WorkspaceError: the workspace is not built, the files of the review queue are damaged, or
            ``out`` cannot be written.
    """
    if out.exists():
        raise ReleaseError(f"{out}: already exists; a release is never overwritten")
    samples, items, beyond, audit = _load(workspace)
    if audit["failures"]:
        raise ReleaseError(
            f"{workspace.audit}: the audit failed, so nothing is released: {audit['failures'][0]}"
        )
    if not items:
        raise ReleaseError(
            f"{workspace.items}: holds no items, so there is nothing to release; {workspace.audit} "
            "states under 'dropped' why questions were not asked"
        )
    reviewed = load_review_results(workspace.root)
    selection = select_items(items, samples, reviewed, allow_unreviewed=allow_unreviewed)
    selected_items = selection.items
    if not selected_items:
        raise ReleaseError(_why_none(selection, len(items), allow_unreviewed=allow_unreviewed))
    failing = failing_strata(selected_items, reviewed)
    if require_agreement and failing:
        raise ReleaseError(_disagreement_message(failing, len(selected_items)))
    beyond = select_open_items(beyond, samples, reviewed, allow_unreviewed=allow_unreviewed)
    released: tuple[ChoiceItem | OpenItem, ...] = (*selected_items, *beyond)
    used = {item.sample for item in released}
    pictures = {sample.id: sample for sample in samples if sample.id in used}
    included = {sample.id for sample in pictures.values() if sample.redistribute or private}
    sets = released_sets(items, samples, selected_items, workspace.settings.seed)
    pairs = released_pairs(beyond)
    report = ReleaseReport(
        out=out,
        items=len(selected_items),
        pictures=len(included),
        withheld=len(pictures) - len(included),
        under_agreement=_under_agreement(sources, pictures, included),
        unreviewed=sum(item.state not in LET_THROUGH for item in selected_items),
        held=selection.held_back,
        changed=selection.changed,
        sets=sets.complete + sum(pair.is_complete for pair in pairs),
        incomplete_sets=sets.incomplete + sum(not pair.is_complete for pair in pairs),
        open_items=len(beyond),
        failing_strata=failing if reviewed else (),
    )
    writer: ImageWriter = FolderWriter() if shard_size is None else ShardWriter(shard_size)
    audit = {
        **audit,
        "release": name,
        FORMAT_KEY: writer.release_format.number,
        **({SYNTHETIC_KEY: True} if workspace.is_synthetic else {}),
        "review": _review(reviewed, report),
    }
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
            tree = Path(folder) / "tree"
            write_items(workspace, tree, selection, beyond, pictures, reviewed=reviewed)
            restricted = _write_images(workspace, tree, pictures, writer, private=private)
            write_item_sets(tree, (*sets.sets, *pairs))
            write_audit(tree, audit, selected_items, samples, workspace.root, open_items=beyond)
            write_licences(tree, released, pictures, sources)
            write_validation_record(
                tree, selected_items, pictures.values(), beyond, workspace.geometry
            )
            places = {picture_place(sample): sample for sample in pictures.values()}
            day = day_of(name, workspace.items)
            facts = collect_facts(sources, released, places, audit, name=name, day=day)
            write_metadata_files(tree, facts, report)
            if since is not None:
                changes = find_changes(since, tree)
                write_changes(tree, changes)
                report = replace(report, since=changes)
            if private and restricted:
                mark_private(tree)
            write_sums(tree, restricted)
            tree.rename(out)
    except OSError as error:
        raise WorkspaceError(f"{out}: cannot be written ({error.strerror})") from error
    return report


def _under_agreement(
    sources: Mapping[str, Source], pictures: Mapping[str, Sample], included: Collection[str]
) -> tuple[str, ...]:
    withheld = {sample.source for key, sample in pictures.items() if key not in included}
    return tuple(sorted(name for name in withheld if sources[name].card.access.mode != "open"))


def _why_none(selection: ReleaseSelection, items: int, *, allow_unreviewed: bool) -> str:
    if allow_unreviewed:
        return f"clinicians have objected to all of {items} items; nothing is left to release"
    hint = ""
    if selection.changed:
        hint = f" ({selection.changed} were rebuilt after they were reviewed: import them again)"
    return (
        f"none of {items} items has been accepted by clinicians{hint}; review them "
        "(medrcube review), or include unreviewed items (--allow-unreviewed, in Python "
        "allow_unreviewed=True), which the dataset card will state"
    )


def _disagreement_message(failing: Sequence[FailingStratum], items: int) -> str:
    lines = "\n".join(f"  {stratum}" for stratum in failing)
    disputed = sum(stratum.items for stratum in failing)
    return (
        f"reviewer agreement is too low in {len(failing)} strata, which hold {disputed} of "
        f"{items} items:\n{lines}\nreview more of them, change the rules (medrcube review policy), "
        "or omit --require-agreement (in Python require_agreement=True)"
    )


def _review(reviewed: ReviewResults | None, report: ReleaseReport) -> dict[str, Any]:
    """Return the review section of ``audit.json`` and the card; ``head`` is ``None`` if none."""
    summary = reviewed.summary if reviewed else {}
    return {
        "items": report.items,
        "unreviewed": report.unreviewed,
        "held_back": report.held,
        "changed_since_review": report.changed,
        "head": summary.get("head"),
        "accepted_sha256": summary["accepted"]["sha256"] if reviewed else None,
        "questionnaire": summary.get("questionnaire"),
        "policy": summary.get("policy"),
        "coverage": summary.get("coverage"),
        "agreement": summary.get("agreement"),
    }


def _load(
    workspace: WorkspaceFolder,
) -> tuple[list[Sample], list[ChoiceItem], Sequence[OpenItem], dict[str, Any]]:
    # Not left to pandas: pyarrow's FileNotFoundError has no file name.
    for path in (workspace.samples, workspace.items, workspace.audit):
        if not path.is_file():
            raise WorkspaceError(
                f"{path}: is missing; build first:  medrcube build {workspace.root}"
            )
    samples = samples_from_frame(pd.read_parquet(workspace.samples))
    items = items_from_frame(pd.read_parquet(workspace.items))
    beyond = _open_items(workspace)
    audit = json.loads(workspace.audit.read_text(encoding="utf-8"))
    if "ontologies" not in audit:
        raise WorkspaceError(
            f"{workspace.audit}: does not say which ontologies the items use, as an older version "
            f"wrote it; build again:  medrcube build {workspace.root}"
        )
    return samples, items, beyond, audit


def _open_items(workspace: WorkspaceFolder) -> Sequence[OpenItem]:
    """Return the open items; a workspace of an earlier version has no table of them."""
    if not workspace.open_items.is_file():
        return ()
    return open_items_from_frame(pd.read_parquet(workspace.open_items))


def _write_images(
    workspace: WorkspaceFolder,
    tree: Path,
    pictures: Mapping[str, Sample],
    writer: ImageWriter,
    *,
    private: bool,
) -> Mapping[str, str]:
    """Write the images, and return the digests of all files with restricted images."""
    files = {picture_place(sample): workspace.root / sample.image for sample in pictures.values()}
    for file in files.values():
        if not file.is_file():
            raise ReleaseError(
                f"{file}: the image is gone; build again:  medrcube build {workspace.root}"
            )
    closed = {picture_place(sample) for sample in pictures.values() if not sample.redistribute}
    return writer.write(tree, files, closed, private=private)

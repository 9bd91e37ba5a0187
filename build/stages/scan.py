"""Scan of a raw tree: cases, absent images and problems."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from medrcube.build.execution.progress import Stages
from medrcube.build.incremental.file_states import (
    OnFiles,
    TreeSnapshot,
    no_progress,
    snapshot,
    snapshot_parent,
)
from medrcube.build.stages.contradictions import check_labels
from medrcube.facts import BAD_ROW, Case, QuarantineRow, Skip
from medrcube.names import escape_bytes, escape_record, has_raw_bytes, relative_name
from medrcube.ontologies.terms import load_terms
from medrcube.regions import files_of
from medrcube.sources._formats.tables.redaction import evidence_place, redact_name, words_in
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_lookup import measure_of, missing_regions, quirk_of
from medrcube.sources._framework.contract import Source
from medrcube.sources._framework.layout import (
    LayoutReport,
    check_root,
    compare_layouts,
    require_fit,
)
from medrcube.sources._framework.raw_tree.public_names import PublicNames
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.sources._framework.raw_tree.roots import find_root
from medrcube.sources._framework.settled_cases import without_regions
from medrcube.sources.registry import get_source

__all__ = [
    "Scan",
    "ScanNotes",
    "hash_patient",
    "holds_pixels",
    "inspect_tree",
    "inspect_trees",
    "is_slice",
    "iter_cases",
    "scan",
]

PICTURE_SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff"),
    *(".dcm", ".dicom", ".ima", ".nii", ".nii.gz", ".mhd", ".mha", ".raw", ".img", ".mat"),
    *(".nrrd", ".nhdr"),
    *(".avi", ".mp4", ".mov", ".mpeg", ".mpg"),
)
"""Suffixes of files that hold pixels; such a file is reported if no case uses it, never silently
skipped.
"""
_SLICES = frozenset({".dcm", ".dicom", ".ima"})


@dataclass(slots=True, kw_only=True)
class ScanNotes:
    """Result of scanning a raw tree, except its cases.

    Attributes:
        layout: comparison of the tree with the card.
        absent: keys of cases whose image is not in this copy.
        absent_files: first missing file of each of these cases, relative to the root.
        problems: everything else that does not become an image.
        remarks: problems of cases that become images nevertheless: labels that the source's own
            text contradicts, regions that are not marked in this copy.
        outcomes: field of a label and the outcome of its check against the text -> number of
            labels; see ``contradictions.CheckedLabels``.
    """

    layout: LayoutReport
    absent: list[str] = field(default_factory=list)
    absent_files: list[str] = field(default_factory=list)
    problems: list[QuarantineRow] = field(default_factory=list)
    remarks: list[QuarantineRow] = field(default_factory=list)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Result of scanning a raw tree; see ``ScanNotes``.

    Attributes:
        source: the source.
        root: the raw tree.
        cases: cases whose files are all present, in the adapter's order.
    """

    source: Source
    root: Path
    layout: LayoutReport
    cases: tuple[Case, ...]
    absent: tuple[str, ...]
    absent_files: tuple[str, ...]
    problems: tuple[QuarantineRow, ...]
    remarks: tuple[QuarantineRow, ...]


def scan(source: Source, root: Path, key: bytes, tree: TreeSnapshot | None = None) -> Scan:
    """Verify a raw tree and list its cases; opens no pixel file.

    Patient identifiers and free text go no further than here: the cases carry keyed hashes, and
    labels that were checked against the text.

    Args:
        source: the source.
        root: the raw tree.
        key: secret of the workspace, for ``hash_patient``.
        tree: result of ``inspect_tree``, if already known.

    Raises:
        SourceError: the tree fits no layout, or the adapter breaks its contract.
    """
    tree = tree or inspect_tree(source, root)
    notes = ScanNotes(layout=compare_layouts(source.card, tree.visible_tree))
    cases = tuple(iter_cases(source, tree, key, notes))
    return Scan(
        source=source,
        root=tree.root,
        layout=notes.layout,
        cases=cases,
        absent=tuple(notes.absent),
        absent_files=tuple(notes.absent_files),
        problems=tuple(notes.problems),
        remarks=tuple(notes.remarks),
    )


def iter_cases(source: Source, tree: TreeSnapshot, key: bytes, notes: ScanNotes) -> Iterator[Case]:
    """Yield the cases of a raw tree one by one; see ``scan``.

    Args:
        source: the source.
        tree: result of ``inspect_tree``.
        key: secret of the workspace, for ``hash_patient``.
        notes: all that is not a case is added to these; complete once the last case was yielded.

    Raises:
        SourceError: as ``scan``.
    """
    require_fit(notes.layout)
    root, blocked_files, raw_tree = tree.root, tree.blocked_files, tree.visible_tree
    there = raw_tree.files_below - blocked_files.keys() if blocked_files else raw_tree.files_below
    unclaimed = set(raw_tree.files_below)
    set_aside: dict[int, list[str]] = {}
    layout, problems = notes.layout.layout, notes.problems
    familiar = _familiar_words(source, layout, raw_tree)
    terms = load_terms()
    odd = any(map(has_raw_bytes, raw_tree.names))
    for record in source.scan(raw_tree, layout):
        entry = escape_record(record) if odd else record
        if isinstance(entry, Skip):
            files = _relative(entry.paths, root)
            unclaimed.difference_update(files)
            unseen = there.isdisjoint(files)
            name = redact_name(entry.key, familiar) if unseen else entry.key
            if files and unseen:
                notes.absent.append(name)
                notes.absent_files.append(redact_name(files[0], familiar))
            else:
                reason = entry.reason.replace(entry.key, name)
                set_aside[len(problems)] = files
                problems.append(_problem(source, name, entry.code, reason))
            continue
        files = _relative(entry.files(), root)
        unclaimed.difference_update(files, _relative((*entry.series, *entry.sidecars), root))
        if entry.unguided and (lost := sorted(_guides(entry, root) - there)):
            message = (
                f"{lost[0]} is not in this copy, so another slice is shown than the mask chose"
            )
            notes.remarks.append(_problem(source, entry.key, "guide-missing", message))
            entry = replace(entry, guide=())
            files = _relative(entry.files(), root)
        problem = _bar(source, entry.key, files, blocked_files) or _reject(
            source, entry, set(files) - there, root
        )
        if problem is None:
            checked_case = check_labels(source.card, entry, terms)
            notes.remarks += (
                *checked_case.problems,
                *(_problem(source, entry.key, "images-disagree", text) for text in entry.remarks),
            )
            if missing := missing_regions(source.card, entry):
                notes.remarks.append(_problem(source, entry.key, "regions-missing", missing))
                checked_case = replace(checked_case, case=without_regions(checked_case.case))
            notes.outcomes.update(checked_case.outcomes)
            patient = hash_patient(source.id, entry.patient, key)
            yield replace(checked_case.case, patient=patient, unit=None, remarks=())
        elif problem.code == "absent":
            lacking = next(name for name in files if name not in there)
            notes.absent.append(redact_name(entry.key, familiar))
            notes.absent_files.append(redact_name(lacking, familiar))
        else:
            problems.append(problem)
    public = _public_names(source, layout, raw_tree, unclaimed.union(*set_aside.values()))
    _hide_names(problems, public, set_aside)
    problems += [
        *_outside_root(source, blocked_files, unclaimed, public),
        *_unclaimed(source.card, layout, raw_tree, unclaimed - blocked_files.keys(), public),
    ]


def inspect_tree(source: Source, root: Path, tell: OnFiles = no_progress) -> TreeSnapshot:
    """Take a snapshot of the raw tree of a source.

    Each directory is read once, however many roots are tried.

    Args:
        source: the source.
        root: its raw root, or a folder near it; see ``roots.find_root``.
        tell: called with the number of files of each folder that is read.

    Raises:
        SourceError: the folder does not exist, or holds several copies.
    """
    root = root.resolve()
    check_root(source.card, root)
    trees = [snapshot(root, tell)]

    def see(folder: Path, _inner: RawTree, most: int) -> RawTree | None:
        wider = snapshot_parent(trees[-1], folder, most, tell)
        if wider is None:
            return None
        trees.append(wider)
        return wider.visible_tree

    raw_root = find_root(source.card, trees[0].visible_tree, see)
    snapshot_of_root = next((tree for tree in trees if tree.root == raw_root.path), None)
    return snapshot_of_root or trees[0].inside(raw_root.path.relative_to(trees[0].root).as_posix())


def inspect_trees(
    sources: Mapping[str, Source], roots: Mapping[str, Path], stages: Stages
) -> dict[str, TreeSnapshot]:
    """Take snapshots of the raw trees of several sources, by id.

    Raises:
        SourceError: as ``inspect_tree``.
        MedrcubeError: a source does not exist.
    """
    with stages.stage("files", None) as advance:
        return {
            name: inspect_tree(get_source(sources, name), root, advance)
            for name, root in roots.items()
        }


def hash_patient(source: str, patient: str | None, key: bytes) -> str | None:
    """Keyed hash of a patient identifier: equal for equal patients, impossible to look up."""
    if patient is None:
        return None
    return hmac.new(key, f"{source}\0{patient}".encode(), hashlib.sha256).hexdigest()[:16]


def _familiar_words(source: Source, layout: str, raw_tree: RawTree) -> frozenset[str]:
    """Return the words in the names of a source: in its files, its globs and its adapter."""
    code = (source.folder / "adapter.py").read_text(encoding="utf-8")
    return words_in((*raw_tree.names, *source.card.layout(layout).globs, code))


def _public_names(
    source: Source, layout: str, raw_tree: RawTree, unused: Collection[str]
) -> PublicNames:
    """Return the names that the files of cases, the layout and the adapter make public."""
    code = (source.folder / "adapter.py").read_text(encoding="utf-8")
    used = raw_tree.files_below - frozenset(unused)
    return PublicNames(raw_tree.names, used, source.card.layout(layout).globs, (code,))


def _hide_names(
    problems: list[QuarantineRow], public: PublicNames, set_aside: Mapping[int, Sequence[str]]
) -> None:
    """Replace names in the problems of files that an adapter set aside.

    Args:
        problems: problems of a scan.
        public: names that may be shown.
        set_aside: position in ``problems`` -> files.
    """
    for number, files in set_aside.items():
        case, message = problems[number].case, problems[number].message
        if files and public.replace_names(case, files) != case:
            case = escape_bytes(public.describe_file(files[0]))
        message = escape_bytes(public.replace_names(message, files))
        problems[number] = replace(problems[number], case=case, message=message)


def _outside_root(
    source: Source,
    blocked_files: Mapping[str, str],
    unclaimed: Collection[str],
    public: PublicNames,
) -> Iterator[QuarantineRow]:
    """Yield files that must not be read and that no case names."""
    for name in sorted(filter(holds_pixels, blocked_files.keys() & unclaimed)):
        yield _problem(source, public.describe_file(name), "outside-root", blocked_files[name])


def _bar(
    source: Source, key: str, files: Sequence[str], blocked_files: Mapping[str, str]
) -> QuarantineRow | None:
    """Return why the files of a case must not be read, or ``None``."""
    for name in files:
        if ".." in name.split("/"):
            reason = f"names a file by way of '..': {name}; expected a file below the raw root"
            return _problem(source, key, "outside-root", reason)
        if name in blocked_files:
            return _problem(source, key, "outside-root", blocked_files[name])
    return None


def _guides(case: Case, root: Path) -> set[str]:
    """Return the files that determine which slice of a case is shown."""
    return set(_relative((path for shape in case.guide for path in files_of(shape)), root))


def _reject(source: Source, case: Case, missing: set[str], root: Path) -> QuarantineRow | None:
    """Return why a case cannot be rendered, or ``None``."""
    images = [path for image in case.images for path in (*image.paths, *image.parts)]
    if missing & set(_relative(images, root)):
        return _problem(source, case.key, "absent", "image is not in this copy")
    if missing:
        return _problem(
            source,
            case.key,
            "mask-missing",
            f"the image is there but not its mask {min(missing)}; get the file, or expect no "
            "image of this case",
        )
    quirk = quirk_of(source.card, case.key, "drop")
    if quirk is not None:
        return _problem(source, case.key, "dropped-by-card", f"{quirk.reason} ({quirk.evidence})")
    return next(
        (
            _problem(source, case.key, BAD_ROW, f"{evidence_place(quantity.evidence)}: {fault}")
            for quantity in case.quantities
            if (fault := measure_of(source.card, quantity).fault(quantity))
        ),
        None,
    )


def _unclaimed(
    card: Card, layout: str, tree: RawTree, names: Collection[str], public: PublicNames
) -> list[QuarantineRow]:
    """Report files that no case uses, with the card's reason if it states one."""
    ignored: dict[str, str] = {}
    for glob, reason in card.layout(layout).ignore.items():
        for name in tree.match(glob):
            ignored.setdefault(name, reason)
    groups: dict[tuple[str, str], list[str]] = {}
    for name in sorted(filter(holds_pixels, names)):
        reason = ignored.get(name, "")
        place = name.rpartition("/")[0] if is_slice(name) else name
        groups.setdefault((place, reason), []).append(name)
    problems = [
        _unused(card.id, layout, reason, own, public) for (_, reason), own in groups.items()
    ]
    problems += _unknown_files(card, layout, tree, names, public)
    return problems


def _unused(
    source: str, layout: str, reason: str, names: Sequence[str], public: PublicNames
) -> QuarantineRow:
    """Return one row for a file, or for all slices of a folder."""
    case, what = public.describe_file(names[0]), "this file"
    if len(names) > 1:
        case = public.describe_folder(names[0].rpartition("/")[0]) or "."
        what = f"its {len(names):,} DICOM files"
    code = "ignored-by-card" if reason else "unclaimed"
    message = reason or (
        f"no case of layout {layout!r} uses {what}; the tables and masks of this copy do not name "
        "it, or it is not part of the dataset as the card knows it"
    )
    return QuarantineRow(
        source=source, case=escape_bytes(case), stage="scan", code=code, message=message
    )


def _unknown_files(
    card: Card, layout: str, tree: RawTree, names: Collection[str], public: PublicNames
) -> Iterator[QuarantineRow]:
    """Report files without pixels that neither the card nor a case names: one row per kind."""
    own = card.layout(layout)
    globs = (*own.expect, *own.optional, *own.ignore, *(unfit for unfit in card.unfit))
    matches = {name for glob in globs for name in tree.match(glob)}
    kinds: dict[tuple[str, str], list[str]] = {}
    for name in sorted(set(names) - matches):
        kind = PurePosixPath(name).suffix.lower()  # without a suffix the kind is unknown
        if kind and not holds_pixels(name):
            kinds.setdefault((name.rpartition("/")[0], kind), []).append(name)
    for files in kinds.values():
        several = f", and {len(files) - 1:,} more of its kind beside it" if len(files) > 1 else ""
        message = (
            f"is of no kind that is known to hold pixels, and neither a case nor the card names it"
            f"{several}"
        )
        yield QuarantineRow(
            source=card.id,
            case=escape_bytes(public.describe_file(files[0])),
            stage="scan",
            code="other-file",
            message=message,
        )


def is_slice(name: str) -> bool:
    """Whether a file may be one slice of a series."""
    return PurePosixPath(name).suffix.lower() in _SLICES


def holds_pixels(name: str) -> bool:
    """Whether a file has the suffix of a format that holds pixels."""
    return name.lower().endswith(PICTURE_SUFFIXES)


def _relative(paths: Iterable[Path], root: Path) -> list[str]:
    return [relative_name(path, root) for path in paths]


def _problem(source: Source, case: str, code: str, message: str) -> QuarantineRow:
    return QuarantineRow(
        source=source.id,
        case=escape_bytes(case),
        stage="scan",
        code=code,
        message=escape_bytes(message),
    )

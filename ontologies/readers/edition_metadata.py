"""Edition metadata: version, digest, licence, and the reader's remarks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from medrcube.files.atomic import sha256_of
from medrcube.ontologies.concept_records import UNKNOWN, Concept, Edition, has_lost_character
from medrcube.ontologies.licences import licence_of

__all__ = [
    "first_few",
    "make_edition",
    "plain_version",
    "remark_broken",
    "remark_shared",
    "with_stubs",
]

_VERSION_IN_NAME = re.compile(
    r"(?<!\d)((?:19|20)\d\d[-_]\d\d(?:[-_]\d\d)?|\d{1,2}(?:\.\d+)+|(?:19|20)\d\d)(?!\d)"
)
_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
LIST_LIMIT = 5


def make_edition(
    path: Path,
    ontology: str,
    *,
    version: str = "",
    remarks: Iterable[str] = (),
    licence: str = "",
) -> Edition:
    """Return the edition of a file.

    Args:
        path: the file or folder that was read.
        ontology: which ontology it contains.
        version: as the file states it; if empty, it is taken from the file name.
        remarks: what the reader repaired or skipped.
        licence: URL of the licence, if the file states one.
    """
    notes = list(remarks)
    if not version:
        version, note = _version_of_name(path.name)
        notes.append(note)
    terms = licence_of(ontology, licence)
    return Edition(
        ontology=ontology,
        version=version,
        file=path.name,
        sha256=_digest(path),
        licence=terms.name,
        statement=terms.statement(version),
        remarks=tuple(notes),
    )


def plain_version(version: str) -> str:
    """Return the date in a header's version (``hp/releases/2025-01-16``), or else all of it."""
    date = _DATE.search(version)
    return date[0] if date else version.strip()


def first_few(things: Iterable[str]) -> str:
    """Return the first few items of a list, for a remark."""
    listed = list(things)
    return ", ".join(listed[:LIST_LIMIT]) + (", ..." if len(listed) > LIST_LIMIT else "")


def with_stubs(concepts: Sequence[Concept], remarks: list[str]) -> tuple[Concept, ...]:
    """Return the concepts plus a stub for every edge target that has no entry of its own.

    This keeps children of a missing parent siblings. A stub has its id as label, so that it is
    never displayed. Stubs, and replacements that lead nowhere, are reported as remarks.
    """
    ids = {concept.id for concept in concepts}
    ids.update(other for concept in concepts for other in concept.alt_ids)
    lost: dict[str, str] = {}
    for concept in concepts:
        for edge in concept.edges:
            if edge.target not in ids:
                lost.setdefault(edge.target, concept.id)
    if lost:
        pairs = first_few(f"{target} (of {child})" for target, child in lost.items())
        remarks.append(
            f"{len(lost)} parents or related concepts have no entry of their own and are kept "
            f"without a name: {pairs}."
        )
    gone = [
        f"{target} (for {concept.id})"
        for concept in concepts
        for target in concept.replaced_by
        if target not in ids
    ]
    if gone:
        remarks.append(f"{len(gone)} replacements have no entry of their own: {first_few(gone)}.")
    return (*concepts, *(Concept(id=target, label=target) for target in lost))


def remark_broken(concepts: Iterable[Concept], remarks: list[str]) -> None:
    """Add a remark about labels with corrupted characters."""
    broken = [c.id for c in concepts if has_lost_character(c.label)]
    if broken:
        remarks.append(
            f"{len(broken)} labels hold a broken character and are never shown: "
            f"{first_few(broken)}."
        )


def remark_shared(concepts: Iterable[Concept], remarks: list[str]) -> None:
    """Add a remark about labels shared by several active concepts."""
    ids: dict[str, list[str]] = {}
    for concept in concepts:
        if concept.label != concept.id and not concept.obsolete:
            ids.setdefault(concept.label, []).append(concept.id)
    shared = ["/".join(same_label) for same_label in ids.values() if len(same_label) > 1]
    if shared:
        remarks.append(f"{len(shared)} labels belong to several ids: {first_few(shared)}.")


def _version_of_name(name: str) -> tuple[str, str]:
    match = _VERSION_IN_NAME.search(name)
    if match:
        version = match[1].replace("_", "-")
        return version, f"The file states no version; {version} is what its name says."
    return (
        UNKNOWN,
        "The file states no version and its name holds none; pass the version that you obtained.",
    )


def _digest(path: Path) -> str:
    if path.is_file():
        return sha256_of(path)
    digest = hashlib.sha256()
    for file in sorted(path.iterdir()):
        if file.is_file():
            digest.update(f"{file.name}\0{sha256_of(file)}\n".encode())
    return digest.hexdigest()

"""Reader: Human Phenotype Ontology in OBO format, using pronto.

pronto fails on parents without a frame of their own and on undeclared synonym types, so both are
declared in the copy that it reads and reported as remarks. Imports are never followed: reading a
file must not access the network.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from medrcube.errors import MissingExtraError
from medrcube.ontologies.concept_records import (
    HPO,
    Concept,
    Edge,
    Ontology,
    OntologyError,
    Synonym,
    SynonymScope,
)
from medrcube.ontologies.readers.bounded_files import TABLE_LIMIT, open_text
from medrcube.ontologies.readers.edition_metadata import (
    first_few,
    make_edition,
    plain_version,
    remark_broken,
)

try:
    from pronto.ontology import Ontology as ProntoOntology
    from pronto.term import Term as ProntoTerm
except ImportError as error:
    raise MissingExtraError("pronto", "ontologies") from error

__all__ = ["read"]

PREFIX = "HP:"
_REFERENCE = re.compile(r"(id|is_a|relationship|synonymtypedef):\s*(\S+)(?:\s+(\S+))?")
_SYNONYM_TYPE = re.compile(r'synonym:\s*"(?:[^"\\]|\\.)*"\s+[A-Z]+\s+([^\s\[]+)\s*\[')


def read(path: Path, *, version: str = "") -> Ontology:
    """Read HPO from an OBO file.

    Raises:
        OntologyError: the file cannot be read, breaks the OBO format, or contains no HPO term.
        MissingExtraError: pronto is not installed.
    """
    remarks: list[str] = []
    with tempfile.TemporaryDirectory(prefix="medrcube-") as folder:
        copy = Path(folder) / "copy.obo"
        survey = _copy(path, copy)
        remarks.extend(survey.remarks())
        parsed = _parse(path, copy, survey, remarks)
    concepts = tuple(_concepts(parsed, remarks))
    if not concepts:
        raise OntologyError(
            f"{path}: holds {len(parsed.terms())} terms, none with an id {PREFIX}...; expected "
            "the Human Phenotype Ontology (hp.obo)"
        )
    remark_broken(concepts, remarks)
    data_version = plain_version(parsed.metadata.data_version or _version_info(parsed))
    edition = make_edition(path, HPO, version=version or data_version, remarks=remarks)
    return Ontology(edition=edition, concepts=concepts)


@dataclass(slots=True)
class _OboReferences:
    """What the text declares and what it references."""

    header: list[str] = field(default_factory=list)
    terms: set[str] = field(default_factory=set)
    relations: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    parents: dict[str, str] = field(default_factory=dict)
    used_relations: dict[str, str] = field(default_factory=dict)
    used_types: dict[str, str] = field(default_factory=dict)
    _frame: str = ""
    _id: str = ""

    def note(self, line: str) -> bool:
        """Process one line; return whether it belongs to the header."""
        if line.startswith("["):
            self._frame = line.strip()
        if match := _REFERENCE.match(line):
            self._refer(*match.groups(default=""))
        elif match := _SYNONYM_TYPE.match(line):
            self.used_types.setdefault(match[1], self._id)
        return not self._frame

    def _refer(self, tag: str, first: str, second: str) -> None:
        if tag == "synonymtypedef":
            self.types.add(first)
        elif tag == "id":
            self._id = first
            (self.relations if self._frame == "[Typedef]" else self.terms).add(first)
        elif self._frame == "[Typedef]":
            if tag == "is_a":
                self.used_relations.setdefault(first, self._id)
        elif tag == "is_a":
            self.parents.setdefault(first, self._id)
        else:
            self.used_relations.setdefault(first, self._id)
            self.parents.setdefault(second, self._id)

    def lost_terms(self) -> dict[str, str]:
        """Return parents and related terms without a frame, each with a term that references it."""
        return {term: child for term, child in self.parents.items() if term not in self.terms}

    def extra_version(self) -> list[str]:
        """Return the first line that pronto needs, if the file lacks it."""
        has_version = any(line.startswith("format-version:") for line in self.header)
        return [] if has_version else ["format-version: 1.2\n"]

    def extra_types(self) -> list[str]:
        """Return declarations of synonym types that the file lacks."""
        return [f'synonymtypedef: {name} "{name}"\n' for name in self._lost_types()]

    def line_of(self, line: int) -> int:
        """Map a line number of the copy to the line number of the file."""
        line -= len(self.extra_version())
        return line if line <= len(self.header) else line - len(self.extra_types())

    def extra_frames(self) -> str:
        """Return frames that pronto needs and the file lacks."""
        terms = [f"\n[Term]\nid: {term}\n" for term in self.lost_terms()]
        lost = [name for name in self.used_relations if name not in self.relations]
        return "".join([*terms, *(f"\n[Typedef]\nid: {name}\n" for name in lost)])

    def remarks(self) -> Iterator[str]:
        """Yield the additions as sentences."""
        if lost := self.lost_terms():
            pairs = first_few(f"{term} (of {child})" for term, child in lost.items())
            yield (
                f"{len(lost)} parents or related concepts have no entry of their own and are kept "
                f"without a name: {pairs}."
            )
        if types := self._lost_types():
            yield f"{len(types)} synonym types are used and not declared: {first_few(types)}."

    def _lost_types(self) -> list[str]:
        return [name for name in self.used_types if name not in self.types]


def _copy(path: Path, copy: Path) -> _OboReferences:
    """Write the unpacked text plus the missing declarations; return what it contains."""
    survey = _OboReferences()
    body = copy.with_suffix(".body")
    with (
        open_text(path, limit=TABLE_LIMIT) as file,
        body.open("w", encoding="utf-8", newline="") as frames,
    ):
        for line in file:
            if survey.note(line):
                survey.header.append(line)
            else:
                frames.write(line)
    with copy.open("w", encoding="utf-8", newline="") as whole:
        # pronto detects OBO by a first line with the format version.
        survey.header.sort(key=lambda line: not line.startswith("format-version:"))
        whole.writelines([*survey.extra_version(), *survey.header, *survey.extra_types()])
        with body.open(encoding="utf-8", newline="") as frames:
            shutil.copyfileobj(frames, whole)
        whole.write("\n" + survey.extra_frames())
    return survey


def _parse(path: Path, copy: Path, survey: _OboReferences, remarks: list[str]) -> ProntoOntology:
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        try:
            # One thread preserves file order; without an encoding pronto would guess one from the
            # first 8 kB.
            parsed = ProntoOntology(str(copy), import_depth=0, threads=1, encoding="utf-8")
        except SyntaxError as error:
            line, text = survey.line_of(error.lineno or 0), (error.text or "").strip()
            raise OntologyError(
                f"{path}: line {line} is not OBO ({error.msg}): {text!r}; get the file again, or "
                "correct the line"
            ) from error
        except KeyError as error:
            raise OntologyError(
                f"{path}: refers to {error.args[0]!r}, which has no entry; get the file again"
            ) from error
        except (ValueError, TypeError) as error:
            raise OntologyError(f"{path}: pronto cannot read it as OBO ({error})") from error
    counts = Counter(str(warning.message).partition(":")[0] for warning in caught_warnings)
    remarks.extend(f"pronto: {message} ({count} times)." for message, count in counts.items())
    return parsed


def _concepts(parsed: ProntoOntology, remarks: list[str]) -> Iterator[Concept]:
    foreign: Counter[str] = Counter()
    for term in sorted(parsed.terms(), key=lambda term: str(term.id)):  # pronto keeps no order
        if not term.id.startswith(PREFIX):
            foreign[term.id.partition(":")[0]] += 1
            continue
        above = sorted(t.id for t in term.superclasses(distance=1, with_self=False))
        related = sorted(
            (target, relation.id)
            for relation, targets in term.relationships.items()
            for target in targets.ids
        )
        yield Concept(
            id=term.id,
            label=term.name or term.id,
            synonyms=tuple(_synonyms(term)),
            edges=(
                *(Edge(target=target) for target in above if target.startswith(PREFIX)),
                *(
                    Edge(target=target, relation=relation)
                    for target, relation in related
                    if target.startswith(PREFIX)
                ),
            ),
            obsolete=term.obsolete,
            replaced_by=tuple(sorted(term.replaced_by.ids)),
            consider=tuple(sorted(term.consider.ids)),
            alt_ids=tuple(sorted(term.alternate_ids)),
        )
    if foreign:
        listed = first_few(f"{count} of {name}" for name, count in foreign.most_common())
        remarks.append(f"Terms of other ontologies are left out: {listed}.")


def _synonyms(term: ProntoTerm) -> Iterator[Synonym]:
    ordered = sorted(term.synonyms, key=lambda s: (s.description, s.scope or ""))
    for synonym in ordered:
        yield Synonym(
            text=synonym.description,
            scope=SynonymScope(synonym.scope or SynonymScope.RELATED),
            type=synonym.type.id if synonym.type else "",
        )


def _version_info(parsed: ProntoOntology) -> str:
    for annotation in parsed.metadata.annotations:
        if annotation.property == "owl:versionInfo":
            return str(getattr(annotation, "literal", ""))
    return ""

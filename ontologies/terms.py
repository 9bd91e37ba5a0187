"""Term table (``terms.csv``): the concepts that cards may name.

``name`` is the option text and is this project's own wording. The ids refer to HPO, RadLex and
ICD-11; their titles are not copied (HPO may not be altered, ICD-11 is CC BY-ND).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path

from medrcube.errors import MedrcubeError
from medrcube.ontologies.concept_records import HPO, ICD11, RADLEX
from medrcube.vocabulary.layers import active_vocabulary

__all__ = [
    "COLUMNS",
    "DEVICE",
    "EXACT",
    "MATCHES",
    "NORMALITY",
    "NO_TERM",
    "Term",
    "TermError",
    "Terms",
    "check_reviewed",
    "load_terms",
    "read_own",
    "read_table",
]

COLUMNS = (
    "label",
    "kind",
    "name",
    "hpo_id",
    "hpo_match",
    "radlex_id",
    "radlex_match",
    "icd11_code",
    "icd11_match",
    "note",
    "reviewed",
)
NORMALITY = "normality"
DEVICE = "device"
NO_TERM = "no term: "
"""Prefix of the note of a term without any id; the reason follows, up to the first semicolon."""
EXACT = "exact"
MATCHES = (EXACT, "close", "broader", "narrower")
"""Closeness of an id; ``broader`` means that the ontology's concept is wider than our term."""
_REVIEWED = re.compile(r".*\S \d{4}-\d{2}-\d{2}")


class TermError(MedrcubeError, ValueError):
    """A term or relation table is invalid, or a label is not in any table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One concept.

    Attributes:
        label: its identity, used in cards.
        kind: kind of concept; the options of one question share it.
        name: plain clinical wording, used as option text.
        hpo_id: id in the Human Phenotype Ontology, or empty; the ``*_match`` for each id is one of
            ``MATCHES``, or empty without an id.
        hpo_match: closeness of ``hpo_id``.
        radlex_id: id in RadLex, or empty.
        radlex_match: closeness of ``radlex_id``.
        icd11_code: code in ICD-11 MMS, or empty.
        icd11_match: closeness of ``icd11_code``.
        note: remark for people; for a term without any id it begins with ``NO_TERM`` and the
            reason.
        reviewed: clinician who reviewed the row, and the date; empty if nobody has.
    """

    label: str
    kind: str
    name: str
    hpo_id: str = ""
    hpo_match: str = ""
    radlex_id: str = ""
    radlex_match: str = ""
    icd11_code: str = ""
    icd11_match: str = ""
    note: str = ""
    reviewed: str = ""

    def ids(self) -> Mapping[str, str]:
        """Ids by ontology, whatever their closeness."""
        return {ontology: identity for ontology, (identity, _) in self.matches().items()}

    def exact_ids(self) -> frozenset[str]:
        """Ids that mean exactly this concept: two terms that share one are the same concept."""
        return frozenset(identity for identity, match in self.matches().values() if match == EXACT)

    def matches(self) -> Mapping[str, tuple[str, str]]:
        """Id and closeness by ontology, for ontologies with an id."""
        pairs = {
            HPO: (self.hpo_id, self.hpo_match),
            RADLEX: (self.radlex_id, self.radlex_match),
            ICD11: (self.icd11_code, self.icd11_match),
        }
        return {ontology: pair for ontology, pair in pairs.items() if pair[0]}


class Terms(Mapping[str, Term]):
    """Terms by label; looking up an unknown label raises an error that names it.

    ``added`` contains the labels added by layers outside the package.
    """

    __slots__ = ("_terms", "added")

    def __init__(self, terms: Iterable[Term], added: Iterable[str] = ()) -> None:
        self.added = frozenset(added)
        self._terms: dict[str, Term] = {}
        for term in terms:
            if term.label in self._terms:
                raise TermError(
                    f"terms: label {term.label!r} stands in two rows; labels are unique"
                )
            if not term.name.strip() or not term.kind.strip():
                raise TermError(f"terms: label {term.label!r} needs a kind and a name")
            check_reviewed(term.reviewed, f"terms: label {term.label!r}")
            self._terms[term.label] = term

    def __getitem__(self, label: str) -> Term:
        try:
            return self._terms[label]
        except KeyError:
            raise TermError(
                f"{label!r} is not a concept of "
                f"ontologies/terms.csv{_nearest(label, self._terms)}; "
                "correct the value map of the card, or add a row to a terms.csv beside the card"
            ) from None

    def __contains__(self, label: object) -> bool:
        return label in self._terms

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)


def load_terms() -> Terms:
    """Load the terms of the package and of the active layers.

    Raises:
        TermError: a row breaks the rules.
    """
    return _load_terms(active_vocabulary())


@cache
def _load_terms(_vocabulary: object) -> Terms:
    rows = read_table("terms.csv", COLUMNS)
    shipped = {row["label"] for row in _shipped("terms.csv", COLUMNS)}
    added = {row["label"] for row in rows} - shipped
    return Terms((Term(**row) for row in rows), added)


def _nearest(label: str, labels: Iterable[str]) -> str:
    near = get_close_matches(label, labels, n=3)
    return f" (nearest: {', '.join(map(repr, near))})" if near else ""


def check_reviewed(reviewed: str, where: str) -> None:
    """Validate a review entry, so that nobody is named without a date.

    Raises:
        TermError: it is neither empty nor a name and a date.
    """
    if reviewed and not _REVIEWED.fullmatch(reviewed):
        raise TermError(
            f"{where}: reviewed is {reviewed!r}; expected the clinician's name and the day, as in "
            "'A. Name 2026-01-31', or nothing where no clinician has seen the row"
        )


def read_table(name: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """Read the rows of one CSV table of this package, then those of the active layers.

    A row that two layers share counts once.

    Raises:
        TermError: the header differs, or a row has too few or too many cells.
    """
    rows = _shipped(name, columns)
    own = (row for folder in active_vocabulary().folders for row in read_own(folder, name, columns))
    return [*rows, *({tuple(row.values()): row for row in own}).values()]


def read_own(folder: Path, name: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """Read the rows of a table next to a card; empty if there is no such table.

    Raises:
        TermError: as for ``read_table``.
    """
    path = folder / name
    if not path.is_file():
        return []
    return _rows(path.read_text(encoding="utf-8-sig"), str(path), columns)


def _shipped(name: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    text = (files("medrcube.ontologies") / name).read_text(encoding="utf-8")
    return _rows(text, f"ontologies/{name}", columns)


def _rows(text: str, where: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    reader = csv.reader(io.StringIO(text, newline=""))
    header = tuple(next(reader, ()))
    if header != columns:
        raise TermError(f"{where}: header is {header}, expected {columns}")
    rows = []
    for cells in reader:
        if len(cells) != len(columns):
            raise TermError(
                f"{where}:{reader.line_num}: {len(cells)} cells, expected "
                f"{len(columns)}; quote cells that hold commas"
            )
        rows.append(dict(zip(columns, cells, strict=True)))
    return rows

"""``[[field]]`` of a card: values, concepts, evidence and visibility."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from medrcube.facts import Absence, Basis, FactKind, Grade, Scope, Visibility
from medrcube.files.toml_reader import TomlTable

__all__ = [
    "REASON_KEYS",
    "CardField",
    "CitedReason",
    "Larger",
    "missing_lines",
    "parse_field",
    "parse_reason",
    "strip_float_suffix",
]

REASON_KEYS = ("basis", "visible", "absence", "stated", "sole")
"""Keys of a field that a reason with its source can stand behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedReason:
    """Why something is as the card says.

    Attributes:
        reason: one sentence for people.
        evidence: URL, DOI or title of the publication or page that shows it.
    """

    reason: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Larger:
    """On which of several images, told apart by their panels, a part of the body is largest.

    Masks that say otherwise, or do not clearly say so, or are not there, leave the panels unasked.

    Attributes:
        panel: concept of the image on which the part is largest.
        part: concept of the part, marked as a region on every image.
        by: least share by which it is larger there than on any other image.
        reason: why so, and why by that much, for people.
        evidence: URL, DOI or title that shows it.
    """

    panel: str
    part: str
    by: float
    reason: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueBand:
    """A range ``[low, high)`` of a numeric raw value and its concept; empty when not used."""

    low: float
    high: float
    concept: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CardField:
    """One kind of statement that a source makes.

    Attributes:
        name: name that labels and regions refer to.
        columns: columns of the raw tables whose cells are its raw values, as they stand there.
        kind: what kind of fact it is.
        scope: what the fact is about.
        absence: what silence about a value means.
        stated: grade of an explicit "absent"; only with A does "no finding" deny what is unsaid.
        basis: what the truth of the field rests on.
        visible: whether a competent reader of the one image shown could know it.
        reasons: why ``basis``, ``visible``, ``absence``, ``stated`` and ``sole`` are as they are.
        whole: whether, where a value is marked on an image, all of it is marked. True of a field
            whose silence means absence; a silent field says so itself.
        group: exclusive group of the relation table, whose members are the options.
        sole: concepts of the group of which an image shows nothing where another one is stated, so
            that the other one denies them. A group alone says only which value is the main one.
        values: raw value -> concept; an empty concept marks a known value that is not used. In
            the file, ``same`` lists raw values that are concepts themselves.
        bands: ranges of a numeric raw value.
        constant: concept that holds for every case.
        larger: what the masks must show before panels of this field are asked, or ``None``.
        rests_on: field of panels without which this one is not asked, such as the cardiac phases
            of an ejection fraction; empty for none.
    """

    name: str
    columns: tuple[str, ...]
    kind: FactKind
    scope: Scope
    absence: Absence
    stated: Grade
    whole: bool
    group: str | None
    sole: tuple[str, ...]
    values: Mapping[str, str]
    bands: tuple[ValueBand, ...]
    constant: str | None
    basis: Basis
    visible: Visibility
    reasons: Mapping[str, CitedReason]
    larger: Larger | None
    rests_on: str

    def concept(self, raw: str) -> str | None:
        """Concept of a raw value; ``None`` when the card marks the value as unused.

        Raises:
            KeyError: the card does not know the value.
        """
        if self.bands:
            number = float(raw)
            for band in self.bands:
                if band.low <= number < band.high:
                    return band.concept or None
            raise KeyError(raw)
        return self.values[raw if raw in self.values else strip_float_suffix(raw)] or None

    def concepts(self) -> tuple[str, ...]:
        """All concepts that the field can state, in card order, without repeats."""
        named = [*self.values.values(), *(band.concept for band in self.bands)]
        if self.constant:
            named.append(self.constant)
        return tuple(dict.fromkeys(name for name in named if name))


def strip_float_suffix(value: str) -> str:
    """A whole number as it stood before a program saved it again as ``4.0``; other values as is."""
    return re.sub(r"(?<=\d)\.0+$", "", value) if re.fullmatch(r"-?\d+\.0+", value) else value


def missing_lines(entry: Mapping[str, Any]) -> Iterator[str]:
    """Lines that a ``[[field]]`` lacks before it may be asked about, as they stand in TOML."""
    if "basis" not in entry:
        yield f"basis = {_one_of(basis.value for basis in Basis)}"
    if "visible" not in entry:
        yield f"visible = {_one_of(level.name.lower() for level in reversed(Visibility))}"
    needed = ["basis", "visible"]
    if entry.get("absence") in (Absence.READER, Absence.IMPLIED):
        needed.append("absence")
    needed += [key for key in ("stated", "sole") if key in entry]
    for key in needed:
        if key not in entry.get("reasons", {}):
            yield f'reasons.{key} = {{ reason = "one sentence", evidence = "URL, DOI or title" }}'


def _one_of(names: Iterable[str]) -> str:
    return " | ".join(f'"{name}"' for name in names)


def parse_field(table: TomlTable) -> CardField:
    """Read one ``[[field]]``; errors name the key and what was expected there."""
    bands = tuple(
        ValueBand(
            low=entry.number("from"),
            high=entry.number("to"),
            concept=entry.text("concept", empty=True),
        )
        for entry in table.tables("bands")
    )
    same = {value: value for value in table.texts("same", default=())}
    values = {**same, **table.mapping("values", default={})}
    constant = table.text("constant", default="") or None
    if sum(map(bool, (values, bands, constant))) != 1:
        expected = "exactly one of values (or same), bands or constant"
        table.fail("values", expected, "none or several")
    absence = table.choice("absence", Absence)
    concepts = tuple(dict.fromkeys([*values.values(), *(band.concept for band in bands)]))
    return CardField(
        name=table.text("name", pattern=r"[a-z][a-z0-9_]*"),
        columns=table.texts("columns", default=()),
        kind=table.choice("kind", FactKind),
        scope=table.choice("scope", Scope, default=Scope.IMAGE),
        absence=absence,
        stated=table.choice("stated", Grade, default=Grade.C),
        whole=table.flag("whole", default=absence is not Absence.SILENT),
        group=table.text("group", default="") or None,
        sole=_sole(table, concepts),
        values=values,
        bands=bands,
        constant=constant,
        basis=table.choice("basis", Basis),
        visible=table.choice("visible", Visibility),
        reasons=_reasons(table.table("reasons")),
        larger=_larger(table.table("larger"), values) if table.has("larger") else None,
        rests_on=table.text("rests_on", default=""),
    )


def _sole(table: TomlTable, concepts: Iterable[str]) -> tuple[str, ...]:
    sole = table.texts("sole", default=())
    if sole and not (table.has("group") and set(sole) <= {*concepts}):
        expected = f"concepts of a field with a group ({', '.join(filter(None, concepts))})"
        table.fail("sole", expected, list(sole))
    return sole


def _larger(table: TomlTable, values: Mapping[str, str]) -> Larger:
    return Larger(
        panel=table.text("panel", choices=tuple(values.values())),
        part=table.text("part"),
        by=table.number("by"),
        reason=table.text("reason"),
        evidence=table.text("evidence"),
    )


def _reasons(table: TomlTable) -> Mapping[str, CitedReason]:
    given = {key: table.table(key) for key in REASON_KEYS if table.has(key)}
    return {key: parse_reason(entry) for key, entry in given.items()}


def parse_reason(table: TomlTable) -> CitedReason:
    """Read why something holds, and what shows it."""
    return CitedReason(reason=table.text("reason"), evidence=table.text("evidence"))

"""``[[field]]`` of a card: values, concepts, evidence and visibility."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from medrcube.fact_kind import FactKind
from medrcube.facts import Absence, Basis, Grade, Scope, Visibility
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
"""Keys of a field that may have a reason with evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedReason:
    """Reason for a claim of the card, with evidence.

    Attributes:
        reason: one sentence for people.
        evidence: URL, DOI or title of the publication or page that shows it.
    """

    reason: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Larger:
    """Expected panel, among several images of a patient, on which a structure is largest.

    If the masks contradict this, do not clearly show it or are missing, panels are not asked.

    Attributes:
        panel: concept of the image on which the structure is largest.
        part: concept of the structure, marked as a region on every image.
        by: minimum relative margin by which it is larger there than on any other image.
        reason: why, and why by this margin, for people.
        evidence: URL, DOI or title that shows it.
    """

    panel: str
    part: str
    by: float
    reason: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueBand:
    """A range ``[low, high)`` of a numeric raw value and its concept (empty if not used)."""

    low: float
    high: float
    concept: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CardField:
    """One kind of statement that a source makes.

    Attributes:
        name: name that labels and regions refer to.
        columns: columns of the raw tables whose cells are its raw values, unchanged.
        kind: kind of fact.
        scope: what the fact is about.
        absence: meaning of a value that is not mentioned.
        stated: grade of an explicit "absent"; only with A does "no finding" deny what is unsaid.
        basis: basis of its truth.
        visible: whether a competent reader could tell it from the single image shown.
        reasons: reasons for ``basis``, ``visible``, ``absence``, ``stated`` and ``sole``.
        whole: whether a value that is marked on an image is marked completely. True for a field
            in which an unmentioned value is absent; any other field must declare it.
        group: exclusive group of the relation table, whose members are the options.
        sole: concepts of the group that an image does not show at all if another one is stated,
            so that the other one excludes them. A group alone only states the main value.
        compound: whether several members of the group may be stated, all of them true: a margin
            that is in part ill-defined and in part spiculated.
        per_unit: whether all images of a unit (``Case.unit``) state the same; where they do not,
            what they state is unknown on all of them.
        values: raw value -> concept; an empty concept marks a known value that is not used. In
            the file, ``same`` lists raw values that are themselves concepts.
        bands: ranges of a numeric raw value.
        constant: concept that is true for every case.
        larger: condition on the masks before panels of this field are asked, or ``None``.
        rests_on: field of panels without which this one is not asked, such as the cardiac phases
            for an ejection fraction; empty if there is none.
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
    compound: bool
    per_unit: bool
    values: Mapping[str, str]
    bands: tuple[ValueBand, ...]
    constant: str | None
    basis: Basis
    visible: Visibility
    reasons: Mapping[str, CitedReason]
    larger: Larger | None
    rests_on: str

    def concept(self, raw: str) -> str | None:
        """Return the concept of a raw value; ``None`` if the card marks the value as unused.

        Raises:
            KeyError: the value is not in the card.
        """
        if self.bands:
            number = float(raw)
            for band in self.bands:
                if band.low <= number < band.high:
                    return band.concept or None
            raise KeyError(raw)
        return self.values[raw if raw in self.values else strip_float_suffix(raw)] or None

    def concepts(self) -> tuple[str, ...]:
        """Return all concepts that the field can state, in card order, without duplicates."""
        names = [*self.values.values(), *(band.concept for band in self.bands)]
        if self.constant:
            names.append(self.constant)
        return tuple(dict.fromkeys(name for name in names if name))

    def raw_value(self, concept: str) -> str:
        """Return a raw value that the card maps to a concept."""
        for band in self.bands:
            if band.concept == concept:
                return str(band.low)
        return next(raw for raw, mapped in self.values.items() if mapped == concept)


def strip_float_suffix(value: str) -> str:
    """Turn a whole number that was saved as ``4.0`` back into ``4``; return other values as is."""
    return re.sub(r"(?<=\d)\.0+$", "", value) if re.fullmatch(r"-?\d+\.0+", value) else value


def missing_lines(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield the TOML lines that a ``[[field]]`` still needs before it may be asked about."""
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
    """Parse one ``[[field]]``; errors name the key and the expected value."""
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
        compound=table.flag("compound", default=False),
        per_unit=table.flag("per_unit", default=False),
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
    reasons = {key: table.table(key) for key in REASON_KEYS if table.has(key)}
    return {key: parse_reason(entry) for key, entry in reasons.items()}


def parse_reason(table: TomlTable) -> CitedReason:
    """Parse a reason and its evidence."""
    return CitedReason(reason=table.text("reason"), evidence=table.text("evidence"))

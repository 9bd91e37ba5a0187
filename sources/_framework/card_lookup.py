"""Lookups in a card: field, measure, concept or quirk that an adapter's statement refers to."""

from __future__ import annotations

import json
from collections.abc import Collection

from medrcube.errors import RowError, SourceError
from medrcube.facts import Case, Label, Quantity, Region
from medrcube.sources._formats.tables.redaction import evidence_place, redact_cell, redact_evidence
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.fields import CardField
from medrcube.sources._framework.card_parts.measures import Measure
from medrcube.sources._framework.card_parts.quirks import Quirk

__all__ = ["concept_of", "field_of", "measure_of", "missing_regions", "quirk_of"]


def quirk_of(card: Card, key: str, action: str) -> Quirk | None:
    """Return the first quirk with this action whose globs match the case key, or ``None``."""
    for quirk in card.quirks:
        if quirk.action == action and quirk.names(key):
            return quirk
    return None


def missing_regions(card: Card, case: Case) -> str:
    """Return why regions of a case may be missing from this copy; empty if all are present."""
    quirk = quirk_of(card, case.key, "regions")
    if quirk is None or len(case.regions) >= quirk.regions:
        return ""
    return (
        f"{len(case.regions)} of {quirk.regions} marked regions are in this copy; get the other "
        f"files: {quirk.reason} ({quirk.evidence})"
    )


def field_of(card: Card, statement: Label | Region) -> CardField:
    """Return the card field that a label or region refers to."""
    try:
        return card.fields[statement.field]
    except KeyError:
        raise SourceError(
            f"{card.id}: {evidence_place(statement.evidence)}: field {statement.field!r} is not in "
            f"the card (fields: {', '.join(card.fields)})"
        ) from None


def measure_of(card: Card, quantity: Quantity) -> Measure:
    """Return the card field of kind ``measure`` that a quantity refers to.

    Raises:
        SourceError: the card has no measure of that name.
    """
    try:
        return card.measures[quantity.field]
    except KeyError:
        raise SourceError(
            f"{card.id}: {evidence_place(quantity.evidence)}: measure {quantity.field!r} is not in "
            f"the card (measures: {', '.join(card.measures) or 'none'})"
        ) from None


def concept_of(card: Card, statement: Label | Region, shared: Collection[str] = ()) -> str | None:
    """Return the concept that the card maps a raw value to; ``None`` for values that are not used.

    Args:
        card: card of the source.
        statement: label or region with the value.
        shared: values that cannot be personal; an error message shows only the shape of any other.

    Raises:
        RowError: the value is not in the card; a label is never guessed.
        SourceError: the field has one constant concept, so no statement may refer to it.
    """
    field = field_of(card, statement)
    if field.constant is not None:
        raise SourceError(
            f"{card.id}: {evidence_place(statement.evidence)}: field {field.name!r} is the "
            f"constant {field.constant!r}, which holds for every case without a label or region; "
            "do not yield it in adapter.py, or give the field values in the card"
        )
    try:
        return field.concept(statement.value)
    except (KeyError, ValueError):
        values = ", ".join(repr(value) for value in field.values) or "numeric bands"
        known_values = (*field.values, *shared)
        place = redact_evidence(statement.evidence, known_values)
        value = redact_cell(statement.value, known_values)
        raw = json.dumps(value) if value == statement.value else "the value there"
        raise RowError(
            f"{card.id}: {place}: value {value!r} of field {field.name!r} is not in the card "
            f"(known: {values}); map it to one of its concepts in medrcube.toml, "
            f'or to "" if it is not used:  [values.{card.id}.{field.name}]  {raw} = ""'
        ) from None

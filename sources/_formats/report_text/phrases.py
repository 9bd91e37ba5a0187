"""``[[text]]`` of a card: phrases in report text that affirm or deny a label.

Free text may contain identifiers. It is used only to check labels; only its location and the
matching phrase of the card are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from medrcube.files.toml_reader import TomlTable
from medrcube.sources._formats.report_text.negation import PHRASE, compile_phrase

__all__ = ["FILE_NAME", "FreeText", "parse_free_text"]

FILE_NAME = "file name"
"""Name of the text derived from the first file name of a case, which always exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeText:
    """One ``[[text]]`` of a card.

    Attributes:
        field: field that the phrases are about; empty if they are about the whole image.
        sources: names of the ``Case.words`` to read; ``file name`` always exists.
        terms: concept -> phrases that affirm it.
        against: concept -> phrases that deny it.
        normal: phrases that call the image normal, without any finding or disease.
        spares: concepts that an image called normal may still show.
        evidence: where the phrases were found.
    """

    field: str
    sources: tuple[str, ...]
    terms: Mapping[str, tuple[re.Pattern[str], ...]]
    against: Mapping[str, tuple[re.Pattern[str], ...]]
    normal: tuple[re.Pattern[str], ...]
    spares: tuple[str, ...]
    evidence: str


def parse_free_text(table: TomlTable, concepts: Mapping[str, tuple[str, ...]]) -> FreeText:
    """Parse one ``[[text]]``.

    Args:
        table: the table.
        concepts: name of each field of the card -> the concepts that it can state.

    Raises:
        CardError: a key is missing, a field or concept is not in the card, or a phrase does not
            match ``negation.PHRASE``.
    """
    field = table.text("field", default="")
    if field and field not in concepts:
        table.fail("field", f"one of {', '.join(concepts)}", field)
    of_field = concepts.get(field, ())
    report = FreeText(
        field=field,
        sources=table.texts("from", least=1),
        terms=_by_concept(table, "terms", of_field),
        against=_by_concept(table, "against", of_field),
        normal=_phrases(table, "normal", table.texts("normal", default=())),
        spares=table.texts("spares", default=()),
        evidence=table.text("evidence"),
    )
    if bool(field) == bool(report.normal) or bool(field) != bool(report.terms or report.against):
        table.fail("field", "a field with terms or against, or normal without a field", field)
    return report


def _by_concept(
    table: TomlTable, key: str, concepts: tuple[str, ...]
) -> dict[str, tuple[re.Pattern[str], ...]]:
    entries = table.lists(key)
    for concept in entries:
        if concept not in concepts:
            table.fail(key, f"concepts of the field: {', '.join(concepts)}", concept)
    return {name: _phrases(table, key, phrases) for name, phrases in entries.items()}


def _phrases(table: TomlTable, key: str, phrases: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    compiled = []
    for phrase in phrases:
        if not re.fullmatch(PHRASE, phrase):
            table.fail(key, f"phrases of the form {PHRASE}", phrase)
        try:
            compiled.append(compile_phrase(phrase))
        except re.error as error:
            table.fail(key, f"phrases whose brackets match ({error})", phrase)
    return tuple(compiled)

"""Reference page of tasks: basis and visibility of every field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from medrcube.build.questions.case_facts import SILENCE
from medrcube.build.questions.task_rules import fact_rules
from medrcube.facts import Absence, Visibility
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.fields import CardField, CitedReason
from medrcube.taxonomy import Task, cube_tasks
from medrcube.templates import render_card

__all__ = ["asked_fields", "kinds_of", "linked_reason", "task_of", "tasks_page"]

_DOI = re.compile(r"(?:doi:)?\s*(10\.\d{4,9}/\S+)", re.IGNORECASE)


def tasks_page(cards: Iterable[Card]) -> str:
    """Return the Markdown page: every field of every source, and every claim of absence."""
    ordered = sorted(cards, key=lambda card: card.id)
    fields = [field for card in ordered for field in asked_fields(card)]
    return render_card(
        "tasks.md",
        tasks=cube_tasks(),
        cards=[(card, asked_fields(card)) for card in ordered if asked_fields(card)],
        counts={
            visibility.name.lower(): sum(field.visible is visibility for field in fields)
            for visibility in Visibility
        },
        claims=[claim for card in ordered for claim in _claims(card)],
        kinds_of=kinds_of,
        task_of=task_of,
        why=linked_reason,
    )


def asked_fields(card: Card) -> Sequence[CardField]:
    """Return the fields that name a concept, in the order of the card."""
    return [field for field in card.fields.values() if field.concepts()]


def task_of(card: Card, field: CardField) -> str:
    """Return the task that asks about a field, or a dash if the source has no such task."""
    tasks = [rule.task for rule in fact_rules(card.tasks) if rule.kind == field.kind]
    tasks.sort(key=lambda task: "clean" not in task.declaration.artefacts)
    return tasks[0].value if tasks else "-"


def kinds_of(task: Task) -> str:
    """Return the kinds of facts that a task asks about, for a table cell."""
    declared = task.declaration
    if declared.axis:
        return f"the {declared.axis} of the image"
    *most, last = [f"`{kind}`" for kind in declared.kinds]
    kinds = f"{', '.join(most)} or {last}" if most else last
    return kinds if "clean" in declared.artefacts else f"a marked {kinds}"


def linked_reason(reason: CitedReason) -> str:
    """Return a reason for a table cell, with its source as a link if it has a URL."""
    place = reason.evidence
    doi = _DOI.fullmatch(place)
    if doi is not None:
        place = f"https://doi.org/{doi[1]}"
    source = f"[source]({place})" if re.fullmatch(r"https?://\S+", place) else place
    return f"{reason.reason.rstrip('.')} ({source})".replace("|", "/")


def _claims(card: Card) -> Iterator[tuple[Card, CardField, str, str, CitedReason]]:
    """Yield every claim that an unmentioned or denied finding is absent: word and grade."""
    for field in asked_fields(card):
        if field.absence is not Absence.SILENT:
            grade = SILENCE[field.absence].value
            yield card, field, f"silence: {field.absence.value}", grade, field.reasons["absence"]
        if "stated" in field.reasons:
            yield card, field, "stated", field.stated.value, field.reasons["stated"]

"""Reference page of every task, within the cube and beyond it, from its declaration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from medrcube.build.open_items.authoring.task_check import sources_of
from medrcube.sources._framework.card import Card
from medrcube.tasks.declaration import TaskDeclaration
from medrcube.taxonomy import Task
from medrcube.templates import package_wordings, render_card

__all__ = ["PASS_CRITERIA", "task_by_task_page"]

PASS_CRITERIA: Mapping[str, str] = MappingProxyType(
    {
        "option": "the right option is chosen",
        "number": "the number is within the bounds of the item; credit by relative accuracy",
        "point": "the point is on the region or within its margin",
        "box": "the box overlaps enough; credit by overlap",
        "order": "the order is exact; credit by pairs in the right order",
        "pair": "both answers are right; credit by right answers",
    }
)
"""When a reply passes and what credit it has, by answer form."""

_PICTURES = {
    "clean": "an image with nothing drawn on it",
    "outline": "an image with one region outlined",
    "boxes": "an image with numbered boxes",
    "numbered": "several numbered images",
    "scale-bar": "an image with one region outlined above a scale bar",
    "mirrored": "an image with left and right exchanged",
    "compared": "several numbered images of one case",
}
"""Words for each of ``ARTEFACTS``."""

_GRAPHICS = {
    "words": "Words burnt into an image would reveal the answer",
    "marks": "A mark of a reader burnt into an image would reveal the answer",
}

_CONSTANTS = {
    "single": "A source may have a single answer: answers are compared over all sources.",
    "always": "Every source has a single answer: answers are compared over all sources.",
}


def task_by_task_page(cards: Sequence[Card]) -> str:
    """Return the Markdown page: an overview of all tasks, then one section for each."""
    ordered = sorted(cards, key=lambda card: card.id)
    wordings = package_wordings()
    return render_card(
        "task_by_task.md",
        tasks=[
            {
                "task": task,
                "declared": task.declaration,
                "facts": _facts_text(task.declaration),
                "pictures": " or ".join(_PICTURES[name] for name in task.declaration.artefacts),
                "criterion": PASS_CRITERIA[task.declaration.form],
                "limits": list(_limits(task.declaration)),
                "wordings": [wordings.text(task, name) for name in wordings.variants(task)]
                if task.declaration.rule
                else [],
                "sources": sources_of(task, ordered),
            }
            for task in Task
        ],
        count=len(ordered),
    )


def _facts_text(declared: TaskDeclaration) -> str:
    if declared.axis:
        return f"the {declared.axis} of the image"
    *most, last = [f"`{kind}`" for kind in declared.kinds]
    return f"{', '.join(most)} or {last}" if most else last


def _limits(declared: TaskDeclaration) -> Iterator[str]:
    """Yield a sentence for each limit that the declaration sets."""
    if declared.rule:
        yield (
            "Questions of a cell are not asked if the best constant answer of other patients "
            f"passes in more than {100 * declared.blind.drop:.0f} %; the build warns above "
            f"{100 * declared.blind.warn:.0f} %."
        )
    if declared.per_patient is not None:
        unit = "items" if declared.sets == "none" else "sets"
        yield f"At most {declared.per_patient} {unit} of a patient."
    if declared.told_by in _GRAPHICS:
        yield f"{_GRAPHICS[declared.told_by]} ([burnt-in graphics](burnt-in-graphics.md))."
    if declared.constant in _CONSTANTS:
        yield _CONSTANTS[declared.constant]
    for key, value in declared.settings.items():
        yield from _setting_lines(key, value)


def _setting_lines(key: str, value: Any) -> Iterator[str]:
    """Yield a line for a setting of a rule; a list of tables has a line for each."""
    if not isinstance(value, list):
        yield f"`{key} = {value}`"
    elif all(isinstance(entry, str) for entry in value):
        yield f"`{key}`: {', '.join(f'`{entry}`' for entry in value)}"
    else:
        for entry in value:
            verdict = "" if entry.get("asked", True) else ", not asked"
            source = f" ([source]({entry['evidence']}))" if "evidence" in entry else ""
            yield f"{entry['name'].capitalize()}{verdict}: {entry['reason']}{source}"

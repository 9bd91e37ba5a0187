"""``medrcube sources list``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from medrcube.cli.options.shared import Json, SourcePath, Wide
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from medrcube.sources._framework.card import Card
    from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = ["list_sources"]

_Name = TypeVar("_Name", bound=str)


def list_sources(
    anatomy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this anatomy, such as Chest; repeatable."),
    ] = None,
    modality: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this modality, such as MRI; repeatable."),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only sources that support this task; repeatable."),
    ] = None,
    access: Annotated[
        list[str] | None,
        typer.Option(metavar="MODE", help="open, form, account or credentialed; repeatable."),
    ] = None,
    source_path: SourcePath = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """List sources: access, licence, images, tasks.

    "redistribute" says whether a release may contain the images; DD, AD etc. are abbreviations of
    tasks.
    """
    from medrcube.console.progress import Reporter
    from medrcube.sources._framework.card_parts.access import ACCESS_MODES
    from medrcube.sources.registry import find_sources
    from medrcube.taxonomy import Anatomy, Modality, Task

    reporter = Reporter(json_output=json_output, wide=wide)
    anatomies = _parsed(anatomy, Anatomy.parse)
    modalities = _parsed(modality, Modality.parse)
    tasks = _parsed(task, Task.parse)
    modes = _parsed(access, lambda text: _mode(text, ACCESS_MODES))
    cards = [
        card
        for card in (source.card for source in find_sources(source_path or ()).values())
        if (not modes or card.access.mode in modes) and _cells(card, anatomies, modalities)
    ]
    if tasks:
        cards = _supporting(tasks, cards, anatomies, modalities)
    if cards:
        reporter.table(
            ("id", "anatomy", "modality", "images", "access", "redistribute", "tasks", "licence"),
            [
                (
                    card.id,
                    ", ".join(dict.fromkeys(anatomy for anatomy, _, _ in _all_cells(card))),
                    ", ".join(dict.fromkeys(modality for _, modality, _ in _all_cells(card))),
                    card.images,
                    card.access.mode,
                    card.access.passed_on,
                    " ".join(task.abbreviation for task in card.tasks),
                    card.access.licence,
                )
                for card in cards
            ],
        )
    else:
        reporter.result("no source matches; use fewer filters")
    reporter.data([_summary(card) for card in cards])


def _all_cells(card: Card) -> list[tuple[Anatomy, Modality, tuple[Task, ...]]]:
    """Return the regions and modalities of a source with their tasks, the main ones first."""
    return [
        (card.anatomy, card.modality, card.tasks),
        *((cell.anatomy, cell.modality, cell.tasks) for cell in card.also),
    ]


def _cells(
    card: Card, anatomies: Collection[Anatomy], modalities: Collection[Modality]
) -> list[tuple[Anatomy, Modality, tuple[Task, ...]]]:
    """Return the cells that match the filters; an empty filter matches all."""
    return [
        (anatomy, modality, tasks)
        for anatomy, modality, tasks in _all_cells(card)
        if (not anatomies or anatomy in anatomies) and (not modalities or modality in modalities)
    ]


def _supporting(
    tasks: Collection[Task],
    cards: Sequence[Card],
    anatomies: Collection[Anatomy],
    modalities: Collection[Modality],
) -> list[Card]:
    """Return the cards that support one of the tasks in a matching region and modality."""
    from medrcube.build.open_items.authoring.task_check import sources_of

    by_rule = {name for task in tasks if task.declaration.rule for name in sources_of(task, cards)}
    return [
        card
        for card in cards
        if card.id in by_rule
        or any(not {*tasks}.isdisjoint(own) for _, _, own in _cells(card, anatomies, modalities))
    ]


def _parsed(names: Sequence[str] | None, parse: Callable[[str], _Name]) -> frozenset[_Name]:
    return frozenset(map(parse, names or ()))


def _mode(text: str, modes: Sequence[str]) -> str:
    from difflib import get_close_matches

    if text in modes:
        return text
    near = get_close_matches(text.casefold(), modes, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise MedrcubeError(f"--access {text}: expected one of: {', '.join(modes)}{hint}")


def _summary(card: Card) -> dict[str, Any]:
    return {
        "id": card.id,
        "title": card.title,
        "anatomy": card.anatomy,
        "modality": card.modality,
        "also": [
            {"anatomy": anatomy, "modality": modality}
            for anatomy, modality, _ in _all_cells(card)[1:]
        ],
        "images": card.images,
        "access": card.access.mode,
        "licence": card.access.licence,
        "redistribute": card.access.redistribute,
        "passed_on": card.access.passed_on,
        "rights": card.access.describe(),
        "layouts": [layout.name for layout in card.layouts],
        "tasks": list(card.tasks),
    }

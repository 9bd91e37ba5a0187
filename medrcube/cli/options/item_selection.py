"""Options of ``medrcube evaluate`` that choose items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medrcube.console.counts import counted
from medrcube.release_format.tree import safe_repr

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.dataset import Benchmark
    from medrcube.evaluate.models.protocol import Model
    from medrcube.evaluate.questions.selection import ItemFilter

__all__ = [
    "Anatomies",
    "Ids",
    "MaySend",
    "Modalities",
    "PresentOnly",
    "Sources",
    "Tasks",
    "Where",
    "choice_of",
    "may_send_of",
    "note_undeclared_place",
    "note_unknown_forms",
]

_option = partial(typer.Option, rich_help_panel="Which items")

Tasks = Annotated[
    list[str] | None,
    _option("--task", metavar="NAME", help="Only this task; repeatable."),
]
Anatomies = Annotated[
    list[str] | None,
    _option("--anatomy", metavar="NAME", help="Only this anatomy; repeatable."),
]
Modalities = Annotated[
    list[str] | None,
    _option("--modality", metavar="NAME", help="Only this modality; repeatable."),
]
Sources = Annotated[
    list[str] | None,
    _option("--source", metavar="FOLDER", help="Only this source; repeatable."),
]
Where = Annotated[
    str | None,
    _option(
        metavar="EXPRESSION",
        help='Only items that match this expression, such as \'options > 2 and "left" in '
        "question'.",
    ),
]
Ids = Annotated[
    Path | None,
    _option(metavar="FILE", help="Only items listed in this file, one SOURCE/ID or ID per line."),
]
PresentOnly = Annotated[
    bool,
    _option(
        "--present-only", help="Only items whose image is present; the report counts the rest."
    ),
]
MaySend = Annotated[
    list[str] | None,
    _option(
        "--i-may-send",
        metavar="SOURCE,...",
        help="Sources whose data use agreement lets you send images to the model.",
    ),
]


def choice_of(
    tasks: Sequence[str] | None,
    anatomies: Sequence[str] | None,
    modalities: Sequence[str] | None,
    sources: Sequence[str] | None,
    where: str | None,
    ids: Path | None,
    *,
    present_only: bool,
) -> ItemFilter:
    """The items that the options ask for.

    Raises:
        UnknownNameError: there is no such task, region or modality.
        WorkspaceError: the list of ids cannot be read.
    """
    from medrcube.evaluate.questions.selection import ItemFilter, read_ids
    from medrcube.taxonomy import Anatomy, Modality, Task

    return ItemFilter(
        tasks=frozenset(map(Task.parse, tasks or ())),
        anatomies=frozenset(map(Anatomy.parse, anatomies or ())),
        modalities=frozenset(map(Modality.parse, modalities or ())),
        sources=frozenset(sources or ()),
        where=where,
        ids=None if ids is None else read_ids(ids),
        present_only=present_only,
    )


def note_unknown_forms(benchmark: Benchmark, reporter: Reporter) -> None:
    """Report items that are neither asked nor checked because their form is unknown."""
    for form, count in benchmark.unknown_forms.items():
        reporter.note(
            f"not asked, not checked: {counted(count, 'item')} of the answer form "
            f"{safe_repr(form)}, which this version does not support"
        )


def may_send_of(
    may_send: Sequence[str] | None, benchmark: Benchmark, model: Model, reporter: Reporter
) -> frozenset[str]:
    """The sources under an agreement that ``--i-may-send`` names; their terms are shown once.

    Raises:
        WorkspaceError: it names a source that needs no permission or is not in the release.
    """
    from medrcube.evaluate.questions.data_agreements import (
        known_cards,
        permitted_sources,
        rights_text,
        sending_text,
        sends_outside,
        sources_under_agreement,
    )

    names = [name.strip() for value in may_send or () for name in value.split(",") if name.strip()]
    if not names:
        return frozenset()
    cards = known_cards()
    folders = permitted_sources(names, sources_under_agreement(benchmark.items, cards))
    if not sends_outside(model):
        return frozenset()
    for folder in sorted(folders):
        reporter.note(f"{sending_text(model)}: {rights_text(folder, cards)}")
    return folders


def note_undeclared_place(model: Model, sendable: ItemFilter, reporter: Reporter) -> None:
    """Report that items are left out because a third-party model does not state where it runs."""
    from medrcube.evaluate.questions.data_agreements import states_place

    if sendable.withheld and not states_place(model):
        reporter.note(
            f"{model.name} does not declare where it runs, so items under a data use agreement are "
            "left out; a model that runs on this machine has the attribute runs_here = True"
        )

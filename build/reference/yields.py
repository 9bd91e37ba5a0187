"""Expected items for the reference page of sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medrcube.build.profile.full_size import expected_margins, reachable_at_full_size
from medrcube.build.profile.profile import load_profile
from medrcube.build.profile.yields import ExpectedItems, expected_items
from medrcube.build.reference.cells import reach_of_cells
from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Task, cube_tasks
from medrcube.templates import render_card

__all__ = ["YieldsSection", "yield_cell", "yields_of"]

Found = Mapping[str, Mapping[Task, ExpectedItems]]


@dataclass(frozen=True, slots=True, kw_only=True)
class YieldsSection:
    """Section of the page on expected items.

    Attributes:
        items: source -> its items over all tasks, in words.
        section: the section that explains how they are computed.
    """

    items: Mapping[str, str]
    section: str


def yields_of(cards: Sequence[Card]) -> YieldsSection:
    """Return the expected items of all cards."""
    ordered = sorted(cards, key=lambda card: card.id)
    expectations = {card.id: expected_items(card) for card in ordered}
    profile = load_profile("medrcube")
    cells = reach_of_cells(ordered, expectations, profile)
    return YieldsSection(
        items={name: _whole(tasks) for name, tasks in expectations.items()},
        section=render_card(
            "yields.md",
            tasks=cube_tasks(),
            rows=[
                (name, [yield_cell(tasks.get(task)) for task in cube_tasks()])
                for name, tasks in expectations.items()
            ],
            limits=_limits(expectations),
            nothing=_nothing(expectations),
            unknown=_unknown(expectations),
            unknown_count=sum(
                len(task.unknown) for tasks in expectations.values() for task in tasks.values()
            ),
            margins=expected_margins(ordered, expectations, profile),
            profile=profile,
            reachable=reachable_at_full_size(ordered, expectations, profile),
            cells=cells,
            unreached=[reach for reach in cells if reach.why_not],
            evidence=[(card.id, count) for card in ordered for count in card.counts],
        ),
    )


def yield_cell(entry: ExpectedItems | None) -> str:
    """Return the cell of one source and task: items, those with two options, and unknowns."""
    if entry is None:
        return ""
    parts = [f"{entry.items:,}"] if entry.items else []
    parts += [f"{entry.two:,}²"] if entry.two else []
    parts += [f"{entry.shared:,}\\*"] if entry.shared else []
    parts += ["?"] if entry.unknown else []
    return " + ".join(parts) or "0"


def _whole(tasks: Mapping[Task, ExpectedItems]) -> str:
    everything = ExpectedItems(
        items=sum(task.items for task in tasks.values()),
        two=sum(task.two for task in tasks.values()),
        shared=sum(task.shared for task in tasks.values()),
        unknown=tuple(name for task in tasks.values() for name in task.unknown),
    )
    return yield_cell(everything)


def _limits(expectations: Found) -> list[tuple[str, str]]:
    return [
        (
            name,
            "; ".join(f"{task.abbreviation}: {', '.join(entry.limits)}" for task, entry in limited),
        )
        for name, tasks in expectations.items()
        if (limited := [(task, entry) for task, entry in tasks.items() if entry.limits])
    ]


def _unknown(expectations: Found) -> list[tuple[str, str]]:
    return [
        (
            name,
            "; ".join(f"{task.abbreviation}: {', '.join(entry.unknown)}" for task, entry in open_),
        )
        for name, tasks in expectations.items()
        if (open_ := [(task, entry) for task, entry in tasks.items() if entry.unknown])
    ]


def _nothing(expectations: Found) -> list[tuple[str, str, str, str]]:
    return [
        (name, task.abbreviation, field, reason)
        for name, tasks in expectations.items()
        for task, entry in tasks.items()
        for field, reason in entry.nothing
        if field
    ]

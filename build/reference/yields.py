"""Expected items for the reference page of all sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medrcube.build.profile.profile import AXES, Profile, load_profile
from medrcube.build.profile.yields import TASKS, ExpectedItems, expected_items, expected_together
from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Task, Voxel
from medrcube.templates import render_card

Found = Mapping[str, Mapping[Task, ExpectedItems]]


@dataclass(frozen=True, slots=True, kw_only=True)
class YieldsSection:
    """What the page says of expected items.

    Attributes:
        items: source -> its items over all tasks, in words.
        section: the section that says how they come about.
    """

    items: Mapping[str, str]
    section: str


def yields_of(cards: Sequence[Card]) -> YieldsSection:
    """Expected items of all cards."""
    ordered = sorted(cards, key=lambda card: card.id)
    found = {card.id: expected_items(card) for card in ordered}
    return YieldsSection(
        items={name: _whole(tasks) for name, tasks in found.items()},
        section=render_card(
            "yields.md",
            tasks=TASKS,
            rows=[
                (name, [yield_cell(tasks.get(it)) for it in TASKS]) for name, tasks in found.items()
            ],
            limits=_limits(found),
            nothing=_nothing(found),
            unknown=_unknown(found),
            unknown_count=sum(len(it.unknown) for tasks in found.values() for it in tasks.values()),
            margins=_margins(ordered, found, load_profile("medrcube")),
            evidence=[(card.id, count) for card in ordered for count in card.counts],
        ),
    )


def yield_cell(it: ExpectedItems | None) -> str:
    """One source and task: items, those with two options apart, and what is not known."""
    if it is None:
        return ""
    parts = [f"{it.items:,}"] if it.items else []
    parts += [f"{it.two:,}²"] if it.two else []
    parts += [f"{it.shared:,}\\*"] if it.shared else []
    parts += ["?"] if it.unknown else []
    return " + ".join(parts) or "0"


def _whole(tasks: Mapping[Task, ExpectedItems]) -> str:
    everything = ExpectedItems(
        items=sum(it.items for it in tasks.values()),
        two=sum(it.two for it in tasks.values()),
        shared=sum(it.shared for it in tasks.values()),
        unknown=tuple(name for it in tasks.values() for name in it.unknown),
    )
    return yield_cell(everything)


def _limits(found: Found) -> list[tuple[str, str]]:
    return [
        (name, "; ".join(f"{task.abbreviation}: {', '.join(it.limits)}" for task, it in limited))
        for name, tasks in found.items()
        if (limited := [(task, it) for task, it in tasks.items() if it.limits])
    ]


def _unknown(found: Found) -> list[tuple[str, str]]:
    return [
        (name, "; ".join(f"{task.abbreviation}: {', '.join(it.unknown)}" for task, it in open_))
        for name, tasks in found.items()
        if (open_ := [(task, it) for task, it in tasks.items() if it.unknown])
    ]


def _nothing(found: Found) -> list[tuple[str, str, str, str]]:
    return [
        (name, task.abbreviation, field, reason)
        for name, tasks in found.items()
        for task, it in tasks.items()
        for field, reason in it.nothing
        if field
    ]


def _margins(
    cards: Sequence[Card], found: Found, profile: Profile
) -> list[tuple[str, str, int, int]]:
    """Margins of a profile as (axis, value, wanted, expected of all sources together)."""
    sums = {(axis, value): 0.0 for axis, _ in AXES for value in profile.margins[axis]}
    known = {card.id: card for card in cards}
    for (name, task), items in expected_together(found).items():
        card = known[name]
        for bound in profile.bounds(Voxel(card.anatomy, card.modality, task)):
            if bound in sums:
                sums[bound] += items
    return [
        (axis, value, profile.margins[axis][value], int(sums[axis, value])) for axis, value in sums
    ]

"""Profile report: distance of a build to its profile, and sources that would reduce it.

The distance is the share of the target items that are missing. Since no margin is exceeded, it is
the same along every axis, and equals the total variation between target and made items if missing
items count as a separate value. The mix is the total variation between the target shares and the
shares among the items made: how unbalanced the benchmark is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from medrcube.build.profile.cell_planning import ProfilePlan
from medrcube.build.profile.full_size import FullSize, full_size_of
from medrcube.build.profile.profile import Profile
from medrcube.build.profile.source_suggestions import (
    SourceSuggestion,
    suggest_sources,
    suggestion_path,
    suggestions_for,
)
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.questions.sampling.quotas import Key, key_of, patient_of, picture_of
from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Anatomy, Level, Modality, Task, Voxel

__all__ = ["FewSources", "Margin", "ProfileReport", "report_on"]

_LIST_LIMIT = 20
"""Room for source names in a displayed row; the audit names all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """One value of one margin.

    Attributes:
        axis: ``task``, ``modality`` or ``anatomy``.
        value: the value.
        wanted: number of items in the profile.
        planned: number of items that could be asked.
        made: number of items made.
        expected: number of items that all known sources together would contribute at full size (see
            ``FullSize``).
        sources: sources not in the workspace that would contribute, with the most that each adds,
            the largest first.
    """

    axis: str
    value: str
    wanted: int
    planned: int
    made: int
    expected: int
    sources: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FewSources:
    """A key whose items come from fewer sources than the profile requires.

    Attributes:
        task: task.
        group: exclusive group of its options, or empty.
        answer: the key.
        sources: sources of its items.
        others: sources of the workspace that have questions with it, but no item.
    """

    task: str
    group: str
    answer: str
    sources: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReport:
    """Report of a build on its profile, ready for JSON by ``asdict``.

    Attributes:
        name: of the profile.
        description: of the profile.
        fingerprint: hash of the content of the profile.
        wanted: number of items in the profile.
        made: number of items made.
        distance: share of the wanted items that is missing, 0 to 1.
        distances: axis -> the same for the items that count in its margin.
        mix: axis -> total variation of the shares, 0 to 1; empty without items.
        outside: tasks that count only in the margin of tasks.
        full_size: yield of all known sources, whether in the workspace or not.
        margins: one row for each value.
        cells: cell -> number of items that could be asked, planned and made.
        closers: sources that would help, sorted by what each adds on its own.
        way: sources added one after the other, each with what it then adds.
        off: sources of the workspace that the profile switches off.
        sources_per_key: number of sources that each key should come from, if the workspace has that
            many.
        keys: number of keys that have items.
        few_sources: keys from fewer sources; empty if one source is enough.
        per_patient: most items of one patient in one cell.
        most_of_one_patient: number of items of the patient with the most.
        patients: number of patients, or of cases if a source names no patient.
        pictures: number of images that the items show.
        chains: number of these images with items of several task levels.
    """

    name: str
    description: str
    fingerprint: str
    wanted: int
    made: int
    distance: float
    distances: Mapping[str, float]
    mix: Mapping[str, float]
    outside: tuple[str, ...]
    full_size: FullSize
    margins: tuple[Margin, ...]
    cells: Mapping[str, Mapping[str, int]]
    closers: tuple[SourceSuggestion, ...]
    way: tuple[tuple[str, int], ...]
    off: tuple[str, ...]
    sources_per_key: int
    keys: int
    few_sources: tuple[FewSources, ...]
    per_patient: int
    most_of_one_patient: int
    patients: int
    pictures: int
    chains: int

    def as_dict(self) -> dict[str, Any]:
        """Return the report for ``audit.json``."""
        return asdict(self)

    def table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return header and rows of the displayed table; sources are listed if any would help."""
        heads: tuple[str, ...] = ("", "wanted", "made", "missing", "all sources")
        rows: list[tuple[object, ...]] = [
            (m.value, m.wanted, m.made, m.wanted - m.made, m.expected) for m in self.margins
        ]
        if not self.closers:
            return heads, rows
        source_lists = (_source_list(margin.sources) for margin in self.margins)
        return (*heads, "would add most"), [
            (*row, names) for row, names in zip(rows, source_lists, strict=True)
        ]

    def lines(self) -> list[str]:
        """Return the lines below the table."""
        lines = [
            f"profile {self.name}: {self.made:,} of {self.wanted:,} items{self._distance()}",
            self.full_size.describe(self.wanted),
        ]
        if self.made:
            patients = f"{self.patients:,} patients, none with more than {self.most_of_one_patient}"
            chains = f"{self.chains:,} of {self.pictures:,} images carry several task levels"
            lines.append(f"{patients}; {chains}")
        if self.sources_per_key > 1:
            lines.append(self._spread())
        if self.way:
            steps = ", ".join(f"{name} +{adds:,}" for name, adds in self.way)
            lines.append(f"sources that would bring it nearer, if they held all they can: {steps}")
        elif self.made < self.wanted:
            lines.append("no other source that is known would bring it nearer")
        if self.off:
            lines.append(f"switched off by the profile: {', '.join(self.off)} (--switch-on ID)")
        return lines

    def _spread(self) -> str:
        others = sum(bool(entry.others) for entry in self.few_sources)
        return (
            f"{len(self.few_sources):,} of {self.keys:,} keys have items of fewer than "
            f"{self.sources_per_key} sources; of these {others:,} are held by another source too"
        )

    def _distance(self) -> str:
        mix = ", ".join(f"{axis} {100 * value:.0f} %" for axis, value in self.mix.items())
        return f"; {100 * self.distance:.1f} % missing" + (f"; mix off by {mix}" if mix else "")


def report_on(
    profile: Profile,
    plan: ProfilePlan,
    items: Sequence[ChoiceItem],
    cards: Iterable[Card],
    *,
    source_ids: Iterable[str],
) -> ProfileReport:
    """Compare the items made with the target.

    Args:
        profile: the margins.
        plan: result of planning.
        items: the finished items.
        cards: cards of all known sources.
        source_ids: sources of the workspace.
    """
    there, all_cards = set(source_ids), list(cards)
    item_counts = Counter(
        Voxel(Anatomy(item.anatomy), Modality(item.modality), Task(item.task)) for item in items
    )
    got, planned = _along(profile, item_counts), _along(profile, plan.planned)
    missing = {
        (axis, value): count - got[axis, value]
        for axis, counts in profile.margins.items()
        for value, count in counts.items()
    }
    missing_items = profile.total - len(items)
    patients = Counter(patient_of(question) for question in plan.answered)
    levels = _levels(plan)
    spread = _spread(plan)
    others = [card for card in all_cards if card.id not in there | profile.off]
    closers = suggest_sources(profile, plan.usable, missing, others) if missing_items else ()
    cards_by_id = {card.id: card for card in others}
    full_size, expected = full_size_of(all_cards, profile)
    return ProfileReport(
        name=profile.name,
        description=profile.description,
        fingerprint=profile.fingerprint,
        wanted=profile.total,
        made=len(items),
        distance=missing_items / profile.total,
        distances={
            axis: sum(missing[axis, value] for value in counts) / sum(counts.values())
            for axis, counts in profile.margins.items()
        },
        mix=_mix(profile, got),
        outside=tuple(sorted(profile.outside)),
        full_size=full_size,
        margins=tuple(
            Margin(
                axis=axis,
                value=value,
                wanted=profile.margins[axis][value],
                planned=planned[axis, value],
                made=got[axis, value],
                expected=expected[axis, value],
                sources=suggestions_for(profile, (axis, value), missing, closers, cards_by_id),
            )
            for axis, value in missing
        ),
        cells={
            str(cell): {
                "available": plan.available.cells.get(cell, 0),
                "planned": plan.planned.get(cell, 0),
                "made": item_counts[cell],
            }
            for cell in sorted({*plan.available.cells, *item_counts})
        },
        closers=closers,
        way=suggestion_path(profile, plan.usable, closers, cards_by_id),
        off=tuple(sorted(there & profile.off)),
        sources_per_key=profile.sources_per_key,
        keys=len(spread),
        few_sources=_few_sources(spread, plan, profile.sources_per_key),
        per_patient=profile.per_patient,
        most_of_one_patient=max(patients.values(), default=0),
        patients=len(patients),
        pictures=len(levels),
        chains=sum(len(task_levels) > 1 for task_levels in levels.values()),
    )


def _spread(plan: ProfilePlan) -> dict[Key, set[str]]:
    """Key -> sources of its items."""
    spread: dict[Key, set[str]] = {}
    for question in plan.answered:
        spread.setdefault(key_of(question), set()).add(question.query.sample.source)
    return spread


def _few_sources(
    spread: Mapping[Key, set[str]], plan: ProfilePlan, target: int
) -> tuple[FewSources, ...]:
    return tuple(
        FewSources(
            task=key[0].value,
            group=key[1],
            answer=key[2],
            sources=tuple(sorted(sources)),
            others=tuple(sorted(plan.holders[key] - sources)),
        )
        for key, sources in sorted(spread.items())
        if len(sources) < target
    )


def _levels(plan: ProfilePlan) -> dict[str, set[Level]]:
    """Return image -> levels of the tasks of its items."""
    levels: dict[str, set[Level]] = {}
    for question in plan.answered:
        levels.setdefault(picture_of(question), set()).add(question.query.task.level)
    return levels


def _along(profile: Profile, cells: Mapping[Voxel, int]) -> Counter[tuple[str, str]]:
    """Count the items of each value of each margin."""
    sums: Counter[tuple[str, str]] = Counter()
    for cell, count in cells.items():
        for bound in profile.bounds(cell):
            sums[bound] += count
    return sums


def _mix(profile: Profile, got: Mapping[tuple[str, str], int]) -> dict[str, float]:
    """Total variation between two distributions: half the sum of the absolute differences."""
    mix = {}
    for axis, target in profile.margins.items():
        items, total = sum(got[axis, value] for value in target), sum(target.values())
        if items:
            shares = ((got[axis, value] / items, n / total) for value, n in target.items())
            mix[axis] = sum(abs(share - due) for share, due in shares) / 2
    return mix


def _source_list(sources: Sequence[tuple[str, int]]) -> str:
    """Return the first names and the number of the others, in words: ``+7`` would read as items."""
    text, more = "", len(sources)
    for name, _ in sources:
        longer = f"{text}, {name}" if text else name
        if text and len(longer) > _LIST_LIMIT:
            break
        text, more = longer, more - 1
    return f"{text}, {more} more" if more else text

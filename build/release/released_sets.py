"""Sets of a release: those of the batch, reduced to the released items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from medrcube.build.questions.item_sets import BuiltSet, deal_sets, is_set
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.samples import Sample
from medrcube.release_format.item_sets import ItemSet, SetMember
from medrcube.release_format.tree import dataset_name

__all__ = ["ReleasedSets", "released_sets"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedSets:
    """Sets of a release.

    Attributes:
        dealt: number of sets of the whole batch.
        sets: sets with at least one item in the release.
    """

    dealt: int
    sets: tuple[ItemSet, ...]

    @property
    def complete(self) -> int:
        """Number of sets that are complete and therefore scored."""
        return sum(item_set.is_complete for item_set in self.sets)

    @property
    def incomplete(self) -> int:
        """Number of incomplete sets: items were left out or changed by reviewers."""
        return self.dealt - self.complete


def released_sets(
    items: Iterable[ChoiceItem],
    samples: Iterable[Sample],
    released: Iterable[ChoiceItem],
    seed: int,
) -> ReleasedSets:
    """Deal the batch into sets, and reduce them to the released items.

    Members are the released items, without those whose question, options or key were changed so
    that they no longer belong together.

    Args:
        items: the whole batch.
        samples: its images.
        released: items of the release, as edited by reviewers.
        seed: seed of the build.
    """
    dealt = deal_sets(items, {sample.id: sample for sample in samples}, seed)
    by_id = {item.id: item for item in released}
    sets = []
    for built_set in dealt:
        members = tuple(map(_member, _members(built_set, by_id)))
        if members:
            sets.append(ItemSet(id=built_set.id, size=len(built_set.items), members=members))
    return ReleasedSets(dealt=len(dealt), sets=tuple(sets))


def _members(built_set: BuiltSet, released: Mapping[str, ChoiceItem]) -> Sequence[ChoiceItem]:
    before = {item.id: item for item in built_set.items}
    members = [released[name] for name in before if name in released]
    if members and not is_set(members):
        return [item for item in members if _wording(item) == _wording(before[item.id])]
    return members


def _wording(item: ChoiceItem) -> tuple[str, str, list[str]]:
    texts = [option.text for option in item.options]
    return item.question, texts[item.key], sorted(texts)


def _member(item: ChoiceItem) -> SetMember:
    key = item.options[item.key]
    return SetMember(dataset=dataset_name(item.source), id=item.id, role=key.concept or key.text)

"""Evaluation conditions of a question, and its presentations.

``full`` is the question as it is. ``blind`` omits the image, ``image-swap`` shows another image of
the same voxel, ``circular`` asks with every rotation of the options, and ``reworded`` asks the
same fact as worded in another edition of the release. All are parts of one run, so that a question
shared by two conditions is asked once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import BenchmarkItem

__all__ = ["OF_ONE_EDITION", "Condition", "Presentation", "presentations", "rotate"]


class Condition(StrEnum):
    """Evaluation condition: what is shown of a question."""

    FULL = "full"
    BLIND = "blind"
    CIRCULAR = "circular"
    IMAGE_SWAP = "image-swap"
    REWORDED = "reworded"

    @classmethod
    def parse(cls, name: str) -> Condition:
        """The condition of that name.

        Raises:
            WorkspaceError: there is none.
        """
        if name in cls._value2member_map_:
            return cls(name)
        known = ", ".join(condition.value for condition in cls)
        raise WorkspaceError(f"no condition {name!r}; expected one of: {known}")


OF_ONE_EDITION = tuple(c for c in Condition if c is not Condition.REWORDED)
"""Conditions that need only the release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """One presentation of an item to a model.

    Attributes:
        item: the item, its options and key in the order shown.
        condition: the evaluation condition.
        turn: number of places by which the options are rotated.
        epoch: repetition, from 0.
        image: image shown, relative to the release. ``None`` in the blind condition, and for an
            item without an image.
    """

    item: BenchmarkItem
    condition: Condition
    turn: int = 0
    epoch: int = 0
    image: str | None = None

    @property
    def wants_image(self) -> bool:
        """Whether the question needs an image."""
        return self.condition is not Condition.BLIND


def presentations(
    items: Sequence[BenchmarkItem],
    conditions: Iterable[Condition],
    *,
    epochs: int = 1,
    reworded: Mapping[str, BenchmarkItem] = MappingProxyType({}),
) -> list[Presentation]:
    """All presentations of all items, those of one image consecutive within a condition.

    An item whose voxel has no other image has no ``image-swap`` presentation, and one without a
    counterpart in the other edition no ``reworded`` one.

    Args:
        items: items of the run.
        conditions: the conditions, in any order.
        epochs: repetitions of each presentation.
        reworded: items of the other edition by item name, from ``reworded.reworded_items``.
    """
    wanted = set(conditions)
    donors = _donors(items) if Condition.IMAGE_SWAP in wanted else {}
    first_epoch = [
        presentation
        for condition in Condition
        if condition in wanted
        for item in items
        for presentation in _ways(item, condition, donors.get(item.name), reworded.get(item.name))
    ]
    return [replace(each, epoch=epoch) for epoch in range(epochs) for each in first_epoch]


def rotate(item: BenchmarkItem, turn: int) -> BenchmarkItem:
    """The item with option texts and key rotated by ``turn`` letters.

    An item without options is its own only rotation.
    """
    if not item.options:
        return item
    letters = [letter for letter, _ in item.options]
    count = len(letters)
    if turn % count == 0:
        return item
    texts = [text for _, text in item.options]
    moved = tuple((letters[i], texts[(i - turn) % count]) for i in range(count))
    key = letters[(letters.index(item.key) + turn) % count]
    return replace(item, options=moved, key=key)


def _ways(
    item: BenchmarkItem, condition: Condition, donor: str | None, second: BenchmarkItem | None
) -> Iterator[Presentation]:
    if condition is Condition.CIRCULAR:
        for turn in range(len(item.options) or 1):
            turned = rotate(item, turn)
            yield Presentation(item=turned, condition=condition, turn=turn, image=item.image)
    elif condition is Condition.IMAGE_SWAP:
        if donor is not None:
            yield Presentation(item=item, condition=condition, image=donor)
    elif condition is Condition.REWORDED:
        if second is not None:
            yield Presentation(item=second, condition=condition, image=item.image)
    else:
        image = None if condition is Condition.BLIND else item.image
        yield Presentation(item=item, condition=condition, image=image)


def _donors(items: Sequence[BenchmarkItem]) -> dict[str, str]:
    """Swapped image of each item: an image of another item of its voxel, drawn by a hash.

    Images without a question that has the same correct answer are preferred: a reply that is still
    correct did not need the image.
    """
    voxels: dict[tuple[str, str, str], list[BenchmarkItem]] = {}
    for item in items:
        if item.image is not None:
            voxels.setdefault((item.task, item.modality, item.parts), []).append(item)
    chosen = {}
    for members in voxels.values():
        answers: dict[str, set[str]] = {}
        for item in members:
            answers.setdefault(str(item.image), set()).add(item.right_answer)
        foreign = {
            right: [image for image in answers if right not in answers[image]]
            for right in set().union(*answers.values())
        }
        for item in members:
            pool = foreign[item.right_answer] or [image for image in answers if image != item.image]
            if pool:
                digest = hashlib.sha256(item.name.encode()).digest()
                chosen[item.name] = pool[int.from_bytes(digest[:8]) % len(pool)]
    return chosen

"""Evaluation conditions of a question, and its presentations.

``full`` is the question as it stands. ``blind`` leaves the picture out, ``image-swap`` shows
another picture of the same voxel, ``circular`` asks with every rotation of the options, and
``reworded`` asks the same fact as another edition of the release words it. They are parts of one
run, so that a question which two of them share is asked once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import BenchmarkItem


class Condition(StrEnum):
    """What of a question is shown."""

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
"""Conditions that need nothing beside the release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """One way to put one item to a model.

    Attributes:
        item: the item, its options and key in the order that is shown.
        condition: why it is asked this way.
        turn: by how many places the options are rotated.
        epoch: number of the repetition, from 0.
        image: picture that is shown, relative to the release. ``None`` in the blind condition,
            and for an item whose picture the release does not name.
    """

    item: BenchmarkItem
    condition: Condition
    turn: int = 0
    epoch: int = 0
    image: str | None = None

    @property
    def wants_image(self) -> bool:
        """Whether the question may be asked with a picture only."""
        return self.condition is not Condition.BLIND


def presentations(
    items: Sequence[BenchmarkItem],
    conditions: Iterable[Condition],
    *,
    epochs: int = 1,
    reworded: Mapping[str, BenchmarkItem] = MappingProxyType({}),
) -> list[Presentation]:
    """Every way to put every item, those of one picture back to back within a condition.

    An item whose voxel holds no other picture has no ``image-swap`` presentation, and one of which
    another edition asks nothing else no ``reworded`` one.

    Args:
        items: the items that a run asks.
        conditions: the conditions wanted; their order and repetition do not matter.
        epochs: how often each presentation is asked.
        reworded: second forms by the name of the item, as ``reworded.reworded_items`` finds them.
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
    """The item with its option texts moved on by ``turn`` letters, and its key with them."""
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
        for turn in range(len(item.options)):
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
    """For each item the picture of another item of its voxel, drawn by a hash of its name.

    Pictures of which nothing with the same right answer is asked come first: a reply that is
    still right there did not need the picture.
    """
    voxels: dict[tuple[str, str, str], list[BenchmarkItem]] = {}
    for item in items:
        if item.image is not None:
            voxels.setdefault((item.task, item.modality, item.parts), []).append(item)
    chosen = {}
    for members in voxels.values():
        answers: dict[str, set[str]] = {}
        for item in members:
            answers.setdefault(str(item.image), set()).add(_right(item))
        foreign = {
            right: [image for image in answers if right not in answers[image]]
            for right in set().union(*answers.values())
        }
        for item in members:
            pool = foreign[_right(item)] or [image for image in answers if image != item.image]
            if pool:
                digest = hashlib.sha256(item.name.encode()).digest()
                chosen[item.name] = pool[int.from_bytes(digest[:8]) % len(pool)]
    return chosen


def _right(item: BenchmarkItem) -> str:
    return dict(item.options)[item.key]

"""Evaluation conditions of a question, and its presentations.

``full`` is the question as it is. ``blind`` omits the image, ``image-swap`` shows another image of
the same cell, ``circular`` asks with every rotation of the options, and ``reworded`` asks about
the same fact as worded in another edition of the release. ``chain`` asks the questions on one image
as one conversation (see ``chains``), and ``degraded`` shows the image after a stated degradation
(see ``degradation``). All are parts of one run, so that a question shared by two conditions is
asked only once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.questions.chains import QuestionChain
from medrcube.evaluate.questions.degradation import Degradation

__all__ = [
    "OF_ONE_EDITION",
    "Condition",
    "Presentation",
    "parse_conditions",
    "presentations",
    "rotate",
]


class Condition(StrEnum):
    """Evaluation condition: what is shown of a question."""

    FULL = "full"
    BLIND = "blind"
    CIRCULAR = "circular"
    IMAGE_SWAP = "image-swap"
    REWORDED = "reworded"
    CHAIN = "chain"
    DEGRADED = "degraded"

    @classmethod
    def parse(cls, name: str) -> Condition:
        """Return the condition with that name.

        Raises:
            WorkspaceError: there is no such condition.
        """
        if name in cls._value2member_map_:
            return cls(name)
        names = ", ".join(condition.value for condition in cls)
        raise WorkspaceError(f"no condition {name!r}; expected one of: {names}")


_AS_THEY_ARE = (Condition.FULL, Condition.DEGRADED)
"""Conditions that ask each item once, in its own words and order, with its own image."""

OF_ONE_EDITION = (Condition.FULL, Condition.BLIND, Condition.CIRCULAR, Condition.IMAGE_SWAP)
"""Conditions that need only the release, and ask single questions about the items' own images."""


def parse_conditions(names: Iterable[str]) -> tuple[list[Condition], Degradation | None]:
    """Parse conditions by name, and the degradation in ``degraded:OPERATION=SIZE``.

    Raises:
        WorkspaceError: there is no such condition or operation, or two degradations are named: a
            run has only one, so that no figure mixes two.
    """
    conditions: list[Condition] = []
    degradations: list[Degradation] = []
    for name in names:
        condition, colon, operation = name.partition(":")
        if condition == Condition.DEGRADED and colon:
            degradations.append(Degradation.parse(operation))
        elif colon:
            raise WorkspaceError(
                f"no condition {name!r}; only degraded takes a colon, as in degraded:noise=0.1"
            )
        conditions.append(Condition.parse(condition))
    if len(set(degradations)) > 1:
        texts = " and ".join(str(each) for each in dict.fromkeys(degradations))
        raise WorkspaceError(
            f"a run has one degradation, not {texts}; ask each in its own run folder"
        )
    return list(dict.fromkeys(conditions)), degradations[0] if degradations else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """One presentation of an item to a model.

    Attributes:
        item: the item, with options and key in the order shown.
        condition: the evaluation condition.
        turn: number of positions by which the options are rotated.
        epoch: repetition, from 0.
        image: image shown, relative to the release. ``None`` in the blind condition, and for an
            item without an image.
        chain: id of the chain that the question belongs to; empty if none.
        step: its position in the chain, from 1; 0 if none.
    """

    item: BenchmarkItem
    condition: Condition
    turn: int = 0
    epoch: int = 0
    image: str | None = None
    chain: str = ""
    step: int = 0

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
    chains: Sequence[QuestionChain] = (),
) -> list[Presentation]:
    """Return all presentations of all items; those of one image are consecutive within a condition.

    An item whose cell has no other image has no ``image-swap`` presentation, and one without a
    counterpart in the other edition no ``reworded`` one.

    Args:
        items: items of the run.
        conditions: the conditions, in any order.
        epochs: repetitions of each presentation.
        reworded: items of the other edition by item name, from ``reworded.reworded_items``.
        chains: chains of the items, for ``chain``; the steps of each are consecutive.
    """
    requested_conditions = set(conditions)
    donors = _donors(items) if Condition.IMAGE_SWAP in requested_conditions else {}
    first_epoch = [
        presentation
        for condition in Condition
        if condition in requested_conditions and condition is not Condition.CHAIN
        for presentation in _of_condition(items, condition, donors, reworded)
    ]
    if Condition.CHAIN in requested_conditions:
        first_epoch += [
            Presentation(
                item=item, condition=Condition.CHAIN, image=item.image, chain=chain.id, step=step
            )
            for chain in chains
            for step, item in enumerate(chain.steps, start=1)
        ]
    return [
        replace(each, epoch=epoch) if epoch else each
        for epoch in range(epochs)
        for each in first_epoch
    ]


def rotate(item: BenchmarkItem, turn: int) -> BenchmarkItem:
    """Rotate option texts and key of an item by ``turn`` letters.

    An item without options has itself as its only rotation.
    """
    if turn == 0 or not item.options:
        return item
    letters = [letter for letter, _ in item.options]
    count = len(letters)
    if turn % count == 0:
        return item
    texts = [text for _, text in item.options]
    moved = tuple((letters[i], texts[(i - turn) % count]) for i in range(count))
    key = letters[(letters.index(item.key) + turn) % count]
    return replace(item, options=moved, key=key)


def _of_condition(
    items: Iterable[BenchmarkItem],
    condition: Condition,
    donors: Mapping[str, str],
    reworded: Mapping[str, BenchmarkItem],
) -> Iterator[Presentation]:
    """Yield the presentations of all items in one condition other than ``chain``."""
    if condition in _AS_THEY_ARE:
        for item in items:
            yield Presentation(item=item, condition=condition, image=item.image)
    else:
        for item in items:
            yield from _ways(item, condition, donors.get(item.name), reworded.get(item.name))


def _ways(
    item: BenchmarkItem, condition: Condition, donor: str | None, second: BenchmarkItem | None
) -> Iterator[Presentation]:
    if condition is Condition.BLIND:
        yield Presentation(item=item, condition=condition)
    elif condition is Condition.CIRCULAR:
        for turn in range(len(item.options) or 1):
            turned = rotate(item, turn)
            yield Presentation(item=turned, condition=condition, turn=turn, image=item.image)
    elif condition is Condition.IMAGE_SWAP:
        if donor is not None:
            yield Presentation(item=item, condition=condition, image=donor)
    elif second is not None:
        yield Presentation(item=second, condition=condition, image=item.image)


def _donors(items: Sequence[BenchmarkItem]) -> dict[str, str]:
    """Choose the swapped image of each item: an image of another item of its cell, by a hash.

    Images without a question that has the same correct answer are preferred: then a reply that is
    still correct did not need the image.
    """
    voxels: dict[tuple[str, str, str], list[BenchmarkItem]] = {}
    for item in items:
        if item.image is not None:
            voxels.setdefault((item.task, item.modality, item.parts), []).append(item)
    donors = {}
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
                donors[item.name] = pool[int.from_bytes(digest[:8]) % len(pool)]
    return donors

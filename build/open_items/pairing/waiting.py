"""Queue of the questions of one role: access to the next questions and images in log n.

Questions with equal images wait behind each other: a partner that is incompatible with one of them
is incompatible with all, and all of them are equally similar to any image.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from medrcube.build.open_items.question import OpenQuestion

__all__ = ["Waiting"]


class Waiting:
    """Questions of one role in random order.

    Args:
        questions: in that order.
    """

    def __init__(self, questions: Sequence[OpenQuestion]) -> None:
        self._queues: dict[str, deque[tuple[int, OpenQuestion]]] = {}
        for place, question in enumerate(questions):
            image = question.sample.pixel_sha256
            self._queues.setdefault(image, deque()).append((place, question))
        self._heads = [(queue[0][0], image) for image, queue in self._queues.items()]
        heapify(self._heads)
        self._count = len(questions)

    def __len__(self) -> int:
        return self._count

    def first(self, most: int) -> list[OpenQuestion]:
        """Return the first question of each image, for at most ``most`` images."""
        heads: list[tuple[int, str]] = []
        while self._heads and len(heads) < most:
            place, image = heappop(self._heads)
            queue = self._queues[image]
            if queue and queue[0][0] == place:  # not taken in the meantime
                heads.append((place, image))
        for head in heads:
            heappush(self._heads, head)
        return [self._queues[image][0][1] for _, image in heads]

    def take(self, question: OpenQuestion) -> None:
        """Remove one of the questions that ``first`` returned.

        Raises:
            ValueError: the question is not the first of its image.
        """
        image = question.sample.pixel_sha256
        queue = self._queues[image]
        if not queue or queue[0][1] is not question:
            raise ValueError("the question is not the first of its image; take what first() told")
        queue.popleft()
        if queue:
            heappush(self._heads, (queue[0][0], image))
        self._count -= 1

"""Pairs of questions on one image as columns, and their sums by unit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from medrcube.taxonomy import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["COLUMNS", "CrossPair", "PairColumns"]

COLUMNS = 6
"""Sums of a unit: the groups A to D, and by chance right high and low questions."""

_Name = TypeVar("_Name", bound=Hashable)


class CrossPair(NamedTuple):
    """A high-tier question and another one on the same image.

    Attributes:
        picture: digest of the image.
        unit: patient or case; the image if neither is known.
        high_task: task of the high question.
        low_task: task of the other question.
        high: whether the high question is answered correctly.
        low: whether the other question is answered correctly.
        high_chance: chance accuracy of the high question.
        low_chance: the same for the other.
    """

    picture: str
    unit: str
    high_task: Task
    low_task: Task
    high: bool
    low: bool
    high_chance: float
    low_chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairColumns:
    """One row per pair.

    Attributes:
        pictures: index of the image.
        units: index of the unit.
        high_tasks: index of the task of the high question.
        low_tasks: index of the task of the other question.
        groups: 0 to 3 for the groups A to D.
        high_chances: chance accuracy of the high question.
        low_chances: the same for the other.
    """

    pictures: NDArray[np.int64]
    units: NDArray[np.int64]
    high_tasks: NDArray[np.int64]
    low_tasks: NDArray[np.int64]
    groups: NDArray[np.int64]
    high_chances: NDArray[np.float64]
    low_chances: NDArray[np.float64]

    @classmethod
    def of(cls, pairs: Sequence[CrossPair], tasks: Sequence[Task]) -> PairColumns:
        """Return the columns of some pairs; indices of tasks are those in ``tasks``."""
        import numpy as np  # noqa: PLC0415 - an import that only scoring pays

        def indices(names: Iterable[_Name], known_names: Iterable[_Name] = ()) -> NDArray[np.int64]:
            places = {name: place for place, name in enumerate(known_names)}
            return np.array(
                [places.setdefault(name, len(places)) for name in names], dtype=np.int64
            )

        def numbers(value: Callable[[CrossPair], float]) -> NDArray[np.float64]:
            return np.array([value(pair) for pair in pairs], dtype=np.float64)

        high = np.array([pair.high for pair in pairs], dtype=bool)
        low = np.array([pair.low for pair in pairs], dtype=bool)
        return cls(
            pictures=indices(pair.picture for pair in pairs),
            units=indices(pair.unit for pair in pairs),
            high_tasks=indices((pair.high_task for pair in pairs), tasks),
            low_tasks=indices((pair.low_task for pair in pairs), tasks),
            groups=np.where(low, np.where(high, 0, 1), np.where(high, 3, 2)),
            high_chances=numbers(lambda pair: pair.high_chance),
            low_chances=numbers(lambda pair: pair.low_chance),
        )

    def __len__(self) -> int:
        return len(self.groups)

    def take(self, mask: NDArray[np.bool_]) -> PairColumns:
        """Return the pairs where ``mask``, of shape (pairs,), is true."""
        return PairColumns(
            **{column.name: getattr(self, column.name)[mask] for column in fields(self)}
        )

    def group_counts(self) -> list[int]:
        """Return the number of pairs in each of the groups A to D."""
        import numpy as np  # noqa: PLC0415

        counts: list[int] = np.bincount(self.groups, minlength=4).tolist()
        return counts

    def images(self) -> int:
        """Return the number of images."""
        import numpy as np  # noqa: PLC0415

        return len(np.unique(self.pictures))

    def sums_by_unit(self, *, by_image: bool) -> NDArray[np.float64]:
        """Return the sums of each unit, in the order of their first pairs.

        Args:
            by_image: count each image once, whatever its number of pairs.

        Returns:
            Array of shape (units, ``COLUMNS``): weighted numbers of pairs in the groups A to D;
            expected right high questions of the pairs with a wrong low one; expected right low
            questions of the pairs with a right high one.
        """
        import numpy as np  # noqa: PLC0415

        weights = np.ones(len(self))
        if by_image:
            _, places, sizes = np.unique(self.pictures, return_inverse=True, return_counts=True)
            weights = 1 / sizes[places]
        _, first, places = np.unique(self.units, return_index=True, return_inverse=True)
        order = np.argsort(first)

        def summed(values: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
            # Adds up in the order of the pairs, so that sums of fractions are reproducible.
            sums = np.bincount(places[mask], weights=values[mask], minlength=len(first))
            return np.asarray(sums[order], dtype=np.float64)

        in_group = [self.groups == group for group in range(4)]
        return np.stack(
            [
                *(summed(weights, mask) for mask in in_group),
                summed(weights * self.high_chances, in_group[2] | in_group[3]),
                summed(weights * self.low_chances, in_group[0] | in_group[3]),
            ],
            axis=1,
        )

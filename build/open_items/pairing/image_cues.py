"""Image cues: what distinguishes the two images of a pair without looking at the finding.

If the images with a finding are mostly darker, or compress to mostly smaller files, a model may
learn that in place of the finding (``pair-split`` of the audit).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from medrcube.build.stages.samples import Sample

__all__ = ["CueBalance"]

_LIMIT = 1.5
"""Standard deviations by which the pairs of a source may differ in one direction, times the square
root of their number: about what chance produces.
"""

_Cues = NDArray[np.float64]


class CueBalance:
    """Sum of the cue differences of each source's pairs so far, and the effect of adding one.

    Cues are the logarithms of width, height and file size, and the mean grey value, each in
    standard deviations of the images of its source.

    Args:
        samples: all images that may be paired.
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._cues: dict[str, _Cues] = {}
        self._sums: dict[str, _Cues] = {}
        self._pairs: Counter[str] = Counter()
        by_source: dict[str, dict[str, _Cues]] = {}
        for sample in samples:
            by_source.setdefault(sample.source, {})[sample.id] = _cues_of(sample)
        for own in by_source.values():
            table = np.array(list(own.values()))
            spread = table.std(axis=0)
            scaled = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
            self._cues.update(zip(own, scaled, strict=True))

    def cost(self, first: Sample, second: Sample) -> float:
        """Return how far two images differ, and how far their source would then be biased.

        Infinite if the cues would then distinguish the members; the first pair of a source is
        always allowed.
        """
        apart, total = self._apart(first, second), self._total(first, second)
        pairs = self._pairs[first.source]
        if pairs and np.abs(total).max() > _LIMIT * math.sqrt(pairs + 1):
            return math.inf
        return float(apart @ apart + total @ total)

    def add(self, first: Sample, second: Sample) -> None:
        """Count a pair, its members in the order of their roles."""
        self._sums[first.source] = self._total(first, second)
        self._pairs[first.source] += 1

    def _total(self, first: Sample, second: Sample) -> _Cues:
        return self._sums.get(first.source, 0.0) + self._apart(first, second)

    def _apart(self, first: Sample, second: Sample) -> _Cues:
        return self._cues[first.id] - self._cues[second.id]


def _cues_of(sample: Sample) -> _Cues:
    sizes = (sample.width, sample.height, max(sample.file_bytes, 1))
    return np.array([*(math.log(max(size, 1)) for size in sizes), sample.grey])

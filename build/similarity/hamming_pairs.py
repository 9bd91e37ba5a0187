"""All pairs of 64-bit hashes within a Hamming distance (multi-index hashing).

The bits are divided into ``distance + 3`` bands. Two hashes that differ in at most ``distance``
bits agree in at least three bands (pigeonhole principle); one table for each three bands, sorted by
their bits, brings all such pairs together (Manku, Jain and Sarma, "Detecting near-duplicates for
web crawling", 2007, doi 10.1145/1242572.1242592). Three bands, not one, because medical images look
alike: their low bits repeat, and a short key would put many of them into one bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pairs", "pairs_within"]

BITS = 64
_AGREE = 3
_AT_ONCE = 1 << 20
"""Most candidates examined at once, 16 MB."""

Hashes = NDArray[np.uint64]
Pairs = NDArray[np.int64]


def pairs_within(hashes: Hashes, distance: int) -> Iterator[Pairs]:
    """Yield every pair of hashes that differ in at most ``distance`` bits, each once.

    Args:
        hashes: (n,).
        distance: largest number of bits, 0 to 20.

    Yields:
        (k, 3): indices of both hashes, the smaller first, and the distance. Chunks are yielded as
        they are found, in an order determined by the hashes.

    Raises:
        ValueError: the distance is out of range.
    """
    if not 0 <= distance <= 20:
        raise ValueError(f"distance {distance}, expected 0 to 20 of {BITS} bits")
    masks = _bands(distance + _AGREE)
    for bands in combinations(range(len(masks)), _AGREE):
        key = hashes & np.bitwise_or.reduce(masks[list(bands)])
        for first, second in _alike(key):
            differing = hashes[first] ^ hashes[second]
            bits = np.bitwise_count(differing)
            near = bits <= distance
            # Found in several tables: reported only in the first of them.
            for band in range(bands[-1]):
                if band not in bands:
                    near &= (differing & masks[band]) != 0
            if near.any():
                pair = np.sort(np.stack([first[near], second[near]], axis=1), axis=1)
                yield np.column_stack([pair, bits[near].astype(np.int64)])


def _bands(number: int) -> Hashes:
    """Return masks that partition all bits, adjacent ones into different bands: they correlate."""
    return np.array(
        [sum(1 << bit for bit in range(band, BITS, number)) for band in range(number)], np.uint64
    )


def _alike(keys: Hashes) -> Iterator[tuple[Pairs, Pairs]]:
    """Yield the indices of all pairs of equal keys, in chunks."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], np.True_)) + 1
    end = np.repeat(ends, np.diff(ends, prepend=0))
    starts = np.flatnonzero(end - np.arange(len(keys)) > 1)
    waiting: list[tuple[Pairs, Pairs]] = []
    size = step = 0
    while len(starts):
        step += 1
        starts = starts[starts + step < end[starts]]
        waiting.append((order[starts], order[starts + step]))
        size += len(starts)
        if size >= _AT_ONCE or not len(starts):
            yield _joined(waiting)
            waiting, size = [], 0


def _joined(parts: list[tuple[Pairs, Pairs]]) -> tuple[Pairs, Pairs]:
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])

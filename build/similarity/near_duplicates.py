"""Exact and near-duplicate images across patients and sources.

Candidates come from the stored hashes; only images with near hashes are read. Only clean images are
compared, since marks do not make a different image. Images of one case are not compared with each
other: adjacent slices are similar by nature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from medrcube.build.audit.batch_audit import duplicate_pictures
from medrcube.build.similarity.hamming_pairs import Pairs, pairs_within
from medrcube.build.similarity.thresholds import (
    LIKENESS,
    likeness,
    map_in_processes,
    read_small,
)
from medrcube.build.stages.samples import Sample
from medrcube.perceptual_hash import MAX_DISTANCE, SIDE, Thumbnail

__all__ = [
    "LISTED",
    "Duplicates",
    "NearDuplicate",
    "clean_pictures",
    "find_duplicates",
    "near_candidates",
    "relation",
]

Relation = Literal["other source", "other patient", "patient not known", "same patient"]

MOST_COMPARED = 200_000
"""Most pairs that are registered and compared; if there are more, the audit says so."""
LISTED = 200
"""Most pairs that the audit lists."""

_WORST: tuple[Relation, ...] = (
    "other source",
    "other patient",
    "patient not known",
    "same patient",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicate:
    """Two images of different cases that look the same but are not equal.

    Attributes:
        distance: number of bits in which their hashes differ.
        likeness: correlation after registration.
        relation: relation between the two images.
        pictures: the two images.
    """

    distance: int
    likeness: float
    relation: Relation
    pictures: tuple[Sample, Sample]

    def as_dict(self) -> dict[str, Any]:
        """Return the pair for ``audit.json``."""
        return {
            "distance": self.distance,
            "likeness": round(self.likeness, 4),
            "relation": self.relation,
            "cases": [f"{picture.source}/{picture.case}" for picture in self.pictures],
            "pixel_sha256": [picture.pixel_sha256 for picture in self.pictures],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """All duplicates found.

    Attributes:
        exact: groups of equal images, as returned by ``batch_audit.duplicate_pictures``.
        near: near-duplicate pairs, most important first.
        compared: number of distinct images compared.
        candidates: number of pairs with near hashes, before registration.
        all_compared: false if there were more candidates than ``MOST_COMPARED``.
    """

    exact: list[dict[str, Any]]
    near: tuple[NearDuplicate, ...]
    compared: int
    candidates: int
    all_compared: bool

    def as_dict(self) -> dict[str, Any]:
        """Return counts, and the first pairs, for ``audit.json``."""
        relations = Counter(pair.relation for pair in self.near)
        return {
            "compared": self.compared,
            "exact": {
                "groups": len(self.exact),
                "cases": sum(len(row["cases"]) for row in self.exact),
                "across_sources": sum(row["sources"] > 1 for row in self.exact),
                "across_patients": sum(row["patients"] > 1 for row in self.exact),
            },
            "near": {
                "distance": MAX_DISTANCE,
                "likeness": LIKENESS,
                "candidates": self.candidates,
                "all_compared": self.all_compared,
                "pairs": len(self.near),
                "pictures": len(
                    {picture.pixel_sha256 for pair in self.near for picture in pair.pictures}
                ),
                "by_relation": {name: relations[name] for name in _WORST},
                "listed": [pair.as_dict() for pair in self.near[:LISTED]],
            },
        }


def clean_pictures(samples: Iterable[Sample], used: Iterable[Sample]) -> list[Sample]:
    """Return the clean image behind every image of ``used``, each once, in a fixed order."""
    views = {_view(sample) for sample in used}
    clean = [sample for sample in samples if sample.artefact == "clean" and _view(sample) in views]
    return sorted(clean, key=lambda sample: (sample.source, sample.case, sample.id))


def find_duplicates(clean: Sequence[Sample], root: Path, workers: int = 1) -> Duplicates:
    """Compare clean images.

    Args:
        clean: the images, in a fixed order.
        root: folder that ``Sample.image`` is relative to.
        workers: processes that read images.

    Raises:
        ReleaseError: an image that has to be read is missing or damaged.
    """
    first: dict[str, Sample] = {}
    for sample in clean:
        first.setdefault(sample.pixel_sha256, sample)
    different = list(first.values())
    candidates, whole = near_candidates(different)
    places, pairs = np.unique(candidates[:, :2], return_inverse=True)
    small = _read([root / different[place].image for place in places], workers)
    alike = likeness(small, pairs.reshape(-1, 2))
    near = [
        NearDuplicate(
            distance=int(distance),
            likeness=float(value),
            relation=relation(different[index], different[second_index]),
            pictures=(different[index], different[second_index]),
        )
        for (index, second_index, distance), value in zip(candidates, alike, strict=True)
        if value >= LIKENESS
    ]
    return Duplicates(
        exact=duplicate_pictures(clean),
        near=tuple(sorted(near, key=_rank)),
        compared=len(different),
        candidates=len(candidates),
        all_compared=whole,
    )


def near_candidates(pictures: Sequence[Sample]) -> tuple[Pairs, bool]:
    """Return pairs of images of different cases with near hashes, and whether these are all.

    Equal hashes are grouped first, so that many equal ones do not slow down the index. At most
    ``MOST_COMPARED`` pairs are held in memory.

    Returns:
        (k, 3): indices of both, the smaller first, and the distance in bits; and false if there are
        more.
    """
    image_hashes = np.array([int(picture.perceptual_hash, 16) for picture in pictures], np.uint64)
    hashes, place = np.unique(image_hashes, return_inverse=True)
    order = np.argsort(place, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(place, minlength=len(hashes)))[:-1])
    case = np.unique(
        [f"{picture.source}/{picture.case}" for picture in pictures], return_inverse=True
    )[1]
    pieces: list[NDArray[np.int64]] = []
    room = MOST_COMPARED
    for first, second, distance in _near_hashes(hashes, groups):
        members = _pairs_apart(groups[first], groups[second], case)
        pairs = [(*pair, distance) for pair in islice(members, room + 1)]
        pieces.append(np.array(pairs[:room], np.int64).reshape(-1, 3))
        room -= len(pairs)
        if room < 0:
            return np.concatenate(pieces), False
    return np.concatenate(pieces) if pieces else np.zeros((0, 3), np.int64), True


def relation(first: Sample, second: Sample) -> Relation:
    """Return the relation between two images of different cases."""
    if first.source != second.source:
        return "other source"
    if not (first.patient and second.patient):
        return "patient not known"
    return "same patient" if first.patient == second.patient else "other patient"


def _read(paths: Iterable[Path], workers: int) -> Thumbnail:
    """Read images as (n, 32, 32), in several processes if there are many."""
    return np.array(map_in_processes(read_small, paths, workers), np.uint8).reshape(-1, SIDE, SIDE)


def _pairs_apart(
    group: NDArray[np.int64], other: NDArray[np.int64], case: NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Yield pairs of different cases, from two groups or, given the same one twice, within it."""
    apart: dict[int, NDArray[np.int64]] = {}
    for place in group.tolist():
        own = int(case[place])
        if own not in apart:
            apart[own] = other[case[other] != own]
        rest = apart[own]
        if group is other:
            rest = rest[np.searchsorted(rest, place) :]
        for second in rest.tolist():
            yield min(place, second), max(place, second)


def _near_hashes(
    hashes: NDArray[np.uint64], groups: Sequence[NDArray[np.int64]]
) -> Iterable[tuple[int, int, int]]:
    """Yield index pairs into ``hashes``, including equal ones if several images have the hash."""
    yield from ((at, at, 0) for at, members in enumerate(groups) if len(members) > 1)
    for piece in pairs_within(hashes, MAX_DISTANCE):
        yield from ((first, second, bits) for first, second, bits in piece.tolist())


def _view(sample: Sample) -> tuple[str, str, str]:
    return (sample.source, sample.case, sample.frames)


def _rank(pair: NearDuplicate) -> tuple[int, int, float, list[tuple[str, str, str]]]:
    names = [(picture.source, picture.case, picture.id) for picture in pair.pictures]
    return (_WORST.index(pair.relation), pair.distance, -pair.likeness, names)

"""Pair split: whether size, brightness or a stated field reveals the "yes" image of a pair.

Both images of a pair have the same question, and one of them is the "yes". If size, brightness,
file size or a field that the source states reveals which, a model may learn that in place of the
finding. A conditional logit is fitted on the pairs of other patients and tested on each pair in
turn; chance is one half.

If one image of a pair cannot show what is asked, a reader has to look at its grey values. For these
pairs only the size of the images is judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from statistics import fmean, pstdev

from medrcube.build.audit.leakage.conditional_logit import (
    LogitQuestion,
    QuestionSet,
    cross_validate_each,
)
from medrcube.build.audit.leakage.leakage_tests import groups_of, score_against_chance
from medrcube.build.audit.shortcuts.shortcut_baselines import Row
from medrcube.build.open_items.table import OpenItem
from medrcube.build.stages.samples import Sample

__all__ = ["ALL_CUES", "CUES", "pair_size", "pair_split"]

ALL_CUES = "all of these"
SIZE = "image size"
YES, HIDDEN = "yes", "hidden"

_Features = dict[Hashable, float]
_Cue = Callable[[Sample], float | str]

CUES: Mapping[str, tuple[_Cue, ...]] = {
    SIZE: (
        lambda sample: math.log(sample.width),
        lambda sample: math.log(sample.height),
        lambda sample: math.log(sample.width / sample.height),
    ),
    "mean grey": (lambda sample: sample.grey,),
    "file size": (lambda sample: math.log(max(sample.file_bytes, 1)),),
    "source fields": (
        lambda sample: sample.split,
        lambda sample: sample.licence,
        lambda sample: sample.graphics,
        lambda sample: str(sample.colour),
    ),
}
"""Cues, tested one by one and then together: numbers, and texts that are compared for equality."""


def pair_split(items: Sequence[OpenItem], samples: Iterable[Sample]) -> list[Row]:
    """Score of a reader who finds the "yes" of each pair by a cue, for each task.

    Args:
        items: members of pairs; items without a pair or partner are left out.
        samples: all images.

    Returns:
        For each task a row with all cues, the only one that is judged, and one for each cue:
            ``task``, ``cue``, ``n`` pairs and the figures of
            ``leakage_tests.score_against_chance``. Empty if all pairs share a patient.
    """
    return _split(items, samples, role=YES, cues=(ALL_CUES, *CUES))


def pair_size(items: Sequence[OpenItem], samples: Iterable[Sample]) -> list[Row]:
    """Score of a reader who finds by size which image of each pair hides the answer.

    Args:
        items: see ``pair_split``.
        samples: all images.

    Returns:
        One row for each task, with the keys of ``pair_split``.
    """
    return _split(items, samples, role=HIDDEN, cues=(SIZE,))


def _split(
    items: Iterable[OpenItem], samples: Iterable[Sample], *, role: str, cues: Sequence[str]
) -> list[Row]:
    """Return the rows of the tasks that have pairs; the first cue is judged."""
    images = {sample.id: sample for sample in samples}
    tasks: dict[str, list[OpenItem]] = {}
    for item in sorted(items, key=lambda item: item.id):
        if item.set and item.sample in images:
            tasks.setdefault(item.task, []).append(item)
    return [
        row
        for task, members in sorted(tasks.items())
        for row in _rows(task, _pairs(members, role), images, role, cues)
    ]


def _rows(
    task: str,
    pairs: Sequence[tuple[OpenItem, OpenItem]],
    images: Mapping[str, Sample],
    role: str,
    names: Sequence[str],
) -> Iterable[Row]:
    if len(pairs) < 2:
        return
    groups = _groups(pairs, images)
    sets = (QuestionSet(_questions(pairs, images, role, name), groups) for name in names)
    for name, hits in zip(names, cross_validate_each(sets), strict=True):
        if hits is None:
            continue
        figures = score_against_chance(
            [(hit, 0.5, group) for hit, group in zip(hits, groups, strict=True)]
        )
        judged = {} if name == names[0] else {"within": None}
        yield {"task": task, "cue": name, **figures, **judged}


def _questions(
    pairs: Sequence[tuple[OpenItem, OpenItem]], images: Mapping[str, Sample], role: str, name: str
) -> list[LogitQuestion]:
    cues = [cue for own in CUES.values() for cue in own] if name == ALL_CUES else CUES[name]
    features = _features(
        [image for pair in pairs for image in _displayed_samples(pair, images)], cues
    )
    return [
        LogitQuestion(
            options=[features[image.id] for image in _displayed_samples(pair, images)],
            key=[member.role for member in pair].index(role),
        )
        for pair in pairs
    ]


def _pairs(items: Iterable[OpenItem], role: str) -> list[tuple[OpenItem, OpenItem]]:
    """Return the pairs with one member of a role, ordered by sample, which is uninformative."""
    members: dict[str, list[OpenItem]] = {}
    for item in items:
        members.setdefault(item.set, []).append(item)
    whole = (sorted(own, key=lambda item: item.sample) for own in members.values())
    return [
        (own[0], own[1])
        for own in whole
        if len(own) == 2 and sum(item.role == role for item in own) == 1
    ]


def _displayed_samples(pair: Sequence[OpenItem], images: Mapping[str, Sample]) -> list[Sample]:
    return [images[item.sample] for item in pair]


def _features(images: Sequence[Sample], cues: Sequence[_Cue]) -> Mapping[str, _Features]:
    """Features of each image: numbers in standard deviations, overall and within its source."""
    features: dict[str, _Features] = {image.id: {} for image in images}
    for number, cue in enumerate(cues):
        by_source: dict[str, list[float]] = {}
        for image in images:
            value = cue(image)
            if isinstance(value, str):
                features[image.id][number, value] = 1.0
            else:
                by_source.setdefault(image.source, []).append(value)
        scales = {name: (fmean(own), pstdev(own) or 1.0) for name, own in by_source.items()}
        for image in images:
            value = cue(image)
            if not isinstance(value, str):
                mean, deviation = scales[image.source]
                score = (value - mean) / deviation
                features[image.id][number,] = score
                features[image.id][number, image.source] = score
    return features


def _groups(pairs: Sequence[tuple[OpenItem, OpenItem]], images: Mapping[str, Sample]) -> list[str]:
    """Group of each pair: pairs that share a patient or an image, directly or through others.

    Two sources may contain the same image; a model that has learnt it from one knows it in the
    other.
    """
    patients = groups_of((item for pair in pairs for item in pair), images.values())
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        while parents.setdefault(name, name) != name:
            name = parents[name]
        return name

    for first, second in pairs:
        samples = _displayed_samples((first, second), images)
        pixels = (f"pixels {image.pixel_sha256}" for image in samples)
        for name in (patients[second.id], *pixels):
            low, high = sorted((root(patients[first.id]), root(name)))
            parents[high] = low
    return [root(patients[item.id]) for item, _ in pairs]

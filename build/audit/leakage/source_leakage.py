"""Source leakage: accuracy from image properties that identify the dataset.

Datasets differ in image size, file size, brightness and colour, and each contains only some of the
answers, so a model that identifies the dataset scores above chance (Zech et al.,
doi:10.1371/journal.pmed.1002683; DeGrave et al., doi:10.1038/s42256-021-00338-7). If only one
source has an answer, this cannot be balanced away; it is measured and reported with the items.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from statistics import quantiles
from typing import Any

from medrcube.build.audit.leakage.conditional_logit import (
    LogitQuestion,
    QuestionSet,
    cross_validate_each,
)
from medrcube.build.audit.leakage.leakage_tests import groups_of, score_against_chance
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.samples import Sample

__all__ = ["ALL_CUES", "CUES", "source_leakage"]

BINS = 10
"""Bins with equal numbers of images for file size and mean grey."""
ALL_CUES = "all of these"

Cue = Callable[[Sample], Hashable]


def source_leakage(items: Sequence[ChoiceItem], samples: Sequence[Sample]) -> dict[str, Any]:
    """Score of a reader who knows a cue of the image and how often it occurs with each answer.

    The model is a conditional logit (``conditional_logit``) over pairs of a cue's value and an
    option, fitted in five folds that split no patient. Numbered boxes have no answer that a source
    could give away and are left out.

    Returns:
        ``cues``, rows with ``task``, ``cue`` and the figures of
        ``leakage_tests.score_against_chance``; and ``answers``, by task the number of ``keys``, of
        keys that only ``one_source`` has, of ``items`` with such a key, and of items ``within`` a
        source, all of whose options are keys of that source.
    """
    pictures = {sample.id: sample for sample in samples}
    tasks: dict[str, list[ChoiceItem]] = {}
    for item in sorted(items, key=lambda item: item.id):
        if item.sample in pictures and item.options[item.key].concept:
            tasks.setdefault(item.task, []).append(item)
    groups = groups_of([member for members in tasks.values() for member in members], samples)
    cues = _cues([pictures[member.sample] for members in tasks.values() for member in members])
    return {
        "cues": list(_rows(tasks, pictures, groups, cues)),
        "answers": {task: _answers(members) for task, members in sorted(tasks.items())},
    }


def _source(sample: Sample) -> Hashable:
    return sample.source


def _size(sample: Sample) -> Hashable:
    return (sample.width, sample.height)


def _colour(sample: Sample) -> Hashable:
    return sample.colour


CUES = ("source", "picture size", "file size", "mean grey", "colour")
"""Cues, tested one by one and then together."""


def _cues(pictures: Sequence[Sample]) -> Mapping[str, Cue]:
    """Return cues by name; continuous ones are binned over these images."""
    bytes_of = _steps([sample.file_bytes for sample in pictures])
    grey_of = _steps([sample.grey for sample in pictures])
    cues: tuple[Cue, ...] = (
        _source,
        _size,
        lambda sample: bytes_of(sample.file_bytes),
        lambda sample: grey_of(sample.grey),
        _colour,
    )
    return dict(zip(CUES, cues, strict=True))


def _steps(values: Sequence[float]) -> Callable[[float], int]:
    cuts = quantiles(values, n=BINS) if len(values) > 1 else []
    return lambda value: bisect(cuts, value)


def _rows(
    tasks: Mapping[str, Sequence[ChoiceItem]],
    pictures: Mapping[str, Sample],
    groups: Mapping[str, str],
    cues: Mapping[str, Cue],
) -> Iterator[dict[str, Any]]:
    names = [
        (task, name, cues if name == ALL_CUES else {name: cues[name]})
        for task in sorted(tasks)
        for name in (*cues, ALL_CUES)
    ]
    own = {task: [groups[item.id] for item in items] for task, items in tasks.items()}
    sets = (
        QuestionSet(_questions(tasks[task], pictures, used), own[task]) for task, _, used in names
    )
    for (task, name, _), hits in zip(names, cross_validate_each(sets), strict=True):
        if hits is not None:
            chances = [1 / len(item.options) for item in tasks[task]]
            figures = score_against_chance(list(zip(hits, chances, own[task], strict=True)))
            yield {"task": task, "cue": name, **figures}


def _questions(
    items: Sequence[ChoiceItem], pictures: Mapping[str, Sample], cues: Mapping[str, Cue]
) -> list[LogitQuestion]:
    return [
        LogitQuestion(
            options=[
                {(option.concept,): 1.0}
                | {
                    (cue, of(pictures[item.sample]), option.concept): 1.0
                    for cue, of in cues.items()
                }
                for option in item.options
            ],
            key=item.key,
        )
        for item in items
    ]


def _answers(items: Sequence[ChoiceItem]) -> dict[str, int]:
    sources: dict[str, set[str]] = {}
    for item in items:
        sources.setdefault(item.options[item.key].concept, set()).add(item.source)
    single = {key for key, names in sources.items() if len(names) == 1}
    keyed = Counter(item.options[item.key].concept for item in items)
    return {
        "keys": len(sources),
        "one_source": len(single),
        "items": sum(keyed[key] for key in single),
        "within": sum(
            all(item.source in sources.get(option.concept, ()) for option in item.options)
            for item in items
        ),
    }

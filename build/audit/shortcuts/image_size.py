"""Image size as a cue: a reader who knows the image sizes of a source for each answer.

Slices of a volume have the dimensions of its grid, which differ from plane to plane: 176 x 208
voxels axially and 176 x 176 coronally in OASIS-1, for example. The size then reveals the plane.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from medrcube.build.audit.leakage.conditional_logit import folds
from medrcube.build.audit.leakage.leakage_tests import groups_of, score_against_chance
from medrcube.build.audit.shortcuts.shortcut_baselines import Row
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.samples import Sample

__all__ = ["image_size"]

_FOLDS = 5
_PATIENTS = 3
"""Fewest patients of a source that is compared."""
_SE = 3.0

Cue = Callable[[ChoiceItem], Hashable]


def image_size(items: Iterable[ChoiceItem], samples: Iterable[Sample]) -> list[Row]:
    """Score of naming the most frequent key among images of the same size, by task and source.

    Keys are counted in the other folds, which split no patient. ``chance`` is the score of the same
    reader without the size, or 1 / options if that is more: a source with a single answer gives
    nothing away by its sizes.
    """
    pictures = {sample.id: sample for sample in samples}
    cells: dict[tuple[str, str], list[ChoiceItem]] = defaultdict(list)
    for item in items:
        if item.sample in pictures and item.options[item.key].concept:
            cells[item.task, item.source].append(item)
    groups = groups_of([item for cell in cells.values() for item in cell], pictures.values())
    rows = []
    for (task, source), cell in sorted(cells.items()):
        if len({groups[item.id] for item in cell}) < _PATIENTS:
            continue
        hits = _hits(cell, groups, lambda item: _size(pictures[item.sample]))
        blind = _hits(cell, groups, lambda _: None)
        lots = [1 / len(item.options) for item in cell]
        chances = blind if sum(blind) > sum(lots) else lots
        answers = zip(hits, chances, (groups[item.id] for item in cell), strict=True)
        row = score_against_chance(list(answers))
        threshold = row["chance"] + _SE * row["se"]
        judged = {"least": 0.0, "threshold": threshold, "within": row["accuracy"] <= threshold}
        rows.append({"task": f"{task}, {source}", "cue": "image size", **row, **judged})
    return rows


def _size(sample: Sample) -> Hashable:
    return sample.width, sample.height


def _hits(items: Sequence[ChoiceItem], groups: Mapping[str, str], cue: Cue) -> list[float]:
    """Share of each key among the options that are most often keys with the same cue."""
    fold_of = folds((groups[item.id] for item in items), _FOLDS)
    counts: dict[tuple[int, Hashable], Counter[str]] = defaultdict(Counter)
    totals: dict[Hashable, Counter[str]] = defaultdict(Counter)
    for item in items:
        key = item.options[item.key].concept
        counts[fold_of[groups[item.id]], cue(item)][key] += 1
        totals[cue(item)][key] += 1
    hits = []
    for item in items:
        total, own = totals[cue(item)], counts[fold_of[groups[item.id]], cue(item)]
        others = [total[option.concept] - own[option.concept] for option in item.options]
        largest = [index for index, number in enumerate(others) if number == max(others)]
        hits.append((item.key in largest) / len(largest))
    return hits

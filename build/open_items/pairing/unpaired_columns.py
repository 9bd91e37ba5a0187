"""Counts questions of pair tasks that can find no partner, on columns.

A task whose questions come in pairs asks nothing of a source that only states findings and denies
none. Such sources may be the largest, so no records are created for their questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.asked_columns import AskedTable
from medrcube.build.open_items.pairing.contrast import CONTRASTS
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.stages.sample_codes import Codes, codes_of, in_several, paired
from medrcube.facts import Grade, Visibility

__all__ = ["NOT_VISIBLE", "PLAIN", "UNPAIRED", "split_unpaired"]

NOT_VISIBLE = "not-visible"
PLAIN = "another image that denies it shows more"
UNPAIRED = "no partner with another answer"
"""Reasons under which questions that are not asked are counted."""


def split_unpaired(
    table: AskedTable[OpenQuestion], evidence: Grade, least_visible: Visibility
) -> tuple[list[OpenQuestion], Counter[str]]:
    """Separate the questions that may be asked from those of tasks and sources without any pair.

    This is conservative: a source is counted here only if no two of its questions could form a
    pair, no image is shared by two cases, and nothing is asked twice about one image.

    Returns:
        The questions to draw from, and ``task: reason`` -> number of the others.
    """
    if not len(table):
        return [], Counter()
    codes = codes_of(table.samples)
    rows = table.row.astype(np.int64)
    task, concept, stratum, role, field = (
        _column(table, name) for name in ("task", "concept", "stratum", "role", "field")
    )
    thing = _numbers(zip(task, concept, strict=True))[table.kind]
    cell = _numbers(zip(task, concept, stratum, strict=True))
    in_sets = np.array([word.declaration.sets != "none" for word in task], np.bool_)
    may_pair = in_several(cell, _numbers(role))
    repeated = in_several(paired(codes.pixels[rows], thing), codes.cases[rows])
    fact = _numbers(zip(task, field, concept, stratum, strict=True))[table.kind]
    twice = _repeated(paired(rows, fact))
    open_rows = ~in_sets[table.kind] | may_pair[table.kind] | repeated | twice
    group = paired(codes.sources[rows], _numbers(task)[table.kind])
    keep = np.zeros(int(group.max()) + 1, np.bool_)
    keep[group[open_rows]] = True
    questions = table.at(np.flatnonzero(keep[group]))
    alone = np.flatnonzero(~keep[group])
    sources = codes.sources[rows[alone]]
    return questions, _counted(table, sources, table.kind[alone], evidence, least_visible)


def _counted(
    table: AskedTable[OpenQuestion],
    sources: Codes,
    kinds: NDArray[Any],
    evidence: Grade,
    least_visible: Visibility,
) -> Counter[str]:
    """Count why questions without a partner are not asked."""
    dropped: Counter[str] = Counter()
    _, where, counts = np.unique(
        paired(sources, kinds.astype(np.int64)), return_index=True, return_counts=True
    )
    pairs = zip(sources[where].tolist(), kinds[where].tolist(), strict=True)
    admitted: list[tuple[tuple[int, str, str], str, int]] = []
    best: dict[tuple[int, str, str], int] = {}
    for (source, kind), count in zip(pairs, counts.tolist(), strict=True):
        values = dict(zip(table.names, table.kinds[kind], strict=True))
        task, contrast = values["task"], values["contrast"]
        if values["visible"] < least_visible:
            dropped[f"{task}: {NOT_VISIBLE}"] += count
        elif values["grade"] > evidence:
            dropped[f"{task}: evidence-{values['grade']}"] += count
        else:
            place = (source, str(task), values["concept"])
            admitted.append((place, contrast, count))
            if contrast:
                rank = CONTRASTS.index(contrast)
                best[place] = min(rank, best.get(place, rank))
    for place, contrast, count in admitted:
        plain = contrast and CONTRASTS.index(contrast) > best[place]
        dropped[f"{place[1]}: {PLAIN if plain else UNPAIRED}"] += count
    return dropped


def _column(table: AskedTable[OpenQuestion], name: str) -> Sequence[Any]:
    """Return an attribute of each kind of question."""
    place = table.names.index(name)
    return [kind[place] for kind in table.kinds]


def _numbers(values: Iterable[Any]) -> Codes:
    """Encode values as numbers; equal values get equal numbers."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


def _repeated(numbers: Codes) -> NDArray[np.bool_]:
    """Mask of the numbers that occur more than once."""
    _, which, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return np.asarray(counts[which] > 1)

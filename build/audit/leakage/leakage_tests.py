"""Leakage tests: accuracy of models that see the options or the question, but no image.

A model that sees only the options beats chance in 11 of 12 published pairs of dataset and model
(arXiv 2402.12483). Each rule trains such a model and reports its accuracy, the chance level of the
batch (mean of 1 / options) and a standard error. Accuracy far below chance leaks as much as
accuracy above it, since it can be inverted. A broken rule makes no single item wrong, so it is a
warning: shown, recorded in ``audit.json``, and never a reason to prevent a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from medrcube.build.audit.leakage.conditional_logit import (
    LogitQuestion,
    QuestionSet,
    cross_validate_each,
)
from medrcube.build.audit.leakage.leakage_features import (
    Features,
    option_features,
    wording_features,
)
from medrcube.build.open_items.table import OpenItem
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.samples import Sample

__all__ = ["ALL", "groups_of", "options_only", "score_against_chance", "text_only"]

ALL = "all tasks"

MANY_GROUPS = 30
"""Fewest patients for which a score far below chance is judged: with few, the held-out patients
have just the answers that the others lack.
"""


def options_only(items: Iterable[ChoiceItem], samples: Iterable[Sample]) -> list[dict[str, Any]]:
    """Score of a reader of the options alone, for each task and for all of them.

    The reader is a conditional logit (``conditional_logit``) over the features of
    ``leakage_features``. It is fitted in five folds that keep items of one set of options together
    (``ChoiceItem.block``), without the patients, cases and equal images of the fold it answers.
    Numbered boxes have no names to read; ``box_geometry`` tests their numbers and positions.

    Returns:
        Rows with ``task``, ``n`` items, ``groups`` (patients), ``accuracy``, ``chance``, ``se``,
        ``least`` (chance - 4 se, or 0 with few groups), ``threshold`` (chance + 2 se) and
        ``within``, whether accuracy lies between them. The standard error is the larger of that of
        independent items and that of whole groups, since items of a patient are correlated. All but
        the counts and chance are ``None`` if all items are in one group. The target of a batch is
        chance; the bounds only allow for sampling error.
    """
    return _scores(items, samples, option_features)


def text_only(items: Iterable[ChoiceItem], samples: Iterable[Sample]) -> list[dict[str, Any]]:
    """The same for a reader of the question, who knows which labels its words occurred with."""
    return _scores(items, samples, wording_features)


def groups_of(items: Iterable[ChoiceItem | OpenItem], samples: Iterable[Sample]) -> dict[str, str]:
    """Return item id -> group: items of one patient, one case or equal images share a group."""
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        while parents.setdefault(name, name) != name:
            parents[name] = parents[parents[name]]
            name = parents[name]
        return name

    cases: dict[str, str] = {}
    for sample in samples:
        case = cases[sample.id] = f"case {sample.source} {sample.case}"
        others = {
            f"picture {sample.pixel_sha256}": sample.pixel_sha256,
            f"patient {sample.source} {sample.patient}": sample.patient,
        }
        for other in (name for name, value in others.items() if value):
            low, high = sorted((root(case), root(other)))
            parents[high] = low
    return {item.id: root(cases.get(item.sample, f"sample {item.sample}")) for item in items}


def score_against_chance(answers: Sequence[tuple[float, float, str]]) -> dict[str, Any]:
    """Return accuracy and chance, with a group-aware standard error; see ``options_only``.

    Args:
        answers: hit (0 to 1), chance and group of each item.
    """
    n = len(answers)
    accuracy = sum(hit for hit, _, _ in answers) / n
    chance = sum(expected for _, expected, _ in answers) / n
    alone = math.sqrt(sum(c * (1 - c) for _, c, _ in answers)) / n
    sums: dict[str, float] = {}
    for hit, expected, group in answers:
        sums[group] = sums.get(group, 0.0) + hit - expected - (accuracy - chance)
    spread = sum(total**2 for total in sums.values()) * len(sums) / max(len(sums) - 1, 1)
    se = max(alone, math.sqrt(spread) / n)
    least = chance - 4 * se if len(sums) >= MANY_GROUPS else 0.0
    return {
        "n": n,
        "groups": len(sums),
        "accuracy": accuracy,
        "chance": chance,
        "se": se,
        "least": least,
        "threshold": chance + 2 * se,
        "within": least <= accuracy <= chance + 2 * se,
    }


def _scores(
    items: Iterable[ChoiceItem],
    samples: Iterable[Sample],
    features: Callable[[Sequence[ChoiceItem]], list[list[Features]]],
) -> list[dict[str, Any]]:
    askable = [
        entry
        for entry in items
        if len(entry.options) > 1
        and 0 <= entry.key < len(entry.options)
        and entry.options[entry.key].concept
    ]
    groups = groups_of(askable, samples)
    tasks: dict[str, list[ChoiceItem]] = {}
    for item in sorted(askable, key=lambda item: item.id):
        tasks.setdefault(item.task, []).append(item)
    rows = []
    pooled: list[tuple[float, float, str]] = []
    ordered = sorted(tasks.items())
    sets = (_question_set(members, groups, features) for _, members in ordered)
    for (task, members), hits in zip(ordered, cross_validate_each(sets), strict=True):
        own = [groups[item.id] for item in members]
        chances = [1 / len(item.options) for item in members]
        if hits is None:
            rows.append(_unmeasured(task, chances))
            continue
        rows.append(
            {"task": task, **score_against_chance(list(zip(hits, chances, own, strict=True)))}
        )
        pooled += zip(hits, chances, own, strict=True)
    if pooled:
        rows.append({"task": ALL, **score_against_chance(pooled)})
    return rows


def _question_set(
    items: Sequence[ChoiceItem],
    groups: Mapping[str, str],
    features: Callable[[Sequence[ChoiceItem]], list[list[Features]]],
) -> QuestionSet:
    return QuestionSet(
        questions=[
            LogitQuestion(options=options, key=item.key)
            for item, options in zip(items, features(items), strict=True)
        ],
        groups=[groups[item.id] for item in items],
        blocks=[item.block or groups[item.id] for item in items],
    )


def _unmeasured(task: str, chances: Sequence[float]) -> dict[str, Any]:
    row_head = {"task": task, "n": len(chances), "groups": 1, "chance": sum(chances) / len(chances)}
    return row_head | dict.fromkeys(("accuracy", "se", "least", "threshold", "within"))

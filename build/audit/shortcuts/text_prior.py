"""Text prior: how often the text of an open question alone gives its answer.

A reader without the images answers all questions with one text alike, with the answer that most of
them have. In balanced sets that is right half of the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from medrcube.build.audit.leakage.leakage_tests import score_against_chance
from medrcube.build.audit.shortcuts.shortcut_baselines import Row
from medrcube.build.open_items.table import OpenItem
from medrcube.build.stages.samples import Sample
from medrcube.forms.option import OptionTarget

__all__ = ["text_prior"]


def text_prior(items: Sequence[OpenItem], _samples: Iterable[Sample]) -> list[Row]:
    """Score of a reader of the questions, for each task.

    Questions are grouped by equal text (``cue`` is ``words``), or by the one concept they name in
    any wording (``concept``). Both are judged.

    Args:
        items: those without options are left out.
    """
    tasks: dict[str, list[OpenItem]] = {}
    for item in sorted(items, key=lambda item: item.id):
        if isinstance(item.target, OptionTarget):
            tasks.setdefault(item.task, []).append(item)
    return [
        {"task": task, "cue": cue, **_score(members, texts)}
        for task, members in sorted(tasks.items())
        for cue, texts in (
            ("words", [item.question for item in members]),
            ("concept", [item.concept for item in members]),
        )
    ]


def _score(items: Sequence[OpenItem], texts: Sequence[str]) -> Row:
    answers = [_answer(item) for item in items]
    counts: dict[str, Counter[str]] = {}
    for text, (answer, _) in zip(texts, answers, strict=True):
        counts.setdefault(text, Counter())[answer] += 1
    # Of equally frequent answers the first by name, whatever the order of the items.
    most = {
        text: min(count, key=lambda name: (-count[name], name)) for text, count in counts.items()
    }
    return score_against_chance(
        [
            (float(most[text] == answer), 1 / options, item.set or item.id)
            for text, (answer, options), item in zip(texts, answers, items, strict=True)
        ]
    )


def _answer(item: OpenItem) -> tuple[str, int]:
    """Return the text of the right option, and the number of options."""
    target = item.target
    if not isinstance(target, OptionTarget):
        raise TypeError(f"{item.id}: has the form {item.form}; expected options")
    return dict(target.options)[target.key], len(target.options)

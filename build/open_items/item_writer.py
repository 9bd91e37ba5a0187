"""Writer of open items: wording, position of the key, id, and the set of a pair."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from medrcube.build.open_items.chance.blind_chance import cell_of
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.open_items.table import OpenItem
from medrcube.build.open_items.wording import WordedQuestion, word_question
from medrcube.forms import form_of
from medrcube.forms.option import OptionTarget
from medrcube.forms.protocol import Json, Target
from medrcube.ontologies.distractor_selection import seeded_tiebreak
from medrcube.ontologies.terms import Terms
from medrcube.release_format.open_rows import write_options
from medrcube.release_format.rows import LETTERS
from medrcube.taxonomy import Task
from medrcube.templates import Wordings

__all__ = ["OpenItemWriter"]


class OpenItemWriter:
    """Writes the items of one task; keys are spread evenly over the letters in order of writing.

    Args:
        task: the task.
        terms: term table.
        wordings: question templates.
        seed: decides wordings and key positions.
    """

    def __init__(self, task: Task, terms: Terms, wordings: Wordings, seed: int) -> None:
        self._task = task
        self._terms = terms
        self._wordings = wordings
        self._seed = seed
        self._placed: Counter[tuple[str, int]] = Counter()

    def write(
        self, questions: Sequence[OpenQuestion], chances: Sequence[float]
    ) -> tuple[OpenItem, ...] | str:
        """Return the item of one question, or both of a pair, or the reason why there are none.

        Args:
            questions: questions that share their wording.
            chances: blind chance of each.

        Raises:
            RuleError: a wording needs a value that the rule does not provide.
        """
        draw = "\x1f".join(f"{q.sample.id} {q.concept} {q.role}" for q in questions)
        words = word_question(questions, self._wordings, self._terms, seed=self._seed, draw=draw)
        if isinstance(words, str):
            return words
        items = tuple(
            self._item(question, words, chance, draw)
            for question, chance in zip(questions, chances, strict=True)
        )
        if len(items) == 1:
            return items
        digest = sha256("\x1f".join(sorted(item.id for item in items)).encode()).hexdigest()
        return tuple(
            replace(item, set=f"pair-{digest[:16]}", role=question.role)
            for item, question in zip(items, questions, strict=True)
        )

    def _item(
        self, question: OpenQuestion, words: WordedQuestion, chance: float, draw: str
    ) -> OpenItem:
        task, sample = self._task, question.sample
        target = question.target
        if isinstance(target, OptionTarget) and not task.declaration.ordered:
            target = self._with_key_placed(target, sample.source, draw)
        ask, truth = _stated(target)
        content = (sample.id, task.value, words.text, ask, truth)
        return OpenItem(
            id=sha256("\x1f".join(content).encode()).hexdigest()[:16],
            sample=sample.id,
            source=sample.source,
            task=task.value,
            anatomy=sample.anatomy,
            modality=sample.modality,
            question=words.text,
            form=task.declaration.form,
            ask=ask,
            truth=truth,
            chance=round(chance, 4),
            field=question.field,
            concept=question.concept,
            grade=question.grade.value,
            visible=question.visible.name.lower(),
            prior="; ".join(cell_of(question)[1:]),
            contrast=question.contrast,
            lot=question.lot,
            seen=" ".join(f"{number:.6g}" for number in question.visible_values),
            variant=words.variant,
            template=self._wordings.version(task),
            seed=self._seed,
        )

    def _with_key_placed(self, target: OptionTarget, source: str, draw: str) -> OptionTarget:
        """Return the options with the key at the next letter, the others in random order."""
        cell = (source, len(target.options))
        start = int(seeded_tiebreak(self._seed, self._task, *cell)[:8], 16)
        place = (start + self._placed[cell]) % len(target.options)
        self._placed[cell] += 1
        texts = sorted(
            (text for letter, text in target.options if letter != target.key),
            key=lambda text: seeded_tiebreak(self._seed, draw, text),
        )
        texts.insert(place, dict(target.options)[target.key])
        return OptionTarget(options=tuple(zip(LETTERS, texts, strict=False)), key=LETTERS[place])


def _stated(target: Target | OptionTarget) -> tuple[str, str]:
    """Return the fields ``ask`` and ``truth`` of a target, as JSON."""
    parts: tuple[Json, Json]
    if isinstance(target, OptionTarget):
        parts = write_options(target)
    else:
        parts = form_of(target).write_target(target)
    ask, truth = (json.dumps(part, ensure_ascii=False, sort_keys=True) for part in parts)
    return ask, truth

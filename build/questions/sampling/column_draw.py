"""Question selection on columns, with the same result as ``eligibility`` and ``quotas`` on records.

A quota keeps few questions of a large batch. The properties that decide (kind of question, source,
patient, slice, random rank) are compared as numbers, and records are created only for questions
that can be drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from medrcube.build.asked_columns import AskedTable
from medrcube.build.questions.eligibility import (
    NOT_VISIBLE,
    CompatibleOptions,
    EligibleQuestion,
    QuestionJudge,
    identity_of,
    is_constant_answer,
)
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.label_cooccurrence import LabelCooccurrence
from medrcube.build.questions.sampling.quotas import (
    QuotaDraw,
    QuotaEntry,
    by_lot,
    least_choice,
    patient_of,
    picture_of,
)
from medrcube.build.stages.sample_codes import Codes, SampleCodes, codes_of, paired
from medrcube.build.stages.samples import NUMBERED
from medrcube.facts import Visibility
from medrcube.ontologies.distractor_safety import CaseFacts, SafetyRules
from medrcube.ontologies.distractor_selection import CandidateSource, seeded_tiebreak

__all__ = ["DrawnQuestions", "draw_questions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnQuestions:
    """Selected questions and statistics on the others.

    Attributes:
        questions: questions that the quota keeps, in seeded random order.
        ready: task -> number of questions that could be asked.
        dropped: ``task: reason`` -> number of questions that could not.
    """

    questions: tuple[EligibleQuestion, ...]
    ready: Counter[str]
    dropped: Counter[str]


def draw_questions(
    table: AskedTable[QuestionCandidate],
    rules: SafetyRules,
    sources: Sequence[CandidateSource],
    seed: int,
    *,
    least_visible: Visibility,
    per_cell: int,
) -> DrawnQuestions:
    """Judge every question and keep at most ``per_cell`` of every source and task, at random.

    Args:
        table: questions of the whole batch.
        rules: tables, knowledge and accepted evidence.
        sources: candidate sources of wrong options, in order of trust.
        seed: decides all random draws.
        least_visible: how far a reader of the image must be able to know the answer.
        per_cell: most questions of each source and task.

    Raises:
        TermError: a question names a concept or group that is in no table.
    """
    columns = _QuestionColumns(table, codes_of(table.samples), seed)
    judge = QuestionJudge(rules, sources, LabelCooccurrence(columns.grounds()))
    dropped: Counter[str] = Counter()
    ready: list[_Alike] = []
    for alike in columns.groups():
        options = _options(alike.query, judge, least_visible)
        if isinstance(options, str):
            dropped[f"{alike.query.task.value}: {options}"] += len(alike.places)
        elif options is None:
            ready += columns.by_truth(alike)
        else:
            answer = judge.name(alike.query.key)
            ready.append(_Alike(alike.query, alike.places, options, answer))
    counts: Counter[str] = Counter()
    for alike in ready:
        counts[alike.query.task.value] += len(alike.places)
    draw = _Draw(columns, ready, seed).cells(per_cell)
    return DrawnQuestions(questions=by_lot(draw), ready=counts, dropped=dropped)


def _options(
    query: QuestionCandidate, judge: QuestionJudge, least_visible: Visibility
) -> CompatibleOptions | str | None:
    if query.visible < least_visible and not query.bar_reason:
        return NOT_VISIBLE
    return judge.numbers(query) if query.sample.artefact in NUMBERED else judge.concepts(query)


@dataclass(frozen=True, slots=True)
class _Alike:
    """Questions of one source that differ only in their images.

    Attributes:
        query: the question with the lowest random rank.
        places: positions of the questions in the table.
        options: safe wrong options; ``None`` for numbers, and until the question is judged.
        answer: see ``EligibleQuestion.answer``; empty until known.
    """

    query: QuestionCandidate
    places: Codes
    options: CompatibleOptions | None = None
    answer: str = ""

    @property
    def kind(self) -> tuple[str, ...]:
        """Group of questions that may use each other's answers as options."""
        return (self.query.sample.source, self.query.task, self.query.group or "")


class _QuestionColumns:
    """Distinct questions of a table, with the properties that decide on them as numbers.

    Attributes:
        table: the questions.
        codes: codes of their images.
        rows: image row of each question.
        lots: first 64 bits of the random rank of each question, which identify it.
    """

    def __init__(self, table: AskedTable[QuestionCandidate], codes: SampleCodes, seed: int) -> None:
        self.table = table
        self.codes = codes
        self.rows: Codes = table.row.astype(np.int64)
        task, field, key = (table.names.index(name) for name in ("task", "field", "key"))
        queries = [(kind[task], kind[field], kind[key]) for kind in table.kinds]
        numbers = {what: number for number, what in enumerate(dict.fromkeys(queries))}
        number = np.array([numbers[what] for what in queries], np.int64)
        # A question asked twice about one image counts once; the last one is kept.
        pairs = paired(number[table.kind], self.rows)
        self._places: Codes = len(pairs) - 1 - np.unique(pairs[::-1], return_index=True)[1]
        self.lots = self._lots(queries, seed)

    def _lots(self, queries: Sequence[tuple[str, str, str]], seed: int) -> NDArray[np.uint64]:
        starts = [f"{seed}\x1f{task}|" for task, _, _ in queries]
        ends = [f"|{field}|{key}" for _, field, key in queries]
        lots = np.zeros(len(self.table), np.uint64)
        places = self._places[np.argsort(self.rows[self._places], kind="stable")]
        rows = self.rows[places]
        first = start = 0
        for images in self.codes.texts(("source", "case", "id"), "|"):
            end = int(np.searchsorted(rows, first + len(images)))
            kinds = self.table.kind[places[start:end]].tolist()
            which = zip(kinds, (rows[start:end] - first).tolist(), strict=True)
            texts = (f"{starts[kind]}{images[row]}{ends[kind]}" for kind, row in which)
            lots[places[start:end]] = [
                int.from_bytes(sha256(text.encode()).digest()[:8]) for text in texts
            ]
            first, start = first + len(images), end
        return lots

    def grounds(self) -> Iterator[tuple[str, CaseFacts, int]]:
        """Yield the source, facts and number of cases; see ``LabelCooccurrence``."""
        names = self.table.names
        pool, group, ground = (names.index(name) for name in ("pool", "group", "ground"))
        tells = np.array(
            [
                bool(kind[pool]) and kind[group] is None and not kind[ground].region
                for kind in self.table.kinds
            ],
            np.bool_,
        )
        places = np.sort(self._places)
        places = places[tells[self.table.kind[places]]]
        rows = self.rows[places]
        first = np.unique(self.codes.cases[rows], return_index=True)[1]
        kinds, rows = self.table.kind[places[first]], rows[first]
        sources = self.codes.sources[rows]
        _, where, count = np.unique(
            paired(sources, kinds.astype(np.int64)), return_index=True, return_counts=True
        )
        queries = self.table.at(places[first][where])
        for query, kind, cases in zip(queries, kinds[where], count, strict=True):
            yield query.sample.source, self.table.kinds[kind][ground], int(cases)

    def groups(self) -> list[_Alike]:
        """Return all questions grouped by kind and source, sorted by their lowest random rank."""
        kinds = self.table.kind[self._places].astype(np.int64)
        rows = self.rows[self._places]
        sources = self.codes.sources[rows]
        group = paired(kinds, sources) * 2
        group += self.codes.is_one_of("artefact", NUMBERED)[rows]
        order = np.lexsort((self.lots[self._places], group))
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        parts = np.split(self._places[order], starts[1:]) if len(order) else []
        parts.sort(key=lambda places: int(self.lots[places[0]]))
        firsts = self.table.at([int(places[0]) for places in parts])
        return [_Alike(query, places) for query, places in zip(firsts, parts, strict=True)]

    def by_truth(self, alike: _Alike) -> Iterator[_Alike]:
        """Split questions with numbered options by the right number."""
        truths = self.table.samples.columns["truth"].take(pa.array(self.rows[alike.places]))
        answers = np.array(truths.to_pylist())
        for truth in dict.fromkeys(answers.tolist()):
            answer = f"{alike.query.key} {truth}"
            yield _Alike(alike.query, alike.places[answers == truth], None, answer)


class _Draw:
    """Draw from all cells; see ``quotas.select_questions``."""

    def __init__(self, columns: _QuestionColumns, ready: Sequence[_Alike], seed: int) -> None:
        self._columns = columns
        self._seed = seed
        self._cells: dict[tuple[str, str], list[_Alike]] = {}
        self._answers: dict[tuple[str, ...], set[str]] = {}
        tasks: dict[str, int] = {}
        slice_parts: list[Codes] = [np.empty(0, np.int64)]
        numbers: list[Codes] = [np.empty(0, np.int64)]
        slices = columns.codes.slices
        for alike in ready:
            task = alike.query.task
            self._cells.setdefault((alike.query.sample.source, task), []).append(alike)
            self._answers.setdefault(alike.kind, set()).add(alike.answer)
            slice_parts.append(slices[columns.rows[alike.places]])
            numbers.append(np.full(len(alike.places), tasks.setdefault(task, len(tasks))))
        once = np.unique(paired(np.concatenate(slice_parts), np.concatenate(numbers)))
        once //= max(len(tasks), 1)
        self._tasks = np.bincount(once, minlength=int(slices.max(initial=0)) + 1)

    def cells(self, per_cell: int) -> list[EligibleQuestion]:
        """Return at most ``per_cell`` questions of every source and task."""
        columns, slices = self._columns, self._columns.codes.slices
        drawing = QuotaDraw()
        in_use = np.zeros(len(self._tasks), np.bool_)
        selection: list[EligibleQuestion] = []
        sizes = {
            cell: range(sum(len(alike.places) for alike in members))
            for cell, members in self._cells.items()
        }
        for cell, _ in sorted(sizes.items(), key=least_choice):
            places: dict[int, int] = {}
            entries: list[QuotaEntry] = []
            for answer in dict.fromkeys(alike.answer for alike in self._cells[cell]):
                members = [alike for alike in self._cells[cell] if alike.answer == answer]
                for place, entry in self._entries(members, per_cell, in_use):
                    places[id(entry.ready)] = place
                    entries.append(entry)
            drawing.answers.clear()
            portion = drawing.fill(entries, per_cell)
            selection += portion
            rows = columns.rows[[places[id(question)] for question in portion]]
            in_use[slices[rows]] = True
        return selection

    def _entries(
        self, members: Sequence[_Alike], quota: int, in_use: NDArray[np.bool_]
    ) -> Iterator[tuple[int, QuotaEntry]]:
        """Yield the questions with one answer that can be drawn, with their positions.

        In draw order, it is enough to consider questions until one more patient than the quota has
        been met: at least one of these patients has not been drawn from, and every later question
        ranks behind that patient's.
        """
        columns = self._columns
        places = np.concatenate([alike.places for alike in members])
        which = np.repeat(np.arange(len(members)), [len(alike.places) for alike in members])
        slices = columns.codes.slices[columns.rows[places]]
        order = np.lexsort((columns.lots[places], -self._tasks[slices], ~in_use[slices]))
        patients = columns.codes.patients[columns.rows[places[order]]]
        first = np.sort(np.unique(patients, return_index=True)[1])
        order = order[: first[quota] + 1] if len(first) > quota else order
        queries = columns.table.at(places[order])
        for query, place, member in zip(queries, places[order], which[order], strict=True):
            alike, identity = members[member], identity_of(query)
            question = EligibleQuestion(
                query=query,
                identity=identity,
                lot=seeded_tiebreak(self._seed, identity),
                answer=alike.answer,
                compatible=alike.options,
                within=self._within(alike),
            )
            tasks = int(self._tasks[columns.codes.slices[columns.rows[place]]])
            yield (
                int(place),
                QuotaEntry(
                    ready=question,
                    picture=picture_of(question),
                    patient=patient_of(question),
                    tasks=tasks,
                ),
            )

    def _within(self, alike: _Alike) -> str:
        """See ``EligibleQuestion.within``."""
        constant = is_constant_answer(alike.query.task, self._answers[alike.kind])
        return "" if alike.options is None or constant else alike.query.sample.source

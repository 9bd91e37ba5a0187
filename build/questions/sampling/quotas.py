"""Quotas: seeded selection of questions per source and task, or per cell.

At most N per source and task, or as many per cell of the cube as a profile plans; spread over
answers and patients, preferably on images that several tasks use, because those form the chains for
credibility. Quotas are applied before options are chosen, so that options are balanced over the
selected questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cache
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple, TypeVar

from medrcube.build.questions.eligibility import EligibleQuestion
from medrcube.taxonomy import Anatomy, Modality, Task, Voxel
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary

__all__ = [
    "QUOTA",
    "AnswerCell",
    "Key",
    "QuotaDraw",
    "QuotaEntry",
    "answer_cell_of",
    "by_lot",
    "cell_of",
    "key_of",
    "least_choice",
    "patient_of",
    "picture_of",
    "select_cells",
    "select_questions",
]

QUOTA = "quota"
"""Reason under which questions beyond the quota are counted."""

C = TypeVar("C")

Key = tuple[Task, str, str]
"""Task, exclusive group and answer."""


@dataclass(frozen=True, slots=True, order=True)
class AnswerCell:
    """Questions of one cell of the cube that have one answer among the same options.

    ``block_group`` names the questions that may share a block; for boxes it is empty, as is the
    answer: box numbers carry no information.
    """

    cell: Voxel
    block_group: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEntry:
    """A question with the properties that decide on it.

    Attributes:
        ready: the question.
        picture: the slice that it shows; marked and clean images of one slice are equal.
        patient: patient of that source; if the source names none, each case counts as its own.
        tasks: number of tasks in the batch that use the image.
    """

    ready: EligibleQuestion
    picture: str
    patient: str
    tasks: int


class _EntryKind(NamedTuple):
    """Group of candidates among which only patient and image decide."""

    key: tuple[str, str]
    source: str
    lot: AnswerCell | None
    asks: Key | None


def select_questions(
    ready: Sequence[EligibleQuestion], *, per_cell: int | None
) -> tuple[EligibleQuestion, ...]:
    """Keep at most ``per_cell`` questions of every (source, task), at random; ``None`` keeps all.

    The same set of questions gives the same result in any order.

    Raises:
        ValueError: ``per_cell`` is below one.
    """
    if per_cell is None:
        return by_lot(ready)
    if per_cell < 1:
        raise ValueError(f"per_cell={per_cell}: must be one or more, or None for all")
    cells: dict[tuple[str, str], list[QuotaEntry]] = {}
    for candidate in _quota_entries(ready):
        query = candidate.ready.query
        cells.setdefault((query.sample.source, query.task), []).append(candidate)
    drawing = QuotaDraw()
    selection: list[EligibleQuestion] = []
    for _, members in sorted(cells.items(), key=least_choice):
        drawing.answers.clear()
        selection += drawing.fill(members, per_cell)
    return by_lot(selection)


def select_cells(
    ready: Sequence[EligibleQuestion],
    cells: Mapping[Voxel, int],
    lots: Mapping[AnswerCell, int],
    *,
    per_patient: int,
    sources_per_key: int = 1,
) -> tuple[EligibleQuestion, ...]:
    """Keep the wanted number of questions in every cell, at most ``per_patient`` of one patient.

    Priorities, in this order: a key drawn from fewer than ``sources_per_key`` sources goes to a new
    source if the cell has one; an answer that has reached its due number waits for the others of
    its cell; the rarest answer comes first, counted over all cells of its block group; then the
    rarest source. A cell with enough questions under the limit per patient is always filled. The
    same set of questions gives the same result in any order.
    """
    entries: dict[Voxel, list[QuotaEntry]] = {}
    for candidate in _quota_entries(ready):
        entries.setdefault(cell_of(candidate.ready), []).append(candidate)
    drawing = QuotaDraw(per_patient=per_patient, due=lots, sources_per_key=sources_per_key)
    selection: list[EligibleQuestion] = []
    for cell, members in sorted(entries.items(), key=least_choice):
        selection += drawing.fill(members, cells.get(cell, 0))
    return by_lot(selection)


def cell_of(question: EligibleQuestion) -> Voxel:
    """Return the cell of the cube in which a question counts."""
    sample = question.query.sample
    return _voxel(sample.anatomy, sample.modality, question.query.task, active_vocabulary())


def answer_cell_of(question: EligibleQuestion) -> AnswerCell:
    """Return the answer cell of a question."""
    if question.compatible is None:
        return AnswerCell(cell_of(question))
    return AnswerCell(cell_of(question), question.block_group, question.answer)


def key_of(question: EligibleQuestion) -> Key:
    """Return what a question asks for, regardless of its source; box numbers are ignored."""
    query = question.query
    return (
        query.task,
        query.group or "",
        query.key if question.compatible is None else question.answer,
    )


def patient_of(question: EligibleQuestion) -> str:
    """Return the patient, qualified by source."""
    sample = question.query.sample
    return f"{sample.source}|{sample.patient or sample.case}"


def picture_of(question: EligibleQuestion) -> str:
    """Return the slice that is shown; marked and clean images of one slice are equal."""
    sample = question.query.sample
    return f"{sample.source}|{sample.case}|{sample.frames}"


@cache
def _voxel(anatomy: str, modality: str, task: Task, _vocabulary: Vocabulary) -> Voxel:
    return Voxel(Anatomy(anatomy), Modality(modality), task)


def by_lot(ready: Iterable[EligibleQuestion]) -> tuple[EligibleQuestion, ...]:
    """Sort questions by their random rank."""
    return tuple(sorted(ready, key=lambda question: (question.lot, question.identity)))


def least_choice(entry: tuple[C, Sized]) -> tuple[int, C]:
    """Sort key: cells with the fewest choices first, so that the others can reuse their images."""
    return (len(entry[1]), entry[0])


def _quota_entries(ready: Sequence[EligibleQuestion]) -> Iterator[QuotaEntry]:
    pictures = [picture_of(question) for question in ready]
    pairs = {
        (question.query.task, picture) for question, picture in zip(ready, pictures, strict=True)
    }
    tasks = Counter(picture for _, picture in pairs)
    for question, picture in zip(ready, pictures, strict=True):
        yield QuotaEntry(
            ready=question, picture=picture, patient=patient_of(question), tasks=tasks[picture]
        )


@dataclass(slots=True, kw_only=True)
class QuotaDraw:
    """State of the draw, cell by cell.

    Attributes:
        per_patient: most questions of one patient in a cell; ``None`` for no limit.
        due: number of questions of each answer cell after which the others of its cell take
            precedence; ``None`` for no limit.
        sources_per_key: number of sources that each key is drawn from before any source is reused.
        in_use: images of the questions taken.
        answers: how often each answer was taken, by block group if ``due`` is given.
        drawn_from: sources that each key was taken from.
    """

    per_patient: int | None = None
    due: Mapping[AnswerCell, int] | None = None
    sources_per_key: int = 1
    in_use: set[str] = field(default_factory=set)
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    drawn_from: dict[Key | None, set[str]] = field(default_factory=dict)

    def fill(self, candidates: Iterable[QuotaEntry], quota: int) -> list[EligibleQuestion]:
        """Take the rarest answer so far, and of its questions that of the least used patient."""
        patients: Counter[str] = Counter()
        sources: Counter[str] = Counter()
        counts: Counter[AnswerCell | None] = Counter()

        def rank(candidate: QuotaEntry) -> tuple[int, bool, int, str]:
            fresh = candidate.picture not in self.in_use
            return (patients[candidate.patient], fresh, -candidate.tasks, candidate.ready.lot)

        def due(lot: AnswerCell | None) -> float:
            return inf if self.due is None or lot is None else self.due.get(lot, 0)

        def turn(kind: _EntryKind) -> tuple[bool, bool, int, int, _EntryKind]:
            return (
                self._is_spread(kind),
                counts[kind.lot] >= due(kind.lot),
                self.answers[kind.key],
                sources[kind.source],
                kind,
            )

        heaps: dict[_EntryKind, list[tuple[tuple[int, bool, int, str], str, QuotaEntry]]] = {}
        for candidate in candidates:
            entry = (rank(candidate), candidate.ready.identity, candidate)
            heaps.setdefault(self._kind(candidate.ready), []).append(entry)
        for heap in heaps.values():
            heapify(heap)
        selection: list[QuotaEntry] = []
        while heaps and len(selection) < quota:
            kind = min(heaps, key=turn)
            old, identity, candidate = heappop(heaps[kind])
            full = self.per_patient is not None and patients[candidate.patient] >= self.per_patient
            # Ranks only grow, so the top entry is the minimum if its rank is up to date.
            if not full and old != rank(candidate):
                heappush(heaps[kind], (rank(candidate), identity, candidate))
                continue
            if not heaps[kind]:
                del heaps[kind]
            if full:
                continue
            self._note(kind)
            sources[kind.source] += 1
            counts[kind.lot] += 1
            patients[candidate.patient] += 1
            selection.append(candidate)
        self.in_use.update(candidate.picture for candidate in selection)
        return [candidate.ready for candidate in selection]

    def _note(self, kind: _EntryKind) -> None:
        self.answers[kind.key] += 1
        if self.sources_per_key > 1:
            self.drawn_from.setdefault(kind.asks, set()).add(kind.source)

    def _is_spread(self, kind: _EntryKind) -> bool:
        """Whether one more question of this kind adds no source that its key still needs."""
        sources = self.drawn_from.get(kind.asks, ())
        enough = len(sources) >= self.sources_per_key
        return self.sources_per_key == 1 or enough or kind.source in sources

    def _kind(self, question: EligibleQuestion) -> _EntryKind:
        lot = None if self.due is None else answer_cell_of(question)
        key = ("" if lot is None else lot.block_group, question.answer)
        asks = None if lot is None else key_of(question)
        return _EntryKind(key=key, source=question.query.sample.source, lot=lot, asks=asks)

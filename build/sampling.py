"""Quotas: which questions of a batch to ask.

At most N for each source and task, spread over the answers and the patients, and preferably on
pictures that carry several tasks, because those make the chains for credibility. Drawn before the
options are, so that options are balanced over what is asked and not over what is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from medrcube.build.ready import Ready

QUOTA = "quota"
"""Reason under which questions beyond the quota are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A question with what decides over it.

    Attributes:
        ready: the question.
        picture: the slice that it shows; marked and clean pictures of one slice are one.
        patient: the patient; where the source names none, each case counts as its own.
        tasks: how many tasks the batch has on the picture.
    """

    ready: Ready
    picture: str
    patient: str
    tasks: int


def select(ready: Sequence[Ready], *, per_cell: int | None) -> tuple[Ready, ...]:
    """Keep at most ``per_cell`` questions of every (source, task), by lot.

    The same set of questions gives the same result in any order. ``None`` keeps all.

    Raises:
        ValueError: ``per_cell`` is below one.
    """
    chosen = list(ready)
    if per_cell is not None:
        if per_cell < 1:
            raise ValueError(f"per_cell={per_cell}: must be one or more, or None for all")
        chosen = list(_drawn(ready, per_cell))
    return tuple(sorted(chosen, key=lambda one: (one.lot, one.identity)))


def _drawn(ready: Sequence[Ready], per_cell: int) -> Iterator[Ready]:
    cells: dict[tuple[str, str], list[_Candidate]] = {}
    for candidate in _candidates(ready):
        query = candidate.ready.query
        cells.setdefault((query.sample.source, query.task), []).append(candidate)
    in_use: set[str] = set()
    # The cell with least choice goes first, so that the others can join its pictures.
    for _, members in sorted(cells.items(), key=lambda cell: (len(cell[1]), cell[0])):
        taken = _fill(members, per_cell, in_use)
        in_use.update(candidate.picture for candidate in taken)
        yield from (candidate.ready for candidate in taken)


def _candidates(ready: Sequence[Ready]) -> Iterator[_Candidate]:
    pictures = [_picture(one) for one in ready]
    pairs = {(one.query.task, picture) for one, picture in zip(ready, pictures, strict=True)}
    tasks = Counter(picture for _, picture in pairs)
    for one, picture in zip(ready, pictures, strict=True):
        sample = one.query.sample
        yield _Candidate(
            ready=one,
            picture=picture,
            patient=sample.patient or sample.case,
            tasks=tasks[picture],
        )


def _picture(one: Ready) -> str:
    sample = one.query.sample
    return f"{sample.source}|{sample.case}|{sample.frames}"


def _fill(
    candidates: Iterable[_Candidate], quota: int, in_use: Collection[str]
) -> list[_Candidate]:
    """Take the rarest answer so far, and of its items the one on the freshest patient."""
    patients: Counter[str] = Counter()
    answers: Counter[str] = Counter()

    def rank(candidate: _Candidate) -> tuple[int, bool, int, str]:
        fresh = candidate.picture not in in_use
        return (patients[candidate.patient], fresh, -candidate.tasks, candidate.ready.lot)

    heaps: dict[str, list[tuple[tuple[int, bool, int, str], str, _Candidate]]] = {}
    for candidate in candidates:
        entry = (rank(candidate), candidate.ready.identity, candidate)
        heaps.setdefault(candidate.ready.answer, []).append(entry)
    for heap in heaps.values():
        heapify(heap)
    chosen: list[_Candidate] = []
    while heaps and len(chosen) < quota:
        answer = min(heaps, key=lambda name: (answers[name], name))
        old, identity, candidate = heappop(heaps[answer])
        # Ranks only grow, so an entry that is still up to date is the smallest of all.
        if old != rank(candidate):
            heappush(heaps[answer], (rank(candidate), identity, candidate))
            continue
        if not heaps[answer]:
            del heaps[answer]
        answers[answer] += 1
        patients[candidate.patient] += 1
        chosen.append(candidate)
    return chosen

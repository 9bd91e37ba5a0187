"""Quotas: which items of a batch to keep.

At most N for each source and task, spread over the answers and the patients, and preferably on
pictures that carry several tasks, because those make the chains for credibility.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from medrcube.build.compose import place_keys
from medrcube.build.items import Item
from medrcube.build.samples import Sample
from medrcube.errors import WorkspaceError
from medrcube.ontologies.distractors import tie


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """An item with what decides over it.

    Attributes:
        item: the item.
        picture: the slice that it shows; marked and clean pictures of one slice are one.
        patient: the patient; where the source names none, each case counts as its own.
        tasks: how many tasks the batch has on the picture.
        lot: place drawn by lot.
    """

    item: Item
    picture: str
    patient: str
    tasks: int
    lot: str


def select(
    items: Iterable[Item],
    samples: Iterable[Sample],
    *,
    per_cell: int | None,
    seed: int,
) -> tuple[Item, ...]:
    """Keep at most ``per_cell`` items of every (source, task) and place their keys anew.

    The same set of items gives the same result in any order. ``None`` keeps all.

    Raises:
        WorkspaceError: an item names a picture that is not among the samples.
        ValueError: ``per_cell`` is below one.
    """
    items = list(items)
    if per_cell is None:
        return place_keys(items, seed)
    if per_cell < 1:
        raise ValueError(f"per_cell={per_cell}: must be one or more, or None for all")
    cells: dict[tuple[str, str], list[_Candidate]] = {}
    for candidate in _candidates(items, {sample.id: sample for sample in samples}, seed):
        cells.setdefault((candidate.item.source, candidate.item.task), []).append(candidate)
    chosen: list[Item] = []
    in_use: set[str] = set()
    # The cell with least choice goes first, so that the others can join its pictures.
    for _, members in sorted(cells.items(), key=lambda cell: (len(cell[1]), cell[0])):
        taken = _fill(members, per_cell, in_use)
        in_use.update(candidate.picture for candidate in taken)
        chosen.extend(candidate.item for candidate in taken)
    return place_keys(chosen, seed)


def _candidates(
    items: Sequence[Item], samples: dict[str, Sample], seed: int
) -> Iterable[_Candidate]:
    pictures: dict[str, str] = {}
    for item in items:
        sample = samples.get(item.sample)
        if sample is None:
            raise WorkspaceError(
                f"item {item.id}: its picture {item.sample!r} is not among the samples; "
                "build the workspace again"
            )
        pictures[item.id] = f"{sample.source}|{sample.case}|{sample.frames}"
    tasks = Counter(picture for _, picture in {(it.task, pictures[it.id]) for it in items})
    for item in items:
        sample = samples[item.sample]
        yield _Candidate(
            item=item,
            picture=pictures[item.id],
            patient=sample.patient or sample.case,
            tasks=tasks[pictures[item.id]],
            lot=tie(seed, item.id),
        )


def _fill(
    candidates: Iterable[_Candidate], quota: int, in_use: Collection[str]
) -> list[_Candidate]:
    """Take the rarest answer so far, and of its items the one on the freshest patient."""
    patients: Counter[str] = Counter()
    answers: Counter[str] = Counter()

    def rank(candidate: _Candidate) -> tuple[int, bool, int, str]:
        fresh = candidate.picture not in in_use
        return (patients[candidate.patient], fresh, -candidate.tasks, candidate.lot)

    heaps: dict[str, list[tuple[tuple[int, bool, int, str], str, _Candidate]]] = {}
    for candidate in candidates:
        entry = (rank(candidate), candidate.item.id, candidate)
        heaps.setdefault(candidate.item.concept, []).append(entry)
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

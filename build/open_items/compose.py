"""Composer of open items: bars, blind chances, pairs, quota, wordings, in this order.

At most one item, or one pair, for each patient, task and topic. The result depends on the
questions, the tables and the seed, never on the order of the questions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from medrcube.build.asked_columns import AskedTable
from medrcube.build.open_items.chance.blind_chance import FEW, BlindChance, blind_chances, cell_of
from medrcube.build.open_items.chance.even_lots import even_lots
from medrcube.build.open_items.item_writer import OpenItemWriter
from medrcube.build.open_items.pairing.contrast import with_most_contrast
from medrcube.build.open_items.pairing.pairs import deal_pairs
from medrcube.build.open_items.pairing.unpaired_columns import (
    NOT_VISIBLE,
    PLAIN,
    UNPAIRED,
    split_unpaired,
)
from medrcube.build.open_items.patient_caps import Bundle, few_of_each_patient, one_of_each_patient
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.open_items.repeats import bar_repeated
from medrcube.build.open_items.table import OpenItem
from medrcube.build.open_items.wording import question_values
from medrcube.facts import Grade, Visibility
from medrcube.forms import OPTION
from medrcube.forms.number import NumberForm
from medrcube.ontologies.distractor_selection import seeded_tiebreak
from medrcube.ontologies.terms import Terms
from medrcube.taxonomy import Task
from medrcube.templates import Wordings

__all__ = ["OpenResult", "compose_open_items"]

BLIND = "one fixed answer is right too often"
ALWAYS = "one fixed answer is always right"
PATIENT_FULL = "enough of its patient are asked"
ANOTHER = "another question of its patient is asked"
CLASS_FULL = "enough of its class of size are asked"
QUOTA = "quota"
"""Reasons under which questions that are not asked are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenResult:
    """Open items in a fixed order, and statistics on the other questions.

    Attributes:
        items: by source, task and id.
        dropped: ``task: reason`` -> number of questions that became no item.
        chances: blind chance of each cell, including those that were dropped.
        warnings: cells that a constant answer passes rather often, in words.
    """

    items: tuple[OpenItem, ...] = ()
    dropped: Counter[str]
    chances: tuple[BlindChance, ...] = ()
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics for ``audit.json``."""
        return {
            "items": len(self.items),
            "by_task": dict(sorted(Counter(item.task for item in self.items).items())),
            "sets": len({item.set for item in self.items if item.set}),
            "contrasts": _contrasts(self.items),
            "blind_chances": [asdict(chance) for chance in self.chances],
            "warnings": list(self.warnings),
        }


def compose_open_items(
    questions: Iterable[OpenQuestion],
    terms: Terms,
    wordings: Wordings,
    *,
    bar_counts: Mapping[str, int],
    evidence: Grade,
    least_visible: Visibility,
    seed: int,
    per_cell: int | None,
) -> OpenResult:
    """Draw the open items of a batch.

    Args:
        questions: questions made by the rules, of all sources.
        terms: term table.
        wordings: question templates.
        bar_counts: ``task: reason`` -> number of questions that rules barred.
        evidence: weakest accepted evidence.
        least_visible: how far a reader of the image must be able to know the answer.
        seed: decides all random draws.
        per_cell: most items of each source and task; ``None`` for all.

    Raises:
        RuleError: a wording needs a value that its rule does not give.
    """
    dropped = Counter(bar_counts)
    if isinstance(questions, AskedTable):
        questions, unpaired = split_unpaired(questions, evidence, least_visible)
        dropped.update(unpaired)
    ordered = sorted(questions, key=lambda question: _lot(seed, "order", question))
    by_task: dict[Task, list[OpenQuestion]] = defaultdict(list)
    for question in _admitted(ordered, evidence, least_visible, dropped):
        by_task[question.task].append(question)
    items: list[OpenItem] = []
    chances: list[BlindChance] = []
    warnings: list[str] = []
    for task in Task:
        if task not in by_task:
            continue
        bundles = _bundles(task, by_task[task], terms, seed, dropped)
        if task.declaration.form == NumberForm.name:
            bundles = _one_of_each_patient(task, bundles, seed, dropped)
            bundles = _even_numbers(task, bundles, seed, dropped)
        cells = blind_chances(question for bundle in bundles for question in bundle)
        chances += cells.values()
        warnings += _warnings(task, cells)
        bundles = _informative_bundles(task, bundles, cells, dropped)
        bundles = _one_of_each_patient(task, bundles, seed, dropped)
        few = few_of_each_patient(bundles, task.declaration.per_patient)
        dropped[f"{task}: {PATIENT_FULL}"] += _count(bundles) - _count(few)
        selection = _within_quota(few, per_cell, seed)
        dropped[f"{task}: {QUOTA}"] += _count(few) - _count(selection)
        writer = OpenItemWriter(task, terms, wordings, seed)
        for bundle in selection:
            outcome = writer.write(bundle, [cells[cell_of(question)].share for question in bundle])
            if isinstance(outcome, str):
                dropped[f"{task}: {outcome}"] += len(bundle)
            else:
                items += outcome
    items.sort(key=lambda item: (item.source, item.task, item.id))
    return OpenResult(
        items=tuple(items),
        dropped=+dropped,
        chances=tuple(chances),
        warnings=tuple(warnings),
    )


def _contrasts(items: Iterable[OpenItem]) -> dict[str, dict[str, int]]:
    """Return task -> contrast -> number of items whose image denies their concept."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for item in items:
        if item.contrast:
            counts[item.task][item.contrast] += 1
    return {task: dict(sorted(counts[task].items())) for task in sorted(counts)}


def _admitted(
    questions: Iterable[OpenQuestion],
    evidence: Grade,
    least_visible: Visibility,
    dropped: Counter[str],
) -> Iterator[OpenQuestion]:
    """Yield the questions that nothing bars, each once; count the others."""
    facts: set[tuple[str, ...]] = set()
    for question in bar_repeated(questions):
        reason = question.bar_reason
        if not reason and question.visible < least_visible:
            reason = NOT_VISIBLE
        if not reason and question.grade > evidence:
            reason = f"evidence-{question.grade}"
        fact = (
            *(question.sample.id, question.task.value, question.field, question.concept),
            *question.stratum,
        )
        if not reason and fact in facts:
            reason = "asked twice of one image"
        if reason:
            dropped[f"{question.task}: {reason}"] += 1
        else:
            facts.add(fact)
            yield question


def _bundles(
    task: Task,
    questions: Sequence[OpenQuestion],
    terms: Terms,
    seed: int,
    dropped: Counter[str],
) -> list[Bundle]:
    if task.declaration.sets == "none":
        return [(question,) for question in questions]
    contrasting = with_most_contrast(questions)
    dropped[f"{task}: {PLAIN}"] += len(questions) - len(contrasting)
    questions = contrasting
    words = {
        number: tuple(question_values(question, terms).values())
        for number, question in enumerate(questions)
    }
    pairs = deal_pairs(questions, words, seed)
    dropped[f"{task}: {UNPAIRED}"] += len(questions) - 2 * len(pairs)
    return list(pairs)


def _warnings(task: Task, cells: Mapping[tuple[str, ...], BlindChance]) -> Iterator[str]:
    """Yield warnings on cells that are asked although a constant passes rather often.

    Small cells share one warning.
    """
    bar = task.declaration.blind
    often = [
        chance
        for chance in cells.values()
        if chance.share > bar.warn and not (chance.always or chance.is_above(bar.drop))
    ]
    if task.declaration.form == OPTION or not often:
        return
    for chance in often:
        if chance.patients >= FEW:
            yield (
                f"{', '.join(chance.cell)}: one fixed answer would pass {100 * chance.share:.0f} % "
                f"of {chance.questions} questions; recorded as their chance level"
            )
    if few := [chance for chance in often if chance.patients < FEW]:
        yield (
            f"{task}: one fixed answer would pass up to "
            f"{100 * max(chance.share for chance in few):.0f} % of "
            f"the questions of {', '.join(sorted({chance.cell[1] for chance in few}))}; "
            f"they are kept with that chance level, because fewer than {FEW} patients cannot show "
            "whether this is accidental"
        )


def _informative_bundles(
    task: Task,
    bundles: Sequence[Bundle],
    cells: Mapping[tuple[str, ...], BlindChance],
    dropped: Counter[str],
) -> list[Bundle]:
    """Return the bundles for which one fixed answer is not right too often."""
    bar = task.declaration.blind.drop
    remaining = []
    for bundle in bundles:
        chances = [cells[cell_of(question)] for question in bundle]
        if any(chance.always for chance in chances):
            dropped[f"{task}: {ALWAYS}"] += len(bundle)
        elif any(chance.is_above(bar) for chance in chances):
            dropped[f"{task}: {BLIND}"] += len(bundle)
        else:
            remaining.append(bundle)
    return remaining


def _even_numbers(
    task: Task, bundles: Sequence[Bundle], seed: int, dropped: Counter[str]
) -> list[Bundle]:
    """Return questions for numbers, balanced over size classes per cell up to the warning bound."""
    cells: dict[tuple[str, ...], list[OpenQuestion]] = defaultdict(list)
    for bundle in sorted(bundles, key=lambda bundle: _lot(seed, "even", *bundle)):
        for question in bundle:
            cells[cell_of(question)].append(question)
    most = task.declaration.blind.warn
    even = [(question,) for cell in sorted(cells) for question in even_lots(cells[cell], most=most)]
    dropped[f"{task}: {CLASS_FULL}"] += _count(bundles) - len(even)
    return list(even)


def _one_of_each_patient(
    task: Task, bundles: Sequence[Bundle], seed: int, dropped: Counter[str]
) -> list[Bundle]:
    first = one_of_each_patient(sorted(bundles, key=lambda bundle: _lot(seed, "patient", *bundle)))
    dropped[f"{task}: {ANOTHER}"] += _count(bundles) - _count(first)
    return first


def _within_quota(bundles: Sequence[Bundle], per_cell: int | None, seed: int) -> list[Bundle]:
    """Return at most ``per_cell`` items of each source, balanced over lots and then concepts."""
    if per_cell is None:
        return list(bundles)
    selection = []
    by_source: dict[str, list[Bundle]] = defaultdict(list)
    for bundle in bundles:
        by_source[bundle[0].sample.source].append(bundle)
    for source in sorted(by_source):
        room = per_cell
        for bundle in _evenly(by_source[source], seed):
            if len(bundle) <= room:
                room -= len(bundle)
                selection.append(bundle)
    return selection


def _evenly(bundles: Sequence[Bundle], seed: int) -> list[Bundle]:
    """Order bundles so that any prefix is balanced over lots, and within them over concepts."""
    in_concept: Counter[tuple[str, str]] = Counter()
    ranked = []
    for bundle in sorted(bundles, key=lambda bundle: _lot(seed, "quota", *bundle)):
        place = (bundle[0].lot, bundle[0].concept)
        ranked.append((in_concept[place], bundle))
        in_concept[place] += 1
    ranked.sort(key=lambda entry: entry[0])
    in_lot: Counter[str] = Counter()
    order = []
    for _, bundle in ranked:
        order.append((in_lot[bundle[0].lot], bundle))
        in_lot[bundle[0].lot] += 1
    order.sort(key=lambda entry: entry[0])
    return [bundle for _, bundle in order]


def _count(bundles: Iterable[Bundle]) -> int:
    return sum(map(len, bundles))


def _lot(seed: int, name: str, *questions: OpenQuestion) -> str:
    places = (f"{q.task}|{q.sample.id}|{q.field}|{q.concept}|{q.role}" for q in questions)
    return seeded_tiebreak(seed, name, *places)

"""Item composition: quotas, option sets, wording, key positions, reasons for dropped questions.

In order: which questions can be asked (``eligibility``), which are asked (``quotas``), with which
options (``option_blocks``), which key (``key_draws``) and which wording (``item_writer``), and
which items must then be dropped (``two_option_quota``, ``key_balance``). The result depends on the
candidates, the tables, the user's ontologies and the seed, never on the order of the candidates or
the number of workers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from medrcube.build.asked_columns import AskedTable
from medrcube.build.profile.cell_planning import ItemBatch, ProfilePlan, Trim, plan_items
from medrcube.build.profile.profile import Profile
from medrcube.build.questions.eligibility import EligibleQuestion, prepare_questions, request_of
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.questions.item_writer import ItemWriter, WrittenItems
from medrcube.build.questions.option_blocks import BlockMember, block_builders
from medrcube.build.questions.sampling.column_draw import DrawnQuestions, draw_questions
from medrcube.build.questions.sampling.key_balance import drop_unbalanced
from medrcube.build.questions.sampling.key_draws import draw_keys
from medrcube.build.questions.sampling.quotas import QUOTA, select_questions
from medrcube.build.questions.sampling.two_option_quota import TWO_OPTIONS, limit_two_option_items
from medrcube.build.questions.single_items import single_members
from medrcube.facts import Grade, Visibility
from medrcube.ontologies.difficulty import Difficulty
from medrcube.ontologies.distractor_safety import SafetyRules
from medrcube.ontologies.distractor_selection import SOURCES, CandidateSource, seeded_tiebreak
from medrcube.ontologies.knowledge_protocol import Knowledge, NoKnowledge
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import Terms
from medrcube.templates import Wordings

__all__ = ["ComposeResult", "compose", "place_keys", "request_of"]

SPARE = 3.0
"""Questions drawn for each item that a quota asks for: the more are left over, the less the drawn
keys reveal about each other. With 1.5, choosing the least used of three options is right for 0.40
of 30 items that share a set.
"""

ONE_ANSWER = "its source has one answer; more cases, or none"
NO_SET = "no set of options in which each is the key of some question"
ONE_ANSWER_IN_ALL = "all sources have one answer; add a source with another"
NOT_DRAWN = "not drawn"
UNEVEN = "an option that is always or never the key of its source"
"""Reasons under which questions are counted that are dropped to keep the batch balanced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeResult:
    """Items in a fixed order, and ``task: reason`` -> number of queries without an item.

    ``plan`` states what a profile led to, if there is one.
    """

    items: tuple[ChoiceItem, ...]
    dropped: Counter[str]
    plan: ProfilePlan | None = None


def compose(
    queries: Iterable[QuestionCandidate],
    terms: Terms,
    relations: Relations,
    *,
    options: int = 4,
    evidence: Grade | str = Grade.B,
    least_visible: Visibility = Visibility.PARTLY,
    seed: int = 0,
    sources: Sequence[CandidateSource] = SOURCES,
    knowledge: Knowledge = NoKnowledge(),  # noqa: B008 -- frozen and without state
    per_cell: int | None = None,
    profile: Profile | None = None,
    difficulty: Difficulty | None = None,
    words: Mapping[str, Mapping[str, str]] | None = None,
    wordings: Wordings | None = None,
    two_option_share: float = 1.0,
    even_keys: bool = True,
) -> ComposeResult:
    """Make one item of every query that supports one, within the quota.

    Args:
        queries: question candidates of the whole batch; see ``derive_questions``.
        terms: term table.
        relations: relation table.
        options: most options of an item, the key included; at least two.
        evidence: weakest accepted evidence of absence; C must be requested explicitly.
        least_visible: how far a reader of the image must be able to know the answer.
        seed: decides all random draws.
        sources: candidate sources of wrong options, in order of trust.
        knowledge: knowledge from the user's ontologies; empty without an index.
        per_cell: most items of each source and task; ``None`` for all.
        profile: target in place of ``per_cell``; its plan is balanced over the keys.
        difficulty: preferred difficulty of wrong options; ``None`` prefers the least used labels.
        words: source -> concept -> the dataset's own word, stored with every option.
        wordings: question templates; the package's own by default.
        two_option_share: largest share of two-option items in a task.
        even_keys: whether the options of a question must be keys of other questions, and none may
            be always or never the key; if false, any safe options are used.

    Raises:
        TermError: a query names a concept or group that is in no table.
        ValueError: fewer than two options or less than one item per cell are requested.
    """
    if options < 2:
        raise ValueError(f"options={options}: an item needs at least two")
    rules = SafetyRules(
        terms=terms, relations=relations, evidence=Grade(evidence), knowledge=knowledge
    )
    writer = ItemWriter(rules, seed=seed, words=words or {}, wordings=wordings)

    def make(ready: Sequence[EligibleQuestion], trim: Trim) -> ItemBatch:
        if even_keys:
            batch = _write_items(
                ready, writer, rules, options=options, seed=seed, difficulty=difficulty
            )
        else:
            batch = _Batch(writer=writer)
            for member in single_members(
                ready, rules, options=options, seed=seed, difficulty=difficulty
            ):
                batch.keep(writer.block((member,)))
            batch.keep_numbers(ready)
        items = tuple(trim(batch.items))
        batch.leave_out(batch.items, items, QUOTA)
        return ItemBatch(
            trimmed_items=items,
            valid_items=_apply_batch_rules(batch, items, two_option_share, seed)
            if even_keys
            else items,
            failed=frozenset(batch.failed),
            lost=batch.lost,
            dropped=batch.dropped,
        )

    if profile is not None:
        prepared = prepare_questions(queries, rules, sources, seed, least_visible=least_visible)
        plan = plan_items(profile, prepared.ready, make)
        items = place_keys(plan.items, seed)
        return ComposeResult(items=items, dropped=prepared.dropped + plan.dropped, plan=plan)
    spare = SPARE if even_keys else 1.0
    selection = _draw_questions(
        queries,
        rules,
        sources,
        seed,
        least_visible=least_visible,
        per_cell=per_cell and math.ceil(per_cell * spare),
    )
    batch_items = make(selection.questions, partial(_within_quota, per_cell, seed))
    beyond = selection.ready - Counter(
        question.query.task.value for question in selection.questions
    )
    dropped = Counter({f"{task}: {QUOTA}": count for task, count in beyond.items()})
    dropped.update(selection.dropped)
    dropped.update(batch_items.lost + batch_items.dropped)
    return ComposeResult(items=place_keys(batch_items.valid_items, seed), dropped=dropped)


def _draw_questions(
    queries: Iterable[QuestionCandidate],
    rules: SafetyRules,
    sources: Sequence[CandidateSource],
    seed: int,
    *,
    least_visible: Visibility,
    per_cell: int | None,
) -> DrawnQuestions:
    """Draw the questions that a quota keeps; from a table, without creating a record of each."""
    if isinstance(queries, AskedTable) and per_cell is not None and per_cell > 0:
        return draw_questions(
            queries, rules, sources, seed, least_visible=least_visible, per_cell=per_cell
        )
    prepared = prepare_questions(queries, rules, sources, seed, least_visible=least_visible)
    return DrawnQuestions(
        questions=select_questions(prepared.ready, per_cell=per_cell),
        ready=Counter(question.query.task.value for question in prepared.ready),
        dropped=prepared.dropped,
    )


def place_keys(items: Sequence[ChoiceItem], seed: int) -> tuple[ChoiceItem, ...]:
    """Spread the keys evenly over the positions, within each source, task and option count.

    Scales and numbered boxes keep their order. Ids do not change. Items are returned sorted by
    source, task and id, so the result does not depend on the order of the input.
    """
    cells: dict[tuple[str, str, int], list[ChoiceItem]] = {}
    for item in sorted(items, key=lambda item: seeded_tiebreak(seed, item.id)):
        if not item.ordered:
            cells.setdefault((item.source, item.task, len(item.options)), []).append(item)
    final = {item.id: item for item in items if item.ordered}
    for cell, members in cells.items():
        count = cell[2]
        start = int(seeded_tiebreak(seed, *cell)[:8], 16)
        for number, item in enumerate(members):
            final[item.id] = _with_key_at(item, (start + number) % count, seed)
    return tuple(sorted(final.values(), key=lambda item: (item.source, item.task, item.id)))


def _write_items(
    ready: Sequence[EligibleQuestion],
    writer: ItemWriter,
    rules: SafetyRules,
    *,
    options: int,
    seed: int,
    difficulty: Difficulty | None,
) -> _Batch:
    """Write the items of all selected questions, those with option sets before numbered boxes."""
    batch = _Batch(writer=writer)
    for name, builder in block_builders(
        ready, rules, options=options, seed=seed, difficulty=difficulty
    ):
        blocks: list[Sequence[BlockMember]] = []
        while block := builder.take():
            if batch.try_out(block):
                blocks.append(block)
            else:
                builder.put_back(
                    member.ready for member in block if member.ready.identity not in batch.failed
                )
        groups = list(draw_keys(blocks, builder.rest(), seed=f"{seed}|{name}"))
        for group in groups:
            batch.keep(writer.block(group.members), block=group.block)
        identities = {member.ready.identity for group in groups for member in group.members}
        out = [*(member.ready for block in blocks for member in block), *builder.rest()]
        reason = _why_not_drawn(out, blocks)
        batch.dropped.update(
            f"{question.query.task.value}: {reason}"
            for question in out
            if question.identity not in identities
        )
    batch.keep_numbers(ready)
    return batch


def _why_not_drawn(ready: Sequence[EligibleQuestion], blocks: Sequence[object]) -> str:
    """Return the counted reason why the remaining questions of one block group are not asked."""
    if blocks:
        return NOT_DRAWN
    if len({question.answer for question in ready}) > 1:
        return NO_SET
    return ONE_ANSWER if ready and ready[0].within else ONE_ANSWER_IN_ALL


def _within_quota(
    per_cell: int | None, seed: int, items: Sequence[ChoiceItem]
) -> Sequence[ChoiceItem]:
    """Return at most ``per_cell`` items of each source and task, chosen at random."""
    counts: Counter[tuple[str, str]] = Counter()
    within = []
    for item in sorted(items, key=lambda item: seeded_tiebreak(seed, "quota", item.id)):
        counts[item.source, item.task] += 1
        if per_cell is None or counts[item.source, item.task] <= per_cell:
            within.append(item)
    return within


def _apply_batch_rules(
    batch: _Batch, items: Sequence[ChoiceItem], share: float, seed: int
) -> tuple[ChoiceItem, ...]:
    """Drop the items that violate a rule on the whole batch, and count them."""
    remaining = tuple(sorted(items, key=lambda item: (item.source, item.task, item.id)))
    while True:
        few = limit_two_option_items(remaining, share, seed)
        batch.leave_out(remaining, few, TWO_OPTIONS)
        remaining = drop_unbalanced(few)
        batch.leave_out(few, remaining, UNEVEN)
        if len(remaining) == len(few):
            return remaining


def _with_key_at(item: ChoiceItem, position: int, seed: int) -> ChoiceItem:
    key = item.options[item.key]
    options = sorted(
        (option for option in item.options if option is not key),
        key=lambda option: seeded_tiebreak(seed, item.id, option.text),
    )
    options.insert(position, key)
    return replace(item, options=tuple(options), key=position)


@dataclass(slots=True, kw_only=True)
class _Batch:
    """Accumulates items and drop reasons."""

    writer: ItemWriter
    items: list[ChoiceItem] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    lost: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def keep(self, outcome: WrittenItems, *, block: str = "") -> None:
        self.items += (replace(item, block=block) for item in outcome.items)
        self._lose(outcome)

    def keep_numbers(self, ready: Iterable[EligibleQuestion]) -> None:
        for question in ready:
            if question.compatible is None:
                self.keep(self.writer.numbers(question))

    def try_out(self, block: Sequence[BlockMember]) -> bool:
        """Whether each question of a block can be written with its options."""
        outcome = self.writer.block(block)
        self._lose(outcome)
        return not outcome.failed

    def leave_out(
        self, before: Sequence[ChoiceItem], after: Sequence[ChoiceItem], reason: str
    ) -> None:
        """Count the items that were removed."""
        out = Counter(item.task for item in before) - Counter(item.task for item in after)
        self.dropped.update({f"{task}: {reason}": count for task, count in out.items()})

    def _lose(self, outcome: WrittenItems) -> None:
        self.failed.update(question.identity for question, _ in outcome.failed)
        self.lost.update(
            f"{question.query.task.value}: {reason}" for question, reason in outcome.failed
        )

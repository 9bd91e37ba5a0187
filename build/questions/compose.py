"""Queries become items: quotas, safe options in blocks, a wording, an order, a record of why.

One way: what can be asked (``ready``), what is asked (``sampling``), against what (``blocks``), in
which words (here). The result depends on the queries, the tables, the user's ontologies and the
seed, never on the order in which the queries arrive or on how many workers made them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from medrcube.build.profile.choice import Made, Plan, build_toward
from medrcube.build.profile.targets import Profile
from medrcube.build.questions.balance import balance
from medrcube.build.questions.blocks import Member, shelves
from medrcube.build.questions.derive import Query
from medrcube.build.questions.items import Item
from medrcube.build.questions.ready import Ready, prepare, request_of
from medrcube.build.questions.sampling import QUOTA, select
from medrcube.build.questions.writing import Writer, Written
from medrcube.ontologies.difficulty import Difficulty
from medrcube.ontologies.distractors import SOURCES, CandidateSource, Prior, choose_from, tie
from medrcube.ontologies.knowledge import Knowledge, Silent
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.safety import Rules
from medrcube.ontologies.terms import Terms
from medrcube.records import Grade, Visible
from medrcube.templates import Wordings

__all__ = ["Composed", "compose", "place_keys", "request_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """Items in a fixed order, and ``task: reason`` -> number of queries that became none.

    ``plan`` says what a profile led to, where there is one.
    """

    items: tuple[Item, ...]
    dropped: Counter[str]
    plan: Plan | None = None


def compose(
    queries: Iterable[Query],
    terms: Terms,
    relations: Relations,
    *,
    options: int = 4,
    evidence: Grade | str = Grade.B,
    least_visible: Visible = Visible.PARTLY,
    seed: int = 0,
    sources: Sequence[CandidateSource] = SOURCES,
    knowledge: Knowledge = Silent(),  # noqa: B008 -- frozen and without state
    per_cell: int | None = None,
    profile: Profile | None = None,
    difficulty: Difficulty | None = None,
    words: Mapping[str, Mapping[str, str]] | None = None,
    wordings: Wordings | None = None,
) -> Composed:
    """Make one item of every query that can carry one, as far as the quota goes.

    Args:
        queries: what ``derive`` found, for the whole batch.
        terms: term table.
        relations: relation table.
        options: most options of an item, the key included; at least two.
        evidence: weakest evidence of absence that is accepted; C must be asked for.
        least_visible: how far a reader of the picture must be able to know the answer.
        seed: decides all drawing of lots.
        sources: where wrong options come from, in order of trust.
        knowledge: what the user's ontologies say; nothing without an index.
        per_cell: most items of each source and task; ``None`` for all.
        profile: what to aim at in place of ``per_cell``; its items come balanced.
        difficulty: of the wrong options to prefer; ``None`` takes them as balance asks.
        words: source -> concept -> the data set's own word, kept with every option.
        wordings: question templates; the package's own by default.

    Raises:
        TermError: a query names a concept or group that is in no table.
        ValueError: fewer than two options or less than one item for each cell are asked for.
    """
    if options < 2:
        raise ValueError(f"options={options}: an item needs at least two")
    rules = Rules(terms=terms, relations=relations, evidence=Grade(evidence), knowledge=knowledge)
    prepared = prepare(queries, rules, sources, seed, least_visible=least_visible)
    writer = Writer(rules, seed=seed, words=words or {}, wordings=wordings)

    def write(ready: Sequence[Ready]) -> _Batch:
        return _write(ready, writer, rules, options=options, seed=seed, wanted=difficulty)

    def make(ready: Sequence[Ready]) -> Made:
        batch = write(ready)
        balanced = balance(place_keys(batch.items, seed), seed)
        dropped = batch.dropped + balanced.dropped
        return Made(written=batch.items, kept=balanced.items, dropped=dropped)

    if profile is not None:
        plan = build_toward(profile, prepared.ready, make)
        items = place_keys(plan.items, seed)
        return Composed(items=items, dropped=prepared.dropped + plan.dropped, plan=plan)
    ready = select(prepared.ready, per_cell=per_cell)
    batch = write(ready)
    batch.dropped.update(prepared.dropped)
    kept = {one.identity for one in ready}
    batch.drop((one, QUOTA) for one in prepared.ready if one.identity not in kept)
    return Composed(items=place_keys(batch.items, seed), dropped=batch.dropped)


def place_keys(items: Sequence[Item], seed: int) -> tuple[Item, ...]:
    """Spread the keys evenly over the positions, within each source, task and option count.

    Scales and numbered boxes keep their order. Ids do not change. Items come back sorted by
    source, task and id, so the result does not depend on the order of the input.
    """
    cells: dict[tuple[str, str, int], list[Item]] = {}
    for item in sorted(items, key=lambda item: tie(seed, item.id)):
        if not item.ordered:
            cells.setdefault((item.source, item.task, len(item.options)), []).append(item)
    placed = {item.id: item for item in items if item.ordered}
    for cell, members in cells.items():
        count = cell[2]
        start = int(tie(seed, *cell)[:8], 16)
        for number, item in enumerate(members):
            placed[item.id] = _with_key_at(item, (start + number) % count, seed)
    return tuple(sorted(placed.values(), key=lambda item: (item.source, item.task, item.id)))


def _write(
    ready: Sequence[Ready],
    writer: Writer,
    rules: Rules,
    *,
    options: int,
    seed: int,
    wanted: Difficulty | None,
) -> _Batch:
    """Items of all questions that are asked: in blocks, then alone, then about boxes."""
    batch = _Batch(writer=writer)
    left: list[Ready] = []
    for shelf in shelves(ready, rules, options=options, seed=seed, wanted=wanted):
        while block := shelf.take():
            shelf.put_back(batch.keep_whole(block))
        left += shelf.rest()
    alone = _Alone(rules, options=options, seed=seed, wanted=wanted)
    alone.count(ready, batch.blocks)
    for one in sorted(left, key=lambda one: (one.lot, one.identity)):
        batch.keep(batch.writer.block((alone.member(one),)))
    for one in ready:
        if one.against is None:
            batch.keep(batch.writer.numbers(one))
    return batch


def _with_key_at(item: Item, position: int, seed: int) -> Item:
    key = item.options[item.key]
    options = sorted(
        (option for option in item.options if option is not key),
        key=lambda option: tie(seed, item.id, option.text),
    )
    options.insert(position, key)
    return replace(item, options=tuple(options), key=position)


@dataclass(slots=True, kw_only=True)
class _Batch:
    """Items and reasons as they come in."""

    writer: Writer
    items: list[Item] = field(default_factory=list)
    blocks: list[Sequence[Member]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def keep(self, written: Written) -> None:
        self.items += written.items
        self.drop(written.failed)

    def keep_whole(self, block: Sequence[Member]) -> list[Ready]:
        """Keep a block of which no question fails; otherwise give back those that do not."""
        written = self.writer.block(block)
        if not written.failed:
            self.items += written.items
            self.blocks.append(block)
            return []
        self.drop(written.failed)
        failed = {one.identity for one, _ in written.failed}
        return [it.ready for it in block if it.ready.identity not in failed]

    def drop(self, failed: Iterable[tuple[Ready, str]]) -> None:
        self.dropped.update(f"{one.query.task.value}: {reason}" for one, reason in failed)


class _Alone:
    """Options of questions that stand in no block: labels by their use in the batch so far."""

    def __init__(self, rules: Rules, *, options: int, seed: int, wanted: Difficulty | None) -> None:
        self._rules = rules
        self._options = options
        self._seed = seed
        self._wanted = wanted
        self._priors: dict[str, Prior] = {}

    def count(self, ready: Iterable[Ready], blocks: Iterable[Iterable[Member]]) -> None:
        """Count what is to be a key, and what is a distractor by now."""
        keyed: dict[str, Counter[str]] = {}
        for one in ready:
            keyed.setdefault(one.shelf, Counter())[one.query.key] += 1
        self._priors = {shelf: Prior(keyed=counts) for shelf, counts in keyed.items()}
        for block in blocks:
            for member in block:
                self._priors[member.ready.shelf].used.update(member.wrong)

    def member(self, one: Ready) -> Member:
        """The question with options of its own."""
        if one.against is None:
            raise ValueError(f"{one.identity}: boxes choose no options")
        choice = choose_from(
            one.against.pool,
            one.against.request,
            self._rules,
            options=self._options,
            seed=f"{self._seed}|{one.identity}",
            prior=self._priors[one.shelf],
            wanted=self._wanted,
        )
        return Member(ready=one, wrong=tuple(it.label for it in choice.distractors))

"""Queries become items: safe distractors, a wording, an order, and a record of why.

The result depends on the queries, the tables and the seed, never on the order in which the
queries arrive or on how many workers made them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from medrcube.build.derive import Query
from medrcube.build.items import KEY, UNREVIEWED, Item, Option
from medrcube.build.wording import wording
from medrcube.ontologies.distractors import Choice, Prior, choose, tie
from medrcube.ontologies.lint import ERROR, Draft, Flaw, lint
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.safety import Request, Rules, judge_key
from medrcube.ontologies.terms import Term, Terms
from medrcube.records import Grade
from medrcube.taxonomy import Task
from medrcube.templates import render_question, template_version, variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """Items in a fixed order, and ``task: reason`` -> number of queries that became none."""

    items: tuple[Item, ...]
    dropped: Counter[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """What all items of a batch share."""

    rules: Rules
    options: int
    seed: int
    priors: dict[str, Prior]


class _DroppedError(Exception):
    """A query becomes no item; the message is the reason that is counted."""


def compose(
    queries: Iterable[Query],
    terms: Terms,
    relations: Relations,
    *,
    options: int = 4,
    evidence: Grade | str = Grade.B,
    seed: int = 0,
) -> Composed:
    """Make one item of every query that can carry one.

    Args:
        queries: what ``derive`` found, for the whole batch.
        terms: term table.
        relations: relation table.
        options: most options of an item, the key included; at least two.
        evidence: weakest evidence of absence that is accepted; C must be asked for.
        seed: decides all drawing of lots.

    Raises:
        TermError: a query names a concept or group that is in no table.
        ValueError: fewer than two options are asked for.
    """
    if options < 2:
        raise ValueError(f"options={options}: an item needs at least two")
    unique = {_identity(query): query for query in queries}
    ordered = sorted(unique, key=lambda identity: (tie(seed, identity), identity))
    found = [unique[identity] for identity in ordered]
    rules = Rules(terms=terms, relations=relations, evidence=Grade(evidence))
    batch = _Batch(rules=rules, options=options, seed=seed, priors=_priors(found))
    items: list[Item] = []
    dropped: Counter[str] = Counter()
    for query in found:
        try:
            items.append(_compose(query, batch))
        except _DroppedError as reason:
            dropped[f"{query.task.value}: {reason}"] += 1
    return Composed(items=place_keys(items, seed), dropped=dropped)


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


def _compose(query: Query, batch: _Batch) -> Item:
    if query.barred:
        raise _DroppedError(query.barred)
    options, key, ordered = (
        _boxes(query, batch) if query.task is Task.ROI_GROUNDING else _concepts(query, batch)
    )
    texts = tuple(option.text for option in options)
    variant, question, flaws = _word(query, batch, options, key)
    sample = query.sample
    content = "\x1f".join((sample.id, query.task, question, texts[key], *sorted(texts)))
    wrong = [option for option in options if option.strategy != KEY]
    return Item(
        id=sha256(content.encode()).hexdigest()[:16],
        sample=sample.id,
        source=sample.source,
        task=query.task.value,
        anatomy=sample.anatomy,
        modality=sample.modality,
        question=question,
        options=options,
        key=key,
        strategy="+".join(sorted({option.strategy for option in wrong})),
        state=UNREVIEWED,
        field=query.field,
        concept=query.key,
        group=query.group or "",
        scope=query.scope.name.lower(),
        grade=max(option.grade for option in wrong),
        ordered=ordered,
        variant=variant,
        template=template_version(query.task),
        warnings=tuple(dict.fromkeys(flaw.rule for flaw in flaws)),
        seed=batch.seed,
    )


def _boxes(query: Query, batch: _Batch) -> tuple[tuple[Option, ...], int, bool]:
    if query.key in query.ground.unknown or query.key not in query.ground.present:
        raise _DroppedError("key-not-true")
    if query.grade > batch.rules.evidence:
        raise _DroppedError(f"evidence-{query.grade}")
    key = int(query.sample.truth) - 1
    options = tuple(
        Option(
            text=f"Box {number + 1}",
            concept="",
            ids=(),
            strategy=KEY if number == key else "box",
            grade="" if number == key else query.grade.value,
            passed=() if number == key else (5, 7, 12),
        )
        for number in range(query.sample.choices)
    )
    return options, key, True


def _concepts(query: Query, batch: _Batch) -> tuple[tuple[Option, ...], int, bool]:
    request = Request(
        key=query.key,
        ground=query.ground,
        scope=query.scope,
        group=query.group,
        pool=query.pool,
    )
    verdict = judge_key(request, batch.rules)
    if not verdict.allowed:
        raise _DroppedError(verdict.reason)
    choice = choose(
        request,
        batch.rules,
        options=batch.options,
        seed=f"{batch.seed}|{_identity(query)}",
        prior=batch.priors[_cell(query)],
    )
    if not choice.distractors:
        raise _DroppedError(_why_none(choice))
    terms, relations = batch.rules.terms, batch.rules.relations
    options = [_option(terms[query.key], strategy=KEY, grade="", passed=verdict.passed)]
    options += [
        _option(terms[it.label], strategy=it.strategy, grade=it.grade.value, passed=it.passed)
        for it in choice.distractors
    ]
    group = query.group
    scaled = group is not None and (
        query.task is Task.SEVERITY_GRADING or relations.scale(group).ordered
    )
    if group is not None and scaled:
        options.sort(key=lambda option: (relations.rank(group, option.concept), option.text))
    key = next(index for index, option in enumerate(options) if option.strategy == KEY)
    return tuple(options), key, scaled


def _option(term: Term, *, strategy: str, grade: str, passed: tuple[int, ...]) -> Option:
    return Option(
        text=term.name,
        concept=term.label,
        ids=tuple(f"{ontology}:{value}" for ontology, value in term.ids().items()),
        strategy=strategy,
        grade=grade,
        passed=passed,
    )


def _why_none(choice: Choice) -> str:
    if not choice.refused:
        return "no-candidate"
    reasons = Counter(choice.refused.values())
    return f"no-distractor ({min(reasons, key=lambda reason: (-reasons[reason], reason))})"


def _word(
    query: Query, batch: _Batch, options: tuple[Option, ...], key: int
) -> tuple[str, str, tuple[Flaw, ...]]:
    """The first wording, in an order drawn by lot, that breaks no rule."""
    terms = batch.rules.terms
    values = wording(query, terms, batch.rules.relations)
    names = sorted(variants(query.task), key=lambda name: tie(batch.seed, _identity(query), name))
    errors: list[Flaw] = []
    for name in names:
        question = render_question(query.task, name, **values)
        draft = Draft(
            question=question,
            options=tuple(option.text for option in options),
            key=key,
            kinds=tuple(terms[it.concept].kind if it.concept else "" for it in options),
            grouped=query.group is not None,
        )
        flaws = lint(draft)
        found = [flaw for flaw in flaws if flaw.level == ERROR]
        if not found:
            return name, question, flaws
        errors.extend(found)
    raise _DroppedError(f"lint {errors[0].rule}")


def _with_key_at(item: Item, position: int, seed: int) -> Item:
    key = item.options[item.key]
    options = sorted(
        (option for option in item.options if option is not key),
        key=lambda option: tie(seed, item.id, option.text),
    )
    options.insert(position, key)
    return replace(item, options=tuple(options), key=position)


def _priors(queries: Iterable[Query]) -> dict[str, Prior]:
    """How often each label is a key, for every set of labels that are options together."""
    keyed: dict[str, Counter[str]] = {}
    for query in queries:
        counts = keyed.setdefault(_cell(query), Counter())
        counts[query.key] += not query.barred
    return {cell: Prior(keyed=counts) for cell, counts in keyed.items()}


def _cell(query: Query) -> str:
    return f"{query.task}|{query.group or query.sample.source}"


def _identity(query: Query) -> str:
    sample = query.sample
    return f"{query.task}|{sample.source}|{sample.case}|{sample.id}|{query.field}|{query.key}"

"""Chain metrics: how often each step of a conversation is right, and the whole chain.

A step is asked after the model's own replies to the steps before it. Two cases are kept apart:

- A lost reply (failed, missing image, not asked) excludes its whole chain, and is counted.
- A step that was not reached, since a reply before it left nothing to continue from, is not a wrong
  answer to that step. Its chain as a whole is not right.

Steps after right ones and steps after wrong ones are different items on different images, so their
difference is not an effect of the history; ``alone`` is, since it compares the same items.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.evaluate.outcomes import LOST, AnswerOutcome, Result
from medrcube.evaluate.questions.chains import task_place
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.runner.run_state import FAILURE_GATE
from medrcube.evaluate.statistics.bootstrap import (
    divide_or_nan,
    percentile_interval,
    resampled,
)
from medrcube.evaluate.statistics.clustered_inference import (
    share_interval,
    tallies,
    why_no_interval,
)
from medrcube.evaluate.statistics.intervals import SMALL, chance_corrected, mean, ratio
from medrcube.evaluate.statistics.paired_tests import AnswerPair, paired_metrics
from medrcube.evaluate.statistics.units import unit_kinds, unit_of

__all__ = ["AskedChain", "asked_chains", "chain_metrics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedChain:
    """A chain as a run asked it.

    Attributes:
        id: its id.
        results: one result per step, in order.
    """

    id: str
    results: tuple[Result, ...]

    @property
    def is_lost(self) -> bool:
        """Whether a step has no reply for a reason that is not the model's fault."""
        lost = LOST - {AnswerOutcome.NOT_REACHED}
        return any(result.outcome in lost for result in self.results)

    @property
    def is_right(self) -> bool:
        """Whether all steps are right."""
        return self.depth == len(self.results)

    @property
    def depth(self) -> int:
        """Number of right steps before the first that is not right."""
        for place, result in enumerate(self.results):
            if result.outcome is not AnswerOutcome.CORRECT:
                return place
        return len(self.results)

    @property
    def chances(self) -> list[float]:
        """Probability that independent guesses are right up to each step."""
        chances = [result.item.chance for result in self.results]
        return [math.prod(chances[: place + 1]) for place in range(len(chances))]

    @property
    def unit(self) -> str:
        """Its patient, case or image."""
        return unit_of(self.results[0])


def asked_chains(results: Iterable[Result]) -> list[AskedChain]:
    """Return the chains in some results, first epoch, with at least two steps left."""
    steps: dict[str, list[Result]] = {}
    for result in results:
        presentation = result.question.presentation
        if presentation.condition is Condition.CHAIN and presentation.epoch == 0:
            steps.setdefault(presentation.chain, []).append(result)
    return [
        AskedChain(
            id=name, results=tuple(sorted(group, key=lambda r: r.question.presentation.step))
        )
        for name, group in steps.items()
        if len(group) > 1
    ]


def chain_metrics(
    results: Sequence[Result], replies: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Return ``chains`` of ``metrics.json``; ``None`` if none were asked.

    Args:
        results: every presentation.
        replies: record of the reply that counts, by question key.

    Returns:
        ``n`` chains; ``lost`` ones, which are excluded from all other numbers; ``items`` of the
        others, ``units`` and ``unit_kinds``; ``incomplete``, whether so many are lost that no
        accuracy is reported; ``whole``, a row over chains, right if all steps are; ``depth``, mean
        number of right steps before the first that is not, with ``interval``, ``chance`` and the
        mean ``length``; ``steps``, a row for each position; ``level`` and ``task``, rows by name;
        ``alone``, the later steps against the same questions without history
        (``paired_tests.paired_metrics``, ``first`` is with history), ``None`` if full was not
        asked; ``history``, evidence that the history was sent: ``checked`` replies, and of these
        ``dropped``, which counted no more input tokens than the step before or than the question
        alone.

        A row has ``n``, ``correct``, ``accuracy``, ``interval`` or ``interval_reason``, ``units``,
        ``chance``, ``chance_corrected`` and ``small``. A row of steps also has ``not_reached``, and
        rows ``after_right``, all steps before right, and ``after_wrong``, at least one not right;
        both ``None`` for a first step.
    """
    chains = asked_chains(results)
    if not chains:
        return None
    whole = [chain for chain in chains if not chain.is_lost]
    incomplete = len(chains) - len(whole) > FAILURE_GATE * len(chains)
    reported = [] if incomplete else whole
    steps = [step for chain in reported for step in _steps(chain)]
    members = [result for chain in reported for result in chain.results]
    longest = max((len(chain.results) for chain in reported), default=0)
    return {
        "n": len(chains),
        "lost": len(chains) - len(whole),
        "incomplete": incomplete,
        "items": len(members),
        "units": len({chain.unit for chain in reported}),
        "unit_kinds": unit_kinds(members),
        "whole": _row([(c.unit, c.is_right, c.chances[-1]) for c in reported]),
        "depth": _depth(reported),
        "steps": [
            {"step": place + 1, **_step_row([step for step in steps if step.place == place])}
            for place in range(longest)
        ],
        "level": _by(steps, lambda result: str(result.item.task.level)),
        "task": _by(steps, lambda result: result.item.task.value),
        "alone": _alone(steps, results),
        "history": _history(chains, results, replies),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    result: Result
    place: int
    after_right: bool

    @property
    def is_reached(self) -> bool:
        return self.result.outcome is not AnswerOutcome.NOT_REACHED

    @property
    def is_right(self) -> bool:
        return self.result.outcome is AnswerOutcome.CORRECT


def _steps(chain: AskedChain) -> list[_Step]:
    return [
        _Step(result=result, place=place, after_right=chain.depth >= place)
        for place, result in enumerate(chain.results)
    ]


def _by(steps: Sequence[_Step], name_of: Callable[[Result], str]) -> dict[str, Any]:
    groups: dict[str, list[_Step]] = {}
    for step in sorted(steps, key=lambda step: task_place(step.result.item.task)):
        groups.setdefault(name_of(step.result), []).append(step)
    return {name: _step_row(group) for name, group in groups.items()}


def _step_row(steps: Sequence[_Step]) -> dict[str, Any]:
    reached = [step for step in steps if step.is_reached]
    later = [step for step in reached if step.place]
    return {
        **_share(reached),
        "not_reached": len(steps) - len(reached),
        "after_right": _share([s for s in later if s.after_right]) if later else None,
        "after_wrong": _share([s for s in later if not s.after_right]) if later else None,
    }


def _share(steps: Sequence[_Step]) -> dict[str, Any]:
    return _row([(unit_of(s.result), s.is_right, s.result.item.chance) for s in steps])


def _row(members: Sequence[tuple[str, bool, float]]) -> dict[str, Any]:
    """Return the row of (unit, whether right, chance) members."""
    n, correct = len(members), sum(right for _, right, _ in members)
    units = tallies((unit, int(right)) for unit, right, _ in members)
    interval = share_interval(units)
    accuracy, by_chance = ratio(correct, n), mean(chance for *_, chance in members)
    return {
        "n": n,
        "correct": correct,
        "accuracy": accuracy,
        "interval": None if interval is None else list(interval),
        "interval_reason": why_no_interval(units),
        "units": len(units),
        "chance": by_chance,
        "chance_corrected": chance_corrected(accuracy, by_chance),
        "small": n < SMALL,
    }


def _depth(chains: Sequence[AskedChain]) -> dict[str, Any]:
    units: dict[str, list[int]] = {}
    for chain in chains:
        units.setdefault(chain.unit, []).append(chain.depth)
    interval = None
    if units:
        draws = resampled([(sum(depths), len(depths)) for depths in units.values()])
        interval = percentile_interval(divide_or_nan(draws[:, 0], draws[:, 1]), len(units))
    return {
        "mean": mean(chain.depth for chain in chains),
        "interval": None if interval is None else list(interval),
        "chance": mean(math.fsum(chain.chances) for chain in chains),
        "length": mean(len(chain.results) for chain in chains),
    }


def _alone(steps: Sequence[_Step], results: Iterable[Result]) -> dict[str, Any] | None:
    """Compare later steps with the same questions without history, first epoch."""
    alone = _asked_alone(results)
    pairs = [
        AnswerPair(
            unit_of(step.result),
            step.is_right,
            alone[step.result.item.name].outcome is AnswerOutcome.CORRECT,
        )
        for step in steps
        if step.place
        and step.is_reached
        and step.result.item.name in alone
        and alone[step.result.item.name].outcome not in LOST
    ]
    return paired_metrics(pairs) if alone else None


def _asked_alone(results: Iterable[Result]) -> dict[str, Result]:
    return {
        result.item.name: result
        for result in results
        if (presentation := result.question.presentation).condition is Condition.FULL
        and presentation.epoch == 0
    }


def _history(
    chains: Iterable[AskedChain],
    results: Iterable[Result],
    replies: Mapping[str, Mapping[str, Any]],
) -> dict[str, int]:
    """Count the later steps whose input tokens show whether the history reached the model."""
    alone = _asked_alone(results)
    counts: Counter[str] = Counter(checked=0, dropped=0)
    for chain in chains:
        for before, result in zip(chain.results, chain.results[1:], strict=False):
            token_count = _tokens(result, replies)
            others = (_tokens(before, replies), _tokens(alone.get(result.item.name), replies))
            fewest = [tokens for tokens in others if tokens is not None]
            if token_count is not None and fewest:
                counts["checked"] += 1
                counts["dropped"] += token_count <= max(fewest)
    return dict(counts)


def _tokens(result: Result | None, replies: Mapping[str, Mapping[str, Any]]) -> int | None:
    if result is None or result.question.key is None:
        return None
    record = replies.get(result.question.key)
    tokens: int | None = None if record is None else record["usage"].get("prompt_tokens")
    return tokens

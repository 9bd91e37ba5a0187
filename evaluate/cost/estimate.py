"""Estimate the cost of a run from a random sample of its items.

Reply length is unknown in advance, and providers count image tokens differently from their
documentation. So a random sample of items is asked, as part of the run: the replies are stored, and
the run continues from them. The sample grows until the cost is known within a tenth, or a quarter
of the items have been asked.

The rest of the run is assumed to send its forecast (``forecast``) times the ratio of counted to
forecast tokens in the sample, with replies of the sample's mean length. The interval is that of a
ratio estimator with items as units, since all questions on an item are sampled together (Cochran,
Sampling Techniques, 3rd edition, section 6). Questions already asked count at their actual price,
batched or not; the rest at that of the mode in which the run will continue.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from medrcube.errors import ModelError
from medrcube.evaluate.cost.budget import Prices
from medrcube.evaluate.cost.forecast import distinct_questions, tokens_in
from medrcube.evaluate.models.protocol import Model
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.runner.attempt_log import read_attempts
from medrcube.evaluate.runner.plan import RunPlan
from medrcube.evaluate.runner.run_folder import attempts_path

__all__ = ["ENOUGH", "FIRST", "MOST", "WITHIN", "CostEstimate", "estimate", "sample_sizes"]

FIRST, MOST, PART = 32, 256, 4
"""Items in the first and the largest sample, and its largest share of the run: 1/``PART``."""

ENOUGH, WITHIN = 0.1, 0.2
"""Half-width of the 95 % interval relative to the cost: target to stop at, and promised bound.

Reply lengths are skewed, and a sample that misses the long ones looks more precise than it is; so
sampling continues beyond the promised precision. In 400 simulated runs each of 400 to 5,000 items
with lognormal lengths (sigma 0.8 of the logarithm, as wide as those of reasoning models), at least
99 % of the estimates were within a fifth, with sigma 1.2 at least 93 %; the interval contained the
cost in 88 to 95 %.
"""

_TOKENS = Prices(tokens_in=1_000_000.0, tokens_out=1_000_000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """Tokens and cost of a whole run, including questions already asked.

    Attributes:
        model: name of the model.
        items: items of the run.
        questions: distinct questions of the run.
        asked: of these, with a reply.
        drawn: items of the sample.
        sample: of these, items whose questions all have a reply.
        tokens_in: input tokens of the whole run.
        tokens_out: output tokens of the whole run.
        cost: US dollars of the whole run; ``None`` without prices.
        spent: of these, so far.
        interval: 95 % interval of the cost, or of all tokens without prices; no upper end if only
            one of several items was asked.
        within: half width of the interval relative to its centre; ``None`` without an upper end.
        counted: ratio of counted to forecast input tokens.
        tokens_out_each: mean output tokens of a reply.
    """

    model: str
    items: int
    questions: int
    asked: int
    drawn: int
    sample: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    spent: float | None
    interval: tuple[float, float | None]
    within: float | None
    counted: float
    tokens_out_each: float

    @property
    def close(self) -> bool:
        """Whether the cost is known within ``WITHIN``."""
        return self.within is not None and self.within <= WITHIN

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return asdict(self)


def sample_sizes(items: int) -> Iterator[int]:
    """Successive sample sizes, doubling each time."""
    most = min(MOST, math.ceil(items / PART))
    size = FIRST
    while size < most:
        yield size
        size *= 2
    yield most


def estimate(
    out: Path,
    plan: RunPlan,
    model: Model,
    asking: QuestionSetup,
    *,
    prices: Prices | None,
    ask: Callable[[int], object],
    batches: bool = False,
) -> CostEstimate:
    """Ask part of a run and estimate the cost of the whole.

    Args:
        out: run folder.
        plan: plan of the run.
        model: the model.
        asking: question setup.
        prices: token prices; without them only tokens are estimated.
        ask: asks the given number of items, in the order of the draw.
        batches: the rest will be asked in batches.

    Raises:
        ModelError: the server reports no tokens, or nothing was answered.
    """
    for size in sample_sizes(len(plan.items)):
        ask(size)
        result = _measure(out, plan, model, asking, prices, draw_size=size, batches=batches)
        if result.within is not None and result.within <= ENOUGH:
            break
    return result


def _measure(
    out: Path,
    plan: RunPlan,
    model: Model,
    asking: QuestionSetup,
    prices: Prices | None,
    *,
    draw_size: int,
    batches: bool,
) -> CostEstimate:
    distinct = distinct_questions(plan.questions)
    charged = prices or _TOKENS
    usage, spent = _usage(out, distinct, charged)
    if not usage:
        raise ModelError(
            "no reply reports its tokens, so the cost cannot be estimated; see "
            "--dry-run for what would be sent"
        )
    foreseen = tokens_in(plan, asking, model, distinct.values())
    prompt_tokens = {key: count["prompt_tokens"] for key, count in usage.items()}
    completion_tokens = {key: count["completion_tokens"] for key, count in usage.items()}
    ratio = sum(prompt_tokens.values()) / sum(foreseen[key] for key in usage)
    mean = sum(completion_tokens.values()) / len(completion_tokens)
    price = charged.of_batches if batches else charged
    items: dict[str, list[str]] = defaultdict(list)
    for key, question in distinct.items():
        items[question.item.name].append(key)
    whole = [keys for keys in items.values() if all(key in usage for key in keys)]
    residuals = [
        sum(
            price.cost(
                {"prompt_tokens": prompt_tokens[key], "completion_tokens": completion_tokens[key]}
            )
            - _modelled(price, ratio * foreseen[key], mean)
            for key in keys
        )
        for keys in whole
    ]
    rest = [key for key in distinct if key not in usage]
    total = spent + sum(_modelled(price, ratio * foreseen[key], mean) for key in rest)
    half = _half_width(residuals, len(items))
    return CostEstimate(
        model=model.name,
        items=len(items),
        questions=len(distinct),
        asked=len(usage),
        drawn=draw_size,
        sample=len(whole),
        tokens_in=round(sum(prompt_tokens.values()) + ratio * sum(foreseen[key] for key in rest)),
        tokens_out=round(sum(completion_tokens.values()) + mean * len(rest)),
        cost=total if prices else None,
        spent=spent if prices else None,
        interval=(max(spent, total - half), total + half if math.isfinite(half) else None),
        within=(half / total if total else 0.0) if math.isfinite(half) else None,
        counted=ratio,
        tokens_out_each=mean,
    )


def _modelled(prices: Prices, tokens_in_: float, tokens_out: float) -> float:
    return (tokens_in_ * prices.tokens_in + tokens_out * prices.tokens_out) / 1_000_000


def _half_width(residuals: list[float], units: int) -> float:
    """Return half the 95 % interval of a total over all units; infinite if too few were sampled."""
    sample = len(residuals)
    if sample >= units:
        return 0.0
    if sample < 2:
        return math.inf
    spread = statistics.stdev(residuals) / math.sqrt(sample) * math.sqrt(1 - sample / units)
    return float(import_module("scipy.special").stdtrit(sample - 1, 0.975)) * spread * units


def _usage(
    out: Path, distinct: Mapping[str, object], prices: Prices
) -> tuple[dict[str, dict[str, int]], float]:
    """Return the tokens of each question with a reply, failed attempts included, and their cost."""
    names = ("prompt_tokens", "completion_tokens")
    usage: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(names, 0))
    cost: dict[str, float] = defaultdict(float)
    replied = set()
    for record in read_attempts(attempts_path(out)):
        key, used = record["key"], record.get("usage") or {}
        if key in distinct and all(name in used for name in names):
            for name in names:
                usage[key][name] += used[name]
            cost[key] += prices.cost_of(record)
            if record["status"] == "reply":
                replied.add(key)
    spent = sum(cost[key] for key in replied)
    return {key: used for key, used in usage.items() if key in replied}, spent

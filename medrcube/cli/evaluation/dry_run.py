"""Text of ``--dry-run`` and ``--estimate``: what a run would ask, send and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from medrcube.cli.evaluation.run_end import LEFT_OUT
from medrcube.cli.options.pacing import BATCH_PRICE
from medrcube.console.counts import counted, dollars, in_bytes

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.cost.estimate import CostEstimate
    from medrcube.evaluate.cost.forecast import CostForecast
    from medrcube.evaluate.dataset import Benchmark
    from medrcube.evaluate.models.protocol import Model
    from medrcube.evaluate.questions.conditions import Condition
    from medrcube.evaluate.questions.question_setup import QuestionSetup
    from medrcube.evaluate.questions.selection import ItemFilter
    from medrcube.evaluate.runner.plan import RunPlan

__all__ = [
    "tell_estimate",
    "tell_forecast",
    "tell_price_of_batches",
    "tell_too_large",
]

_LIST_LIMIT = 5


def tell_too_large(
    benchmark: Benchmark,
    choice: ItemFilter,
    model: Model,
    asking: QuestionSetup,
    conditions: Iterable[Condition],
    plan: Callable[[], RunPlan],
    reporter: Reporter,
) -> None:
    """Report images and requests that the provider would refuse for their size, before any is sent.

    Prints nothing with ``--image-size``, which sends other files. ``plan`` is called only
    where examples or earlier steps of a chain might make a request too large.
    """
    from medrcube.evaluate.models.image_limits import may_be_heavy, too_large
    from medrcube.evaluate.questions.conditions import Condition
    from medrcube.evaluate.questions.selection import select_items
    from medrcube.taxonomy import Task

    if asking.image_size is not None or set(conditions) == {Condition.BLIND}:
        return
    earlier = asking.shots.count if asking.shots else 0
    if Condition.CHAIN in conditions:
        earlier = len(Task) - 1
    if may_be_heavy(benchmark, model, earlier):
        _tell_heavy(plan(), model, reporter)
    oversize = too_large(benchmark, select_items(benchmark, choice).items, model)
    if oversize is None:
        return
    names = ", ".join(oversize.pictures[:_LIST_LIMIT])
    more = len(oversize.pictures) - _LIST_LIMIT
    reporter.result(
        f"{counted(len(oversize.pictures), 'image')} of {counted(oversize.items, 'item')} would be "
        f"refused by {oversize.limits.provider} for their size ({oversize.limits.source}): "
        f"{names}{f' and {more:,} more' if more > 0 else ''}; --image-size N scales images down, "
        "as a setting of the run"
    )


def _tell_heavy(plan: RunPlan, model: Model, reporter: Reporter) -> None:
    from medrcube.evaluate.models.image_limits import heavy_requests

    heavy = heavy_requests(plan, model)
    if heavy is None:
        return
    more = len(heavy.items) - _LIST_LIMIT
    reporter.result(
        f"questions of {counted(len(heavy.items), 'item')} would be refused by "
        f"{heavy.limits.provider} for the size of all their images together, up to "
        f"{in_bytes(heavy.largest)} ({heavy.limits.source}): {', '.join(heavy.items[:_LIST_LIMIT])}"
        f"{f' and {more:,} more' if more > 0 else ''}; fewer --shots or --image-size N makes "
        f"requests smaller, as a setting of the run"
    )


def tell_price_of_batches(part: float, reporter: Reporter) -> None:
    """Print the assumed price of a batch reply and its source."""
    documented = " (half, as documented by OpenAI and Anthropic)" if part == BATCH_PRICE else ""
    reporter.result(
        f"price of a reply in a batch: {part:g} of --price-in and --price-out{documented}; the "
        "first question of a run is asked alone, at the full price"
    )


def tell_forecast(forecast: CostForecast, reporter: Reporter) -> dict[str, Any]:
    """Print what a run would do; return the same as JSON."""
    reporter.result(
        f"{forecast.model}: {counted(forecast.items, 'item')}, "
        f"{counted(forecast.presentations, 'question')}; {forecast.questions:,} would be sent, "
        f"{forecast.reused:,} have a reply, {forecast.shared:,} duplicate another question, "
        f"{forecast.missing:,} have no image"
    )
    for why, count in forecast.left_out.items():
        sources = ", ".join(f"{name} {n:,}" for name, n in forecast.left_out_by_source.items())
        withheld = f" ({sources})" if sources and why == "may-not-be-sent" else ""
        reporter.result(f"left out: {counted(count, 'item')}{withheld}, {LEFT_OUT[why]}")
    reporter.result(
        f"images: {forecast.pictures:,} in these requests, "
        f"{forecast.distinct_pictures:,} different, up to {forecast.largest_side:,} pixels a side "
        f"and {in_bytes(forecast.largest_bytes)} a file"
        + (f"; {forecast.shrunk:,} are scaled down" if forecast.shrunk else "")
    )
    reporter.result(
        f"tokens in, estimated: {forecast.tokens_text:,} of text (4 characters each), "
        f"{forecast.tokens_pictures:,} of images ({forecast.pictures_counted})"
    )
    each, most = forecast.tokens_out_each, forecast.tokens_out_most
    average = f"{each:.0f} in each reply so far; " if each is not None else ""
    limit = "no limit is set" if most is None else f"at most {most:,}"
    reporter.result(f"tokens out: {average}{limit}")
    if forecast.cost_in is not None:
        parts = [f"{dollars(forecast.cost_in)} US dollars for input"]
        if forecast.cost is not None:
            parts.append(
                f"{dollars(forecast.cost)} in total if replies stay as long as those so far"
            )
        if forecast.cost_most is not None:
            parts.append(f"at most {dollars(forecast.cost_most)} with replies of maximum length")
        reporter.result(f"cost: {'; '.join(parts)}")
    else:
        reporter.result("cost: give --price-in and --price-out, in US dollars per million tokens")
    reporter.result("nothing was sent; for a better estimate, --estimate asks a few items")
    return forecast.to_json()


def tell_estimate(estimate: CostEstimate, reporter: Reporter) -> dict[str, Any]:
    """Print what a run will cost; return the same as JSON."""
    low, high = estimate.interval
    reporter.result(
        f"{estimate.model}: {estimate.drawn:,} of {counted(estimate.items, 'item')} asked; the "
        f"replies are kept; run the same command without --estimate to continue"
    )
    if estimate.sample < estimate.drawn:
        reporter.result(
            f"{estimate.drawn - estimate.sample:,} of these have no reply with a token count; the "
            f"estimate uses the others"
        )
    reporter.result(
        f"tokens of the whole run: {estimate.tokens_in:,} in, {estimate.tokens_out:,} out "
        f"({estimate.tokens_out_each:.0f} in each reply)"
    )
    if estimate.cost is not None:
        reporter.result(
            f"cost of the whole run: {dollars(estimate.cost)} US dollars, "
            f"{_interval(dollars(low), high, dollars)}; {dollars(estimate.spent or 0.0)} were spent"
        )
    else:
        reporter.result(f"all tokens: {_interval(f'{low:,.0f}', high, '{:,.0f}'.format)}")
    if not estimate.close:
        reporter.result(
            "less precise than ±20 %: an estimate asks at most a quarter of the items, and at "
            "most 256"
        )
    return estimate.to_json()


def _interval(low: str, high: float | None, show: Callable[[float], str]) -> str:
    if high is None:
        return f"at least {low}: one item gives no estimate of the spread"
    return f"95 % interval {low} to {show(high)}"

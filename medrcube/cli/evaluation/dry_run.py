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

_NAMED = 5


def tell_too_large(
    benchmark: Benchmark,
    choice: ItemFilter,
    model: Model,
    asking: QuestionSetup,
    conditions: Iterable[Condition],
    plan: Callable[[], RunPlan],
    reporter: Reporter,
) -> None:
    """Say which pictures and requests the provider would refuse for their size, before any is sent.

    Nothing is said with ``--image-size``, which makes other files of them. ``plan`` is called only
    where examples might make a request too large.
    """
    from medrcube.evaluate.models.image_limits import may_be_heavy, too_large
    from medrcube.evaluate.questions.conditions import Condition
    from medrcube.evaluate.questions.selection import select_items

    if asking.image_size is not None or set(conditions) == {Condition.BLIND}:
        return
    if asking.shots is not None and may_be_heavy(benchmark, model, asking.shots.count):
        _tell_heavy(plan(), model, reporter)
    found = too_large(benchmark, select_items(benchmark, choice).items, model)
    if found is None:
        return
    named = ", ".join(found.pictures[:_NAMED])
    more = len(found.pictures) - _NAMED
    reporter.result(
        f"{counted(len(found.pictures), 'picture')} of {counted(found.items, 'item')} would be "
        f"refused by {found.limits.provider} for their size ({found.limits.source}): {named}"
        f"{f' and {more:,} more' if more > 0 else ''}; --image-size N makes pictures smaller, as "
        "part of the run"
    )


def _tell_heavy(plan: RunPlan, model: Model, reporter: Reporter) -> None:
    from medrcube.evaluate.models.image_limits import heavy_requests

    found = heavy_requests(plan, model)
    if found is None:
        return
    more = len(found.items) - _NAMED
    reporter.result(
        f"questions of {counted(len(found.items), 'item')} would be refused by "
        f"{found.limits.provider} for the size of all their pictures together, up to "
        f"{in_bytes(found.largest)} ({found.limits.source}): {', '.join(found.items[:_NAMED])}"
        f"{f' and {more:,} more' if more > 0 else ''}; fewer --shots or --image-size N makes "
        "requests smaller, as part of the run"
    )


def tell_price_of_batches(part: float, reporter: Reporter) -> None:
    """Say what a reply in a batch is taken to cost, and who says so."""
    documented = (
        " (half, as OpenAI's and Anthropic's pages on batches say)" if part == BATCH_PRICE else ""
    )
    reporter.result(
        f"price of a reply in a batch: {part:g} of --price-in and --price-out{documented}; the "
        "first question of a run is asked alone, at the full price"
    )


def tell_forecast(found: CostForecast, reporter: Reporter) -> dict[str, Any]:
    """Say what a run would do; the same for programs."""
    reporter.result(
        f"{found.model}: {counted(found.items, 'item')}, "
        f"{counted(found.presentations, 'question')}; {found.questions:,} would be sent, "
        f"{found.reused:,} have a reply, {found.shared:,} are the same as another, "
        f"{found.missing:,} have no picture"
    )
    for why, count in found.left_out.items():
        sources = ", ".join(f"{name} {n:,}" for name, n in found.left_out_by_source.items())
        told = f" ({sources})" if sources and why == "may-not-be-sent" else ""
        reporter.result(f"left out: {counted(count, 'item')}{told}, {LEFT_OUT[why]}")
    reporter.result(
        f"pictures: {found.pictures:,} in these requests, {found.distinct_pictures:,} different, "
        f"up to {found.largest_side:,} pixels a side and {in_bytes(found.largest_bytes)} a file"
        + (f"; {found.shrunk:,} are made smaller" if found.shrunk else "")
    )
    reporter.result(
        f"tokens in, estimated: {found.tokens_text:,} of text (4 characters each), "
        f"{found.tokens_pictures:,} of pictures ({found.pictures_counted})"
    )
    each, most = found.tokens_out_each, found.tokens_out_most
    known = f"{each:.0f} in each reply so far; " if each is not None else ""
    limit = "no limit is set" if most is None else f"at most {most:,}"
    reporter.result(f"tokens out: {known}{limit}")
    if found.cost_in is not None:
        parts = [f"{dollars(found.cost_in)} US dollars for what is sent"]
        if found.cost is not None:
            parts.append(f"{dollars(found.cost)} in all with replies as long as those so far")
        if found.cost_most is not None:
            parts.append(f"at most {dollars(found.cost_most)} with the longest replies")
        reporter.result(f"cost: {'; '.join(parts)}")
    else:
        reporter.result("cost: give --price-in and --price-out, in US dollars a million tokens")
    reporter.result("nothing was sent; --estimate asks a few items and knows more")
    return found.to_json()


def tell_estimate(found: CostEstimate, reporter: Reporter) -> dict[str, Any]:
    """Say what a run will take; the same for programs."""
    low, high = found.interval
    reporter.result(
        f"{found.model}: {found.drawn:,} of {counted(found.items, 'item')} asked; the replies are "
        "kept, and the same command without --estimate goes on from them"
    )
    if found.sample < found.drawn:
        reporter.result(
            f"{found.drawn - found.sample:,} of these have no reply that says how many tokens it "
            "took; the others stand for them"
        )
    reporter.result(
        f"tokens of the whole run: {found.tokens_in:,} in, {found.tokens_out:,} out "
        f"({found.tokens_out_each:.0f} in each reply)"
    )
    if found.cost is not None:
        reporter.result(
            f"cost of the whole run: {dollars(found.cost)} US dollars, "
            f"{_interval(dollars(low), high, dollars)}; {dollars(found.spent or 0.0)} were spent"
        )
    else:
        reporter.result(f"all tokens: {_interval(f'{low:,.0f}', high, '{:,.0f}'.format)}")
    if not found.close:
        reporter.result(
            "not known within a fifth: a quarter of the items, and at most 256, are asked for an "
            "estimate"
        )
    return found.to_json()


def _interval(low: str, high: float | None, shown: Callable[[float], str]) -> str:
    if high is None:
        return f"at least {low}: of one item nobody knows how far others differ"
    return f"95 % interval {low} to {shown(high)}"

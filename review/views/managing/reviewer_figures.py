"""View of the figures per reviewer, for managers."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from medrcube.review.accounts.permissions import allow
from medrcube.review.models import Role
from medrcube.review.quality.agreement import IntervalEstimate
from medrcube.review.quality.cached_figures import FigureCache
from medrcube.review.quality.reviewer_figures import FEW, ReviewerFigures, count_figures

__all__ = ["REVIEWERS", "FigureCell", "reviewers_page"]

_NAMES = {
    "wrong-key": "wrong key",
    "second-right": "second right option",
    "wrong-box": "wrong box",
    "other": "other",
}
REVIEWERS = FigureCache("reviewers", count_figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureCell:
    """Share formatted for the table; ``few`` marks one of few observations."""

    name: str
    value: str
    interval: str
    items: int
    few: bool


@allow(Role.MANAGER)
@require_safe
def reviewers_page(request: HttpRequest) -> HttpResponse:
    """Show times, caught defects, agreement and blind accuracy of all reviewers."""
    counted = REVIEWERS.figures()
    table = counted.figures
    context = {
        "counted": counted,
        "fast_seconds": table.fast_seconds,
        "rows": [(reviewer, _cells(reviewer), _kinds(reviewer)) for reviewer in table.reviewers],
        "any_gold": any(reviewer.all_caught.items for reviewer in table.reviewers),
        "few": FEW,
    }
    return render(request, "review/managing/reviewers.html", context)


def _cells(reviewer: ReviewerFigures) -> list[FigureCell]:
    return [
        _cell("Known defects caught", reviewer.all_caught, percent=True),
        _cell("False alarms", reviewer.false_alarms, percent=True),
        _cell("Agrees with others", reviewer.agreement, percent=True),
        _cell("AC1", reviewer.ac1),
        _cell("Blind answers right", reviewer.blind, percent=True),
    ]


def _kinds(reviewer: ReviewerFigures) -> list[FigureCell]:
    return [
        _cell(_NAMES[kind], estimate, percent=True)
        for kind, estimate in reviewer.caught.items()
        if estimate.items
    ]


def _cell(name: str, estimate: IntervalEstimate, *, percent: bool = False) -> FigureCell:
    def number_text(value: float) -> str:
        return f"{100 * value:.0f}" if percent else f"{value:.2f}"

    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = f"{number_text(estimate.low)} to {number_text(estimate.high)}"
    value = "none"
    if estimate.value is not None:
        value = f"{number_text(estimate.value)} %" if percent else number_text(estimate.value)
    return FigureCell(
        name=name,
        value=value,
        interval=interval,
        items=estimate.items,
        few=estimate.items < FEW,
    )

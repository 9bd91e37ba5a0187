"""Views of the progress and agreement dashboards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_safe

from medrcube.review.accounts import second_factor
from medrcube.review.accounts.permissions import allow, signed_in_user
from medrcube.review.assigning import outstanding
from medrcube.review.errors import ConflictError, InvalidAnswerError, ReviewError
from medrcube.review.models import Role, User
from medrcube.review.quality import gold_items, progress
from medrcube.review.quality.agreement import IntervalEstimate, defect_bound
from medrcube.review.quality.agreement_gate import (
    BLIND_ACCURACY,
    LABELS,
    REASONS,
    StratumAgreement,
    agreement_by_stratum,
    agreement_of,
)
from medrcube.review.quality.cached_figures import FigureCache
from medrcube.review.quality.svg_charts import BarRow, IntervalRow, bar_chart, interval_chart
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.state_machine import ReviewState
from medrcube.review.views.error_pages import error_page
from medrcube.review.views.forms import SwitchForm
from medrcube.review.views.keyset_paging import query_text
from medrcube.review.views.managing.item_record import reason_words
from medrcube.review.views.managing.reviewer_figures import REVIEWERS

__all__ = ["AGREEMENT", "PROGRESS", "CoefficientLine", "Panel", "agreement_page", "progress_page"]

_NAMES = {
    "raw": "Raw agreement",
    "cohen": "Cohen's kappa",
    "fleiss": "Fleiss' kappa",
    "alpha": "Krippendorff's alpha",
    "brennan_prediger": "Brennan-Prediger",
    "ac1": "Gwet's AC1",
    "specific_reject": "Agreement on rejects",
    BLIND_ACCURACY: "Blind answers right",
}
_AUDITS = (30, 60, 100, 300, 1000)
PROGRESS = FigureCache("progress", progress.count_progress)
AGREEMENT = FigureCache("agreement", agreement_by_stratum)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoefficientLine:
    """Coefficient formatted for the page."""

    name: str
    value: str
    interval: str
    items: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Agreement panel of one stratum.

    Attributes:
        pairs: label -> number of pairs with each label.
        ordered: whether rows are the first reviewer.
    """

    agreement: StratumAgreement
    lines: list[CoefficientLine]
    chart: SafeString
    pairs: list[tuple[str, list[int]]]
    ordered: bool


_ACTIONS: dict[str, Callable[[int, User, str], object]] = {
    "pause": gold_items.pause_reviewer,
    "resume": gold_items.resume_reviewer,
    "second-factor": second_factor.reset_reviewer,
}


@allow(Role.MANAGER)
@require_http_methods(["GET", "HEAD", "POST"])
def progress_page(request: HttpRequest) -> HttpResponse:
    """Show progress by cell and reviewer; POST pauses or resumes a reviewer."""
    if request.method == "POST":
        return _post_switch(request)
    return _progress(request)


@allow(Role.MANAGER)
@require_safe
def agreement_page(request: HttpRequest) -> HttpResponse:
    """Show panel and table for all strata or one of them, and the verdict of each."""
    stratum = query_text(request, "stratum")
    strata: list[StratumAgreement] = []
    counted = None
    if stratum:
        agreement = agreement_of(stratum)
        if not agreement.raters:
            raise Http404
    else:
        counted = AGREEMENT.figures()
        agreement, strata = counted.figures
    context = {
        "counted": counted,
        "panel": _panel(agreement),
        "strata": strata,
        "labels": LABELS,
        "rules": current_policy(),
        "audits": [(items, f"{100 * defect_bound(items):g} %") for items in _AUDITS],
    }
    return render(request, "review/managing/agreement.html", context)


def _post_switch(request: HttpRequest) -> HttpResponse:
    values = SwitchForm.read(request.POST)
    form = values["form"]
    act = _ACTIONS.get(form)
    try:
        if act is None:
            raise InvalidAnswerError("the form is not valid for this page; reload it")
        act(values["reviewer"], signed_in_user(request), values["note"])
    except ConflictError as error:
        return error_page(request, 409, str(error), values["note"])
    except ReviewError as error:
        return _progress(request, str(error))
    PROGRESS.forget()
    REVIEWERS.forget()
    phrases = {
        "pause": "gets no new items",
        "resume": "gets new items again",
        "second-factor": "can sign in without a code until a second factor is set up again",
    }
    messages.success(request, f"The reviewer {phrases[form]}.")
    return redirect("dashboard")


def _progress(request: HttpRequest, error: str = "") -> HttpResponse:
    rules = current_policy()
    counted = PROGRESS.figures()
    figures = counted.figures
    voxels = figures.voxels
    states = [state for state in ReviewState if any(voxel.states.get(state) for voxel in voxels)]
    totals = [sum(voxel.states.get(state, 0) for voxel in voxels) for state in states]
    everything = sum(totals)
    reasons = [(reason_words(code), code, count) for code, count in figures.reasons]
    context = {
        "counted": counted,
        "states": [_state_words(state) for state in states],
        "voxels": [(voxel, [voxel.states.get(state, 0) for state in states]) for voxel in voxels],
        "totals": totals,
        "everything": everything,
        "in_review": sum(voxel.in_review for voxel in voxels),
        "state_chart": bar_chart(
            "states",
            "Items by state",
            [
                BarRow(
                    _state_words(state).capitalize(),
                    count,
                    f"{count} ({_percentage(count, everything)})",
                )
                for state, count in zip(states, totals, strict=True)
            ],
        ),
        "reviewers": figures.reviewers,
        "rules": rules,
        "gold_pass": f"{100 * rules.gold_pass:.0f} %",
        "reasons": reasons,
        "reason_chart": bar_chart(
            "reasons",
            "Reviews by reason",
            [BarRow(words, count, str(count)) for words, _, count in reasons],
        ),
        "times": figures.times,
        "time_chart": bar_chart(
            "times",
            "Reviews by time",
            [BarRow(name, count, str(count)) for name, count in figures.times],
        ),
        "waiting": outstanding.specialist_backlog(figures.queued),
        "gaps": outstanding.staffing_gaps(figures.queued, rules),
        "forecast": figures.forecast,
        "pace_days": progress.PACE_DAYS,
        "error": error,
        "failed": SwitchForm.read(request.POST)["reviewer"],
        "note": request.POST.get("note", ""),
    }
    status = 422 if error else 200
    return render(request, "review/managing/dashboard.html", context, status=status)


def _panel(agreement: StratumAgreement) -> Panel:
    lines = list(_lines(agreement))
    rows = [
        IntervalRow(line.name, estimate.value, estimate.low, estimate.high, line.value)
        for line, estimate in zip(lines, agreement.estimates.values(), strict=True)
    ]
    name = agreement.stratum or "all strata"
    return Panel(
        agreement=agreement,
        lines=lines,
        chart=interval_chart("panel", f"Agreement in {name}, with 95 % intervals", rows),
        pairs=[
            (label, [int(count) for count in row])
            for label, row in zip(LABELS, agreement.pairs, strict=True)
        ],
        ordered=len(agreement.raters) == 2,
    )


def _lines(agreement: StratumAgreement) -> Iterator[CoefficientLine]:
    for name, estimate in agreement.estimates.items():
        yield CoefficientLine(
            name=_NAMES[name],
            value="none" if estimate.value is None else f"{estimate.value:.3f}",
            interval=_interval(estimate),
            items=estimate.items,
            why=REASONS.get(estimate.reason, ""),
        )


def _interval(estimate: IntervalEstimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "none"
    return f"{estimate.low:.3f} to {estimate.high:.3f}"


def _state_words(state: ReviewState) -> str:
    return state.value.replace("_", " ")


def _percentage(count: int, total: int) -> str:
    return f"{100 * count / total:.0f} %" if total else "0 %"

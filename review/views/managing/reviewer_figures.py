"""How carefully each reader works, for the manager."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from medrcube.review.accounts.permissions import allow
from medrcube.review.models import Role
from medrcube.review.quality.agreement import Estimate
from medrcube.review.quality.cached_figures import Keeper
from medrcube.review.quality.reviewer_figures import FEW, ReaderFigures, figures

_NAMES = {
    "wrong-key": "wrong key",
    "second-right": "second right option",
    "wrong-box": "wrong box",
    "other": "other",
}
READERS = Keeper("readers", figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A share as the table shows it; ``few`` where it rests on little."""

    name: str
    value: str
    interval: str
    items: int
    few: bool


@allow(Role.MANAGER)
@require_safe
def readers_page(request: HttpRequest) -> HttpResponse:
    """Time, known defects, agreement and blind answers of every reader side by side."""
    counted = READERS.figures()
    found = counted.figures
    context = {
        "counted": counted,
        "fast_seconds": found.fast_seconds,
        "rows": [(reader, _cells(reader), _kinds(reader)) for reader in found.readers],
        "any_gold": any(reader.all_caught.items for reader in found.readers),
        "few": FEW,
    }
    return render(request, "review/managing/readers.html", context)


def _cells(reader: ReaderFigures) -> list[Cell]:
    return [
        _cell("Known defects caught", reader.all_caught, percent=True),
        _cell("False alarms", reader.false_alarms, percent=True),
        _cell("Agrees with others", reader.agreement, percent=True),
        _cell("AC1", reader.ac1),
        _cell("Blind answers right", reader.blind, percent=True),
    ]


def _kinds(reader: ReaderFigures) -> list[Cell]:
    return [
        _cell(_NAMES[kind], estimate, percent=True)
        for kind, estimate in reader.caught.items()
        if estimate.items
    ]


def _cell(name: str, estimate: Estimate, *, percent: bool = False) -> Cell:
    def shown(value: float) -> str:
        return f"{100 * value:.0f}" if percent else f"{value:.2f}"

    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = f"{shown(estimate.low)} to {shown(estimate.high)}"
    value = "none"
    if estimate.value is not None:
        value = f"{shown(estimate.value)} %" if percent else shown(estimate.value)
    return Cell(
        name=name,
        value=value,
        interval=interval,
        items=estimate.items,
        few=estimate.items < FEW,
    )

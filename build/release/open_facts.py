"""Metadata of the items of a release beyond the published cube, by task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from medrcube.build.open_items.table import OpenItem
from medrcube.build.release.review_verdicts import LET_THROUGH
from medrcube.forms.box import BoxTarget
from medrcube.forms.number import NumberTarget
from medrcube.forms.option import OptionTarget
from medrcube.forms.pair import PairTarget
from medrcube.forms.point import PointTarget
from medrcube.forms.protocol import Target

__all__ = ["OpenTask", "asked_text", "open_tasks"]

_ANSWERS = {
    "box": "a box",
    "point": "a point",
    "number": "a number",
    "order": "an order",
    "pair": "two judgements",
    "option": "one option of a set",
}
"""What items of a form ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTask:
    """Items of one task beyond the cube.

    Attributes:
        task: its name.
        form: answer form.
        items: number of items.
        accepted: number of items that clinicians have accepted.
        chances: pass rate of the best answer without the image: least, mean and greatest.
        bar: which answers pass, in words.
    """

    task: str
    form: str
    items: int
    accepted: int
    chances: tuple[float, float, float]
    bar: str

    @property
    def chance(self) -> str:
        """The chances in words, such as ``25 %`` or ``12 to 48 %, 30 % on average``."""
        least, mean, greatest = (round(100 * share) for share in self.chances)
        if least == greatest:
            return f"{mean} %"
        return f"{least} to {greatest} %, {mean} % on average"

    @property
    def words(self) -> str:
        """Everything except the name and the number of items, as a line of text."""
        accepted = f"{self.accepted or 'none'} accepted by a clinician"
        return f"an answer passes {self.bar}; by chance {self.chance}; {accepted}"


def asked_text(tasks: Iterable[OpenTask]) -> str:
    """Return what the items of some tasks ask for, such as ``a box, a point or a number``."""
    forms = {task.form for task in tasks}
    phrases = [text for form, text in _ANSWERS.items() if form in forms]
    return " or ".join(filter(None, (", ".join(phrases[:-1]), *phrases[-1:])))


def open_tasks(items: Iterable[OpenItem]) -> tuple[OpenTask, ...]:
    """Return the tasks of items beyond the cube, by name."""
    by_task: dict[str, list[OpenItem]] = {}
    for item in items:
        by_task.setdefault(item.task, []).append(item)
    return tuple(_task(name, own) for name, own in sorted(by_task.items()))


def _task(name: str, items: Sequence[OpenItem]) -> OpenTask:
    chances = [item.chance for item in items]
    return OpenTask(
        task=name,
        form=items[0].form,
        items=len(items),
        accepted=sum(item.state in LET_THROUGH for item in items),
        chances=(min(chances), fmean(chances), max(chances)),
        bar=_bar([item.target for item in items]),
    )


def _bar(targets: Sequence[Target | OptionTarget]) -> str:
    """Describe which answers pass; of several bars, the strictest and the most lenient."""
    first = targets[0]
    if isinstance(first, OptionTarget):
        return "if it is the right option"
    if isinstance(first, BoxTarget):
        least = [each.iou for each in targets if isinstance(each, BoxTarget)]
        return f"with an intersection over union of at least {_span(least)}"
    if isinstance(first, PointTarget):
        margins = [each.margin for each in targets if isinstance(each, PointTarget)]
        return f"on the region or within {_span(margins)} px of it"
    if isinstance(first, NumberTarget):
        numbers = [each for each in targets if isinstance(each, NumberTarget)]
        return f"within {_tolerance(numbers)} of the true value"
    return "if both parts are right" if isinstance(first, PairTarget) else "in the exact order"


def _tolerance(targets: Sequence[NumberTarget]) -> str:
    """Return the tolerance in the unit or as a share, whichever differs less between targets.

    A card states either (``Tolerance``), and pixels widen both. Targets that do not tell them apart
    have a share, unless the unit is itself per cent or none.
    """
    unit = targets[0].ask.unit
    points = [max(each.high - each.value, each.value - each.low) for each in targets]
    shares = [point / each.value for point, each in zip(points, targets, strict=True)]
    by_points, by_share = (_ratio(values) for values in (points, shares))
    if by_points < by_share or (by_points == by_share and unit in _DIMENSIONLESS):
        return (
            f"{_span([float(f'{point:.2g}') for point in points])}{_POINTS.get(unit, f' {unit}')}"
        )
    return f"{_span([round(100 * share) for share in shares])} %"


def _ratio(values: Sequence[float]) -> float:
    return round(max(values) / min(values), 6) if min(values) else float("inf")


_DIMENSIONLESS = ("", "%")
_POINTS = {"": "", "%": " percentage points"}


def _span(values: Sequence[float]) -> str:
    least, greatest = f"{min(values):g}", f"{max(values):g}"
    return least if least == greatest else f"{least} to {greatest}"

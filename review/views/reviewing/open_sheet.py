"""Review page of an item without options: answer fields and right answer.

Step one draws only the reviewer's clicks over the image; the right answer is drawn in step two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.forms.coordinates import SCALE
from medrcube.forms.drawn_place import drawn_place
from medrcube.forms.number import NumberTarget
from medrcube.forms.order import OrderTarget
from medrcube.forms.pair import PairTarget
from medrcube.forms.point import PointTarget
from medrcube.forms.protocol import Json, Target
from medrcube.review.models import BlindAnswer, ItemVersion
from medrcube.review.reviewing.open_answers import (
    PLACES,
    RIGHT,
    SHOW_PLACES,
    TYPED_FIELDS,
    WIDTHS,
    answer_text,
    bar_text,
    option_of,
    places_of,
    read_place,
    read_target,
    shown_size,
)
from medrcube.review.reviewing.step_forms import DraftValues
from medrcube.review.views.reviewing.sheet_parts import ChoiceGroup, ChoiceInput

__all__ = ["AnswerInputs", "Drawing", "JudgedAnswer", "answer_fields", "judged_answer"]

_YES_NO = (("yes", "Yes"), ("no", "No"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Overlay of an image, in pixels of the image.

    Attributes:
        width: width of the image.
        height: height of the image.
        dot: radius of a dot.
        region: SVG path of the right answer; empty in step one.
        box: left, top, width and height of the reviewer's box; empty for none.
        points: points that the reviewer clicked.
    """

    width: int
    height: int
    dot: float
    region: str
    box: tuple[float, ...]
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class ClickImage:
    """Image to click on, at one page width."""

    name: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class RankField:
    """Field for the rank of a label."""

    name: str
    label: str
    choices: Sequence[ChoiceInput]


@dataclass(frozen=True, slots=True)
class TypedField:
    """Field for the distance of a point from one side of the image, in per cent."""

    name: str
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class TypedPlace:
    """Fields of a point that may be typed instead of clicked."""

    label: str
    fields: Sequence[TypedField]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerInputs:
    """Fields of step one.

    Attributes:
        form: name of the answer form.
        unit: unit of a number.
        number: number typed so far.
        images: image to click on, at each width.
        places: hidden fields of the clicked points.
        typed: fields for typing the same points.
        show: name of the button that draws the typed points.
        hint: what to click next.
        drawing: overlay of the clicked points; ``None`` without any.
        ranks: fields for the ranks of labels.
        statements: statements to be answered yes or no.
    """

    form: str
    unit: str = ""
    number: str = ""
    images: Sequence[ClickImage] = ()
    places: Sequence[str] = ()
    typed: Sequence[TypedPlace] = ()
    show: str = SHOW_PLACES
    hint: str = ""
    drawing: Drawing | None = None
    ranks: Sequence[RankField] = ()
    statements: Sequence[ChoiceGroup] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """Answer of a reviewer, and the right answer.

    Attributes:
        mine: answer of the reviewer as text; empty if none is shown.
        right: a right answer as text.
        bar: the bar as text.
        passes: whether the answer passes; ``None`` for "cannot tell".
        drawing: overlay of both; ``None`` if the answer is not a location.
    """

    mine: str
    right: str
    bar: str
    passes: bool | None
    drawing: Drawing | None


def answer_fields(version: ItemVersion, values: DraftValues) -> AnswerInputs:
    """Return the fields of step one with the values entered so far."""
    target = read_target(version.target)
    if isinstance(target, NumberTarget):
        number = next(iter(values.get("number", ())), "")
        return AnswerInputs(form=target.form, unit=target.ask.unit, number=number)
    if isinstance(target, OrderTarget):
        return AnswerInputs(form=target.form, ranks=list(_ranks(target, values)))
    if isinstance(target, PairTarget):
        return AnswerInputs(form=target.form, statements=list(_statements(target, values)))
    size: tuple[int, int] = target.size  # type: ignore[attr-defined]  # a point or a box
    texts = places_of(target.form, values)
    clicks = [(text, place) for text in texts if (place := read_place(text))]
    return AnswerInputs(
        form=target.form,
        images=[ClickImage(f"at{width}", *shown_size(width, size)) for width in WIDTHS],
        places=[text for text, _ in clicks],
        typed=list(_typed(target.form, values, [place for _, place in clicks])),
        hint=_HINTS[target.form][len(clicks)],
        drawing=_drawing(size, [place for _, place in clicks]),
    )


def judged_answer(version: ItemVersion, blind: BlindAnswer | None = None) -> JudgedAnswer:
    """Return the right answer and, if given, the answer of step one."""
    target = read_target(version.target)
    mine = None if blind is None else blind.value
    text = "" if blind is None else "cannot tell"
    is_place = target.form in PLACES
    if mine is not None:
        text = "the place in orange" if is_place else answer_text(target, mine)
    return JudgedAnswer(
        mine=text,
        right="the place in green" if is_place else str(version.options[RIGHT]["text"]),
        bar=bar_text(target),
        passes=None if mine is None else option_of(target, mine) == RIGHT,
        drawing=_judged_drawing(target, mine),
    )


_HINTS = {
    "point": ("Click the place in the image.", "Click again to move it."),
    "box": (
        "Click one corner of the box.",
        "Click the opposite corner.",
        "Click again to start over.",
    ),
}
"""Form -> hint after each number of clicks."""


_PLACE_NAMES = {"point": ("The place",), "box": ("One corner", "The opposite corner")}
_FROM = ("from the left, 0 to 100 %", "from the top, 0 to 100 %")


def _typed(
    form: str, values: DraftValues, places: Sequence[tuple[float, float]]
) -> Iterator[TypedPlace]:
    """Yield the fields with the typed values or clicked positions."""
    for number, label in enumerate(_PLACE_NAMES[form]):
        known_place = places[number] if number < len(places) else None
        yield TypedPlace(
            label,
            [
                TypedField(
                    name,
                    side,
                    next(iter(values.get(name, ())), "")
                    if name in values or known_place is None
                    else f"{known_place[axis] * 100 / SCALE:.4g}",
                )
                for axis, (name, side) in enumerate(zip(TYPED_FIELDS[number], _FROM, strict=True))
            ],
        )


def _ranks(target: OrderTarget, values: DraftValues) -> Iterator[RankField]:
    labels = target.ask.labels
    for place, label in enumerate(labels):
        name = f"rank.{place}"
        choice = next(iter(values.get(name, ())), "")
        ranks = [str(rank) for rank in range(1, len(labels) + 1)]
        yield RankField(
            name, label, [ChoiceInput(name, rank, rank, rank == choice) for rank in ranks]
        )


def _statements(target: PairTarget, values: DraftValues) -> Iterator[ChoiceGroup]:
    for place, statement in enumerate(target.ask.statements):
        name = f"statement.{place}"
        choice = next(iter(values.get(name, ())), "")
        choices = [ChoiceInput(name, value, text, value == choice) for value, text in _YES_NO]
        yield ChoiceGroup(name, statement, choices)


def _drawing(
    size: tuple[int, int],
    places: Sequence[tuple[float, float]],
    box: Sequence[float] = (),
    region: str = "",
) -> Drawing:
    """Convert points and a box from thousandths to an overlay in pixels of the image."""
    across, down = size[0] / SCALE, size[1] / SCALE
    if len(places) == 2:
        (x0, y0), (x1, y1) = places
        box = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
    left, top, right, bottom = box or (0, 0, 0, 0)
    return Drawing(
        width=size[0],
        height=size[1],
        dot=max(size) / 70,
        region=region,
        box=(
            (left * across, top * down, (right - left) * across, (bottom - top) * down)
            if box
            else ()
        ),
        points=[(x * across, y * down) for x, y in places],
    )


def _judged_drawing(target: Target, mine: Json) -> Drawing | None:
    answer: Any = mine
    place = drawn_place(target)
    if place is None:
        return None
    if isinstance(target, PointTarget):
        return _drawing(place.size, [answer] if answer else [], region=place.path)
    return _drawing(place.size, [], box=answer or (), region=place.path)

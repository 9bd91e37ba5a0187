"""Reviewers' answers to items without options: parsing from a form, and scoring.

In the queue such an item has two options, the outcomes of an answer: ``RIGHT``, which passes the
bar of its form, and ``OTHER``. Two reviewers therefore agree if both answers are right or both
are wrong, and all figures of items with options apply. The answer itself is stored with the option.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from medrcube.evaluate.answer_parsing.open_forms.number_reply import read_number_part
from medrcube.forms import OPEN_FORMS, form_of
from medrcube.forms.box import BoxTarget
from medrcube.forms.coordinates import SCALE
from medrcube.forms.number import NumberTarget
from medrcube.forms.pair import PairTarget
from medrcube.forms.point import PointTarget
from medrcube.forms.protocol import Ask, Json, Target
from medrcube.review.errors import InvalidAnswerError

__all__ = [
    "ANSWER_FIELDS",
    "OTHER",
    "PLACES",
    "RIGHT",
    "SHOW_PLACES",
    "TYPED_FIELDS",
    "WIDTHS",
    "answer_text",
    "bar_text",
    "clicked",
    "option_of",
    "places_of",
    "read_answer",
    "read_place",
    "read_target",
    "shown_size",
]

RIGHT, OTHER = 0, 1
"""Pseudo-options of an item without options."""

WIDTHS = (300, 560)
"""Width in CSS pixels of an image to click on: on narrow pages, and on others. Without a script
the page cannot use other sizes, and a click is sent in CSS pixels."""

PLACES = {"point": 1, "box": 2}
"""Form -> number of points to click or type."""

TYPED_FIELDS = tuple((f"left.{n}", f"top.{n}") for n in range(max(PLACES.values())))
"""Form fields of each typed point: distance from the left and from the top, in per cent."""

SHOW_PLACES = "show"
"""Name of the button that draws the typed points."""

_MOST = 10
ANSWER_FIELDS = frozenset(
    {
        *("number", "place", *(name for pair in TYPED_FIELDS for name in pair)),
        *(f"{name}.{n}" for name in ("rank", "statement") for n in range(_MOST)),
    }
)
"""Names of the form fields of all answer forms."""

_BY_KEY = ("0", "0")
"""Coordinates that a browser sends if the image was activated with the keyboard."""

_NUMBER_ALONE = re.compile(r"[-+\u2212]?[\d.,'\u00a0\u2009\u202f]+(?:[eE][-+]?\d+)?")
"""A number without surrounding words or units."""

_FormData = Mapping[str, Sequence[str]]


def read_target(record: Any) -> Target:
    """Parse the target of a version: its form, question and right answer."""
    target: Target = OPEN_FORMS[record["form"]].read_target(record["ask"], record["truth"])
    return target


def option_of(target: Target, answer: Json) -> int:
    """Return ``RIGHT`` if an answer passes the bar, else ``OTHER``."""
    return RIGHT if form_of(target).score(answer, target).passed else OTHER


def answer_text(target: Target, answer: Json) -> str:
    """Return an answer as text."""
    return form_of(target).show(answer, target.ask)


def bar_text(target: Target) -> str:
    """Return the bar as text."""
    if isinstance(target, NumberTarget):
        show = form_of(target).show
        return f"{show(target.low, target.ask)} to {show(target.high, target.ask)} pass"
    if isinstance(target, PointTarget):
        near = f", or up to {target.margin:.4g} pixels beside it" if target.margin else ""
        return f"a point in it passes{near}"
    if isinstance(target, BoxTarget):
        return f"a box whose intersection over union with it is {target.iou:.4g} or more passes"
    return "both must be right" if isinstance(target, PairTarget) else "no other order passes"


def read_answer(target: Target, form_data: _FormData) -> Json:
    """Parse the answer from a submitted form, in the format for scoring.

    Raises:
        InvalidAnswerError: the answer is incomplete or invalid; states what to do.
    """
    return _READERS[target.form](target.ask, form_data)


def clicked(form: str, form_data: _FormData, size: tuple[int, int]) -> list[str] | None:
    """Return the points after a click on the image, in thousandths; ``None`` without a click.

    A click after the last point starts over.

    Args:
        form: a key of ``PLACES``.
        form_data: submitted form data.
        size: width and height of the image in pixels.
    """
    for width in WIDTHS:
        across, down = (_single(form_data, f"at{width}.{axis}") for axis in "xy")
        if across.isdecimal() and down.isdecimal() and (across, down) != _BY_KEY:
            x, y = (
                min(SCALE * (int(pixels[:6]) + 0.5) / side, SCALE)
                for pixels, side in zip((across, down), shown_size(width, size), strict=True)
            )
            before = [text for text in places_of(form, form_data) if read_place(text)]
            earlier = before if len(before) < PLACES[form] else []
            return [*earlier, f"{x:.1f},{y:.1f}"]
    return None


def places_of(form: str, form_data: _FormData) -> list[str]:
    """Return the typed or else clicked points, in thousandths as texts for ``read_place``.

    A point with two empty fields is omitted. A text may be invalid.

    Args:
        form: a key of ``PLACES``.
        form_data: submitted form data, or a draft.
    """
    clicks = form_data.get("place", ())
    places = []
    for number, fields in enumerate(TYPED_FIELDS[: PLACES[form]]):
        if any(name in form_data for name in fields):
            typed = [_single(form_data, name) for name in fields]
            places += [",".join(map(_thousandths, typed))] if any(typed) else []
        else:
            places += clicks[number : number + 1]
    return places


def _thousandths(typed: str) -> str:
    """Convert a typed percentage, with decimal comma or point; unchanged if not a number."""
    try:
        return f"{float(typed.replace(',', '.')) * SCALE / 100:.1f}"
    except ValueError:
        return typed.replace(",", " ")


def read_place(text: str) -> tuple[float, float] | None:
    """Parse a point in thousandths of the image, as sent by a page; ``None`` if invalid."""
    x, _, y = text.partition(",")
    try:
        place = (float(x), float(y))
    except ValueError:
        return None
    return place if all(0 <= side <= SCALE for side in place) else None


def shown_size(width: int, size: tuple[int, int]) -> tuple[int, int]:
    """Return width and height on the page of an image of ``size``."""
    return width, max(round(width * size[1] / size[0]), 1)


def _single(form_data: _FormData, name: str) -> str:
    values = form_data.get(name, ())
    return str(values[0]).strip() if values else ""


def _number(ask: Any, form_data: _FormData) -> Json:
    """Parse a number as in replies: "1,000" is a thousand, "22,5" twenty-two and a half."""
    text = _single(form_data, "number")
    value = read_number_part(text, ask).answer if _NUMBER_ALONE.fullmatch(text) else None
    if value is None:
        unit = f", in {ask.unit}" if ask.unit else ""
        raise InvalidAnswerError(f"enter only the number{unit}, such as 22.5 or 1000")
    return value


def _places(form: str, form_data: _FormData) -> list[tuple[float, float]]:
    readings = [read_place(text) for text in places_of(form, form_data)]
    if None in readings and any(name in form_data for name in TYPED_FIELDS[0]):
        raise InvalidAnswerError(
            "a typed position is invalid: enter both distances, from 0 to 100 per cent, such as "
            "41.5"
        )
    places = [place for place in readings if place]
    if len(places) < PLACES[form]:
        what = "the place" if PLACES[form] == 1 else "two opposite corners of the box"
        raise InvalidAnswerError(f"click on {what} in the image, or type its position")
    return places


def _point(_ask: Ask, form_data: _FormData) -> Json:
    return list(_places(PointTarget.form, form_data)[0])


def _box(_ask: Ask, form_data: _FormData) -> Json:
    (x0, y0), (x1, y1) = _places(BoxTarget.form, form_data)
    if x0 == x1 or y0 == y1:
        raise InvalidAnswerError("the two corners are on one line: choose opposite corners")
    return [min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)]


def _order(ask: Any, form_data: _FormData) -> Json:
    ranks = [_single(form_data, f"rank.{place}") for place in range(len(ask.labels))]
    if sorted(ranks) != [str(rank) for rank in range(1, len(ranks) + 1)]:
        raise InvalidAnswerError(f"give each one its own rank, 1 to {len(ranks)}")
    return [label for _, label in sorted(zip(map(int, ranks), ask.labels, strict=True))]


def _pair(ask: Any, form_data: _FormData) -> Json:
    answers = [_single(form_data, f"statement.{place}") for place in range(len(ask.statements))]
    if not all(answer in ("yes", "no") for answer in answers):
        raise InvalidAnswerError("answer each statement: yes or no")
    return [answer == "yes" for answer in answers]


_READERS: Mapping[str, Callable[[Any, _FormData], Json]] = {
    "number": _number,
    "point": _point,
    "box": _box,
    "order": _order,
    "pair": _pair,
}

"""Answer forms: how the answer of an item is asked for, checked in a release, and scored.

Every form gives a ``passed`` by a bar that the item fixes before any model is asked, and a
``credit`` from 0 to 1. Accuracy, intervals and tests take ``passed``; ``chance`` comes from the
item. Parsing of replies is in ``medrcube.evaluate.answer_parsing``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from medrcube.forms.box import BoxForm
from medrcube.forms.number import NumberForm
from medrcube.forms.order import OrderForm
from medrcube.forms.pair import PairForm
from medrcube.forms.point import PointForm
from medrcube.forms.protocol import Ask, OpenForm, Target

__all__ = [
    "OPEN_FORMS",
    "OPTION",
    "box",
    "coordinates",
    "drawn_place",
    "form_of",
    "number",
    "option",
    "order",
    "pair",
    "point",
    "protocol",
    "regions",
    "strict_fields",
    "units",
]

OPTION = "option"
"""Name of the form of items with options, those of ``test.json``."""

OPEN_FORMS: Mapping[str, OpenForm[Any, Any]] = MappingProxyType(
    {form.name: form for form in (NumberForm(), PointForm(), BoxForm(), OrderForm(), PairForm())}
)
"""Forms of items without options, those of ``open.json``, by name."""


def form_of(question: Target | Ask) -> OpenForm[Any, Any]:
    """Form of a target, or of what it asks for."""
    return OPEN_FORMS[question.form]

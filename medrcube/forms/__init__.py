"""Answer forms: how an item is asked, checked in a release, and scored.

Every form returns ``passed``, by a bar that the item fixes before any model is asked, and
``credit`` from 0 to 1. Accuracy, intervals and tests use ``passed``; ``chance`` comes from the
item. Reply parsing is in ``medrcube.evaluate.answer_parsing``.
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
"""Name of the form of items with options, as in ``test.json``."""

OPEN_FORMS: Mapping[str, OpenForm[Any, Any]] = MappingProxyType(
    {form.name: form for form in (NumberForm(), PointForm(), BoxForm(), OrderForm(), PairForm())}
)
"""Forms of items without options, as in ``open.json``, by name."""


def form_of(question: Target | Ask) -> OpenForm[Any, Any]:
    """Return the form of a target, or of its ``ask``."""
    return OPEN_FORMS[question.form]

"""Choose items by an expression over their columns, such as ``options > 2 and "left" in question``.

Python's own grammar without its powers: comparisons, ``and``, ``or``, ``not``, ``in``, columns and
constants. Nothing is called, no attribute is looked up, and nothing is ever executed.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark import Item

COLUMNS: Mapping[str, Callable[[Item], Any]] = {
    "id": lambda item: item.id,
    "source": lambda item: item.dataset,
    "task": lambda item: item.task.value,
    "level": lambda item: item.task.level.value,
    "modality": lambda item: item.modality.value,
    "anatomy": lambda item: item.parts.value,
    "question": lambda item: item.question,
    "options": lambda item: len(item.options),
    "key": lambda item: item.key,
    "answer": lambda item: dict(item.options)[item.key],
    "image": lambda item: item.image or "",
    "original_task": lambda item: item.original_task or "",
    "restricted": lambda item: item.restricted,
    "visible": lambda item: item.visible,
    "unit": lambda item: item.unit,
    "block": lambda item: item.block,
}
"""What an expression may name."""

_LONGEST = 2000
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}

Value = Callable[[Item], Any]


def parse(text: str) -> Callable[[Item], bool]:
    """The test that an expression describes.

    Raises:
        WorkspaceError: it is no expression, or uses what is not allowed. The test itself raises it
            where an item's values cannot be compared so.
    """
    if len(text) > _LONGEST:
        raise WorkspaceError(f"--where: has {len(text):,} characters; expected at most {_LONGEST}")
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WorkspaceError(f"--where {text!r}: is no expression: {error}") from None

    def test(item: Item) -> bool:
        try:
            return bool(value(item))
        except (TypeError, RecursionError) as error:
            raise WorkspaceError(f"--where {text!r}: cannot be asked of items: {error}") from None

    return test


def _value(node: ast.expr) -> Value:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            every = [_value(one) for one in values]
            return lambda item: all(one(item) for one in every)
        case ast.BoolOp(values=values):
            some = [_value(one) for one in values]
            return lambda item: any(one(item) for one in some)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _value(operand)
            return lambda item: not inner(item)
        case ast.Compare():
            return _comparison(node)
        case ast.Name(id=name):
            return _column(name)
        case ast.Constant(value=str() | int() | float() as constant):
            return lambda _item: constant
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            listed = [_value(part) for part in parts]
            return lambda item: [one(item) for one in listed]
    raise WorkspaceError(
        f"--where: {ast.unparse(node)!r} is not allowed; expected comparisons of columns and "
        "constants with and, or, not, in"
    )


def _comparison(node: ast.Compare) -> Value:
    sides = [_value(one) for one in (node.left, *node.comparators)]
    kinds = [_COMPARE.get(type(one)) for one in node.ops]
    if not all(kinds):
        raise WorkspaceError(f"--where: {ast.unparse(node)!r}: use ==, !=, <, <=, >, >= or in")

    def test(item: Item) -> bool:
        values = [side(item) for side in sides]
        pairs = itertools.pairwise(values)
        return all(
            kind is not None and kind(*pair) for kind, pair in zip(kinds, pairs, strict=True)
        )

    return test


def _column(name: str) -> Value:
    if name not in COLUMNS:
        raise WorkspaceError(f"--where: no column {name!r}; expected one of: {', '.join(COLUMNS)}")
    return COLUMNS[name]

"""Filter expressions over the columns of items, such as ``options > 2 and "left" in question``.

A subset of Python's grammar: comparisons, ``and``, ``or``, ``not``, ``in``, columns and constants.
No calls, no attribute access, and no code is executed.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark_item import BenchmarkItem

__all__ = ["COLUMNS", "Value", "parse", "require_known"]

COLUMNS: Mapping[str, Callable[[BenchmarkItem], Any]] = {
    "id": lambda item: item.id,
    "source": lambda item: item.dataset,
    "task": lambda item: item.task.value,
    "level": lambda item: item.task.level.value,
    "modality": lambda item: item.modality.value,
    "anatomy": lambda item: item.parts.value,
    "question": lambda item: item.question,
    "options": lambda item: len(item.options),
    "key": lambda item: item.key,
    "answer": lambda item: item.right_answer,
    "form": lambda item: item.form,
    "image": lambda item: item.image or "",
    "original_task": lambda item: item.original_task or "",
    "restricted": lambda item: item.restricted,
    "visible": lambda item: item.visible,
    "unit": lambda item: item.unit,
    "block": lambda item: item.block,
}
"""Columns of an expression."""

_NUMBERS = ("options", "restricted")
_FEW = ("source", "task", "level", "modality", "anatomy")
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

Value = Callable[[BenchmarkItem], Any]


def parse(text: str) -> Callable[[BenchmarkItem], bool]:
    """Compile an expression to a predicate.

    Raises:
        WorkspaceError: it is not a valid expression. The predicate raises it if the values of an
            item cannot be compared.
    """
    if len(text) > _LONGEST:
        raise WorkspaceError(f"--where: has {len(text):,} characters; expected at most {_LONGEST}")
    try:
        parsed = ast.parse(text.strip(), mode="eval")
        value = _value(parsed.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WorkspaceError(f"--where {text!r} is not a valid expression: {error}") from None
    if not any(isinstance(node, ast.Name) for node in ast.walk(parsed)):
        raise WorkspaceError(
            f"--where {text!r}: names no column, so it holds for all items or for none; expected "
            f"a column without quotes, one of {', '.join(sorted(COLUMNS))}"
        )

    def test(item: BenchmarkItem) -> bool:
        try:
            return bool(value(item))
        except (TypeError, RecursionError) as error:
            raise WorkspaceError(
                f"--where {text!r}: cannot be evaluated on items: {error}"
            ) from None

    return test


def _value(node: ast.expr) -> Value:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            every = [_value(value) for value in values]
            return lambda item: all(value(item) for value in every)
        case ast.BoolOp(values=values):
            some = [_value(value) for value in values]
            return lambda item: any(value(item) for value in some)
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
            return lambda item: [value(item) for value in listed]
    raise WorkspaceError(
        f"--where: {ast.unparse(node)!r} is not allowed; expected comparisons of columns and "
        "constants with and, or, not, in"
    )


def _comparison(node: ast.Compare) -> Value:
    for (left, right), kind in zip(
        itertools.pairwise((node.left, *node.comparators)), node.ops, strict=True
    ):
        _require_one_kind(left, right, kind, node)
    sides = [_value(operand) for operand in (node.left, *node.comparators)]
    kinds = [_COMPARE.get(type(operand)) for operand in node.ops]
    if not all(kinds):
        raise WorkspaceError(f"--where: {ast.unparse(node)!r}: use ==, !=, <, <=, >, >= or in")

    def test(item: BenchmarkItem) -> bool:
        values = [side(item) for side in sides]
        pairs = itertools.pairwise(values)
        return all(
            kind is not None and kind(*pair) for kind, pair in zip(kinds, pairs, strict=True)
        )

    return test


def _require_one_kind(left: ast.expr, right: ast.expr, how: ast.cmpop, node: ast.Compare) -> None:
    """Refuse comparisons of numbers with text, which would be true for no item or for all."""
    inside = isinstance(how, ast.In | ast.NotIn) and isinstance(right, ast.Tuple | ast.List)
    for other in right.elts if inside and isinstance(right, ast.Tuple | ast.List) else [right]:
        kinds = {_is_text(left), _is_text(other)}
        if kinds == {True, False}:
            raise WorkspaceError(
                f"--where: {ast.unparse(node)!r} compares a number with text; options is a number "
                "and restricted is True or False, without quotes, every other column is text"
            )


def _is_text(node: ast.expr) -> bool | None:
    """Whether an operand is text; ``None`` for anything but a column or a constant."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, str)
        case ast.Name(id=name) if name in COLUMNS:
            return name not in _NUMBERS
    return None


def require_known(text: str, items: Sequence[BenchmarkItem]) -> None:
    """Refuse a constant that occurs in no item, for a categorical column.

    Raises:
        WorkspaceError: names the constant and the values that exist.
    """
    for node in ast.walk(ast.parse(text.strip(), mode="eval")):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            continue
        left, right = node.left, node.comparators[0]
        if isinstance(right, ast.Name):
            left, right = right, left
        if not (isinstance(left, ast.Name) and left.id in _FEW):
            continue
        if isinstance(node.ops[0], ast.Eq | ast.NotEq):
            constants: Sequence[ast.expr] = [right]
        else:
            constants = right.elts if isinstance(right, ast.Tuple | ast.List) else []
        present = {COLUMNS[left.id](item) for item in items}
        values = [
            str(constant.value) for constant in constants if isinstance(constant, ast.Constant)
        ]
        # A list may contain values of another release; one that matches nothing is a mistake.
        if values and present.isdisjoint(values):
            raise WorkspaceError(
                f"--where: no item has {left.id} {' or '.join(values)}; there are "
                f"{', '.join(sorted(present))}"
            )


def _column(name: str) -> Value:
    if name not in COLUMNS:
        raise WorkspaceError(f"--where: no column {name!r}; expected one of: {', '.join(COLUMNS)}")
    return COLUMNS[name]

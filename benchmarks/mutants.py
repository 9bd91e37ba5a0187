"""Mutants of a module: each has one change of its syntax tree.

Changed are a comparison, a boolean, a sign, a number or a branch. Left alone is what states no
rule: decorators, ``field(...)``, annotations, ``TYPE_CHECKING``, and the ``strict=`` of ``zip``, a
check of what holds already.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace

__all__ = ["Mutant", "mutants_of"]

_COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult}
_CHANGES = 2
"""At most so many mutants of one node."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a module.

    Attributes:
        module: path of the module, relative to the checkout.
        place: enclosing function or class; empty at module level.
        line: line of the change.
        at_import: whether the change lies outside the bodies of functions.
        lines: lines whose execution reaches the change; at import, those that name the constant.
        before: source text of the changed node.
        after: what stands there instead.
        node: position of the node in ``ast.walk``.
        change: which of the changes of that node.
    """

    module: str
    place: str
    line: int
    at_import: bool
    lines: tuple[int, ...]
    before: str
    after: str
    node: int
    change: int

    def tree(self, source: str) -> ast.Module:
        """The module with the change, from its source text; every line keeps its number."""
        tree = ast.parse(source)
        _mutate(list(ast.walk(tree))[self.node], self.change)
        return ast.fix_missing_locations(tree)


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its syntax tree."""
    tree = ast.parse(source)
    left_alone = {
        id(node) for owner in ast.walk(tree) for part in _no_rule(owner) for node in ast.walk(part)
    }
    places = dict(_places(tree, _Place("", None, at_import=True)))
    mutants = []
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in left_alone or not isinstance(node, ast.expr | ast.If):
            continue
        place = places[id(node)]
        for change in range(_CHANGES):
            changed = copy.deepcopy(node)
            if _mutate(changed, change):
                mutants.append(
                    Mutant(
                        module,
                        place.name,
                        node.lineno,
                        place.at_import,
                        _lines(tree, node, place),
                        _source_text(node),
                        _source_text(changed),
                        number,
                        change,
                    )
                )
    return mutants


@dataclass(frozen=True, slots=True)
class _Place:
    """Enclosing definition and statement of a node."""

    name: str
    statement: ast.stmt | None
    at_import: bool


def _places(node: ast.AST, place: _Place) -> Iterator[tuple[int, _Place]]:
    for child in ast.iter_child_nodes(node):
        here = place
        if isinstance(child, ast.stmt):
            here = replace(here, statement=child)
        yield id(child), here
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            here = replace(here, name=f"{here.name}.{child.name}".lstrip("."))
        yield from _places(child, here)
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in child.body:
                inside = replace(here, statement=statement, at_import=False)
                yield id(statement), inside
                yield from _places(statement, inside)


def _lines(tree: ast.Module, node: ast.expr | ast.If, place: _Place) -> tuple[int, ...]:
    statement = place.statement
    if place.at_import:
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        loads = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in names)
        return tuple(sorted({load.lineno for load in loads if isinstance(load.ctx, ast.Load)}))
    reach = node.test if isinstance(node, ast.If) else node
    first = statement.lineno if statement else reach.lineno
    return tuple(sorted({first, *range(reach.lineno, (reach.end_lineno or reach.lineno) + 1)}))


def _no_rule(node: ast.AST) -> list[ast.expr | ast.If]:
    match node:
        case ast.Call(func=ast.Name(id="field")):
            return [node]
        case ast.Call(func=ast.Name(id="zip")):
            return [keyword.value for keyword in node.keywords]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [*node.decorator_list, *([node.returns] if node.returns else [])]
        case ast.ClassDef():
            return node.decorator_list
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return [node]
        case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
            return [annotation]
    return []


def _source_text(node: ast.AST) -> str:
    text = f"if {ast.unparse(node.test)}" if isinstance(node, ast.If) else ast.unparse(node)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _mutate(node: ast.AST, change: int) -> bool:  # noqa: C901  (one case for each kind)
    """Apply a change to a node in place; false if the node has no such change."""
    match node:
        case ast.Compare(ops=[operator]) if change == 0 and type(operator) in _COMPARISONS:
            node.ops = [_COMPARISONS[type(operator)]()]
            return True
        case ast.BoolOp() if change == 0:
            node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
            return True
        case ast.BoolOp() if change == 1:
            node.values = node.values[1:] if len(node.values) > 2 else [*node.values[1:]] * 2
            return True
        case ast.BinOp() if change == 0 and type(node.op) in _ARITHMETIC:
            node.op = _ARITHMETIC[type(node.op)]()
            return True
        case ast.UnaryOp(op=ast.Not()) if change == 0:
            node.op = ast.UAdd()
            node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
            return True
        case ast.Constant(value=bool()) if change == 0:
            node.value = not node.value
            return True
        case ast.Constant(value=int() | float()) if change == 0:
            node.value += 1
            return True
        case ast.If() if change == 0:
            node.test = ast.Constant(value=True)
            return True
        case ast.If() if change == 1:
            node.test = ast.Constant(value=False)
            return True
        case ast.IfExp() if change == 0:
            node.test = ast.UnaryOp(ast.Not(), node.test)
            return True
    return False

"""Mutation score: how many small faults in the rules that matter most do their own tests notice?

Usage: ``python mutation.py [PART ...] [--mutants N] [--seed S] [--out FILE]``. A mutant is one
module with one change of its syntax tree: a comparison, a boolean, a sign, a number or a branch.
For each part N of all its mutants are drawn, and the tests of that part run on a copy of the
package with that mutant in place. A mutant is killed if a test fails, or if they take four times as
long as without it. Prints a table and every survivor; ``--out`` writes both as Markdown.

mutmut and cosmic-ray mutate a package where it lies; here one package is mapped over seven folders,
so the mutants lie in a copy that ``PYTHONPATH`` puts first.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
FOLDERS = ("build", "evaluate", "medrcube", "ontologies", "review", "sources", "templates")


@dataclass(frozen=True, slots=True)
class Part:
    """Modules, and the tests that have to notice a fault in them; both relative to the checkout."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


PARTS = {
    "safety": Part(
        ("ontologies/distractor_safety.py",), ("tests/ontologies/test_distractor_safety.py",)
    ),
    "derivation": Part(
        ("build/questions/fact_rules.py", "build/questions/case_facts.py"),
        ("tests/build/questions",),
    ),
    "blocks": Part(("build/questions/option_blocks.py",), ("tests/build/questions",)),
    "geometry": Part(
        ("build/pixels/geometry.py",),
        ("tests/build/pixels", "tests/build/readers", "tests/build/regions"),
    ),
    "windowing": Part(("build/pixels/windowing.py",), ("tests/build/pixels",)),
    "answer choice": Part(
        ("evaluate/answer_parsing/choice_reader.py",), ("tests/evaluate/answer_parsing",)
    ),
    "statistics": Part(
        (
            "evaluate/statistics/bootstrap.py",
            "evaluate/statistics/paired_tests.py",
            "evaluate/statistics/credibility.py",
        ),
        ("tests/evaluate/statistics",),
    ),
    "queue": Part(
        ("review/reviewing/claims.py", "review/reviewing/decisions.py"),
        ("tests/review/reviewing", "tests/review/assigning", "tests/review/quality"),
    ),
    "reconstruction": Part(
        ("build/reconstruction/reconstruct.py",),
        (
            "tests/build/reconstruction/test_reconstruct.py",
            "tests/build/reconstruction/test_command.py",
            "tests/build/reconstruction/test_hostile_releases.py",
        ),
    ),
}
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


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed module: its path, the line, what stood there and what stands there now."""

    module: str
    line: int
    before: str
    after: str
    text: str


def mutants_of(module: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its syntax tree."""
    tree = ast.parse((CHECKOUT / module).read_text(encoding="utf-8"))
    left_alone = {
        id(node)
        for owner in ast.walk(tree)
        for declaration in _declarations(owner)
        for node in ast.walk(declaration)
    }
    mutants = []
    for place, original in enumerate(ast.walk(tree)):
        for change in range(2 if id(original) not in left_alone else 0):
            changed = copy.deepcopy(tree)
            node = next(node for number, node in enumerate(ast.walk(changed)) if number == place)
            before = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else ""
            if not before or not _mutate(node, change):
                continue
            mutants.append(
                Mutant(
                    module, node.lineno, before[:80], ast.unparse(node)[:80], ast.unparse(changed)
                )
            )
    return mutants


def _declarations(node: ast.AST) -> list[ast.expr]:
    """Decorators and ``field(...)``: they say how a record is shown, not what the code does."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "field":
        return [node]
    return getattr(node, "decorator_list", [])


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


class Bench:
    """A copy of the package in which one module at a time is replaced, and a runner of tests."""

    def __init__(self, folder: Path) -> None:
        self._package = folder / "medrcube"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / "medrcube", self._package, ignore=ignored)
        for name in FOLDERS:
            if name != "medrcube":
                shutil.copytree(CHECKOUT / name, self._package / name, ignore=ignored)
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def seconds(self, part: Part, limit: float | None = None) -> float | None:
        """Time that the tests of a part take; None if one fails or the limit is passed."""
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        command += ["-n0", "-m", "not thorough", *part.tests]
        began = time.perf_counter()
        try:
            run = subprocess.run(  # noqa: S603
                command,
                cwd=CHECKOUT,
                env=self._environment,
                capture_output=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        return time.perf_counter() - began if run.returncode == 0 else None

    def survives(self, mutant: Mutant, part: Part, limit: float) -> bool:
        """Whether every test passes with the mutant in place."""
        folder = mutant.module.removeprefix("medrcube/")
        path = self._package / folder
        text = path.read_text(encoding="utf-8")
        path.write_text(mutant.text, encoding="utf-8")
        try:
            return self.seconds(part, limit) is not None
        finally:
            path.write_text(text, encoding="utf-8")


def main() -> None:
    """Draw, run and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--mutants", type=int, default=12, help="of each part (12)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    unknown = set(given.parts) - PARTS.keys()
    if unknown:
        parser.error(f"unknown part {min(unknown)!r}; expected {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as folder:
        lines = list(_report(Bench(Path(folder)), given.parts or list(PARTS), given))
    if given.out:
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _report(bench: Bench, names: list[str], given: argparse.Namespace) -> Iterator[str]:
    survivors = []
    for line in ("| Part | Mutants | Killed |", "|---|---:|---:|"):
        yield _printed(line)
    for name in names:
        part = PARTS[name]
        plain = bench.seconds(part)
        if plain is None:
            sys.exit(f"{name}: its tests fail without a mutant")
        mutants = [mutant for module in part.modules for mutant in mutants_of(module)]
        drawn = random.Random(given.seed).sample(mutants, min(given.mutants, len(mutants)))  # noqa: S311
        alive = [mutant for mutant in drawn if bench.survives(mutant, part, 4 * plain + 20)]
        survivors += [(name, mutant) for mutant in alive]
        yield _printed(f"| {name} | {len(drawn)} | {len(drawn) - len(alive)} |")
    yield _printed("")
    for name, mutant in survivors:
        place = f"{mutant.module}:{mutant.line}"
        yield _printed(f"- {name}, {place}: `{mutant.before}` → `{mutant.after}`")


def _printed(line: str) -> str:
    print(line, flush=True)
    return line


if __name__ == "__main__":
    main()

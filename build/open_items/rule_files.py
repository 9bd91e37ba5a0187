"""Rule files: the ``rule.py`` of a task, loaded by path and checked against its protocol.

A rule is in the task's folder in the package, in a layer of a plug-in or source folder, or in that
of a workspace. Like an adapter, it is code: only a build and ``medrcube tasks`` run it, never a
release that declares the task.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from medrcube.build.open_items.question import CaseView, OpenQuestion, OpenRule
from medrcube.errors import MedrcubeError
from medrcube.files.python_file import load_python_file
from medrcube.forms import OPTION
from medrcube.forms.option import OptionTarget
from medrcube.tasks.declaration import TaskError
from medrcube.taxonomy import Task
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary

__all__ = ["RuleError", "load_rule", "load_rules", "open_questions", "open_tasks"]

NAME = "rule"
"""Name that a rule file has to define."""


class RuleError(TaskError):
    """A rule file breaks its protocol, or fails; names file, line and expectation.

    Attributes:
        short: the message without machine-dependent paths and without values of the case.
    """

    def __init__(self, message: str, *, short: str = "") -> None:
        super().__init__(message)
        self.short = short or message


def open_tasks() -> tuple[Task, ...]:
    """Return the tasks with a rule, in the order of the taxonomy."""
    return _open_tasks(active_vocabulary())


def load_rule(task: Task) -> OpenRule:
    """Load the rule of a task.

    Raises:
        RuleError: the file is missing, cannot be run, or defines no rule.
        TaskError: the task came with a release, without its folder.
    """
    path = rule_path(task)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RuleError(
            f"{path}: cannot be read ({error.strerror}); task.toml names it as the rule of "
            f"{task.value!r}"
        ) from error
    try:
        module = _module(path, content)
    except Exception as error:  # third-party rules may fail in any way
        raise RuleError(
            f"{where_of(path, error)}: {type(error).__name__}: {error}; expected a Python file "
            f"that defines {NAME!r}"
        ) from error
    rule: Any = getattr(module, NAME, None)
    if not callable(getattr(rule, "questions", None)):
        defect = "nothing of that name" if rule is None else f"a {type(rule).__name__} without it"
        raise RuleError(
            f"{path}:1: defines {defect}; expected an object {NAME!r} with a method "
            "'questions(view)' that yields OpenQuestion"
        )
    return cast("OpenRule", rule)


def load_rules() -> None:
    """Load the rules of all open tasks, before a build does anything else.

    Raises:
        RuleError: one cannot be loaded.
    """
    for task in open_tasks():
        load_rule(task)


def rule_path(task: Task) -> Path:
    """Return the file of the rule of a task.

    Raises:
        RuleError: it has none.
    """
    declared = task.declaration
    if not declared.rule:
        raise RuleError(f"the task {task.value!r} has no rule: its questions follow from cards")
    return declared.questions.with_name(declared.rule)


def open_questions(view: CaseView, rule: OpenRule | None = None) -> Iterator[OpenQuestion]:
    """Yield the questions of a view's rule, each checked against the declaration.

    Args:
        view: one case.
        rule: the rule, if already loaded.

    Raises:
        RuleError: the rule fails, or yields anything but a question of its task.
    """
    task = view.task
    rule = rule or load_rule(task)
    try:
        for question in rule.questions(view):
            _require_sound(question, view)
            yield question
    except MedrcubeError:
        raise
    except Exception as error:  # third-party rules may fail in any way
        place = where_of(rule_path(task), error)
        raise RuleError(
            f"{place}: {view.card.id}: {type(error).__name__}: {error}; a rule "
            "yields a barred question, or none, for a case that it cannot ask about",
            short=f"{_short(place)}: {type(error).__name__}",
        ) from error


def where_of(path: Path, error: BaseException) -> str:
    """Return file and line of a rule at which an error arose."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{path}:{error.lineno}"
    steps = traceback.extract_tb(error.__traceback__)
    lines = [step.lineno for step in steps if step.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


def _short(place: str) -> str:
    """Return a location within a rule file, without machine-dependent paths."""
    return "/".join(Path(place).parts[-2:])


def _require_sound(question: object, view: CaseView) -> None:
    fault = _fault(question, view)
    if fault:
        path = rule_path(view.task)
        raise RuleError(
            f"{path}: {view.card.id}: the rule yields {fault}",
            short=f"{_short(str(path))}: {fault}",
        )


def _fault(question: object, view: CaseView) -> str:
    """Return how a question violates the declaration of its task; empty if it does not."""
    if not isinstance(question, OpenQuestion):
        name = type(question).__name__
        return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}; expected an OpenQuestion"
    if question.task != view.task:
        return f"a question of {question.task.value!r}; expected {view.task.value!r}, its own"
    target = question.target
    form = OPTION if isinstance(target, OptionTarget) else target.form
    if form != view.task.declaration.form:
        return f"a target of the form {form!r}; task.toml says {view.task.declaration.form!r}"
    if question.sample not in view.samples:
        return f"an image of another case, {question.sample.id!r}; expected one of the view"
    wanting = set(view.task.declaration.values) - {"shown", "target", *question.values}
    if wanting and not question.bar_reason:
        return f"no value {min(wanting)!r}, which task.toml lists under 'wording.values'"
    return ""


@lru_cache(maxsize=64)
def _open_tasks(_vocabulary: Vocabulary) -> tuple[Task, ...]:
    return tuple(task for task in Task if task.declaration.rule)


def _module(path: Path, content: bytes) -> ModuleType:
    """Run a file, once for each version of its content."""
    name = f"medrcube_rule_{sha256(str(path).encode() + content).hexdigest()[:16]}"
    return load_python_file(path, name)

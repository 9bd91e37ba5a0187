"""Jinja texts: cards, prompts, and the wordings of questions, which stand in the tasks' folders.

A file of wordings has one block per wording. Values that a wording may use, if the declaration of
its task names them:

``shown``: the image in words, such as ``this chest CT image`` or ``these side-by-side
cardiac MR images``.
``subject`` and ``about``: what the fact is about, such as ``this patient`` and ``the patient in
this chest radiograph``; empty and equal to ``shown`` for the image itself.
``normal``: whether an option denies any finding.
``scale``: what the options are, such as ``imaging planes``.
``one_of``: which the options are, such as ``of the following organs``, or ``lung`` where there are
two.
``marked``: whether a region is outlined.
``target``: what a numbered box or frame shows, with its article.
``numbered``: whether frames stand under numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from jinja2 import (
    ChoiceLoader,
    Environment,
    FunctionLoader,
    PackageLoader,
    StrictUndefined,
    Template,
    TemplateSyntaxError,
    nodes,
)

from medrcube.errors import MedrcubeError
from medrcube.taxonomy import Task
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary

__all__ = [
    "TemplateError",
    "Wordings",
    "package_wordings",
    "page_environment",
    "render_card",
    "render_prompt",
    "render_question",
    "wording_names",
]


class TemplateError(MedrcubeError, ValueError):
    """A question template is missing or has no wording of the name asked for."""


class Wordings:
    """Question templates of a batch: the package's, some replaced by the workspace's own.

    Args:
        folder: folder with a file for each task to replace, named as its folder below ``tasks``;
            ``None`` for the package's.
        tasks: the tasks; all by default.

    Raises:
        TemplateError: the folder is missing, holds a template of no task, or one is invalid.
    """

    def __init__(self, folder: Path | None = None, tasks: Iterable[Task] = Task) -> None:
        self.own: dict[Task, Path] = {}
        if folder is not None:
            self.own = _own_files(folder)
        self._texts = {task: self._read(task) for task in tasks}
        self._templates: dict[Task, Template] = {}
        for task, text in self._texts.items():
            try:
                self._templates[task] = _environment().from_string(text)
            except TemplateSyntaxError as error:
                raise TemplateError(f"{self.where(task)}:{error.lineno}: {error.message}") from None
            if not self._templates[task].blocks:
                raise TemplateError(
                    f"{self.where(task)}:1: holds no wording; write one or more as "
                    "{% block name %}...{% endblock %}"
                )

    def render(self, task: Task, variant: str, **values: str | bool) -> str:
        """Render a question with one wording, on one line.

        Raises:
            TemplateError: the task has no wording of that name.
            jinja2.UndefinedError: the wording needs a value that was not given.
        """
        template = self._templates[task]
        if variant not in template.blocks:
            raise TemplateError(
                f"{self.where(task)}: no block {variant!r}; found {', '.join(template.blocks)}"
            )
        block = template.blocks[variant]
        return " ".join("".join(block(template.new_context(dict(values)))).split())

    def variants(self, task: Task) -> tuple[str, ...]:
        """Names of the wordings of a task, in file order."""
        return tuple(self._templates[task].blocks)

    def text(self, task: Task, variant: str) -> str:
        """Template of one wording as its file has it, on one line."""
        block = rf"{{%-?\s*block\s+{re.escape(variant)}\s*-?%}}(.*?){{%-?\s*endblock"
        match = re.search(block, self._texts[task], re.DOTALL)
        return " ".join(match[1].split()) if match else ""

    def version(self, task: Task) -> str:
        """Short hash of the template file."""
        return sha256(self._texts[task].encode()).hexdigest()[:16]

    def where(self, task: Task, variant: str = "", name: str = "") -> str:
        """Template file of a task, with the line of a wording or of a value in it."""
        file = str(self.own.get(task, f"tasks/{task.declaration.slug}/questions.j2"))
        tree = _environment().parse(self._texts[task]) if variant or name else None
        if tree is None:
            return file
        for block in tree.find_all(nodes.Block):
            if block.name == variant:
                lines = [node.lineno for node in block.find_all(nodes.Name) if node.name == name]
                return f"{file}:{min(lines, default=block.lineno)}"
        return file

    def _read(self, task: Task) -> str:
        path = self.own.get(task, task.declaration.questions)
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateError(f"{path}: cannot be read: {error}") from error


def _own_name(task: Task) -> str:
    return f"{task.declaration.slug}.j2"


def _own_files(folder: Path) -> dict[Task, Path]:
    if not folder.is_dir():
        raise TemplateError(f"{folder} is not a folder; name one that holds question templates")
    tasks = {_own_name(task): task for task in Task}
    paths = sorted(path for path in folder.iterdir() if path.suffix == ".j2")
    for path in paths:
        if path.name not in tasks:
            raise TemplateError(f"{path}: is of no task; name it one of {', '.join(tasks)}")
    if not paths:
        raise TemplateError(f"{folder}: holds no question template, such as {next(iter(tasks))}")
    return {tasks[path.name]: path for path in paths}


def package_wordings() -> Wordings:
    """The wordings of the tasks themselves."""
    return _declared_wordings(active_vocabulary())


@cache
def _declared_wordings(_vocabulary: Vocabulary) -> Wordings:
    return Wordings()


def render_question(task: Task, variant: str, **values: str | bool) -> str:
    """A question in the package's own wording; see ``Wordings.render``."""
    return package_wordings().render(task, variant, **values)


def wording_names(task: Task) -> tuple[str, ...]:
    """Names of the package's own wordings of a task, in file order."""
    return package_wordings().variants(task)


def page_environment(*folders: str) -> Environment:
    """Return an environment of HTML pages, in which every value is escaped."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(__name__, folder) for folder in folders]),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_card(card: str, /, **values: object) -> str:
    """Render a document, such as ``dataset.md``, from ``templates/cards``.

    Raises:
        TemplateError: there is no card of that name.
        jinja2.UndefinedError: the card needs a value that was not given.
    """
    return _environment().get_template(f"cards/{card}.j2").render(**values)


def render_prompt(prompt: str, /, **values: object) -> str:
    """Render a prompt, such as ``distractors``, from ``templates/prompts``.

    Raises:
        TemplateError: there is no prompt of that name.
        jinja2.UndefinedError: the prompt needs a value that was not given.
    """
    return _environment().get_template(f"prompts/{prompt}.j2").render(**values).strip()


@cache
def _environment() -> Environment:
    return Environment(
        undefined=StrictUndefined,
        loader=FunctionLoader(_text),
        autoescape=False,  # noqa: S701 -- plain text; pages escape it where they show it
        keep_trailing_newline=True,
    )


def _text(name: str) -> str:
    file = files("medrcube.templates") / name
    if not file.is_file():
        raise TemplateError(f"templates/{name}: is missing from the package")
    return file.read_text(encoding="utf-8")

"""Texts made with Jinja: questions (one file per task, one block per wording) and cards.

Values that a wording of a question may use, by task:

``shown``: the picture in words, such as ``this chest CT image`` or ``the two cardiac MR images
shown side by side``; in every task but Modality Recognition.
``subject`` and ``about``: what the fact is about, such as ``the study`` and ``the study from which
this chest radiograph was taken``; empty and equal to ``shown`` for the picture itself. Abnormality
Diagnosis, Disease Diagnosis, Severity Grading.
``normal``: whether an option denies any finding. Abnormality Diagnosis, Disease Diagnosis.
``scale``: what the options are, such as ``imaging planes``. View, Imaging Protocols and Organ
Recognition, Severity Grading.
``marked``: whether a region is outlined. Organ Recognition.
``target``: what a numbered box or frame shows, with its article; ``numbered``: whether frames stand
under numbers. ROI Grounding; Imaging Protocols Recognition.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template

from medrcube.errors import MedrcubeError
from medrcube.taxonomy import Task


class TemplateError(MedrcubeError, ValueError):
    """A question template is missing or has no wording of the name asked for."""


def render_question(task: Task, variant: str, **values: str | bool) -> str:
    """The question of one wording, on one line.

    Raises:
        TemplateError: the task has no wording of that name.
        jinja2.UndefinedError: the wording needs a value that was not given.
    """
    template = _template(task)
    if variant not in template.blocks:
        raise TemplateError(
            f"templates/{_file(task)}: no block {variant!r}; found {', '.join(template.blocks)}"
        )
    block = template.blocks[variant]
    return " ".join("".join(block(template.new_context(dict(values)))).split())


def variants(task: Task) -> tuple[str, ...]:
    """Names of the wordings of a task, in file order."""
    return tuple(_template(task).blocks)


@cache
def template_version(task: Task) -> str:
    """Hash of the template file; changes with any wording."""
    return sha256(_text(_file(task)).encode()).hexdigest()[:16]


def render_card(card: str, /, **values: object) -> str:
    """A whole document, such as ``dataset.md``, from ``templates/cards``.

    Raises:
        TemplateError: there is no card of that name.
        jinja2.UndefinedError: the card needs a value that was not given.
    """
    return _environment().get_template(f"cards/{card}.j2").render(**values)


def render_prompt(prompt: str, /, **values: object) -> str:
    """What is sent to a language model, such as ``distractors``, from ``templates/prompts``.

    Raises:
        TemplateError: there is no prompt of that name.
        jinja2.UndefinedError: the prompt needs a value that was not given.
    """
    return _environment().get_template(f"prompts/{prompt}.j2").render(**values).strip()


@cache
def _template(task: Task) -> Template:
    return _environment().get_template(_file(task))


@cache
def _environment() -> Environment:
    return Environment(
        undefined=StrictUndefined,
        loader=FunctionLoader(_text),
        autoescape=False,  # noqa: S701 -- plain text; pages escape it where they show it
        keep_trailing_newline=True,
    )


def _file(task: Task) -> str:
    return f"questions/{task.value.lower().replace(' ', '_')}.j2"


def _text(name: str) -> str:
    file = files("medrcube.templates") / name
    if not file.is_file():
        raise TemplateError(f"templates/{name}: is missing from the package")
    return file.read_text(encoding="utf-8")

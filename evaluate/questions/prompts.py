"""Prompt templates: the text sent to a model with the image."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from medrcube.errors import WorkspaceError, failure_text
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.models.protocol import Json
from medrcube.evaluate.questions.option_letters import fold, misplaced_option
from medrcube.forms import form_of

__all__ = [
    "DEFAULT_PROMPT",
    "FIELDS",
    "OPTION_INSTRUCTION",
    "Prompt",
    "default_prompt",
    "instruction_of",
    "prompt_of",
    "prompt_version",
    "read_prompt",
    "render_data",
    "render_prompt",
]

DEFAULT_PROMPT = "default"
"""Name of the default template in ``templates/prompts``."""

FIELDS = ("question", "options", "letters", "instruction", "task", "modality", "anatomy")
"""Names available in a user's template; neither the key nor its evidence is among them."""

OPTION_INSTRUCTION = "Reply with the letter of the one best option."
"""Instruction for an item with options, as in the default template."""

_PLACE = "\0"
_LONGEST_TEMPLATE = 100_000
_LONGEST_PROMPT = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt template.

    Attributes:
        name: name of the template, or of the user's file without its folder.
        text: the template.
        own: whether it is a user's template.
    """

    name: str
    text: str
    own: bool = False

    @property
    def version(self) -> str:
        """Short digest of the template, part of the run's identity."""
        return _version(self.text)

    @property
    def identity(self) -> dict[str, Json]:
        """Identity of the prompt in a run's manifest; a user's template is stored in full."""
        identity: dict[str, Json] = {"name": self.name, "version": self.version}
        return {**identity, "text": self.text} if self.own else identity

    def render(self, item: BenchmarkItem) -> str:
        """Return the whole prompt of a question, without a trailing newline.

        Raises:
            WorkspaceError: the user's template uses an undefined name, fails, omits a part of the
                question, or shows an option that does not follow its own letter.
        """
        if not self.own:
            return render_prompt(item)
        try:
            text = _own(self.text).render(_fields(item)).strip()
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise WorkspaceError(
                f"--prompt {self.name}: cannot be written for {item.name}: {error}; a template has "
                f"the names {', '.join(FIELDS)}"
            ) from None
        _check_whole(self.name, text, item)
        return text


def default_prompt() -> Prompt:
    """Return the prompt of this version."""
    return Prompt(name=DEFAULT_PROMPT, text=_source(DEFAULT_PROMPT))


def read_prompt(path: Path) -> Prompt:
    """Read a user's template.

    Raises:
        WorkspaceError: the file cannot be read or is not a template.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST_TEMPLATE + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkspaceError(f"--prompt {path}: cannot be read: {failure_text(error)}") from error
    if len(data) > _LONGEST_TEMPLATE:
        raise WorkspaceError(
            f"--prompt {path}: has more than {_LONGEST_TEMPLATE:,} bytes; expected a short text"
        )
    if "\0" in text:
        raise WorkspaceError(f"--prompt {path}: contains the character NUL; expected a text")
    try:
        _own(text)
    except TemplateError as error:
        line = f" line {number}" if (number := getattr(error, "lineno", None)) else ""
        raise WorkspaceError(
            f"--prompt {path}{line}: is not a valid Jinja template: {error}"
        ) from None
    return Prompt(name=path.name, text=text, own=True)


def prompt_of(identity: Mapping[str, Json]) -> Prompt | None:
    """Return the prompt of a manifest; ``None`` if this version does not have it."""
    text = identity.get("text")
    if isinstance(text, str):
        return Prompt(name=str(identity["name"]), text=text, own=True)
    default = default_prompt()
    return default if identity.get("version") == default.version else None


def render_prompt(item: BenchmarkItem, name: str = DEFAULT_PROMPT) -> str:
    """Render question, options by letter, and instruction, without a trailing newline.

    An item without options has the instruction of its form instead.
    """
    if item.target is not None:
        return f"Question: {item.question}\n{instruction_of(item)}"
    around = _around_question(name, item.options)
    if around is None:
        template = _environment().get_template(f"{name}.j2")
        return template.render(question=item.question, options=item.options).strip()
    return item.question.join(around).strip()


def instruction_of(item: BenchmarkItem) -> str:
    """Return the last part of a prompt: what to reply."""
    if item.target is None:
        return OPTION_INSTRUCTION
    return form_of(item.target).instruction(item.target.ask)


def render_data(name: str, data: Mapping[str, Json]) -> str:
    """Render a prompt around untrusted data, embedded as one line of JSON."""
    line = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode()
    return _environment().get_template(f"{name}.j2").render(data=line).strip()


def prompt_version(name: str = DEFAULT_PROMPT) -> str:
    """Return a short digest of a template's text."""
    return _version(_source(name))


def _fields(item: BenchmarkItem) -> dict[str, object]:
    return {
        "question": item.question,
        "options": item.options,
        "letters": tuple(letter for letter, _ in item.options),
        "instruction": instruction_of(item),
        "task": item.task.value,
        "modality": item.modality.value,
        "anatomy": item.parts.value,
    }


def _check_whole(name: str, text: str, item: BenchmarkItem) -> None:
    """Refuse a prompt that lacks the question, an option or its letter."""
    if len(text) > _LONGEST_PROMPT:
        raise WorkspaceError(
            f"--prompt {name}: {item.name} becomes {len(text):,} characters; expected at most "
            f"{_LONGEST_PROMPT:,}"
        )
    plain = fold(text)
    parts = {"the question": item.question, **{f"option {x}": text for x, text in item.options}}
    if item.target is not None:
        parts["the instruction"] = instruction_of(item)
    if gone := [part for part, words in parts.items() if fold(words) not in plain]:
        raise WorkspaceError(
            f"--prompt {name}: leaves out {', '.join(gone)} of {item.name}; expected "
            "{{ question }} and every option, such as "
            "{% for letter, text in options %}{{ letter }}. {{ text }}{% endfor %}, and "
            "{{ instruction }} where an item has no options"
        )
    if misplaced := misplaced_option(text, item.question, item.options):
        letter, before = misplaced
        place = f"behind {' and '.join(before)}" if before else "without a letter before it"
        raise WorkspaceError(
            f"--prompt {name}: shows option {letter} of {item.name} {place}; expected only its own "
            f"letter before its text, on one line, such as  {letter}. TEXT  or  "
            f"({letter}) TEXT"
        )


@lru_cache(maxsize=4096)
def _around_question(name: str, options: tuple[tuple[str, str], ...]) -> tuple[str, str] | None:
    """Return the prompt before and after the question; rendering is far slower than joining.

    ``None`` if the position of the question cannot be determined.
    """
    template = _environment().get_template(f"{name}.j2")
    before, *after = template.render(question=_PLACE, options=options).split(_PLACE)
    return (before, after[0]) if len(after) == 1 else None


def _version(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _source(name: str) -> str:
    environment = _environment()
    assert environment.loader is not None  # noqa: S101 - set below
    return environment.loader.get_source(environment, f"{name}.j2")[0]


@cache
def _own(text: str) -> Template:
    # No loader, immutable sandbox: a user's template cannot include or change anything.
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    ).from_string(text)


@cache
def _environment() -> Environment:
    # Plain text for a model: HTML escapes would change the question.
    return Environment(
        loader=PackageLoader("medrcube.templates", "prompts"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
        keep_trailing_newline=True,
        auto_reload=False,
    )

"""The text that goes to a model beside the picture."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from medrcube.evaluate.benchmark import Item
from medrcube.evaluate.models.contract import Json

DEFAULT_PROMPT = "default"
"""Name of the template in ``templates/prompts`` that asks for the letter."""


def render_prompt(item: Item, name: str = DEFAULT_PROMPT) -> str:
    """The question, its options by letter, and what to reply; ends without a newline."""
    template = _environment().get_template(f"{name}.j2")
    return template.render(question=item.question, options=item.options).strip()


def render_data(name: str, data: Mapping[str, Json]) -> str:
    """A prompt around data that others wrote, which stands in it as one line of JSON."""
    line = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode()
    return _environment().get_template(f"{name}.j2").render(data=line).strip()


def prompt_version(name: str = DEFAULT_PROMPT) -> str:
    """Short digest of the template's text: another wording is another run."""
    environment = _environment()
    assert environment.loader is not None  # noqa: S101 - set three lines below
    text, _, _ = environment.loader.get_source(environment, f"{name}.j2")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


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

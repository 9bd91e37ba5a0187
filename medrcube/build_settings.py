"""Build settings: the tables ``[build]`` and ``[llm]`` of ``medrcube.toml``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from medrcube.errors import ModelError, WorkspaceError
from medrcube.facts import Grade, Visibility
from medrcube.files.toml_reader import TomlTable
from medrcube.model_endpoint import OFFICIAL_URL, checked_url

__all__ = [
    "BuildSettings",
    "LlmSettings",
    "PreferredDifficulty",
    "parse_build_settings",
    "parse_llm_settings",
]


class PreferredDifficulty(StrEnum):
    """Preferred difficulty of distractors."""

    MIXED = "mixed"
    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    """The ``[build]`` table of ``medrcube.toml``."""

    seed: int = 0
    options: int = 4
    evidence: Grade = Grade.B
    least_visible: Visibility = Visibility.PARTLY
    difficulty: PreferredDifficulty = PreferredDifficulty.MIXED
    items_per_cell: int = 100
    two_option_share: float = 0.2
    even_keys: bool = True
    viewer: bool = True
    profile: str = ""
    switched_on: tuple[str, ...] = ()
    quarantine_gate: float | None = None
    templates: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSettings:
    """The ``[llm]`` table of ``medrcube.toml``: a language model that may propose distractors.

    Attributes:
        model: model name as the endpoint knows it.
        base_url: endpoint that implements the OpenAI chat-completions protocol.
        api_key_env: environment variable that holds the API key; never the key itself.
        max_requests: maximum number of requests per build, including retries.
        max_tokens: maximum reply length in tokens.
        timeout: timeout of a whole reply in seconds.
    """

    model: str
    base_url: str = OFFICIAL_URL
    api_key_env: str = "OPENAI_API_KEY"
    max_requests: int = 200
    max_tokens: int = 2048
    timeout: float = 60.0


def parse_build_settings(table: TomlTable, root: Path) -> BuildSettings:
    """Parse the ``[build]`` table; relative paths are resolved against ``root``.

    Raises:
        WorkspaceError: a key is unknown or its value is invalid.
    """
    default = BuildSettings()
    profile = table.text("profile", default=default.profile)
    templates = table.text("templates", default=default.templates)
    settings = BuildSettings(
        seed=table.integer("seed", default=default.seed),
        options=table.integer("options", default=default.options),
        evidence=table.choice("evidence", Grade, default=default.evidence),
        least_visible=table.choice("least_visible", Visibility, default=default.least_visible),
        difficulty=table.choice("difficulty", PreferredDifficulty, default=default.difficulty),
        items_per_cell=table.integer("items_per_cell", default=default.items_per_cell),
        two_option_share=table.number("two_option_share", default=default.two_option_share),
        even_keys=table.flag("even_keys", default=default.even_keys),
        viewer=table.flag("viewer", default=default.viewer),
        profile=str((root / profile).resolve()) if profile.endswith(".toml") else profile,
        switched_on=table.texts("switched_on", default=default.switched_on),
        quarantine_gate=_share(table, "quarantine_gate"),
        templates=str((root / templates).resolve()) if templates else "",
    )
    if not 2 <= settings.options <= 4:
        table.fail("options", "2, 3 or 4", settings.options)
    if not 0 <= settings.two_option_share <= 1:
        table.fail("two_option_share", "a share between 0 and 1", settings.two_option_share)
    return settings


def parse_llm_settings(table: TomlTable) -> LlmSettings:
    """Parse the ``[llm]`` table.

    Raises:
        WorkspaceError: a key is unknown or its value is invalid.
    """
    default = LlmSettings(model="")
    settings = LlmSettings(
        model=table.text("model"),
        base_url=table.text("base_url", default=default.base_url),
        api_key_env=table.text("api_key_env", default=default.api_key_env),
        max_requests=table.integer("max_requests", default=default.max_requests),
        max_tokens=table.integer("max_tokens", default=default.max_tokens),
        timeout=table.number("timeout", default=default.timeout),
    )
    if not re.fullmatch("[A-Z_][A-Z0-9_]*", settings.api_key_env):
        table.fail("api_key_env", "the name of an environment variable, in capitals", "[not shown]")
    if settings.max_tokens < 1:
        table.fail("max_tokens", "a whole number, one or more", settings.max_tokens)
    if not 0 < settings.timeout <= 3600:
        table.fail("timeout", "seconds, more than 0 and at most 3600", settings.timeout)
    try:
        return replace(settings, base_url=checked_url(settings.base_url))
    except ModelError as error:
        raise WorkspaceError(f"medrcube.toml: key 'llm.base_url': {error}") from None


def _share(table: TomlTable, key: str) -> float | None:
    if not table.has(key):
        return None
    share = table.number(key)
    if not 0 <= share <= 1:
        table.fail(key, "a share between 0 and 1", share)
    return share

"""Identity of a run: a resumed run must match, and every difference is named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.models.protocol import Json
from medrcube.evaluate.questions.selection import NOT_THERE
from medrcube.evaluate.questions.settings import selection_text

__all__ = ["differing_values", "require_same_identity", "restore_reply_limit"]

_LIMITS = ("max_tokens", "max_completion_tokens", "max_new_tokens")
_OPTIONAL = ("selection", "shots", "pictures")
"""Parts present only if an option adds them."""

_WORDS = {"shots": "other examples", "pictures": "another image size"}
_TOLD = 12
_LONGEST = 120


def require_same_identity(
    out: Path, manifest: Mapping[str, Any], identity: Mapping[str, Any]
) -> None:
    """Refuse to resume a run with another identity.

    Raises:
        WorkspaceError: names every setting that differs, with both values.
    """
    expected = {**dict.fromkeys(_OPTIONAL), **identity}
    there = {part: manifest.get(part) for part in expected}
    parts = [part for part in expected if there[part] != expected[part]]
    if not parts:
        return
    lines = [
        f"  {name}: {_value_text(old)} in the run, {_value_text(new)} now"
        for part in parts
        if part != "selection"
        for name, old, new in differing_values(there[part], expected[part], part)
    ]
    if "selection" in parts:
        lines = [*_selection_lines(manifest, expected), *lines]
    more = [f"  and {len(lines) - _TOLD} more"] if len(lines) > _TOLD else []
    told_parts = " and ".join(_WORDS.get(part, f"another {part}") for part in parts)
    listed = "\n".join([*lines[:_TOLD], *more])
    raise WorkspaceError(
        f"{out}: was started with {told_parts}; nothing was changed.\n"
        f"{listed}\nchoose another run folder, or repeat the settings that started this run"
    )


def differing_values(old: Any, new: Any, name: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield (dotted name, old, new) of every value in which two settings differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            if old.get(key) != new.get(key):
                yield from differing_values(old.get(key), new.get(key), f"{name}.{key}")
    else:
        yield name, old, new


def _selection_lines(manifest: Mapping[str, Any], identity: Mapping[str, Any]) -> list[str]:
    """Describe both selections of items, and the options by which they may differ."""
    whole = {"wanted": identity["dataset"]["items"], "left_out": {}, "by_source": {}}
    old, new = manifest.get("selection") or whole, identity["selection"] or whole
    options = {
        "--i-may-send (in Python may_send), or where the model runs": (
            old["by_source"] != new["by_source"]
        ),
        "--present-only": old["left_out"].get(NOT_THERE) != new["left_out"].get(NOT_THERE),
        "--task, --anatomy, --modality, --source, --where or --ids": old["wanted"] != new["wanted"],
    }
    names = [name for name, differs in options.items() if differs] or [list(options)[-1]]
    return [
        f"  items: {selection_text(manifest)} in the run, {selection_text(identity)} now",
        f"  options that differ: {'; '.join(names)}",
    ]


def restore_reply_limit(described: dict[str, Json], manifest: Mapping[str, Any]) -> dict[str, Json]:
    """Return the model identity under the reply limit of the run, if only that differs.

    Raises:
        WorkspaceError: replies would be shorter than before.
    """
    now_set, first = described.get("parameters"), manifest["model"].get("parameters")
    if not isinstance(now_set, dict) or not isinstance(first, dict):
        return described
    for name in _LIMITS:
        limit, before = now_set.get(name), first.get(name)
        if isinstance(limit, int) and isinstance(before, int) and limit < before:
            raise WorkspaceError(
                f"{name} is {limit}, but the run was started with {before}; to ask cut questions "
                "again, raise the token limit (--max-tokens, in Python max_tokens)"
            )
    others = {name: value for name, value in now_set.items() if name not in _LIMITS}
    return {
        **described,
        "parameters": {**others, **{name: first[name] for name in _LIMITS if name in first}},
    }


def _value_text(value: Any) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."

"""Nearest known names for an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["nearest_names"]


def nearest_names(text: str, names: Iterable[str]) -> str:
    """Return `` (nearest: 'a', 'b')`` to append to a message, best first; empty if none is near."""
    spelled = {name.casefold(): name for name in names}
    near = get_close_matches(text[:200].casefold(), spelled, n=3)
    return f" (nearest: {', '.join(repr(spelled[name]) for name in near)})" if near else ""

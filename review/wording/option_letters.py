"""Letters of options: A, B, C ..."""

from __future__ import annotations

__all__ = ["option_letter"]


def option_letter(index: int) -> str:
    """Return the letter of an option by its index, from 0."""
    return chr(ord("A") + index)

"""Format counts, byte sizes and dollar amounts: ``1 item``, ``1,204 items``, ``1.2 GB``."""

from __future__ import annotations

__all__ = ["counted", "dollars", "in_bytes"]


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Format a count with thousands separators and the noun in singular or plural.

    Args:
        count: the number.
        noun: the noun in the singular.
        plural: its plural, if it does not follow the ``-s``, ``-es`` or ``-ies`` rules.
    """
    return f"{count:,} {noun if count == 1 else plural or _plural(noun)}"


def in_bytes(count: int) -> str:
    """Format a number of bytes, such as ``1.2 GB``."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def dollars(amount: float) -> str:
    """Format US dollars to the cent, and smaller amounts to two significant digits."""
    return f"{amount:.2f}" if amount >= 0.1 or not amount else f"{amount:.2g}"

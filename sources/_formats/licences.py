"""Licences of single images, as stated in tables of datasets."""

from __future__ import annotations

import re

__all__ = ["may_redistribute"]


def may_redistribute(licence: str) -> bool:
    """Whether the licence of one image permits redistributing a rendering of it.

    True for Creative Commons BY with or without NC and SA, for CC0 and for Apache. False for
    ND, because a rendered image is a derived work, and for anything unclear.
    """
    words = re.findall(r"[A-Z0-9]+", licence.upper())
    free = words[:2] == ["CC", "BY"] or words[:1] in (["CC0"], ["APACHE"])
    return free and "ND" not in words

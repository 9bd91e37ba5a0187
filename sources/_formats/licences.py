"""Licences of single images, as stated in tables of datasets."""

from __future__ import annotations

import re

__all__ = ["is_licence_id", "is_spdx_id", "licence_id", "may_redistribute"]

_SPDX = frozenset(
    {
        *("CC0-1.0", "Apache-1.1", "Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause"),
        *("ODbL-1.0", "ODC-By-1.0", "PDDL-1.0", "CDLA-Permissive-1.0", "CDLA-Permissive-2.0"),
        *("GPL-3.0-only", "GPL-3.0-or-later", "Unlicense"),
        *(
            f"CC-BY{terms}-{version}"
            for terms in ("", "-NC", "-SA", "-ND", "-NC-SA", "-NC-ND")
            for version in ("1.0", "2.0", "2.5", "3.0", "4.0")
        ),
    }
)
"""SPDX ids that data and code are published under, https://spdx.org/licenses."""
_BY_NAME = {name.upper(): name for name in _SPDX}
_REFERENCE = re.compile(r"LicenseRef-[A-Za-z0-9.-]+")
_OTHER = re.compile(r"[^A-Za-z0-9.]+")


def may_redistribute(licence: str) -> bool:
    """Whether the licence of one image permits redistributing a rendering of it.

    True for Creative Commons BY with or without NC and SA, for CC0 and for Apache. False for
    ND, because a rendered image is a derived work, and for anything unclear.
    """
    words = re.findall(r"[A-Z0-9]+", licence.upper())
    free = words[:2] == ["CC", "BY"] or words[:1] in (["CC0"], ["APACHE"])
    return free and "ND" not in words


def licence_id(text: str) -> str:
    """Return the SPDX id of a licence text of a table, or ``LicenseRef-`` with its words.

    ``CC BY-NC -SA 4.0`` is ``CC-BY-NC-SA-4.0``. A text without a version, such as ``CC BY``, names
    no single licence: it becomes ``LicenseRef-CC-BY``.
    """
    if is_licence_id(text):
        return text
    words = "-".join(filter(None, _OTHER.split(text))).strip(".")
    return _BY_NAME.get(words.upper(), f"LicenseRef-{words or 'none'}")


def is_spdx_id(name: str) -> bool:
    """Whether a name is the id of a licence that SPDX lists and data are published under."""
    return name in _SPDX


def is_licence_id(name: str) -> bool:
    """Whether a name has the form of an SPDX id or of ``LicenseRef-...``."""
    return is_spdx_id(name) or _REFERENCE.fullmatch(name) is not None

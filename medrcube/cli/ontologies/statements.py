"""Licence statements of ontologies, for help texts."""

from __future__ import annotations

import textwrap

from medrcube.ontologies.knowledge_protocol import CHECKED_EDITIONS
from medrcube.ontologies.licences import LICENCES

__all__ = ["STATEMENTS"]


def _unwrapped(text: str) -> str:
    """A paragraph that Click does not wrap; it would break words at hyphens."""
    return "\b\n" + textwrap.fill(text, 76, break_on_hyphens=False)


STATEMENTS = "\n\n".join(
    _unwrapped(LICENCES[name].statement(edition)) for name, edition in CHECKED_EDITIONS.items()
)
"""What each licence asks every user to carry."""

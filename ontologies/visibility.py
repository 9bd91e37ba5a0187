"""Visibility table (``visible.csv``): what images of a region and modality also show.

``shown = yes``: images of that region and modality also show the concept, so it is never a wrong
answer to "what does this image show". ``shown = no``: they cannot show it, so nothing about it
can be asked of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from medrcube.ontologies.terms import TermError, Terms, check_reviewed, load_terms, read_table
from medrcube.taxonomy import Anatomy, Modality
from medrcube.vocabulary.layers import active_vocabulary

__all__ = ["COLUMNS", "VisibilityTable", "load_visibility"]

COLUMNS = ("concept", "anatomy", "modality", "shown", "reason", "reviewed")


class VisibilityTable:
    """The table; concepts that it does not list count as "can be seen".

    Raises:
        TermError: on construction, if a row names an unknown concept or answers neither ``yes``
            nor ``no``.
    """

    def __init__(self, rows: Iterable[Mapping[str, str]], terms: Terms) -> None:
        self._rows: dict[tuple[str, Anatomy, Modality], bool] = {}
        for row in rows:
            concept = terms[row["concept"]].label
            if row["shown"] not in ("yes", "no"):
                raise TermError(f"visible: {concept!r}: shown is {row['shown']!r}, not yes or no")
            check_reviewed(row["reviewed"], f"visible: {concept!r}")
            anatomy = Anatomy.parse(row["anatomy"])
            every = row["modality"] == "*"
            for modality in Modality if every else (Modality.parse(row["modality"]),):
                visible = row["shown"] == "yes"
                if self._rows.setdefault((concept, anatomy, modality), visible) != visible:
                    raise TermError(
                        f"visible: {concept!r}: two rows say different things about {anatomy} and "
                        f"{modality}; a layer may add rows, not change them"
                    )

    def shows(self, concept: str, anatomy: Anatomy, modality: Modality) -> bool | None:
        """Whether such images also show the concept; ``None`` if the table does not say."""
        return self._rows.get((concept, anatomy, modality))


def load_visibility() -> VisibilityTable:
    """Load the visibility table of the package and of the active layers.

    Raises:
        TermError: a row breaks the rules.
    """
    return _load_visibility(active_vocabulary())


@cache
def _load_visibility(_active: object) -> VisibilityTable:
    return VisibilityTable(read_table("visible.csv", COLUMNS), load_terms())

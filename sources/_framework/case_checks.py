"""Checks of the cases that an adapter yields: shape, file names, and values that the card lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from medrcube.errors import RowError, SourceError
from medrcube.facts import Case, Label, Region, Skip
from medrcube.regions import has_foreign_mask
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_lookup import concept_of
from medrcube.sources._framework.card_parts.pixels import WINDOWS
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

__all__ = ["check_case", "check_values", "foreign_file", "shared_values"]

_SEVERAL = 3
"""Number of patients that must share a value before it is taken not to identify one of them."""


def check_case(card: Card, case: Case) -> None:
    if not case.images or not all(image.paths for image in case.images):
        raise SourceError(f"{card.id}: case {case.key!r} has no image file")
    if case.window is not None and not re.fullmatch(WINDOWS, case.window):
        raise SourceError(
            f"{card.id}: case {case.key!r} has the window {case.window!r}; expected a value of "
            "[pixels] window"
        )
    if case.redistribute and card.access.passed_on == "no":
        raise SourceError(
            f"{card.id}: case {case.key!r} may be redistributed by its row but not by the card; "
            "state under access.rows what decides, or omit Case.redistribute"
        )
    if card.carried is None and any(has_foreign_mask(shape) for shape in case.shapes()):
        raise SourceError(
            f"{card.id}: case {case.key!r} has a mask that was drawn on another image; expected "
            "one on its own grid: if both share one coordinate space, say so under [carried] in "
            "the card, with reason and evidence"
        )
    if case.panels and (
        not 2 <= len(case.images) == len(case.panels) <= 4
        or len({label.field for label in case.panels}) > 1
    ):
        raise SourceError(
            f"{card.id}: case {case.key!r} has {len(case.images)} image(s) and labels of "
            f"{len(case.panels)} panel(s); expected two to four images and one label for each, all "
            "of one field"
        )
    if case.compared and (not case.panels or case.labels or case.regions):
        raise SourceError(
            f"{card.id}: case {case.key!r} is made for comparison, with {len(case.panels)} "
            f"panel(s), {len(case.labels)} label(s) and {len(case.regions)} region(s); expected "
            "panels only: everything else belongs to the cases of its images"
        )


def foreign_file(files: Iterable[Path], copy: RawTree, tree: RawTree, layout: str) -> str:
    """Return why a file does not belong to the dataset; empty if all do."""
    for path in files:
        name = tree.name_of(path)
        if not name and path != tree.path:
            return f"names {path}, which lies outside the raw root; expected a file below it"
        if name not in tree.files_below and name in copy.files_below:
            return (
                f"names {name}, which is not a file name of this dataset: the file exists, but "
                f"matches no glob of layout {layout!r}; correct the name in the table and of the "
                "file, or, where the source is your own, add the glob to its card"
            )
    return ""


def check_values(card: Card, case: Case, shared: Callable[[], Collection[str]]) -> tuple[Case]:
    """Return the case if the card lists every value that it states.

    Raises:
        RowError: names the first value that is not in the card.
    """
    for statement in _statements(case):
        try:
            concept_of(card, statement)
        except RowError:
            concept_of(card, statement, shared())
    return (case,)


def _statements(case: Case) -> tuple[Label | Region, ...]:
    return (*case.labels, *case.panels, *case.regions)


def shared_values(card: Card, entries: Iterable[Case | Skip]) -> frozenset[str]:
    """Return values missing from the card that several patients share: none is a person's name."""
    people: dict[str, set[str]] = {}
    for case in entries:
        if isinstance(case, Case) and case.patient:
            for statement in _statements(case):
                field = card.fields.get(statement.field)
                if field is not None and statement.value not in field.values:
                    people.setdefault(statement.value, set()).add(case.patient)
    return frozenset(value for value, own in people.items() if len(own) >= _SEVERAL)

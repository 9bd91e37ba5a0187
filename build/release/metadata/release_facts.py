"""Release metadata shared by the card, Croissant and PROV; equal for both editions."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from medrcube import __version__
from medrcube.build.open_items.table import OpenItem
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.release.open_facts import OpenTask, asked_text, open_tasks
from medrcube.build.stages.samples import Sample
from medrcube.console.counts import counted
from medrcube.errors import ReleaseError
from medrcube.release_format.format_version import SYNTHETIC_KEY
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.contract import Source

__all__ = ["ReleaseFacts", "ReleasedSource", "collect_facts", "day_of", "semantic_version"]

EPOCH = "SOURCE_DATE_EPOCH"
"""Environment variable with the date of a reproducible build, in seconds since 1970
(https://reproducible-builds.org/specs/source-date-epoch/).
"""

_DAY = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")
_NUMBER = r"(0|[1-9]\d*)"
_VERSION = re.compile(rf"v?{_NUMBER}(?:\.{_NUMBER}(?:\.{_NUMBER}(-[0-9A-Za-z.-]+)?)?)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedSource:
    """One source and its share of a release.

    Attributes:
        card: card of the source.
        items: number of its items.
        pictures: number of its images.
        withheld: number of its images that may not be redistributed.
        licences: licences of its images, sorted.
    """

    card: Card
    items: int
    pictures: int
    withheld: int
    licences: tuple[str, ...]

    @property
    def passed_on(self) -> str:
        """Whether its images may be redistributed: ``yes``, ``no`` or ``some``."""
        if not self.withheld:
            return "yes"
        return "no" if self.withheld == self.pictures else "some"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """Metadata of a release, whether its restricted images are in the tree or not.

    Attributes:
        name: its name.
        day: release date.
        sources: by id, sorted.
        places: path in the release -> image.
        tasks: number of items of each task, by its name in the release.
        grades: number of items of each evidence grade.
        editions: ontologies that the items depend on, as in ``audit.json``.
        review: results of the review, as in ``audit.json``.
        open_tasks: metadata of the items beyond the cube, by task.
        choice_pictures: number of images of the items of the cube.
        is_synthetic: whether all images are generated.
        software: version of medrcube.
    """

    name: str
    day: date
    sources: tuple[ReleasedSource, ...]
    places: Mapping[str, Sample]
    tasks: Mapping[str, int]
    grades: Mapping[str, int]
    editions: tuple[Mapping[str, Any], ...]
    review: Mapping[str, Any]
    open_tasks: tuple[OpenTask, ...] = ()
    choice_pictures: int = 0
    is_synthetic: bool = False
    software: str = __version__

    @property
    def items(self) -> int:
        """Number of items."""
        return sum(source.items for source in self.sources)

    @property
    def open_items(self) -> int:
        """Number of items beyond the cube."""
        return sum(task.items for task in self.open_tasks)

    @property
    def counts(self) -> str:
        """The numbers of items and images in words, each kind of item with its own images."""
        questions = counted(self.items - self.open_items, "multiple-choice question")
        text = f"{questions} about {counted(self.choice_pictures, 'image')}"
        if not self.open_items:
            return text
        further = counted(self.open_items, "further item")
        return (
            f"{text}, and {further} that ask for {asked_text(self.open_tasks)}, which the "
            f"published evaluator does not read; {counted(len(self.places), 'image')} in all"
        )

    @property
    def withheld(self) -> int:
        """Number of images that may not be redistributed."""
        return sum(source.withheld for source in self.sources)

    @property
    def unreviewed(self) -> int:
        """Number of items that no clinician has accepted."""
        beyond = sum(task.items - task.accepted for task in self.open_tasks)
        return int(self.review["unreviewed"]) + beyond

    @property
    def licences(self) -> tuple[str, ...]:
        """Licences of all images, sorted."""
        return tuple(sorted({name for source in self.sources for name in source.licences}))


def collect_facts(
    sources: Mapping[str, Source],
    items: Iterable[ChoiceItem | OpenItem],
    places: Mapping[str, Sample],
    audit: Mapping[str, Any],
    *,
    name: str,
    day: date,
) -> ReleaseFacts:
    """Collect the metadata of a release.

    Args:
        sources: registry.
        items: all items of the release.
        places: path in the release -> image, including images that are left out.
        audit: content of ``audit.json``.
        name: version of the release.
        day: release date.
    """
    items = list(items)
    count = Counter(item.source for item in items)
    return ReleaseFacts(
        name=name,
        day=day,
        sources=tuple(
            _source(sources[source].card, count[source], places.values())
            for source in sorted(count)
        ),
        places=places,
        tasks=dict(sorted(Counter(item.task for item in items).items())),
        grades=dict(sorted(Counter(item.grade for item in items).items())),
        editions=tuple(audit["ontologies"]["editions"]),
        review=audit["review"],
        open_tasks=open_tasks(item for item in items if isinstance(item, OpenItem)),
        choice_pictures=len({item.sample for item in items if isinstance(item, ChoiceItem)}),
        is_synthetic=audit.get(SYNTHETIC_KEY) is True,
    )


def day_of(name: str, items_table: Path) -> date:
    """Return the release date, which does not depend on when the release is written.

    It is that of ``SOURCE_DATE_EPOCH``; else the one in the release's name, such as ``2026-11-30``;
    else the day on which the items were built.

    Args:
        name: version of the release.
        items_table: table of the items in the workspace.

    Raises:
        ReleaseError: ``SOURCE_DATE_EPOCH`` is not a number of seconds.
    """
    epoch = os.environ.get(EPOCH)
    if epoch:
        try:
            return datetime.fromtimestamp(int(epoch), UTC).date()
        except (ValueError, OverflowError, OSError):
            raise ReleaseError(f"{EPOCH} is {epoch!r}; expected seconds since 1970") from None
    for match in _DAY.finditer(name):
        try:
            return date.fromisoformat(match[1])
        except ValueError:
            continue
    return datetime.fromtimestamp(items_table.stat().st_mtime, UTC).date()


def semantic_version(name: str) -> str:
    """Return the release name as MAJOR.MINOR.PATCH: ``v1`` is 1.0.0, a non-version 0.0.0+NAME.

    Croissant requires this (https://semver.org/spec/v2.0.0.html).
    """
    match = _VERSION.fullmatch(name)
    if match is None:
        return f"0.0.0+{re.sub('[^0-9A-Za-z]+', '-', name).strip('-') or 'unnamed'}"
    numbers = ".".join(part or "0" for part in match.groups()[:3])
    later = [part for part in (match[4] or "").removeprefix("-").split(".") if part]
    identifiers = [part.lstrip("0") or "0" if part.isdigit() else part for part in later]
    return f"{numbers}-{'.'.join(identifiers)}" if identifiers else numbers


def _source(card: Card, items: int, samples: Iterable[Sample]) -> ReleasedSource:
    own = [sample for sample in samples if sample.source == card.id]
    return ReleasedSource(
        card=card,
        items=items,
        pictures=len(own),
        withheld=sum(not sample.redistribute for sample in own),
        licences=tuple(sorted({sample.licence for sample in own})),
    )

"""Reconstruction outcomes by image and source, for people and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from medrcube.build.reconstruction.complete_shards import CompletedShards

__all__ = ["PictureOutcome", "RawFileDifference", "Reconstruction", "SourceOutcome", "Status"]


class Status(StrEnum):
    """Outcome for one image."""

    ALREADY_THERE = "already-there"
    REBUILT = "rebuilt"
    RAW_FILE_MISSING = "raw-file-missing"
    RAW_FILE_DIFFERS = "raw-file-differs"
    RAW_TREE_REFUSED = "raw-tree-refused"
    CASE_MISSING = "case-missing"
    NOT_RENDERED = "not-rendered"
    HASH_DIFFERS = "hash-differs"
    SOURCE_NOT_GIVEN = "source-not-given"
    UNKNOWN_SOURCE = "unknown-source"
    NO_RECIPE = "no-recipe"

    THERE_UNPROVED = "there-unproved"
    PLACED_BY_NAME = "placed-by-name"
    MATCHED_BY_NAME = "matched-by-name"
    NAME_NOT_UNDERSTOOD = "name-not-understood"
    NO_PICTURE_NAMED = "no-picture-named"
    NO_RULE = "no-rule"


THERE = frozenset(
    {Status.ALREADY_THERE, Status.REBUILT, Status.THERE_UNPROVED, Status.PLACED_BY_NAME}
)
"""Statuses in which the image is in the tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFileDifference:
    """A raw file that differs from the one used for the release.

    Attributes:
        name: relative to the raw root, as recorded in the release.
        recorded: its SHA-256 there; ``None`` for a file not used for the release.
        found: SHA-256 of the file in this copy; ``None`` if it is missing.
        found_name: name of that file in this copy, if different.
    """

    name: str
    recorded: str | None
    found: str | None = None
    found_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureOutcome:
    """Outcome for one image.

    Attributes:
        image: its path in the release; for an item without one, the id of the item.
        status: status of the image.
        case: key of its case, if known.
        stage: for ``hash-differs``, the first stage at which the rendering differs.
        detail: why, in words.
        raw: raw files that are missing or differ from those recorded.
    """

    image: str
    status: Status
    case: str = ""
    stage: str = ""
    detail: str = ""
    raw: tuple[RawFileDifference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOutcome:
    """Outcomes for the images of one source.

    Attributes:
        source: id of the source; if it is unknown, the name of the folder in the release.
        pictures: one outcome for each image, sorted by path.
        notes: remarks that apply to all of them.
    """

    source: str
    pictures: tuple[PictureOutcome, ...]
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> Mapping[Status, int]:
        """Number of images with each status, in the order of ``Status``."""
        counts = Counter(outcome.status for outcome in self.pictures)
        return {status: counts[status] for status in Status if counts[status]}

    @property
    def short(self) -> int:
        """Number of images that are not in the tree."""
        return sum(outcome.status not in THERE for outcome in self.pictures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """Outcomes for the images of a release.

    Attributes:
        sources: outcomes source by source.
        shards: what became of the shards of restricted images; ``None`` for loose files.
    """

    sources: tuple[SourceOutcome, ...]
    shards: CompletedShards | None = None

    @property
    def short(self) -> int:
        """Number of images that are not in the tree."""
        return sum(source.short for source in self.sources)

    def as_dict(self) -> dict[str, Any]:
        """Return the report for programs; empty values are omitted."""
        return {
            "short": self.short,
            **({"shards": asdict(self.shards)} if self.shards else {}),
            "sources": {
                source.source: {
                    "counts": {str(status): count for status, count in source.counts.items()},
                    "notes": list(source.notes),
                    "pictures": [_as_json(outcome) for outcome in source.pictures],
                }
                for source in self.sources
            },
        }

    @property
    def not_given(self) -> tuple[SourceOutcome, ...]:
        """Return the sources without a given copy that have missing images."""
        return tuple(source for source in self.sources if Status.SOURCE_NOT_GIVEN in source.counts)

    def reasons(self, most: int) -> Iterator[str]:
        """Yield one line for each reason why images are missing, at most ``most`` for each status.

        Sources without a given copy share one line: users with one source of many look for that
        one.
        """
        for source in self.sources:
            for status in source.counts:
                if status not in THERE and status is not Status.SOURCE_NOT_GIVEN:
                    yield from _reasons(source, status, most)
        if self.not_given:
            pictures = sum(outcome.counts[Status.SOURCE_NOT_GIVEN] for outcome in self.not_given)
            several = len(self.not_given) > 1
            name = "ID" if several else self.not_given[0].source
            whose = f"{len(self.not_given)} sources" if several else name
            yield (
                f"{Status.SOURCE_NOT_GIVEN}  {pictures:,} images of {whose}: name your own "
                f"copy:  --source {name}=ROOT; how to get one:  medrcube sources show {name}"
            )


def _reasons(source: SourceOutcome, status: Status, most: int) -> Iterator[str]:
    alike: dict[tuple[str, str], list[PictureOutcome]] = {}
    for outcome in source.pictures:
        if outcome.status is status:
            alike.setdefault((outcome.stage, outcome.detail), []).append(outcome)
    for (stage, detail), outcomes in list(alike.items())[:most]:
        at = f" at {stage}" if stage else ""
        more = f" (and {len(outcomes) - 1:,} more)" if len(outcomes) > 1 else ""
        yield f"{status}{at}  {outcomes[0].image}{more}: {detail}"
    rest = sum(len(outcomes) for outcomes in list(alike.values())[most:])
    if rest:
        yield f"{status}  {rest:,} more of {source.source}; --report FILE names them all"


def _as_json(outcome: PictureOutcome) -> dict[str, Any]:
    return {
        name: [_without_empty(asdict(file)) for file in value] if name == "raw" else value
        for name, value in _without_empty(
            {name: getattr(outcome, name) for name in PictureOutcome.__dataclass_fields__}
        ).items()
    }


def _without_empty(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value not in ("", None, ())}

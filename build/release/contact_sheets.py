"""Contact sheets of all cells of region, modality and task, and thumbnails of near-duplicates.

A restricted image never becomes a thumbnail, not even in a private release: the page is in both
editions, and pages get forwarded.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from medrcube.build.open_items.table import OpenItem
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.release.open_facts import open_tasks
from medrcube.build.similarity.near_duplicates import NearDuplicate
from medrcube.build.similarity.thresholds import map_in_processes
from medrcube.build.stages.samples import Sample
from medrcube.errors import ReleaseError
from medrcube.forms import form_of
from medrcube.forms.drawn_place import DrawnPlace, drawn_place
from medrcube.forms.option import OptionTarget

__all__ = [
    "IN_CELL",
    "LARGEST",
    "ContactSheet",
    "ContactSheetItem",
    "ThumbnailGallery",
    "answer_of",
    "make_gallery",
    "thumbnail",
]

LARGEST = 4_000_000
"""Most bytes of all thumbnails of a page together, as text."""
IN_ALL, IN_CELL, PAIRS = 720, 8, 6
"""Number of images aimed at on all sheets, most images of one cell, and most near-duplicate pairs.
"""
_SIDE = 128
_QUALITY = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactSheetItem:
    """A thumbnail with its caption.

    Attributes:
        uri: the image as a ``data:`` URI.
        title: answer of the item, or name of the case.
        note: source of the image.
        place: true point or box, drawn over the image.
    """

    uri: str
    title: str
    note: str
    place: DrawnPlace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactSheet:
    """Contact sheet of one cell.

    Attributes:
        cell: anatomy, modality and task.
        items: number of items of the cell.
        pictures: number of images of these items.
        restricted: number of these images that may not be redistributed.
        thumbnails: thumbnails of some of the others.
        beyond: for a task beyond the cube: which answers pass, their chance, and review state; else
            empty.
    """

    cell: tuple[str, str, str]
    items: int
    pictures: int
    restricted: int
    thumbnails: tuple[ContactSheetItem, ...]
    beyond: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThumbnailGallery:
    """All thumbnails of a page: a sheet for each cell, and near-duplicate pairs."""

    sheets: tuple[ContactSheet, ...]
    pairs: tuple[tuple[NearDuplicate, ContactSheetItem, ContactSheetItem], ...]


def make_gallery(
    items: Iterable[ChoiceItem | OpenItem],
    pictures: Mapping[str, Sample],
    near: Iterable[NearDuplicate],
    root: Path,
    workers: int = 1,
) -> ThumbnailGallery:
    """Select and shrink images, deterministically.

    Args:
        items: items of the release, including those beyond the cube.
        pictures: id -> image of each item.
        near: near-duplicates, most important first.
        root: folder that ``Sample.image`` is relative to.
        workers: processes that read images.

    Raises:
        ReleaseError: an image is missing or damaged.
    """
    cells: dict[tuple[str, str, str], list[ChoiceItem | OpenItem]] = {}
    for item in sorted(items, key=lambda item: item.id):
        cells.setdefault((item.anatomy, item.modality, item.task), []).append(item)
    pairs = _examples(near)
    each = IN_CELL if len(cells) * IN_CELL <= IN_ALL else IN_CELL // 2
    examples = {cell: _choose(members, pictures, each) for cell, members in cells.items()}
    samples = [picture for pair in pairs for picture in pair.pictures]
    samples += [pictures[item.sample] for members in examples.values() for item in members]
    files = sorted({root / sample.image for sample in samples})
    small = dict(zip(files, map_in_processes(thumbnail, files, workers), strict=True))
    uris = {sample.id: small[root / sample.image] for sample in samples}
    thumbnails = {cell: [_of_item(item, uris) for item in each] for cell, each in examples.items()}
    fits = _that_fit(thumbnails.values(), sum(len(uris[p.id]) for q in pairs for p in q.pictures))
    return ThumbnailGallery(
        sheets=tuple(
            _sheet(cell, members, thumbnails[cell][:fits], pictures)
            for cell, members in cells.items()
        ),
        pairs=tuple(
            (pair, _of_case(pair.pictures[0], uris), _of_case(pair.pictures[1], uris))
            for pair in pairs
        ),
    )


def thumbnail(path: Path) -> str:
    """Return an image of at most 128 pixels a side as a ``data:`` URI.

    Raises:
        ReleaseError: the file is missing or not an image.
    """
    data = io.BytesIO()
    try:
        with Image.open(path) as picture:
            small = picture.convert("L" if picture.mode in ("1", "L") else "RGB")
        small.thumbnail((_SIDE, _SIDE), Image.Resampling.BOX)
        # No chroma subsampling, which would blur red marks.
        small.save(data, "JPEG", quality=_QUALITY, subsampling=0, optimize=True)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise ReleaseError(
            f"{path}: cannot be read as an image ({error}); build the workspace again"
        ) from None
    return "data:image/jpeg;base64," + base64.b64encode(data.getvalue()).decode("ascii")


def _choose(
    items: Sequence[ChoiceItem | OpenItem], pictures: Mapping[str, Sample], number: int
) -> list[ChoiceItem | OpenItem]:
    """Select items of a cell: sources take turns, then answers within each; no image twice."""
    queues: dict[str, dict[str, list[ChoiceItem | OpenItem]]] = {}
    hashes: set[str] = set()
    for item in items:
        sample = pictures[item.sample]
        if sample.redistribute and sample.pixel_sha256 not in hashes:
            hashes.add(sample.pixel_sha256)
            queues.setdefault(item.source, {}).setdefault(answer_of(item), []).append(item)
    turns = {source: _in_turn(list(answers.values())) for source, answers in queues.items()}
    return _in_turn([turns[source] for source in sorted(turns)])[:number]


def _examples(near: Iterable[NearDuplicate]) -> list[NearDuplicate]:
    """Return the first pairs that may be shown, no image twice."""
    hashes: set[str] = set()
    examples: list[NearDuplicate] = []
    for pair in near:
        names = {sample.pixel_sha256 for sample in pair.pictures}
        if not names & hashes and all(sample.redistribute for sample in pair.pictures):
            hashes |= names
            examples.append(pair)
            if len(examples) == PAIRS:
                break
    return examples


def _in_turn(queues: Sequence[Sequence[ChoiceItem | OpenItem]]) -> list[ChoiceItem | OpenItem]:
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]


def _that_fit(thumbnails: Iterable[list[ContactSheetItem]], size: int) -> int:
    """Return how many images each cell may show so that the page stays within its size limit."""
    rows = list(thumbnails)
    for rank in range(IN_CELL):
        each = [row[rank] for row in rows if rank < len(row)]
        size += sum(len(item.uri) + (len(item.place.path) if item.place else 0) for item in each)
        if size > LARGEST:
            return rank
    return IN_CELL


def _sheet(
    cell: tuple[str, str, str],
    items: Sequence[ChoiceItem | OpenItem],
    thumbnails: Sequence[ContactSheetItem],
    pictures: Mapping[str, Sample],
) -> ContactSheet:
    used = {item.sample: pictures[item.sample] for item in items}
    return ContactSheet(
        cell=cell,
        items=len(items),
        pictures=len(used),
        restricted=sum(not sample.redistribute for sample in used.values()),
        thumbnails=tuple(thumbnails),
        beyond=" ".join(
            task.words for task in open_tasks(item for item in items if isinstance(item, OpenItem))
        ),
    )


def answer_of(item: ChoiceItem | OpenItem) -> str:
    """Return the text of the right option; for items without options, a correct reply."""
    if isinstance(item, ChoiceItem):
        return item.options[item.key].text
    target = item.target
    if isinstance(target, OptionTarget):
        return dict(target.options)[target.key]
    return form_of(target).right_reply(target)


def _of_item(item: ChoiceItem | OpenItem, uris: Mapping[str, str]) -> ContactSheetItem:
    target = item.target if isinstance(item, OpenItem) else None
    return ContactSheetItem(
        uri=uris[item.sample],
        title=answer_of(item),
        note=item.source,
        place=drawn_place(target, _SIDE),
    )


def _of_case(sample: Sample, uris: Mapping[str, str]) -> ContactSheetItem:
    return ContactSheetItem(uri=uris[sample.id], title=sample.case, note=sample.source)

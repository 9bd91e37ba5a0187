"""What a workspace hands over to the queue: its tables, read with distrust, item by item.

A table may have been edited by hand or made by another program, so everything that pages, tables
and releases rely on is checked here, and what fails is refused with a reason.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from django.utils.crypto import salted_hmac
from PIL import Image

from medrcube.build.questions.items import Item, items_from_frame
from medrcube.build.reviewed import fingerprint
from medrcube.build.samples import Sample, samples_from_frame
from medrcube.errors import WorkspaceError
from medrcube.review.assets import MOST_BYTES
from medrcube.review.decisions import Edit, check
from medrcube.review.errors import InvalidAnswerError, ReviewError
from medrcube.workspace import Workspace

LONGEST_TEXT = 10_000
"""Characters of a question or an option."""

_ID = re.compile(r"[0-9A-Za-z_.-]{1,64}")
_LENGTHS = {"source": 64, "task": 64, "anatomy": 32, "modality": 32}
_LONGEST_STRATUM = 160
# Control characters say nothing to a reader; NUL cannot be stored in PostgreSQL, and half of a
# surrogate pair nowhere.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
# Unique identifiers of DICOM and dates may lead back to a patient.
_TELLING = re.compile(r"\d+(?:\.\d+){4,}|(?<!\d)(?:19|20)\d\d-?(?:0[1-9]|1[0-2])-?[0-3]\d(?!\d)|@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An item that is not taken in, and why."""

    item: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """An item that may be taken in.

    Attributes:
        item: as it was built.
        picture: without a mark, or the marked one where no other was made.
        overlay: the same picture with its mark, or ``None``.
        asks_mark: whether the question is about the mark.
        fingerprint: of what it asks.
        case_key: its case under a keyed name, which says nothing outside the queue.
        raw_files: digests of the raw files that hold its image.
    """

    item: Item
    picture: Sample
    overlay: Sample | None
    asks_mark: bool
    fingerprint: str
    case_key: str = ""
    raw_files: tuple[str, ...] = ()

    @property
    def stratum(self) -> str:
        """What agreement is counted by."""
        return f"{self.item.modality} | {self.item.task} | {self.item.strategy}"


def read_workspace(workspace: Workspace) -> tuple[list[Incoming], list[Refused]]:
    """Items of a workspace in the order of its table, and those that are not fit.

    Raises:
        WorkspaceError: a table is missing or cannot be read at all.
    """
    samples = samples_from_frame(_table(workspace.samples, workspace))
    items, refused = _items(_table(workspace.items, workspace))
    pictures = _Pictures(samples)
    files = _raw_files(workspace)
    known = Counter(item.id for item in items)
    incoming: list[Incoming] = []
    for item in items:
        reason = "stands twice in the table" if known[item.id] > 1 else _fault(item, pictures)
        if reason:
            refused.append(Refused(item=_printable(item.id), reason=reason))
        else:
            row = pictures.of(item)
            held = files.get(item.sample, files.get(row.picture.id, ()))
            incoming.append(replace(row, case_key=_case_key(row.picture), raw_files=held))
    return incoming, refused


def provenance(incoming: Incoming, titles: Mapping[str, str]) -> dict[str, str]:
    """What a reader is shown of where an item comes from, once the key is shown.

    The key of the case stands there only if nothing in it looks like a date or an identifier; the
    hash of the patient never does.
    """
    item, sample = incoming.item, incoming.overlay or incoming.picture
    key = item.options[item.key]
    title = titles.get(item.source, "")
    found = {
        "source": f"{item.source}: {title}" if title else item.source,
        "case": "" if _TELLING.search(sample.case) else sample.case,
        "split": sample.split,
        "slice": sample.frames,
        "slice_reason": sample.reason,
        "marked": _marked(sample),
        "evidence": _evidence(item, key.word),
        "concept": item.concept,
        "group": item.group,
        "strategy": item.strategy,
        "difficulty": item.difficulty,
        "licence": sample.licence,
        "wording": f"{item.variant} ({item.template})",
        "sample": item.sample,
        "fingerprint": incoming.fingerprint,
    }
    return {name: _UNFIT.sub("\ufffd", value) for name, value in found.items() if value}


def options_of(item: Item) -> list[dict[str, Any]]:
    """Options with everything that is known of them, as JSON."""
    options = []
    for option in item.options:
        row = asdict(option)
        similarity = row["similarity"]
        if similarity is not None and not math.isfinite(similarity):
            row["similarity"] = None
        options.append({name: list(v) if isinstance(v, tuple) else v for name, v in row.items()})
    return options


def picture_bytes(root: Path, sample: Sample) -> bytes:
    """The file of a picture, which lies in the workspace itself and is the one that was built.

    Raises:
        ReviewError: it is missing, lies elsewhere by way of a link, is too large, or was changed.
    """
    name = sample.image
    wanted = os.path.join(os.path.realpath(root), *Path(name).parts)  # noqa: PTH118 (as text)
    if Path(name).is_absolute() or ".." in Path(name).parts or "\x00" in name:
        raise ReviewError(f"picture {_printable(name)}: lies outside the workspace")
    if os.path.realpath(wanted) != wanted:
        raise ReviewError(f"picture {name}: a link leads to another place; copy the file itself")
    try:
        descriptor = os.open(wanted, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ReviewError(f"picture {name}: {error.strerror}; build the workspace again") from error
    if len(data) > MOST_BYTES:
        raise ReviewError(f"picture {name}: has more than {MOST_BYTES} bytes")
    return data


def same_pixels(data: Image.Image, wanted: str) -> bool:
    """Whether a picture is the one that the table of samples names (``pixel_sha256``)."""
    pixels = np.asarray(data)
    digest = sha256(f"{pixels.shape}{pixels.dtype.str}".encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest() == wanted


class _Pictures:
    """Finds the pictures of an item, with and without a mark."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._by_id = {sample.id: sample for sample in samples}
        self._clean = {_view(it): it for it in samples if it.artefact == "clean"}
        self._marked: dict[tuple[object, ...], Sample] = {}
        # An outline shows where a finding is better than numbered boxes, so it comes first.
        for sample in sorted(samples, key=lambda it: (it.artefact != "outline", it.id)):
            if sample.artefact != "clean":
                self._marked.setdefault((*_view(sample), sample.field, sample.marked), sample)

    def sample(self, item: Item) -> Sample | None:
        return self._by_id.get(item.sample)

    def of(self, item: Item) -> Incoming:
        sample = self._by_id[item.sample]
        asked = fingerprint(item, sample)
        if sample.artefact == "clean":
            overlay = self._marked.get((*_view(sample), item.field, item.concept))
            return Incoming(
                item=item, picture=sample, overlay=overlay, asks_mark=False, fingerprint=asked
            )
        clean = self._clean.get(_view(sample))
        return Incoming(
            item=item,
            picture=clean or sample,
            overlay=sample if clean else None,
            asks_mark=clean is not None,
            fingerprint=asked,
        )


def _case_key(sample: Sample) -> str:
    told = f"{sample.source}\0{sample.case}"
    return salted_hmac("medrcube.review.case", told, algorithm="sha256").hexdigest()[:32]


def _raw_files(workspace: Workspace) -> dict[str, tuple[str, ...]]:
    """Digests of the raw files of each picture; masks and tables are no source of what it shows.

    Raises:
        WorkspaceError: the recipes cannot be read.
    """
    found: dict[str, tuple[str, ...]] = {}
    try:
        with workspace.recipes.open(encoding="utf-8") as lines:
            for line in lines:
                recipe = json.loads(line)
                names = {name for image in recipe["images"] for name in image["files"]}
                digests = sorted({str(recipe["files"][name]) for name in names})
                found[str(recipe["sample"])] = tuple(digests)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise WorkspaceError(
            f"{workspace.recipes}: cannot be read ({error!r}); build again:  medrcube build "
            f"{workspace.root}"
        ) from error
    return found


def _view(sample: Sample) -> tuple[object, ...]:
    """Equal for pictures that differ only in what is drawn on them."""
    return sample.source, sample.case, sample.frames, sample.width, sample.height


def _table(path: Path, workspace: Workspace) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except FileNotFoundError:
        raise WorkspaceError(
            f"{path}: is missing; build first:  medrcube build {workspace.root}"
        ) from None
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{path}: cannot be read ({error}); build again") from error


def _items(frame: pd.DataFrame) -> tuple[list[Item], list[Refused]]:
    try:
        return items_from_frame(frame), []
    except (ValueError, TypeError, KeyError, AttributeError):
        pass  # one row is malformed: the others are taken, it is named
    items: list[Item] = []
    refused: list[Refused] = []
    for number in range(len(frame)):
        try:
            items += items_from_frame(frame.iloc[[number]])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            name = _printable(str(frame["id"].iloc[number]))
            refused.append(Refused(item=name, reason=f"row {number}: {_printable(str(error))}"))
    return items, refused


def _fault(item: Item, pictures: _Pictures) -> str:
    """Why an item is not taken in; empty when it is."""
    return next(filter(None, (rule(item, pictures) for rule in _RULES)), "")


def _bad_id(item: Item, _: _Pictures) -> str:
    if _ID.fullmatch(item.id) and item.id.strip("."):
        return ""
    return "its id is not made of 1 to 64 letters, digits, dots, dashes and underscores"


def _bad_texts(item: Item, _: _Pictures) -> str:
    for name, text in _texts(item):
        if not isinstance(text, str):
            return f"{name}: is {type(text).__name__}, expected text"
        if _UNFIT.search(text):
            return f"{name}: holds a control character"
        longest = _LENGTHS.get(name, LONGEST_TEXT)
        if len(text) > longest:
            return f"{name}: {len(text)} characters, at most {longest}"
    if len(f"{item.modality} | {item.task} | {item.strategy}") > _LONGEST_STRATUM:
        return f"modality, task and strategy together have more than {_LONGEST_STRATUM} characters"
    return ""


def _no_picture(item: Item, pictures: _Pictures) -> str:
    if pictures.sample(item) is None:
        return f"its picture {_printable(item.sample)} is not in the table of samples"
    return ""


def _broken_rule(item: Item, _: _Pictures) -> str:
    if not 2 <= len(item.options) <= 4:
        return f"{len(item.options)} options, expected 2 to 4"
    texts = tuple(option.text for option in item.options)
    change = Edit(question=item.question, options=texts, key=item.key, note="")
    try:
        check(change, options_of(item))
    except InvalidAnswerError as error:
        return f"breaks an item rule: {error}"
    return ""


_RULES: tuple[Callable[[Item, _Pictures], str], ...] = (
    _bad_id,
    _bad_texts,
    _no_picture,
    _broken_rule,
)


def _texts(item: Item) -> Iterator[tuple[str, object]]:
    for name in (*_LENGTHS, "question", "strategy", "field", "concept", "group", "sample"):
        yield name, getattr(item, name)
    for place, option in enumerate(item.options):
        yield f"option {place}", option.text
        for name in ("concept", "strategy", "grade", "named_by", "word", "difficulty"):
            yield f"option {place}: {name}", getattr(option, name)
        yield from ((f"option {place}: id", text) for text in (*option.ids, *option.versions))
    yield from (("warning", text) for text in item.warnings)


def _marked(sample: Sample) -> str:
    if not sample.marked:
        return ""
    box = f", box {sample.truth} of {sample.choices}" if sample.truth else ""
    return f"{sample.marked} ({sample.field}){box}"


def _evidence(item: Item, word: str) -> str:
    parts: Iterable[str] = (
        f"field {item.field}" if item.field else "",
        word,
        f"about the {item.scope}" if item.scope else "",
        f"wrong options by evidence {item.grade}" if item.grade else "",
    )
    return "; ".join(filter(None, parts))


def _printable(text: object) -> str:
    """A string from outside as it may stand in a message."""
    return _UNFIT.sub("?", str(text))[:200]

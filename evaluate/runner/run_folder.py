"""Run folder: manifest, questions and derived files."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import medrcube
from medrcube.errors import UnknownNameError, WorkspaceError, failure_text
from medrcube.evaluate.benchmark_item import BenchmarkItem, held_once, item_from_json
from medrcube.evaluate.collection_pause import collection_paused
from medrcube.evaluate.models.protocol import Json
from medrcube.evaluate.questions.conditions import Condition, Presentation, rotate
from medrcube.evaluate.questions.reworded import read_reworded
from medrcube.evaluate.runner.attempt_log import FILE as ATTEMPTS
from medrcube.evaluate.runner.json_lines import parse_line
from medrcube.evaluate.withdrawn_items import withdrawn_of
from medrcube.files.atomic import replacing, write_text

__all__ = [
    "ITEMS",
    "MANIFEST",
    "METRICS",
    "OUTCOMES",
    "QUESTIONS",
    "RESULTS",
    "AskedQuestion",
    "asked_row",
    "attempts_path",
    "each_json_line",
    "now",
    "question_set_digest",
    "read_asked",
    "read_items",
    "read_json_lines",
    "read_manifest",
    "standing_questions",
    "versions",
    "with_earlier_steps",
    "write_json_lines",
    "write_manifest",
]

MANIFEST, ITEMS, QUESTIONS = "manifest.json", "items.jsonl", "asked.jsonl"
OUTCOMES, RESULTS, METRICS = "outcomes.jsonl", "results.jsonl", "metrics.json"

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_MOST_KEPT = 1 << 17
"""Maximum items of earlier runs kept in memory for runs that asked the same ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """One presentation of an item as a run asks it.

    Attributes:
        presentation: the item as shown, and its image.
        subject: digest of the item's own image; ``None`` without a usable one.
        image_sha256: digest of the image shown; ``None`` without a usable one.
        key: digest of everything that may change the reply. ``None`` if an image is needed and
            there is no usable one: such a question is never asked.
        shots: few-shot examples: item name, image digest.
        before: earlier steps of its chain, in order.
    """

    presentation: Presentation
    subject: str | None
    image_sha256: str | None
    key: str | None
    shots: tuple[tuple[str, str], ...] = ()
    before: tuple[AskedQuestion, ...] = ()

    @property
    def turns(self) -> tuple[tuple[AskedQuestion, bool], ...]:
        """The conversation up to this question: each step, and whether its image is sent with it.

        An image already sent in the conversation is not sent again.
        """
        steps = (*self.before, self)
        digests = [step.image_sha256 for step in steps]
        return tuple(
            (step, digest is not None and digest not in digests[:place])
            for place, (step, digest) in enumerate(zip(steps, digests, strict=True))
        )

    @property
    def item(self) -> BenchmarkItem:
        """The item, its options and key in the order shown."""
        return self.presentation.item


def versions() -> dict[str, str]:
    """Versions of Python, medrcube and the installed packages that affect a reply."""
    by_package = {"python": platform.python_version(), "medrcube": medrcube.__version__}
    for name in ("openai", "aiohttp", "pillow", "torch", "transformers"):
        if installed := _installed(name):
            by_package[name] = installed
    return by_package


@functools.cache
def _installed(name: str) -> str | None:
    """Version of a package; read once, since the metadata of torch takes milliseconds to parse."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def read_manifest(run: Path) -> dict[str, Any]:
    """Return the manifest of a run.

    Raises:
        WorkspaceError: the folder is not a run.
    """
    try:
        manifest = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise WorkspaceError(
            f"{run} is not a run: it has no {MANIFEST}; expected a folder that evaluate wrote"
        ) from None
    except (OSError, ValueError) as error:
        raise WorkspaceError(
            f"{run} is not a run ({MANIFEST}: {failure_text(error)}); expected a folder that "
            "evaluate wrote"
        ) from error
    if not isinstance(manifest, dict):
        raise WorkspaceError(f"{run / MANIFEST}: expected an object")
    return manifest


def write_manifest(run: Path, manifest: Mapping[str, Any]) -> None:
    """Replace the manifest atomically."""
    write_text(run / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


@collection_paused()
def read_asked(run: Path) -> tuple[AskedQuestion, ...]:
    """Return the questions of a run as ``plan_run`` planned them; withdrawn items are left out.

    Raises:
        WorkspaceError: a list is missing or malformed.
    """
    try:
        items, subjects = {}, {}
        for item, subject in map(_item_of_line, _lines_of(run / ITEMS)):
            name = item.name
            items[name], subjects[name] = item, subject
        second = read_reworded(run)
        questions = (
            AskedQuestion(
                presentation=Presentation(
                    item=rotate(
                        (second if row["condition"] == Condition.REWORDED else items)[row["item"]],
                        row["turn"],
                    ),
                    condition=Condition(row["condition"]),
                    turn=row["turn"],
                    epoch=row["epoch"],
                    image=held_once(row["image"]),
                    chain=row.get("chain", ""),
                    step=row.get("step", 0),
                ),
                subject=subjects[row["item"]],
                image_sha256=held_once(row["image_sha256"]),
                key=row["key_sha256"],
                shots=tuple((name, digest) for name, digest in row.get("shots", ())),
            )
            for row in each_json_line(run / QUESTIONS)
        )
        return tuple(standing_questions(with_earlier_steps(questions), withdrawn_of(run)))
    except UnknownNameError as error:
        raise WorkspaceError(
            f"{run}: {error}; terms from outside the package are declared by the release: name it "
            "with  --release  (in Python release=)"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{run}: the list of questions cannot be read: {error!r}") from error


def read_items(run: Path) -> list[BenchmarkItem]:
    """Return the items of a run, including withdrawn ones."""
    return [item for item, _ in map(_item_of_line, _lines_of(run / ITEMS))]


def with_earlier_steps(questions: Iterable[AskedQuestion]) -> Iterator[AskedQuestion]:
    """Yield the questions, each step of a chain preceded by its earlier steps."""
    earlier: dict[tuple[str, int], tuple[AskedQuestion, ...]] = {}
    for question in questions:
        presentation = question.presentation
        if not presentation.chain:
            yield question
            continue
        place = presentation.chain, presentation.epoch
        step = replace(question, before=earlier.get(place, ()))
        earlier[place] = (*step.before, step)
        yield step


def standing_questions(
    questions: Iterable[AskedQuestion], withdrawn: Collection[str]
) -> Iterator[AskedQuestion]:
    """Yield questions without withdrawn items; one that is withdrawn ends its chain there."""
    if not withdrawn:
        yield from questions
        return
    for question in questions:
        if all(step.item.name not in withdrawn for step in (*question.before, question)):
            yield question


def attempts_path(run: Path) -> Path:
    """Return the path of the attempt log."""
    return run / ATTEMPTS


def write_json_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replace a JSONL file atomically."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        for row in rows:
            # A lone surrogate, which models may send, cannot be encoded as UTF-8.
            file.write(f"{_ENCODER.encode(row)}\n".encode("utf-8", "backslashreplace"))


def now() -> str:
    """Return a UTC timestamp for records, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def question_set_digest(manifest: Mapping[str, Any]) -> str:
    """Return a digest of the question set of a run: the release, and the selection of its items."""
    digest, selection = manifest["dataset"]["digest"], manifest.get("selection")
    return str(digest if selection is None else f"{selection['digest'][:16]}-of-{digest}")


def asked_row(question: AskedQuestion) -> dict[str, Json]:
    """Return the row of ``asked.jsonl`` that ``read_asked`` parses."""
    presentation = question.presentation
    return {
        "item": presentation.item.name,
        "condition": presentation.condition.value,
        "turn": presentation.turn,
        "epoch": presentation.epoch,
        "image": presentation.image,
        "image_sha256": question.image_sha256,
        "key_sha256": question.key,
        **({"shots": [list(shot) for shot in question.shots]} if question.shots else {}),
        **({"chain": presentation.chain, "step": presentation.step} if presentation.chain else {}),
    }


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSONL file."""
    return list(each_json_line(path))


def each_json_line(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSONL file one at a time."""
    return map(parse_line, _lines_of(path))


def _lines_of(path: Path) -> Iterator[bytes]:
    # Binary mode: a question may contain U+2028, which JSON does not escape and which ends a text
    # line.
    with path.open("rb") as file:
        for line in file:
            if line.strip():
                yield line


_kept_items: dict[bytes, tuple[BenchmarkItem, str | None]] = {}


def _item_of_line(line: bytes) -> tuple[BenchmarkItem, str | None]:
    """Return item and image digest of a line; cached, since runs on one release share lines."""
    digest = hashlib.blake2b(line, digest_size=16).digest()
    entry = _kept_items.get(digest)
    if entry is None:
        row = parse_line(line)
        entry = item_from_json(row), held_once(row["image_sha256"])
        if len(_kept_items) >= _MOST_KEPT:
            _kept_items.clear()
        _kept_items[digest] = entry
    return entry

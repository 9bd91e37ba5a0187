"""The folder of a run: what it was begun with, what it asks, and its derived files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import medrcube
from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark import Benchmark, Item, item_from_json, item_to_json
from medrcube.evaluate.conditions import Condition, Presentation, presentations, rotate
from medrcube.evaluate.models.contract import Json, Model
from medrcube.evaluate.prompts import DEFAULT_PROMPT, prompt_version, render_prompt
from medrcube.evaluate.reworded import read_reworded, reworded_items, write_reworded
from medrcube.evaluate.running.attempts import FILE as ATTEMPTS
from medrcube.evaluate.running.dataset_lock import FILE as LOCK
from medrcube.evaluate.running.dataset_lock import read_lock, write_lock
from medrcube.evaluate.selection import Choice, Selection, choose
from medrcube.files import PARTIAL, write_text

MANIFEST, ITEMS, ASKED = "manifest.json", "items.jsonl", "asked.jsonl"
OUTCOMES, RESULTS, METRICS = "outcomes.jsonl", "results.jsonl", "metrics.json"

_LIMITS = ("max_tokens", "max_completion_tokens", "max_new_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One presentation of an item as a run asks it.

    Attributes:
        presentation: the item as it is shown, and the picture beside it.
        subject: digest of the item's own picture, under which its questions belong together;
            ``None`` when there is no usable one.
        image_sha256: digest of the picture that is shown; ``None`` when none is, or no usable one.
        key: digest of everything that may change the reply. ``None`` when a picture is wanted and
            there is no usable one: such a question is never asked.
    """

    presentation: Presentation
    subject: str | None
    image_sha256: str | None
    key: str | None

    @property
    def item(self) -> Item:
        """The item, its options and key in the order that is shown."""
        return self.presentation.item


def begin_run(
    out: Path,
    benchmark: Benchmark,
    model: Model,
    *,
    limit: int | None = None,
    conditions: Iterable[Condition] = (Condition.FULL,),
    epochs: int = 1,
    recheck: bool = False,
    edition: Benchmark | None = None,
    again: bool = False,
    choice: Choice | None = None,
    may_send: Iterable[str] = (),
) -> tuple[Asked, ...]:
    """Start a run in ``out``, or go on with the one that is there.

    Conditions and epochs that an earlier session asked stay part of the run.

    Args:
        out: folder of the run.
        benchmark: what to ask.
        model: whom to ask.
        limit: ask so many items only.
        conditions: what of a question is shown.
        epochs: how often each question is asked.
        recheck: read every picture, also those that look as the last session saw them.
        edition: another edition of the release, for the condition ``reworded``; a run that has
            asked it knows its second forms.
        again: some questions of a run that is there are asked again; the model may write longer
            replies than before.
        choice: which items to ask; all of them by default.
        may_send: sources under contract whose user says that they may be sent; for the record.

    Returns:
        What to ask, presentations of one picture back to back.

    Raises:
        WorkspaceError: the folder holds something else, or a run of another benchmark, model,
            parameters, prompt or edition; or no edition is given where one is needed.
    """
    if epochs < 1:
        raise WorkspaceError(f"epochs is {epochs}; expected at least 1")
    known = read_lock(out / LOCK)
    described = _described(model, out, again=again)
    benchmark = benchmark.knowing({} if recheck else known)
    selection = choose(benchmark, choice or Choice())
    identity = _identity(benchmark, selection, {"name": model.name, **described})
    wanted = set(conditions)
    manifest: dict[str, Any] = {"started": now(), "ended": None, **identity}
    if (out / MANIFEST).exists():
        manifest = read_manifest(out)
        _same_run(out, manifest, identity)
        wanted |= {Condition(name) for name in manifest["conditions"]}
        epochs = max(epochs, manifest["epochs"])
    elif _holds_something_else(out):
        raise WorkspaceError(f"{out}: holds something that is no run; choose another folder")
    items = _select(selection.items, limit)
    if leave := sorted({*manifest.get("may_send", ()), *may_send}):
        manifest["may_send"] = leave
    keys = _Keys.of(benchmark, described)
    second = _second_forms(out, items, wanted, manifest, edition)
    shown = presentations(items, wanted, epochs=epochs, reworded=second)
    asked = tuple(keys.asked(one) for one in shown)
    plan: dict[str, Any] = {
        "limit": limit,
        "conditions": [c for c in Condition if c in wanted],
        "epochs": epochs,
    }
    if second:
        plan["edition"] = edition.digest if edition else manifest["edition"]
    # The manifest says what the lists hold only once they do, whenever the process is killed.
    listed = {**plan, "medrcube": medrcube.__version__}
    if manifest.get("listed") != listed:
        out.mkdir(parents=True, exist_ok=True)
        write_manifest(out, {**manifest, **plan, "listed": None})
        write_lines(
            out / ITEMS, ({**item_to_json(i), "image_sha256": keys.image(i)} for i in items)
        )
        if second:
            write_reworded(out, second)
        write_lines(out / ASKED, map(_row, asked))
    if known != (seen := {image: one for image, one in benchmark.pictures.items() if one}):
        write_lock(out / LOCK, seen)
    write_manifest(out, {**manifest, **listed, "versions": versions(), "listed": listed})
    return asked


def versions() -> dict[str, str]:
    """Versions of what a reply goes through, as far as it is installed."""
    found = {"python": platform.python_version(), "medrcube": medrcube.__version__}
    for name in ("openai", "aiohttp", "pillow", "torch", "transformers"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def read_manifest(run: Path) -> dict[str, Any]:
    """What the run was begun with.

    Raises:
        WorkspaceError: the folder is no run.
    """
    try:
        manifest = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WorkspaceError(
            f"{run}: is no run ({MANIFEST}: {error}); expected the --out folder of an evaluation"
        ) from error
    if not isinstance(manifest, dict):
        raise WorkspaceError(f"{run / MANIFEST}: expected an object")
    return manifest


def write_manifest(run: Path, manifest: Mapping[str, Any]) -> None:
    """Replace the manifest atomically."""
    write_text(run / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def read_asked(run: Path) -> tuple[Asked, ...]:
    """What a run asks, as ``begin_run`` returned it.

    Raises:
        WorkspaceError: a list is missing or malformed.
    """
    try:
        rows = {f"{row['dataset']}/{row['id']}": row for row in _read_lines(run / ITEMS)}
        items = {name: item_from_json(row) for name, row in rows.items()}
        second = read_reworded(run)
        return tuple(
            Asked(
                presentation=Presentation(
                    item=rotate(
                        (second if row["condition"] == Condition.REWORDED else items)[row["item"]],
                        row["turn"],
                    ),
                    condition=Condition(row["condition"]),
                    turn=row["turn"],
                    epoch=row["epoch"],
                    image=row["image"],
                ),
                subject=rows[row["item"]]["image_sha256"],
                image_sha256=row["image_sha256"],
                key=row["key_sha256"],
            )
            for row in _read_lines(run / ASKED)
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{run}: no list of what was asked: {error!r}") from error


def attempts_path(run: Path) -> Path:
    """File of the attempts."""
    return run / ATTEMPTS


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replace a JSONL file atomically."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def now() -> str:
    """UTC time for records, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _identity(
    benchmark: Benchmark, selection: Selection, model: Mapping[str, Json]
) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    identity: dict[str, Any] = {
        "dataset": {"digest": benchmark.digest, "items": len(benchmark.items)},
        "model": model,
        "prompt": {"name": DEFAULT_PROMPT, "version": prompt_version()},
    }
    if selection.identity is not None:
        identity["selection"] = selection.identity
    found: dict[str, Any] = json.loads(json.dumps(identity))
    return found


def _described(model: Model, out: Path, *, again: bool) -> dict[str, Json]:
    """The identity of a model, as the run knows it where its questions are asked again."""
    if not again:
        return dict(model.identity)
    if not (out / MANIFEST).exists():
        raise WorkspaceError(f"{out}: is no run yet, so there is nothing to ask again")
    return _with_first_limit(dict(model.identity), read_manifest(out))


def _with_first_limit(described: dict[str, Json], manifest: Mapping[str, Any]) -> dict[str, Json]:
    """A model as the run was begun with it, where it differs in the longest reply alone.

    Raises:
        WorkspaceError: replies would be shorter than before.
    """
    now_set, first = described.get("parameters"), manifest["model"].get("parameters")
    if not isinstance(now_set, dict) or not isinstance(first, dict):
        return described
    for name in _LIMITS:
        limit, before = now_set.get(name), first.get(name)
        if isinstance(limit, int) and isinstance(before, int) and limit < before:
            raise WorkspaceError(
                f"{name} is {limit}, and the run was begun with {before}; to ask what was cut "
                "again, give a larger --max-tokens"
            )
    others = {name: value for name, value in now_set.items() if name not in _LIMITS}
    return {
        **described,
        "parameters": {**others, **{name: first[name] for name in _LIMITS if name in first}},
    }


def benchmark_of(manifest: Mapping[str, Any]) -> str:
    """Digest that names what a run was asked: the release, and which of its items."""
    digest, selection = manifest["dataset"]["digest"], manifest.get("selection")
    return str(digest if selection is None else f"{selection['digest'][:16]}-of-{digest}")


def _same_run(out: Path, manifest: Mapping[str, Any], identity: Mapping[str, Json]) -> None:
    for part, wanted in {"selection": None, **identity}.items():
        found = manifest.get(part)
        if found != wanted:
            raise WorkspaceError(
                f"{out}: was begun with another {part}; nothing was changed.\n"
                f"  there: {json.dumps(found)}\n  asked: {json.dumps(wanted)}\n"
                "choose another --out folder, or repeat the command that began this run"
            )


def _second_forms(
    out: Path,
    items: Iterable[Item],
    wanted: Iterable[Condition],
    manifest: Mapping[str, Any],
    edition: Benchmark | None,
) -> dict[str, Item]:
    if Condition.REWORDED not in wanted:
        return {}
    known = manifest.get("edition")
    if edition is None:
        if known is None:
            raise WorkspaceError(
                "condition reworded asks the same facts in the words of another edition; name its "
                "release:  --edition RELEASE"
            )
        edition_items = read_reworded(out)
        return {item.name: edition_items[item.name] for item in items if item.name in edition_items}
    if known not in {None, edition.digest}:
        raise WorkspaceError(
            f"{out}: asked the edition {known[:12]}, and {edition.root} is {edition.digest[:12]}; "
            "choose another --out folder, or the edition that began this run"
        )
    return reworded_items(items, edition)


def _select(items: tuple[Item, ...], limit: int | None) -> list[Item]:
    """All items, or ``limit`` of them drawn by a hash: a fair sample, and a larger limit keeps it.

    Questions on one picture stand together, so that a server can reuse what it made of it.
    """
    if limit is not None:
        if limit < 1:
            raise WorkspaceError(f"limit is {limit}; expected at least 1")
        drawn = sorted(items, key=lambda item: hashlib.sha256(item.name.encode()).digest())
        kept = {item.name for item in drawn[:limit]}
        items = tuple(item for item in items if item.name in kept)
    pictures: dict[str, list[Item]] = {}
    for item in items:
        pictures.setdefault(item.image or "", []).append(item)
    return [item for group in pictures.values() for item in group]


def _holds_something_else(out: Path) -> bool:
    """Whether a folder may not become a run; half a file of a killed process does not count."""
    if not out.exists():
        return False
    return not out.is_dir() or any(path.suffix != PARTIAL for path in out.iterdir())


@dataclass(frozen=True, slots=True)
class _Keys:
    """Names each question by everything that may change its reply."""

    benchmark: Benchmark
    model: str
    prompts: dict[tuple[str, tuple[tuple[str, str], ...]], str]

    @classmethod
    def of(cls, benchmark: Benchmark, model: Mapping[str, Json]) -> _Keys:
        identity = json.dumps(model, sort_keys=True)
        return cls(benchmark, hashlib.sha256(identity.encode()).hexdigest(), {})

    def asked(self, presentation: Presentation) -> Asked:
        shown = presentation.image
        digest = None if shown is None else self.benchmark.image_digests[shown]
        usable = digest is not None or not presentation.wants_image
        return Asked(
            presentation=presentation,
            subject=self.image(presentation.item),
            image_sha256=digest,
            key=self._key(presentation, digest) if usable else None,
        )

    def image(self, item: Item) -> str | None:
        return None if item.image is None else self.benchmark.image_digests[item.image]

    def _key(self, presentation: Presentation, image_sha256: str | None) -> str:
        # Neither the item nor the condition is in it: one question in two conditions is one.
        request = {
            "model": self.model,
            "prompt": self._prompt(presentation.item),
            "image_sha256": image_sha256,
            "epoch": presentation.epoch,
        }
        return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()

    def _prompt(self, item: Item) -> str:
        text = (item.question, item.options)
        if text not in self.prompts:
            self.prompts[text] = render_prompt(item)
        return self.prompts[text]


def _row(asked: Asked) -> dict[str, Json]:
    shown = asked.presentation
    return {
        "item": shown.item.name,
        "condition": shown.condition.value,
        "turn": shown.turn,
        "epoch": shown.epoch,
        "image": shown.image,
        "image_sha256": asked.image_sha256,
        "key_sha256": asked.key,
    }


def _read_lines(path: Path) -> list[dict[str, Any]]:
    # Not splitlines(): a question may hold U+2028, which JSON does not escape.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]

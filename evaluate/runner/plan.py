"""Plan a run: which questions it asks, and whether a folder can be resumed; writes nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import medrcube
from medrcube.console.counts import counted
from medrcube.errors import ModelError, WorkspaceError
from medrcube.evaluate.benchmark_item import BenchmarkItem, held_once
from medrcube.evaluate.collection_pause import collection_paused
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.models.protocol import Json, Model
from medrcube.evaluate.questions.chains import ChainSet, make_chains, scenes_of
from medrcube.evaluate.questions.conditions import Condition, Presentation, presentations
from medrcube.evaluate.questions.degradation import Degradation
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.questions.reworded import read_reworded, reworded_items
from medrcube.evaluate.questions.selection import ItemFilter, ItemSelection, select_items
from medrcube.evaluate.runner.image_digests import FILE as LOCK
from medrcube.evaluate.runner.image_digests import ImageDigest, read_lock
from medrcube.evaluate.runner.question_keys import QuestionKeys
from medrcube.evaluate.runner.run_folder import (
    ITEMS,
    MANIFEST,
    AskedQuestion,
    each_json_line,
    now,
    read_manifest,
    standing_questions,
)
from medrcube.evaluate.runner.run_identity import require_same_identity, restore_reply_limit
from medrcube.files.atomic import PARTIAL

if TYPE_CHECKING:
    from medrcube.evaluate.questions.few_shot import ExamplePool

__all__ = ["RunPlan", "draw_order", "plan_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The questions of a run, and the content of its folder.

    Attributes:
        questions: presentations, those of one image consecutive; without withdrawn items.
        listed: the same with withdrawn items, which remain part of the run.
        items: the items, in that order.
        second: items of another edition by the name of the item with the same fact.
        examples: items used as few-shot examples, by name.
        drawn_from: source of the examples; ``None`` for a run without them.
        manifest: current or initial content of the manifest.
        changing: entries that a later session may change: limit, conditions, epochs, edition,
            chains; and the degradation, which it may add.
        selection: items that were selected and left out.
        benchmark: the release; images that look unchanged are not read again.
        asking: question setup, with the degradation of an existing run.
        image_digests: image digests of the last session.
        lists: manifest entries on the lists: the version that wrote them, and a digest of the
            images.
    """

    questions: tuple[AskedQuestion, ...]
    listed: tuple[AskedQuestion, ...]
    items: Sequence[BenchmarkItem]
    second: Mapping[str, BenchmarkItem]
    examples: Mapping[str, BenchmarkItem]
    drawn_from: ExamplePool | None
    manifest: Mapping[str, Any]
    changing: Mapping[str, Any]
    selection: ItemSelection
    benchmark: Benchmark
    asking: QuestionSetup
    image_digests: Mapping[str, ImageDigest]
    lists: Mapping[str, str]


@collection_paused()
def plan_run(
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
    choice: ItemFilter | None = None,
    may_send: Iterable[str] = (),
    elsewhere: bool = False,
    asking: QuestionSetup | None = None,
) -> RunPlan:
    """Plan a run in ``out``, or the continuation of the run in that folder.

    Conditions and epochs that an earlier session asked stay part of the run.

    Args:
        out: folder of the run.
        benchmark: the release.
        model: the model.
        limit: maximum number of items.
        conditions: evaluation conditions.
        epochs: repetitions of each question.
        recheck: read every image, even if it looks unchanged.
        edition: another edition of the release, for the condition ``reworded``; not needed if the
            run has already stored its items.
        again: some questions of an existing run are asked again; the model may write longer
            replies than before.
        choice: which items to ask; all by default.
        may_send: sources under a data agreement that the user declares may be sent; for the record.
        elsewhere: the questions were answered elsewhere, with the images; images that this copy
            of the release lacks count as shown.
        asking: question setup; the default of this version if omitted.

    Raises:
        WorkspaceError: the folder contains something else, or a run of another benchmark, model,
            parameters, prompt, examples, image size or edition; or a required edition is missing,
            or there are too few examples.
        ModelError: the model takes no examples, or no conversation, and the run needs it.
    """
    if epochs < 1:
        raise WorkspaceError(f"epochs is {epochs}; expected at least 1")
    asking, choice = asking or QuestionSetup(), choice or ItemFilter()
    if asking.shots and not getattr(model, "takes_shots", False):
        raise ModelError(f"--shots: {model.name} does not support solved examples; leave it out")
    locked = read_lock(out / LOCK)
    described = _model_identity(model, out, again=again)
    benchmark = benchmark.knowing({} if recheck else locked)
    selection = select_items(benchmark, choice)
    examples = asking.examples(benchmark, selection.items, choice.withheld, out)
    manifest = _manifest(
        out,
        {
            "dataset": {
                "digest": benchmark.digest,
                "items": len(benchmark.items),
                **({"synthetic": True} if benchmark.is_synthetic else {}),
            },
            "model": {"name": model.name, **described},
            **asking.identity(examples),
            **({} if selection.identity is None else {"selection": selection.identity}),
        },
    )
    all_conditions = {*conditions, *map(Condition, manifest.get("conditions", ()))}
    epochs = max(epochs, manifest.get("epochs", epochs))
    items = _select(selection.items, limit)
    if sendable := sorted({*manifest.get("may_send", ()), *may_send}):
        manifest["may_send"] = sendable
    asking = _with_degradation(out, asking, all_conditions, manifest)
    chains = _chains(benchmark, items, all_conditions, model, asking)
    keys = QuestionKeys.of(benchmark, described, asking, examples, elsewhere=elsewhere)
    second = _second_forms(out, items, all_conditions, manifest, edition)
    planned = presentations(
        items,
        all_conditions,
        epochs=epochs,
        reworded=second,
        chains=chains.chains if chains else (),
    )
    listed = tuple(_questions(keys, planned))
    degradation = asking.degradation
    changing: dict[str, Any] = {
        "limit": limit,
        "conditions": [c for c in Condition if c in all_conditions],
        "epochs": epochs,
        **({"edition": edition.digest if edition else manifest["edition"]} if second else {}),
        **({} if chains is None else {"chains": chains.identity}),
        **({} if degradation is None else {"degradation": degradation.identity}),
        **({} if examples is None else {"examples_from": examples.tiers(planned)}),
    }
    lists = _lists_state(listed)
    _require_same_images(out, listed, manifest, {**changing, **lists})
    return RunPlan(
        questions=tuple(standing_questions(listed, benchmark.errata)),
        listed=listed,
        items=items,
        second=second,
        examples=keys.examples_used,
        drawn_from=examples,
        manifest=manifest,
        changing=changing,
        selection=selection,
        benchmark=benchmark,
        asking=asking,
        image_digests=locked,
        lists=lists,
    )


def _manifest(out: Path, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of the run in a folder, after comparing its identity, or a new one."""
    identity = json.loads(json.dumps(parts))
    if (out / MANIFEST).exists():
        manifest = read_manifest(out)
        require_same_identity(out, manifest, identity)
        return manifest
    if out.exists() and not out.is_dir():
        raise WorkspaceError(f"{out} is a file; choose a folder")
    if _holds_something_else(out):
        raise WorkspaceError(f"{out} contains something that is not a run; choose another folder")
    return {"started": now(), "ended": None, **identity}


def draw_order(items: Iterable[BenchmarkItem]) -> list[BenchmarkItem]:
    """Return items in the order in which a limit takes them: pseudo-random by hash, constant."""
    return sorted(items, key=lambda item: hashlib.sha256(item.name.encode()).digest())


def _lists_state(questions: Iterable[AskedQuestion]) -> dict[str, str]:
    """Return the manifest entries on the lists: the version that wrote them, and an image digest.

    The digest changes when a release is reconstructed.
    """
    total = hashlib.sha256()
    for question in questions:
        total.update(f"{question.subject} {question.image_sha256}\n".encode())
    return {"medrcube": medrcube.__version__, "pictures": total.hexdigest()}


def _model_identity(model: Model, out: Path, *, again: bool) -> dict[str, Json]:
    """Return the model's identity; with ``again``, under the reply limit of the existing run."""
    if not again:
        return dict(model.identity)
    if not (out / MANIFEST).exists():
        raise WorkspaceError(f"{out} is not a run yet, so there is nothing to ask again")
    return restore_reply_limit(dict(model.identity), read_manifest(out))


def _require_same_images(
    out: Path,
    questions: Sequence[AskedQuestion],
    manifest: Mapping[str, Any],
    listed: Mapping[str, Any],
) -> None:
    """Refuse a release that lacks or changed an image of the run; new images are allowed.

    Nothing is compared if the lists match the manifest.

    Raises:
        WorkspaceError: an image that the run was asked with is missing or has changed.
    """
    if manifest.get("listed") == listed or not (out / ITEMS).exists():
        return
    subjects = {question.item.name: question.subject for question in questions}
    try:
        before = {
            f"{r['dataset']}/{r['id']}": held_once(r["image_sha256"])
            for r in each_json_line(out / ITEMS)
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{out / ITEMS}: cannot be read: {error!r}") from error
    lost = [
        name
        for name, digest in before.items()
        if digest is not None and subjects.get(name, digest) != digest
    ]
    if lost:
        raise WorkspaceError(
            f"{out}: {counted(len(lost), 'image')} of the run disappeared from the release or "
            f"changed, such as that of {lost[0]}; nothing was changed. Continue with the original "
            "release, or choose another run folder"
        )


def _questions(keys: QuestionKeys, planned: Iterable[Presentation]) -> Iterator[AskedQuestion]:
    """Yield the questions of some presentations; each step of a chain with the preceding steps."""
    earlier: tuple[AskedQuestion, ...] = ()
    for presentation in planned:
        earlier = earlier if presentation.step > 1 else ()
        question = keys.question_of(presentation, earlier)
        earlier = (*earlier, question)
        yield question


def _chains(
    benchmark: Benchmark,
    items: Sequence[BenchmarkItem],
    conditions: Iterable[Condition],
    model: Model,
    asking: QuestionSetup,
) -> ChainSet | None:
    """Return the chains of the items, if the condition is asked.

    Raises:
        ModelError: the model takes no conversation, or examples are requested.
        WorkspaceError: the items form no chain.
    """
    if Condition.CHAIN not in conditions:
        return None
    if not getattr(model, "takes_history", False):
        raise ModelError(
            f"condition chain: {model.name} does not support several turns; leave the condition out"
        )
    if asking.shots:
        raise ModelError("condition chain: cannot be combined with --shots; ask it in another run")
    chains = make_chains(items, scenes_of(benchmark, items))
    if not chains.chains:
        reasons = ", ".join(f"{count:,} {why}" for why, count in chains.left_out.items())
        raise WorkspaceError(
            f"condition chain: none of {counted(len(items), 'item')} is in a chain ({reasons}); "
            "expected images with questions of two levels or more, none of which gives away the "
            "answer to another"
        )
    return chains


def _with_degradation(
    out: Path,
    asking: QuestionSetup,
    conditions: Iterable[Condition],
    manifest: Mapping[str, Any],
) -> QuestionSetup:
    """Return the setup with the degradation of the run, for the condition ``degraded``.

    Raises:
        WorkspaceError: none is named, or the run has a different one.
    """
    if Condition.DEGRADED not in conditions:
        return replace(asking, degradation=None)
    record = manifest.get("degradation")
    if record is None:
        if asking.degradation is None:
            raise WorkspaceError(
                "condition degraded needs an operation and its size, such as degraded:noise=0.1"
            )
        return asking
    degradation = Degradation.of_manifest(record)
    if asking.degradation not in {None, degradation}:
        raise WorkspaceError(
            f"{out}: was asked with {degradation}, not {asking.degradation}; a run has one "
            "degradation, so choose another run folder"
        )
    return replace(asking, degradation=degradation)


def _second_forms(
    out: Path,
    items: Iterable[BenchmarkItem],
    conditions: Iterable[Condition],
    manifest: Mapping[str, Any],
    edition: Benchmark | None,
) -> dict[str, BenchmarkItem]:
    if Condition.REWORDED not in conditions:
        return {}
    edition_digest = manifest.get("edition")
    if edition is None:
        if edition_digest is None:
            raise WorkspaceError(
                "condition reworded needs another edition of the release; name it:  --edition "
                "RELEASE  (in Python edition=)"
            )
        edition_items = read_reworded(out)
        return {item.name: edition_items[item.name] for item in items if item.name in edition_items}
    if edition_digest not in {None, edition.digest}:
        raise WorkspaceError(
            f"{out}: the run used the edition {edition_digest[:12]}, but {edition.root} is "
            f"{edition.digest[:12]}; choose another run folder, or the edition that started "
            "this run"
        )
    return reworded_items(items, edition)


def _select(items: tuple[BenchmarkItem, ...], limit: int | None) -> list[BenchmarkItem]:
    """Return all items, or the first ``limit`` of the draw; a larger limit extends a smaller one.

    Questions on one image are consecutive, so that a server can reuse its cache.
    """
    if limit is not None:
        if limit < 1:
            raise WorkspaceError(f"limit is {limit}; expected at least 1")
        names = {item.name for item in draw_order(items)[:limit]}
        items = tuple(item for item in items if item.name in names)
    pictures: dict[str, list[BenchmarkItem]] = {}
    for item in items:
        pictures.setdefault(item.image or "", []).append(item)
    return [item for group in pictures.values() for item in group]


def _holds_something_else(out: Path) -> bool:
    """Whether a folder cannot become a run; partial files of a killed process are ignored."""
    if not out.exists():
        return False
    return not out.is_dir() or any(path.suffix != PARTIAL for path in out.iterdir())

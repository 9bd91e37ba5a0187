"""Begin a run, or go on with one that was begun the same way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import medrcube
from medrcube.evaluate.asking import Asking
from medrcube.evaluate.benchmark import Benchmark, item_to_json
from medrcube.evaluate.conditions import Condition
from medrcube.evaluate.models.contract import Model
from medrcube.evaluate.reworded import write_reworded
from medrcube.evaluate.running.dataset_lock import FILE as LOCK
from medrcube.evaluate.running.dataset_lock import write_lock
from medrcube.evaluate.running.kept_examples import write_kept_examples
from medrcube.evaluate.running.plan import Plan, plan_run
from medrcube.evaluate.running.run_folder import (
    ASKED,
    ITEMS,
    Asked,
    asked_row,
    versions,
    write_lines,
    write_manifest,
)
from medrcube.evaluate.selection import Choice
from medrcube.evaluate.withdrawn import withdraw_from_run

__all__ = ["begin_run", "write_plan"]


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
    elsewhere: bool = False,
    asking: Asking | None = None,
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
        elsewhere: the questions were answered in another place, which had the pictures; those
            that this copy of the release lacks count as shown.
        asking: how a question is put; as this version puts it by default.

    Returns:
        What to ask, presentations of one picture back to back; items that the release has
        withdrawn are part of the run and not asked.

    Raises:
        WorkspaceError: the folder holds something else, or a run of another benchmark, model,
            parameters, prompt, examples, size of pictures or edition; or no edition is given
            where one is needed, or there are too few examples.
    """
    plan = plan_run(
        out,
        benchmark,
        model,
        limit=limit,
        conditions=conditions,
        epochs=epochs,
        recheck=recheck,
        edition=edition,
        again=again,
        choice=choice,
        may_send=may_send,
        elsewhere=elsewhere,
        asking=asking,
    )
    write_plan(out, plan)
    return plan.asked


def write_plan(out: Path, plan: Plan) -> None:
    """Write what a run asks into its folder.

    Raises:
        WorkspaceError: it cannot be written.
    """
    # The manifest says what the lists hold only once they do, whenever the process is killed.
    listed = {
        **plan.changing,
        "medrcube": medrcube.__version__,
        "pictures": _pictures_told(plan.listed),
    }
    if plan.manifest.get("listed") != listed:
        out.mkdir(parents=True, exist_ok=True)
        write_manifest(out, {**plan.manifest, **plan.changing, "listed": None})
        digests: dict[str | None, str | None] = {None: None}
        digests.update(plan.benchmark.image_digests)
        write_lines(
            out / ITEMS,
            ({**item_to_json(item), "image_sha256": digests[item.image]} for item in plan.items),
        )
        if plan.second:
            write_reworded(out, plan.second)
        write_lines(out / ASKED, map(asked_row, plan.listed))
    if (drawn_from := plan.drawn_from) is not None:
        pool = [item.name for item in drawn_from.pool]
        write_kept_examples(out, pool, drawn_from.looks_by_digest(plan.benchmark))
    seen = {image: one for image, one in plan.benchmark.pictures.items() if one}
    if plan.seen != seen:
        write_lock(out / LOCK, seen)
    begun_by = {"medrcube": medrcube.__version__, "versions": versions()}
    write_manifest(out, {**plan.manifest, **plan.changing, **begun_by, "listed": listed})
    withdraw_from_run(out, plan.benchmark)


def _pictures_told(asked: Iterable[Asked]) -> str:
    """Digest of the pictures that a run shows: others lie there once a release is reconstructed."""
    total = hashlib.sha256()
    for one in asked:
        total.update(f"{one.subject} {one.image_sha256}\n".encode())
    return total.hexdigest()

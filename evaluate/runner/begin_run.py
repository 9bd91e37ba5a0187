"""Write a run's plan to its folder."""

from __future__ import annotations

from pathlib import Path

import medrcube
from medrcube.evaluate.benchmark_item import item_to_json
from medrcube.evaluate.errata import withdraw_from_run
from medrcube.evaluate.questions.reworded import write_reworded
from medrcube.evaluate.runner.example_store import write_examples
from medrcube.evaluate.runner.image_digests import FILE as LOCK
from medrcube.evaluate.runner.image_digests import write_lock
from medrcube.evaluate.runner.plan import RunPlan
from medrcube.evaluate.runner.run_folder import (
    ITEMS,
    QUESTIONS,
    asked_row,
    versions,
    write_json_lines,
    write_manifest,
)

__all__ = ["write_plan"]


def write_plan(out: Path, plan: RunPlan) -> None:
    """Write the plan of a run to its folder.

    Raises:
        WorkspaceError: it cannot be written.
    """
    # The manifest states the lists only once they are complete, whenever the process is killed.
    listed = {**plan.changing, **plan.lists}
    if plan.manifest.get("listed") != listed:
        out.mkdir(parents=True, exist_ok=True)
        write_manifest(out, {**plan.manifest, **plan.changing, "listed": None})
        digests: dict[str | None, str | None] = {None: None}
        digests.update(plan.benchmark.image_digests)
        write_json_lines(
            out / ITEMS,
            ({**item_to_json(item), "image_sha256": digests[item.image]} for item in plan.items),
        )
        if plan.second:
            write_reworded(out, plan.second)
        write_json_lines(out / QUESTIONS, map(asked_row, plan.listed))
    if (drawn_from := plan.drawn_from) is not None:
        pool = [item.name for item in drawn_from.pool]
        write_examples(out, pool, drawn_from.looks_by_digest(plan.benchmark))
    digests_by_image = {
        image: digest for image, digest in plan.benchmark.pictures.items() if digest
    }
    if plan.image_digests != digests_by_image:
        write_lock(out / LOCK, digests_by_image)
    begun_by = {"medrcube": medrcube.__version__, "versions": versions()}
    write_manifest(out, {**plan.manifest, **plan.changing, **begun_by, "listed": listed})
    withdraw_from_run(out, plan.benchmark)

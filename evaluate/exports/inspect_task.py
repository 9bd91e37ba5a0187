"""Inspect task for a release: ``inspect eval medrcube/benchmark -T release=FOLDER``.

Inspect finds this module through the installed package's ``inspect_ai`` entry point; nothing else
imports it, so that medrcube itself does not require Inspect.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    Score,
    Scorer,
    Target,
    accuracy,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState, generate

from medrcube.errors import ReleaseError
from medrcube.evaluate.answer_parsing import extract
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark, load_benchmark
from medrcube.evaluate.exports.inspect_samples import inspect_sample
from medrcube.evaluate.exports.selection import items_text, select_exportable
from medrcube.evaluate.questions.data_agreements import (
    known_cards,
    permitted_sources,
    sources_under_agreement,
    stays_here,
)

__all__ = ["benchmark", "letter"]

_HERE = ("hf/", "mockllm/", "none/")


@task
def benchmark(release: str, i_may_send: str | list[str] = "") -> Task:
    """Task of the items whose images are present, with the prompt of ``medrcube evaluate``.

    Args:
        release: release folder.
        i_may_send: sources under a data agreement whose images may be sent to a model outside
            this machine, separated by commas; other such sources are left out.

    Raises:
        ReleaseError: the release is broken, or no item is left.
        WorkspaceError: ``i_may_send`` names a source that needs no permission.
    """
    loaded = load_benchmark(Path(release).absolute())
    names = i_may_send.split(",") if isinstance(i_may_send, str) else i_may_send
    selection = select_exportable(
        _sendable(loaded, [name.strip() for name in names if name.strip()]), private=True
    )
    for sentence in selection.left_out():
        _tell(sentence)
    return Task(
        dataset=MemoryDataset([_sample(selection.benchmark, item) for item in selection.items]),
        solver=generate(),
        scorer=letter(),
        version=loaded.digest[:8],
        metadata={"benchmark_sha256": loaded.digest},
    )


@scorer(metrics=[accuracy(), stderr(cluster="unit")])
def letter() -> Scorer:
    """Scorer: the letter by our parsing rules; a reply without one counts as wrong."""

    async def score(state: TaskState, target: Target) -> Score:
        options = [(name, str(text)) for name, text in state.metadata["options"].items()]
        answer, rule = extract(state.output.completion, options)
        value = NOANSWER if answer is None else CORRECT if answer == target.text else INCORRECT
        return Score(value=value, answer=answer, explanation=f"by the rule {rule}")

    return score


def _sendable(loaded: Benchmark, names: Iterable[str]) -> Benchmark:
    """Return the release without items whose images must not leave this machine, if they would."""
    model = get_model()
    closed = sources_under_agreement(loaded.items, known_cards())
    sendable = permitted_sources(names, closed)
    if str(model).startswith(_HERE) or stays_here(model.api.base_url):
        return loaded
    items = tuple(item for item in loaded.items if item.dataset not in closed - sendable)
    if len(items) < len(loaded.items):
        left_out = Counter(item.dataset for item in loaded.items) - Counter(
            item.dataset for item in items
        )
        _tell(
            f"left out {items_text(left_out)}: an agreement keeps their images on this machine; "
            "-T i_may_send=SOURCE,...  if the owner permits it"
        )
    return replace(loaded, items=items)


def _sample(loaded: Benchmark, item: BenchmarkItem) -> Sample:
    image = str(item.image)
    if loaded.images.file_of(image) != image:
        raise ReleaseError(
            f"{loaded.root}: Inspect reads single image files, and this release has shards; write "
            f"image files with  medrcube export {loaded.root} --to inspect "
            "--out FOLDER"
        )
    return Sample(**inspect_sample(item, str(loaded.root / image)))


def _tell(sentence: str) -> None:
    sys.stderr.write(f"medrcube: {sentence}\n")

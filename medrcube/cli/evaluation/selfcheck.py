"""``medrcube evaluate --selfcheck``: verify that batching changes no answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.dataset import Benchmark
    from medrcube.evaluate.models.protocol import Json, Model
    from medrcube.evaluate.questions.conditions import Condition
    from medrcube.evaluate.questions.question_setup import QuestionSetup
    from medrcube.evaluate.questions.selection import ItemFilter

__all__ = ["selfchecked"]


def selfchecked(
    benchmark: Benchmark,
    model: Model,
    reporter: Reporter,
    choice: ItemFilter,
    asking: QuestionSetup,
    conditions: Iterable[Condition],
) -> Mapping[str, Json]:
    """Ask a few questions alone and in a batch; return the record for the manifest.

    It sends images too, so ``choice`` excludes those that may not be sent.

    Raises:
        ModelError: the answers do not agree, or the model does not answer at all.
    """
    from medrcube.evaluate.batch_invariance import selfcheck
    from medrcube.evaluate.questions.conditions import Condition
    from medrcube.evaluate.questions.selection import select_items

    blind = Condition.BLIND in conditions
    sample = replace(benchmark, items=select_items(benchmark, choice).items)
    invariance = selfcheck(sample, model, blind=blind, asking=asking)
    reporter.note(f"selfcheck: batching changes none of {invariance.questions} answers")
    return invariance.to_json()

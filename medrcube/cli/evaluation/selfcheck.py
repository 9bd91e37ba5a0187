"""``medrcube evaluate --selfcheck``: that a batch changes no answer."""

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
    """Ask some questions alone and together; what the manifest says of it.

    It sends images too, so ``choice`` leaves out what may not be sent.

    Raises:
        ModelError: the answers do not agree, or the model does not answer at all.
    """
    from medrcube.evaluate.batch_invariance import selfcheck
    from medrcube.evaluate.questions.conditions import Condition
    from medrcube.evaluate.questions.selection import select_items

    blind = Condition.BLIND in conditions
    asked = replace(benchmark, items=select_items(benchmark, choice).items)
    invariance = selfcheck(asked, model, blind=blind, asking=asking)
    reporter.note(f"selfcheck: {invariance.questions} questions get the same answers in batches")
    return invariance.to_json()

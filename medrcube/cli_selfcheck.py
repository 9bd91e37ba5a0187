"""``medrcube evaluate --selfcheck``: that a batch changes no answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medrcube.console import Reporter
    from medrcube.evaluate.asking import Asking
    from medrcube.evaluate.benchmark import Benchmark
    from medrcube.evaluate.models.contract import Json, Model
    from medrcube.evaluate.selection import Choice

__all__ = ["selfchecked"]


def selfchecked(
    benchmark: Benchmark,
    model: Model,
    reporter: Reporter,
    choice: Choice,
    may_send: Collection[str],
    asking: Asking,
    *,
    blind: bool,
) -> Mapping[str, Json]:
    """Ask some questions alone and together; what the manifest says of it.

    Raises:
        ModelError: the answers do not agree, or the model does not answer at all.
    """
    from medrcube.evaluate.contracts import without_contracts
    from medrcube.evaluate.selection import choose
    from medrcube.evaluate.selfcheck import selfcheck

    # It sends pictures too.
    kept = without_contracts(choice, benchmark.items, model, may_send)
    asked = replace(benchmark, items=choose(benchmark, kept).items)
    found = selfcheck(asked, model, blind=blind, asking=asking)
    reporter.note(f"selfcheck: {found.questions} questions get the same answers in batches")
    return found.to_json()

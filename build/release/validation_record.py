"""``contracts.json``: contract results of a new release."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from medrcube.build.questions.item_table import Item, items_to_frame
from medrcube.build.stages.samples import Sample, samples_to_frame
from medrcube.build.validation.contracts import (
    CONTRACTS,
    contracts_record,
    require_contracts,
    run_contracts,
)
from medrcube.build.validation.table_views import item_view, sample_view

__all__ = ["write_validation_record"]


def write_validation_record(tree: Path, items: Iterable[Item], pictures: Iterable[Sample]) -> None:
    """Hold the tables of a release against their rules, and write ``contracts.json``.

    Raises:
        ReleaseError: a rule is broken that stops a release; names it and the first rows.
    """
    verdicts = (
        *run_contracts("samples", sample_view(samples_to_frame(pictures))),
        *run_contracts("items", item_view(items_to_frame(items))),
    )
    require_contracts(verdicts)
    text = json.dumps(contracts_record(verdicts), indent=2)
    (tree / CONTRACTS).write_text(text + "\n", encoding="utf-8")

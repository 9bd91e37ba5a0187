"""The contracts of a new release: run with pandas alone, and put on record beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from medrcube.build.questions.item_table import Item, items_to_frame
from medrcube.build.stages.samples import Sample, samples_to_frame
from medrcube.build.validation.contracts import CONTRACTS, hold, record, require
from medrcube.build.validation.table_views import item_view, sample_view


def write_contracts(tree: Path, items: Iterable[Item], pictures: Iterable[Sample]) -> None:
    """Hold the tables of a release against their rules, and write ``contracts.json``.

    Raises:
        ReleaseError: a rule is broken that stops a release; names it and the first rows.
    """
    verdicts = (
        *hold("samples", sample_view(samples_to_frame(pictures))),
        *hold("items", item_view(items_to_frame(items))),
    )
    require(verdicts)
    text = json.dumps(record(verdicts), indent=2)
    (tree / CONTRACTS).write_text(text + "\n", encoding="utf-8")

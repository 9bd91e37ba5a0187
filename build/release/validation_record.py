"""``contracts.json``: results of the table contracts of a new release."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import pandas as pd

from medrcube.build.open_items.table import OpenItem, open_items_to_frame
from medrcube.build.questions.item_table import ChoiceItem, items_to_frame
from medrcube.build.stages.samples import Sample, samples_to_frame
from medrcube.build.validation.contracts.kinds import Table
from medrcube.build.validation.contracts.open_views import (
    geometry_view,
    open_item_view,
    set_view,
    vocabulary_view,
)
from medrcube.build.validation.contracts.run import (
    CONTRACTS,
    ContractResult,
    contracts_record,
    require_contracts,
    run_contracts,
)
from medrcube.build.validation.contracts.views import item_view, sample_view
from medrcube.release_format.item_sets import read_item_sets
from medrcube.release_format.vocabulary_file import read_words

__all__ = ["write_validation_record"]


def write_validation_record(
    tree: Path,
    items: Iterable[ChoiceItem],
    pictures: Collection[Sample],
    open_items: Iterable[OpenItem],
    geometry: Path,
) -> None:
    """Check the tables of a release against their contracts, and write ``contracts.json``.

    Args:
        tree: the release, with its sets and its vocabulary.
        items: its items with options.
        pictures: its images.
        open_items: its items of tasks beyond the cube.
        geometry: ``geometry.parquet`` of the workspace; an earlier version wrote none.

    Raises:
        ReleaseError: a rule that prevents a release is broken; names it and the first rows.
    """
    verdicts = (
        *run_contracts("samples", sample_view(samples_to_frame(pictures))),
        *run_contracts("items", item_view(items_to_frame(items))),
        *_where_any("open_items", open_item_view(open_items_to_frame(open_items))),
        *_where_any("sets", set_view(read_item_sets(tree))),
        *_where_any("geometry", geometry_view(_regions(geometry, pictures))),
        *_where_any("vocabulary", vocabulary_view(read_words(tree))),
    )
    require_contracts(verdicts)
    text = json.dumps(contracts_record(verdicts), indent=2)
    (tree / CONTRACTS).write_text(text + "\n", encoding="utf-8")


def _where_any(table: Table, view: pd.DataFrame) -> Iterator[ContractResult]:
    """Yield the rule results of a table that is optional in a release."""
    if len(view):
        yield from run_contracts(table, view)


def _regions(geometry: Path, pictures: Iterable[Sample]) -> pd.DataFrame:
    """Return the regions of all cases with an image in the release."""
    if not geometry.is_file():
        return pd.DataFrame()
    cases = {(sample.source, sample.case) for sample in pictures}
    table = pd.read_parquet(geometry)
    return table[[case in cases for case in zip(table["source"], table["case"], strict=True)]]

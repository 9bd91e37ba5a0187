"""Release validation: checks any release tree, trusted or not.

Files, tables, images and proofs are checked individually and against each other. Nothing is
written, nothing outside the tree is read, and faults are counted by kind. A tree without proofs,
such as the published one, is checked as far as possible, and the report states what could not be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from medrcube.build.execution.progress import Stages
from medrcube.build.reconstruction.recipes import RECIPES, Recipe, read_recipes
from medrcube.build.release.editions.private_edition import PRIVATE, SUMS
from medrcube.build.release.metadata.licences import LICENCES
from medrcube.build.validation.checksums import check_tree_files, compare_sums, files_of, read_sums
from medrcube.build.validation.consistency import (
    ITEMS,
    ItemRow,
    check_audit,
    check_items,
    check_licences,
    check_recipes,
    count_states,
    read_audit_name,
    read_items,
)
from medrcube.build.validation.contracts.great_expectations import run_expectations
from medrcube.build.validation.contracts.kinds import Table
from medrcube.build.validation.contracts.open_views import (
    open_item_view,
    open_record_view,
    set_view,
    vocabulary_view,
)
from medrcube.build.validation.contracts.run import ContractResult, contracts_record, run_contracts
from medrcube.build.validation.contracts.views import item_view, record_view
from medrcube.build.validation.findings import Fault, FaultLog
from medrcube.build.validation.image_checks import check_images, images_of
from medrcube.build.validation.open_proof import check_open_proof
from medrcube.build.validation.parquet_edition import check_edition
from medrcube.build.validation.png_check import FileCheck
from medrcube.build.validation.release_format import check_format
from medrcube.build.validation.sets import check_sets
from medrcube.build.validation.shard_check import list_shards
from medrcube.build.validation.sound_rows import MOST_FAULTS, sound_rows, withdrawn_items
from medrcube.build.validation.statistical_units import check_units
from medrcube.build.validation.unchecked import items_of_unknown_forms, unchecked_parts
from medrcube.errors import ReleaseError
from medrcube.release_format.format_version import AUDIT
from medrcube.release_format.item_sets import read_item_sets
from medrcube.release_format.tree import OPEN_TABLE, TABLE, find_tables
from medrcube.release_format.vocabulary_file import read_words, release_vocabulary
from medrcube.vocabulary.layers import active_vocabulary, using

__all__ = ["Validation", "validate"]

PROOFS = (SUMS, RECIPES, ITEMS, AUDIT, LICENCES)
"""Files of a release of medrcube in addition to its sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Result of validating a tree.

    Attributes:
        root: the tree.
        name: version of the release, if stated.
        private: whether the tree is marked as private.
        foreign: whether it has no proofs, like the published release.
        release_format: number of the format that it was checked against; ``None`` if it is foreign.
        items: number of valid items.
        pictures: number of images in the tree.
        restricted: number of items whose image may not be redistributed.
        without_picture: number of items whose image is not in the tree.
        withdrawn: number of items that the errata withdraw.
        findings: what is wrong, errors first.
        unchecked: what could not be checked, and why.
        contracts: the record of the contracts, ready for JSON.
    """

    root: Path
    name: str
    private: bool
    foreign: bool
    release_format: int | None
    items: int
    pictures: int
    restricted: int
    without_picture: int
    withdrawn: int
    findings: tuple[Fault, ...]
    unchecked: tuple[str, ...]
    contracts: Mapping[str, Any]

    @property
    def errors(self) -> int:
        """Number of kinds of errors."""
        return sum(finding.level == "error" for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "release": str(self.root),
            "name": self.name,
            "valid": self.errors == 0,
            "private": self.private,
            "proofs": not self.foreign,
            "format": self.release_format,
            "items": self.items,
            "pictures": self.pictures,
            "restricted": self.restricted,
            "without_picture": self.without_picture,
            "withdrawn": self.withdrawn,
            "findings": [asdict(finding) for finding in self.findings],
            "unchecked": list(self.unchecked),
            "contracts": dict(self.contracts),
        }


def validate(root: Path, stages: Stages, *, workers: int, with_gx: bool = False) -> Validation:
    """Validate a release tree.

    Args:
        root: its folder.
        stages: progress display.
        workers: processes that read files and decode images.
        with_gx: whether to run the contracts with Great Expectations too.

    Raises:
        ReleaseError: ``root`` is not a folder of a release.
        MissingExtraError: Great Expectations is requested but not installed.
    """
    tables = find_tables(root)
    findings = FaultLog(foreign=not any((root / name).exists() for name in PROOFS))
    try:
        vocabulary = release_vocabulary(root)
    except ReleaseError as error:
        findings.add("vocabulary", str(error))
        vocabulary = active_vocabulary()
    with using(vocabulary):
        return _validate(root, tables, findings, stages, workers=workers, with_gx=with_gx)


def _validate(
    root: Path,
    tables: Sequence[Path],
    findings: FaultLog,
    stages: Stages,
    *,
    workers: int,
    with_gx: bool,
) -> Validation:
    foreign = findings.foreign
    files = files_of(root, findings)
    _check_places(files, findings)
    unknown_forms: Counter[str] = Counter()
    every_row = sound_rows(root, tables, findings, unknown_forms)
    # The following proofs concern items with options.
    rows = [entry for entry in every_row if not entry.row.is_open]
    most = len(rows) + MOST_FAULTS * len(tables)
    recipes = _recipes(root, files, findings)
    pictures = images_of(files, every_row)
    shards = list_shards(root, files, findings)
    checks: dict[str, FileCheck] = {}
    for file in check_tree_files(
        root, files, pictures, stages, shards=shards.present, workers=workers
    ):
        if file.name in checks:
            findings.add("shard-table", f"{file.name}: occurs twice in the tree")
        checks[file.name] = file
    for name in sorted(checks):
        for kind, example in checks[name].faults:
            findings.add(kind, example)
    private = PRIVATE in files
    sums = read_sums(root, files, findings)
    if private:
        sums = replace(sums, restricted=shards.without_absent(root, sums.restricted))
    compare_sums(sums, {name: checks[name] for name in files}, findings, private=private)
    check_images(every_row, recipes, checks, findings, private=private)
    withdrawn = withdrawn_items(root, every_row, findings)
    release_format = None if foreign else check_format(root, files, sums, findings)
    if release_format:
        columns = release_format.item_columns
        facts = check_units(root, every_row, recipes or {}, findings, columns) if columns else {}
        check_edition(
            root,
            files,
            every_row,
            checks,
            findings,
            facts=facts,
            set_of=check_sets(root, every_row, findings),
            withdrawn=withdrawn,
            most=most + len(every_row),
            private=private,
            release_format=release_format,
        )
    beyond = [entry for entry in every_row if entry.row.is_open]
    proof = None
    if not foreign:
        proof = check_open_proof(
            root, files, beyond, recipes or {}, findings, most=len(beyond) + MOST_FAULTS
        )
    audit, views = _check_proofs(
        root, files, every_row, recipes, findings, foreign=foreign, most=most
    )
    views |= _views_beyond(root, beyond, proof)
    # Must run before the findings are sorted, since it adds to them.
    contracts = _check_contracts(views, findings, with_gx=with_gx)
    return Validation(
        root=root,
        name=read_audit_name(audit),
        private=private,
        foreign=foreign,
        release_format=release_format.number if release_format else None,
        items=len(every_row),
        pictures=len(pictures) + len(checks.keys() - files),
        restricted=sum(entry.row.restricted for entry in every_row),
        without_picture=sum(entry.image not in checks for entry in every_row),
        withdrawn=len(withdrawn),
        findings=findings.sorted(),
        unchecked=(
            *unchecked_parts(files, release_format),
            *items_of_unknown_forms(unknown_forms),
        ),
        contracts=contracts,
    )


def _recipes(root: Path, files: frozenset[str], findings: FaultLog) -> Mapping[str, Recipe] | None:
    if RECIPES not in files:
        return None
    try:
        return {recipe.image: recipe for recipe in read_recipes(root)}
    except ReleaseError as error:
        findings.add("recipes", str(error))
        return None


def _check_places(files: Iterable[str], findings: FaultLog) -> None:
    """Record tables that are not directly in the folder of a source."""
    for name in sorted(files):
        if name.rpartition("/")[2] in {TABLE, OPEN_TABLE} and name.count("/") != 1:
            findings.add("table-place", name)


def _check_proofs(
    root: Path,
    files: frozenset[str],
    every_row: Sequence[ItemRow],
    recipes: Mapping[str, Recipe] | None,
    findings: FaultLog,
    *,
    foreign: bool,
    most: int,
) -> tuple[Mapping[str, Any], dict[Table, pd.DataFrame]]:
    """Check the proofs, individually and against the rows; return the audit and table views."""
    rows = [entry for entry in every_row if not entry.row.is_open]
    views: dict[Table, pd.DataFrame] = {
        "records": record_view((entry.row, entry.raw) for entry in rows)
    }
    if not foreign:
        for name in PROOFS:
            if name not in files:
                findings.add("proof-missing", name)
    if recipes is not None:
        check_recipes(every_row, recipes, findings)
    states = None
    if ITEMS in files:
        try:
            items = read_items(root, most)
        except ReleaseError as error:
            findings.add("items-table", str(error))
        else:
            views["items"] = item_view(items)
            states = count_states(items)
            check_items(rows, items, recipes or {}, findings)
    if LICENCES in files:
        check_licences(root, every_row, findings)
    audit = check_audit(root, len(rows), states, findings) if AUDIT in files else {}
    return audit, views


def _views_beyond(
    root: Path, rows: Sequence[ItemRow], proof: pd.DataFrame | None
) -> dict[Table, pd.DataFrame]:
    """Return views of the tables of open items, of sets and of words, if they have rows.

    Unreadable tables were already recorded.
    """
    views: dict[Table, pd.DataFrame] = {
        "open_records": open_record_view((entry.row, entry.raw) for entry in rows)
    }
    if proof is not None:
        views["open_items"] = open_item_view(proof)
    with suppress(ReleaseError):
        views["sets"] = set_view(read_item_sets(root))
    with suppress(ReleaseError):
        views["vocabulary"] = vocabulary_view(read_words(root))
    return {table: view for table, view in views.items() if len(view)}


def _check_contracts(
    views: Mapping[Table, pd.DataFrame], findings: FaultLog, *, with_gx: bool
) -> dict[str, Any]:
    """Run the contracts on all views, record those that fail, and return their record."""
    verdicts = tuple(verdict for table in views for verdict in run_contracts(table, views[table]))
    if with_gx:
        _second_opinion(verdicts, views, findings)
    _note_contracts(verdicts, findings)
    return contracts_record(verdicts)


def _second_opinion(
    verdicts: Sequence[ContractResult], views: Mapping[Table, pd.DataFrame], findings: FaultLog
) -> None:
    for table, view in views.items():
        others = run_expectations(table, view)
        for verdict in verdicts:
            if verdict.table == table and others[verdict.rule.id] != verdict.holds:
                findings.add("gx-disagrees", f"{table}, rule {verdict.rule.id}")


def _note_contracts(verdicts: Iterable[ContractResult], findings: FaultLog) -> None:
    for verdict in verdicts:
        if not verdict.holds:
            findings.add_contract(
                f"{verdict.table}/{verdict.rule.id}",
                verdict.rule.level,
                verdict.rule.message,
                list(verdict.ids),
                count=max(verdict.failing, 1),
            )

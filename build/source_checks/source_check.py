"""Contract checks of a source on its fixture (``medrcube sources check``).

Each check builds the source's synthetic fixture in a temporary folder and reports each violation in
one sentence. The test suite runs the same checks, and more, on the sources of the package.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.source_checks.damaged_copies import damage_reports, scans_ended_by_a_row
from medrcube.build.source_checks.privacy_check import (
    FixtureCopy,
    holds_canary,
    identifiers_in,
    key_holds,
    leaks,
    secret_identifiers,
    unnamed_identifiers,
    unsearchable,
)
from medrcube.build.source_checks.vocabulary_check import missing_words
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.errors import MedrcubeError
from medrcube.facts import BAD_ROW, Case, Grade
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.claims import (
    overclaimed_slices,
    visibility_contradictions,
)
from medrcube.sources._framework.card_parts.values import uncommented_keys
from medrcube.sources._framework.contract import Source, undeclared_files, unused_card_keys
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.images import CANARY
from medrcube.taxonomy import Anatomy, Modality, Task, Voxel
from medrcube.workspace import WorkspaceFolder

__all__ = ["ContractCheck", "check_source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractCheck:
    """One requirement of the contract.

    Attributes:
        name: the requirement.
        failures: violations, one sentence each; empty if it is met.
    """

    name: str
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FixtureBuilds:
    """A source with the fixture and the build of each of its layouts.

    Attributes:
        source: the source.
        copies: fixture of each layout.
        workspaces: workspace of each build.
        outputs: printed output of each build, and the report on each damaged copy, by name.
    """

    source: Source
    copies: dict[str, FixtureCopy]
    workspaces: dict[str, WorkspaceFolder]
    outputs: dict[str, Mapping[str, str]]


def check_source(source: Source) -> tuple[ContractCheck, ...]:
    """Check one source against its contract; a broken adapter or card is a failed check too."""
    missing = tuple(missing_words(source))
    if missing:
        return (ContractCheck(name=_WORDS, failures=missing),)
    with tempfile.TemporaryDirectory(prefix="medrcube-check-") as folder:
        try:
            trial = _build_fixtures(source, Path(folder))
        except MedrcubeError as error:
            return (ContractCheck(name="its fixture builds", failures=(str(error),)),)
        return tuple(
            ContractCheck(name=name, failures=tuple(check(trial)))
            for name, check in _CHECKS.items()
        )


def _build_fixtures(source: Source, folder: Path) -> _FixtureBuilds:
    copies: dict[str, FixtureCopy] = {}
    workspaces: dict[str, WorkspaceFolder] = {}
    outputs: dict[str, Mapping[str, str]] = {}
    for layout in source.card.layouts:
        raw = folder / "raw" / layout.name
        source.build_fixture(raw, layout.name)
        cases = tuple(case for case in source.scan(raw, layout.name) if isinstance(case, Case))
        copies[layout.name] = FixtureCopy(root=raw, cases=cases)
        workspaces[layout.name] = WorkspaceFolder(
            root=folder / "build" / layout.name,
            settings=BuildSettings(
                evidence=Grade.C, items_per_cell=0, quarantine_gate=1.0, even_keys=False
            ),
            sources={source.id: raw},
        )
        report = build(
            workspaces[layout.name], {source.id: source}, LocalEngine(1), Reporter(quiet=True)
        )
        printed = {"the report of the build": repr(report)}
        outputs[layout.name] = printed | dict(damage_reports(source, raw, folder))
    return _FixtureBuilds(source=source, copies=copies, workspaces=workspaces, outputs=outputs)


def _layouts_are_told_apart(trial: _FixtureBuilds) -> Iterator[str]:
    for name, copied in trial.copies.items():
        report = inspect_copy(trial.source.card, copied.root)
        if report.layout != name:
            yield f"the fixture of layout {name!r} is taken for {report.layout!r}"


def _unseen_is_not_asked(trial: _FixtureBuilds) -> Iterator[str]:
    card = trial.source.card
    text = (trial.source.folder / "card.toml").read_text(encoding="utf-8")
    yield from visibility_contradictions(card, text)
    yield from overclaimed_slices(card)


def _card_is_asked(trial: _FixtureBuilds) -> Iterator[str]:
    card = trial.source.folder / "card.toml"
    for key in unused_card_keys(trial.source):
        yield f"{card}: adapter.py never asks for {key}; ask for it (own_card), or take it out"
    keys = {"numbers": tuple(trial.source.card.numbers), "names": tuple(trial.source.card.names)}
    for key in uncommented_keys(card.read_text(encoding="utf-8"), keys):
        yield f"{card}: no comment says where {key} comes from; write it behind it or above it"


def _values_are_used(trial: _FixtureBuilds) -> Iterator[str]:
    used: set[tuple[str, str]] = set()
    for copied in trial.copies.values():
        for case in copied.cases:
            used |= {(label.field, label.value) for label in (*case.labels, *case.panels)}
            used |= {(region.field, region.value) for region in case.regions}
    for field in trial.source.card.fields.values():
        for value in dict(field.values):
            if (field.name, value) not in used:
                yield f"field {field.name!r}: no fixture uses the value {value!r}"


def _voxels_are_reached(trial: _FixtureBuilds) -> Iterator[str]:
    card: Card = trial.source.card
    reached: set[Voxel] = set()
    for workspace in trial.workspaces.values():
        items = pd.read_parquet(workspace.items)
        cells = zip(items["anatomy"], items["modality"], items["task"], strict=True)
        reached |= {Voxel(Anatomy(a), Modality(m), Task(t)) for a, m, t in cells}
    for voxel in sorted(card.voxels - reached):
        yield f"declared, but no fixture gives an item for {voxel}{_why_not(trial, voxel.task)}"
    for voxel in sorted(reached - card.voxels):
        yield f"not declared, but a fixture gives an item for {voxel}"


def _why_not(trial: _FixtureBuilds, task: Task) -> str:
    """Return why the builds of the fixtures have no item of a task, most frequent reasons first."""
    dropped: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for workspace in trial.workspaces.values():
        audit = json.loads(workspace.audit.read_text(encoding="utf-8"))
        for reason, count in audit["dropped"].items():
            about, _, why = reason.partition(": ")
            dropped[why] += count if about == task.value else 0
        table = pd.read_parquet(workspace.quarantine)
        lost.update(table["message"][table["stage"].isin(["scan", "render"])])
    if +dropped:
        return f": {_most(dropped)}"
    silent = ": no field states its fact of a case of the fixture"
    return f"{silent}; cases set aside or not rendered: {_most(lost)}" if lost else silent


def _most(reasons: Counter[str]) -> str:
    most = (+reasons).most_common(_MOST_REASONS)
    return "; ".join(f"{why} ({count})" for why, count in most)


def _files_are_accounted_for(trial: _FixtureBuilds) -> Iterator[str]:
    for name, workspace in trial.workspaces.items():
        table = pd.read_parquet(workspace.quarantine)
        for row in table[
            table["code"].isin(["unclaimed", BAD_ROW, "crashed", "worker-died"])
        ].itertuples():
            yield f"layout {name!r}: {row.case}: {row.message}"


def _a_row_ends_no_scan(trial: _FixtureBuilds) -> Iterator[str]:
    for name, copied in trial.copies.items():
        for damage, message in scans_ended_by_a_row(trial.source, copied.root, name):
            yield (
                f"layout {name!r}: {damage} ends the scan: {message}; let a row set aside its own "
                "cases alone: group_by_name and cases_or_skip of "
                "medrcube.sources._formats.tables.rows"
            )


def _opens_what_the_card_names(trial: _FixtureBuilds) -> Iterator[str]:
    card = trial.source.card
    for name, copied in trial.copies.items():
        for file in undeclared_files(trial.source, copied.root, name):
            yield (
                f"layout {name!r}: the adapter opens {file}, which no glob of the layout fits; add "
                f"its glob to the layout under  expect  or  optional  of the card of {card.id}"
            )


def _identifiers_stay_out(trial: _FixtureBuilds) -> Iterator[str]:
    copies = trial.copies.values()
    identifiers = secret_identifiers(copies) | unnamed_identifiers(copies)
    for name, workspace in trial.workspaces.items():
        for file, identifier in leaks(workspace.root, identifiers):
            yield (
                f"layout {name!r}: the identifier {identifier!r} of the fixture stands in {file}; "
                "name cases by what the names of their files hold, or by a number"
            )
    for name, texts in trial.outputs.items():
        for what, text in texts.items():
            for identifier in identifiers_in(text, identifiers):
                yield (
                    f"layout {name!r}: {what}: the identifier {identifier!r} of the fixture is "
                    "told; in reasons quote cells by  row.quote(column)"
                )


def _identifiers_are_told(trial: _FixtureBuilds) -> Iterator[str]:
    """Without identifiers that occur in no other text, a search for them would prove nothing."""
    if trial.source.card.patient != "known":
        return
    cases = [case for copied in trial.copies.values() for case in copied.cases]
    if not any(case.patient for case in cases):
        yield (
            f'patient = "known", yet none of the {len(cases)} cases of its fixture has a patient, '
            "so no identifier can be searched for; give Case.patient in the adapter, or say "
            'patient = "unknown" in the card'
        )
    for name, copied in trial.copies.items():
        if not holds_canary(copied):
            yield (
                f"layout {name!r}: its fixture holds no CANARY "
                "(medrcube.sources._synthetic.images); write it wherever real data hold an "
                "identifier of a patient: in tables and in headers"
            )
    secret = secret_identifiers(trial.copies.values())
    for identifier in unsearchable(secret):
        keys = {case.key for copied in trial.copies.values() for case in copied.cases}
        identifying = sorted(key for key in keys if key_holds(key, identifier))
        yield (
            f"the fixture calls a patient {identifier!r}, which other text may hold by chance; "
            f"write {CANARY + identifier!r}"
            + (f" (the case {identifying[0]!r} seems to be named by it)" if identifying else "")
        )


_MOST_REASONS = 3
_WORDS = "concepts and groups are in the tables"

_CHECKS: dict[str, Callable[[_FixtureBuilds], Iterator[str]]] = {
    "layouts are distinguishable": _layouts_are_told_apart,
    _WORDS: lambda trial: missing_words(trial.source),
    "what an image does not show is not asked": _unseen_is_not_asked,
    "the adapter asks for all that the card names for it": _card_is_asked,
    "every mapped value is used by a fixture": _values_are_used,
    "every declared cell is reached, and no other": _voxels_are_reached,
    "no file is opened that the card does not name": _opens_what_the_card_names,
    "a row that cannot be used ends no scan": _a_row_ends_no_scan,
    "every file is an image or has a reason": _files_are_accounted_for,
    "its fixture holds identifiers that can be searched for": _identifiers_are_told,
    "no identifier reaches an output": _identifiers_stay_out,
}

"""Fixtures of the trap tests: a source's synthetic tree as it is, built, or changed by hand."""

import functools
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from medrcube.build import batch_outcome
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.questions.item_table import items_from_frame
from medrcube.build.stages.samples import samples_from_frame
from medrcube.build.stages.scan import scan
from medrcube.facts import BAD_ROW, Case, Grade, ImageRef, Label, Skip
from medrcube.ontologies.distractor_safety import DistractorRequest, SafetyRules, judge_distractor
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources

SOURCES = find_sources()
KEY = b"k" * 32


@dataclass(frozen=True)
class Found:
    """What an adapter says of a tree, by key; of cases made for comparison see ``compared``."""

    entries: list

    @property
    def cases(self):
        return {
            entry.key: entry
            for entry in self.entries
            if isinstance(entry, Case) and not entry.compared
        }

    @property
    def compared(self):
        return {
            entry.key: entry for entry in self.entries if isinstance(entry, Case) and entry.compared
        }

    @property
    def skips(self):
        return {entry.key: entry.reason for entry in self.entries if isinstance(entry, Skip)}

    def bad_rows(self, says):
        """Keys of cases that a bad row sets aside, with this text in the reason."""
        return {
            entry.key
            for entry in self.entries
            if isinstance(entry, Skip) and entry.code == BAD_ROW and says in entry.reason
        }

    def states(self, key, field):
        """Raw value -> state, of what a case says in one field."""
        return {
            label.value: label.state for label in self.cases[key].labels if label.field == field
        }


@dataclass(frozen=True)
class BuildOutcome:
    """What a build made of a tree, silence accepted as evidence."""

    root: Path
    samples: list
    items: list
    quarantine: pd.DataFrame

    def sample(self, case, artefact="clean", marked=""):
        """The one picture of a case; ``marked`` is a concept."""
        (sample,) = (
            sample
            for sample in self.samples
            if (sample.case, sample.artefact) == (case, artefact)
            and (not marked or sample.marked == marked)
        )
        return sample

    def pixels(self, sample):
        with Image.open(self.root / sample.image) as picture:
            return np.asarray(picture)

    def items_of(self, case, task=None):
        mine = {sample.id for sample in self.samples if sample.case == case}
        return [
            item
            for item in self.items
            if item.sample in mine and (task is None or item.task == task)
        ]

    def tasks_of(self, case):
        """Names of the tasks that ask about a case."""
        return {item.task for item in self.items_of(case)}

    def right_of(self, case, task):
        """Concepts of the right answers to a task."""
        return {item.options[item.key].concept for item in self.items_of(case, task)}

    def wrong_of(self, case, task=None):
        """Concepts of the wrong options of a case."""
        return {
            option.concept
            for item in self.items_of(case, task)
            for option in item.options
            if option.strategy != "key"
        }

    def recipes(self, case, artefact):
        """How the pictures of one case are made."""
        lines = (self.root / "recipes.jsonl").read_text(encoding="utf-8").splitlines()
        records = map(json.loads, lines)
        return [
            record
            for record in records
            if (record["case"], record["mark"]["kind"]) == (case, artefact)
        ]

    def codes(self):
        """Case or file -> code, of everything in the quarantine."""
        return dict(zip(self.quarantine["case"], self.quarantine["code"], strict=True))


@pytest.fixture(scope="session")
def scan_fixture(fixture_tree):
    """``(source_id, layout)`` -> what the adapter finds in the synthetic tree."""

    @functools.cache
    def make(source_id, layout):
        return _scan_tree(source_id, layout, fixture_tree(source_id, layout))

    return make


@pytest.fixture(scope="session")
def scan_tree():
    """``(source_id, layout, root)`` -> what the adapter finds in a tree changed by hand."""
    return _scan_tree


@pytest.fixture(scope="session")
def survey():
    """``(source_id, root)`` -> ``Scan``: cases, absent files, problems."""

    def make(source_id, root):
        return scan(SOURCES[source_id], root, KEY)

    return make


@pytest.fixture(scope="session")
def rivals():
    """``(source_id, field, raw)`` -> concepts that may be wrong options where only ``raw`` is said.

    Silence counts as evidence, so that nothing but the tables of concepts keeps them apart.
    """

    def make(source_id, name, raw):
        card = SOURCES[source_id].card
        field = card.fields[name]
        labels = (Label(field=name, value=raw, evidence="made up"),)
        case = Case(key="made up", images=(ImageRef(paths=(Path("x.png"),)),), labels=labels)
        request = DistractorRequest(
            key=field.concept(raw),
            ground=facts_of_case(card, case, load_terms()),
            scope=field.scope,
            group=field.group,
            pool=field.concepts(),
        )
        rules = SafetyRules(evidence=Grade.C)
        return {
            other for other in field.concepts() if judge_distractor(other, request, rules).allowed
        }

    return make


@pytest.fixture(scope="session")
def build_fixture(built_layout):
    """``(source_id, layout)`` -> what a build makes of the synthetic tree."""
    return functools.cache(lambda source_id, layout: _read(built_layout(source_id, layout)))


@pytest.fixture
def build_tree(build_raw, tmp_path, monkeypatch):
    """``(source_id, root)`` -> what a build makes of a tree changed by hand, without its audit."""
    monkeypatch.setattr(batch_outcome, "audit_batch", lambda *_: {"failures": []})
    return lambda source_id, raw: _read(
        build_raw(source_id, raw, tmp_path / "workspace", viewer=False)
    )


@pytest.fixture
def edited_tree(tmp_path, fixture_tree):
    """``(source_id, layout, edit)`` -> root of a copy after ``edit(root)``."""

    def make(source_id, layout, edit):
        root = tmp_path / "raw"
        shutil.copytree(fixture_tree(source_id, layout), root)
        edit(root)
        return root

    return make


@pytest.fixture
def replacing():
    """``(name, old, new)`` -> edit that replaces a text, which must be there, in one file."""

    def make(name, old, new):
        def edit(root):
            path = root / name
            data = path.read_bytes()
            assert old.encode() in data
            path.write_bytes(data.replace(old.encode(), new.encode()))

        return edit

    return make


def _scan_tree(source_id, layout, root):
    return Found(list(SOURCES[source_id].scan(root, layout)))


def _read(workspace):
    return BuildOutcome(
        root=workspace.root,
        samples=samples_from_frame(pd.read_parquet(workspace.samples)),
        items=items_from_frame(pd.read_parquet(workspace.items)),
        quarantine=pd.read_parquet(workspace.quarantine),
    )

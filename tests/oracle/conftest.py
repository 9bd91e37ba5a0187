"""The demo build of every source, an oracle over it, and tiny sources of given raw labels."""

import json
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from medrcube.build import batch_outcome
from medrcube.build.execution.local import LocalEngine
from medrcube.build.execution.progress import usable_cores
from medrcube.build.open_items.table import open_items_from_frame
from medrcube.build.pipeline import build
from medrcube.build.questions.item_table import items_from_frame
from medrcube.build.stages.samples import samples_from_frame
from medrcube.build_settings import BuildSettings, PreferredDifficulty
from medrcube.console.progress import Reporter
from medrcube.sources._framework.contract import load_source
from medrcube.sources._synthetic import images
from medrcube.sources.registry import find_sources
from medrcube.workspace import WorkspaceFolder, open_workspace

sys.path.insert(0, str(Path(__file__).parent))

from truth.oracle import Oracle  # beside this file, which no package holds

QUIET = Reporter(quiet=True)
VARIANTS = {
    "demo": BuildSettings(),
    "hard": BuildSettings(seed=1, difficulty=PreferredDifficulty.HARD, viewer=False),
    "easy": BuildSettings(seed=2, difficulty=PreferredDifficulty.EASY, options=3, viewer=False),
    "whole": BuildSettings(even_keys=False, viewer=False),
}
"""The demo as it is, other draws of options from the same facts, and all that is safe to ask."""


@dataclass(frozen=True)
class BuildOutcome:
    """The outcome of a build, and an oracle that knows its raw data."""

    items: list
    oracle: Oracle
    open_items: list


@pytest.fixture(scope="session")
def demo(whole_demo, tmp_path_factory):
    """The demo of all sources: name of a variant -> its items and an oracle."""
    demo_root, root = whole_demo / "demo", tmp_path_factory.mktemp("oracle") / "workspace"
    aside = shutil.ignore_patterns("raw", "release", "runs", "viewer")
    shutil.copytree(demo_root, root, ignore=aside)  # with its cache: no image is rendered again
    sources = find_sources()
    workspace = WorkspaceFolder(
        root=root, sources={name: demo_root / "raw" / name for name in sources}
    )
    layouts = {name: source.card.layouts[0].name for name, source in sources.items()}
    assert open_workspace(demo_root).settings == VARIANTS["demo"]
    raw = {}
    return {
        "demo": read(workspace, sources, layouts, raw),
        **{
            name: run(replace(workspace, settings=settings), sources, layouts, usable_cores(), raw)
            for name, settings in VARIANTS.items()
            if name != "demo"
        },
    }


@pytest.fixture
def rebuild(tmp_path):
    """Build one source of the package on a tree: ``rebuild("chexpert", root, "small")``."""

    def make(name, root, layout, settings=None):
        workspace = WorkspaceFolder(root=tmp_path / "workspace", sources={name: root})
        workspace = replace(workspace, settings=settings or ALL_THAT_IS_SAFE)
        return run(workspace, find_sources(), {name: layout}, 1)

    return make


@pytest.fixture
def tiny_source(tmp_path, reasoned):
    """Build a tiny source: ``tiny_source(fields, {"a": "finding Edema present; ..."})``.

    Each picture has the labels written behind its key, as field, value and state.
    """

    def make(fields, labels, **case):
        folder, root = tmp_path / "sources" / "told", tmp_path / "raw"
        folder.mkdir(parents=True)
        root.mkdir()
        for number, key in enumerate(labels):
            pixels = images.picture(96, 112, seed=number).astype(np.uint8)
            Image.fromarray(pixels).save(root / f"{key}.png")
        facts = {"anatomy": "Chest", "modality": "X-ray", "patient": "unknown", **case}
        folder.joinpath("card.toml").write_text(
            reasoned(
                CARD.format(
                    case="\n".join(f"{key} = {json.dumps(value)}" for key, value in facts.items()),
                    fields=fields,
                    pictures=len(labels),
                )
            )
        )
        folder.joinpath("adapter.py").write_text(ADAPTER)
        (root / "labels.json").write_text(
            json.dumps({key: _statements(text) for key, text in labels.items()})
        )
        source = load_source(folder)
        workspace = WorkspaceFolder(
            root=tmp_path / "workspace", sources={"told": root}, settings=ALL_THAT_IS_SAFE
        )
        return run(workspace, {"told": source}, {"told": "flat"}, 1)

    return make


ALL_THAT_IS_SAFE = VARIANTS["whole"]
"""For trees of a few cases, of which a batch would keep nothing."""


def run(workspace, sources, layouts, workers, raw=None):
    """Build a workspace without an audit and read its tables; ``raw`` as that of ``Oracle``."""
    (workspace.root / "cache").mkdir(parents=True, exist_ok=True)
    own_sources = {name: sources[name] for name in workspace.sources}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_outcome, "audit_batch", lambda *_: {"failures": []})
        report = build(workspace, own_sources, LocalEngine(workers), QUIET)
    assert not any(entry.failed for entry in report.sources)
    return read(workspace, own_sources, layouts, raw)


def read(workspace, sources, layouts, raw=None):
    """The tables of a workspace that was built, and an oracle over them."""
    samples = samples_from_frame(pd.read_parquet(workspace.samples))
    recipes = [json.loads(line) for line in workspace.recipes.read_text("utf-8").splitlines()]
    oracle = Oracle(
        {
            name: (source, workspace.sources[name], layouts[name])
            for name, source in sources.items()
        },
        {sample.id: sample for sample in samples},
        {recipe["sample"]: [tuple(box) for box in recipe["mark"]["boxes"]] for recipe in recipes},
        {
            recipe["sample"]: recipe["mark"]["window"]
            for recipe in recipes
            if "window" in recipe["mark"]
        },
        {
            recipe["sample"]: recipe["mark"]["order"]
            for recipe in recipes
            if "order" in recipe["mark"]
        },
        workspace.root,
        raw,
    )
    return BuildOutcome(
        items_from_frame(pd.read_parquet(workspace.items)),
        oracle,
        open_items_from_frame(pd.read_parquet(workspace.open_items)),
    )


CARD = """\
id = "told"
title = "A source that says what it is told"
homepage = "https://example.org/told"
release = "1.0"
images = {pictures}
citation = "@misc{{told, title={{Told}}}}"

[access]
mode = "open"
licence = "CC-BY-4.0"
redistribute = true
basis = {{ says = "CC BY 4.0", place = "https://example.org/toy" }}
steps = ["Download it."]

[[layout]]
name = "flat"
expect = {{ "*.png" = {pictures}, "labels.json" = 1 }}

[case]
{case}

{fields}
"""

ADAPTER = """\
import json

from medrcube.facts import Case, ImageRef, Label, LabelState

def cases(root, layout):
    for key, labels in json.loads((root / "labels.json").read_text()).items():
        yield Case(
            key=key,
            images=(ImageRef(paths=(root / f"{key}.png",)),),
            labels=tuple(
                Label(
                    field=field, value=value, state=LabelState(state), evidence=f"labels.json:{key}"
                )
                for field, value, state in labels
            ),
        )
"""


def _statements(text):
    """``finding Lung Opacity present; ...`` as field, value and state."""
    parts = [part.split() for part in text.split(";")]
    return [(words[0], " ".join(words[1:-1]), words[-1]) for words in parts]

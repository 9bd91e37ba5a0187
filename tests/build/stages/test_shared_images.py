import json
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.stages.shared_images import shared_images
from medrcube.sources._framework.contract import load_source
from medrcube.sources.registry import find_sources

DECLARED = [
    ("nih-chestxray14", "rsna-pneumonia"),
    ("nih-chestxray14", "siim-acr-pneumothorax"),
    ("brain-tumor-classification", "figshare-brain-tumor"),
    ("brixia", "covid-chestxray"),
    ("covid-chestxray", "covid19-radiography"),
    ("covid19-radiography", "rsna-pneumonia"),
    ("rsna-pneumonia", "siim-acr-pneumothorax"),
]


def _others(card):
    return {overlap.source for overlap in card.overlaps}


@pytest.mark.parametrize(("a", "b"), DECLARED)
def test_an_overlap_that_the_evidence_names_is_declared(a, b):
    sources = find_sources()
    assert b in _others(sources[a].card)


def test_both_cards_declare_an_overlap():
    cards = {name: source.card for name, source in find_sources().items()}
    pairs = {(name, other) for name in cards for other in _others(cards[name]) if other in cards}
    assert {(a, b) for a, b in pairs if (b, a) not in pairs} == set()


@pytest.fixture
def twins(toy, tmp_path):
    """The toy source and a second one; ``declared`` lets its card say that they share images."""
    folder = tmp_path / "sources" / "twin"
    folder.mkdir()
    (folder / "adapter.py").write_text((toy.folder / "adapter.py").read_text())

    def make(*, declared):
        card = (toy.folder / "card.toml").read_text().replace('id = "toy"', 'id = "twin"')
        if declared:
            card += '[[overlap]]\nsource = "toy"\nnote = "the same six pictures"\n'
        (folder / "card.toml").write_text(card)
        return {"toy": toy, "twin": load_source(folder)}

    return make


@pytest.mark.parametrize(
    ("declared", "says"), [(True, "the same six"), (False, "no card declares")]
)
def test_equal_pictures_in_two_sources_are_found_and_told(
    twins, workspace, raw, quiet, declared, says
):
    both = replace(workspace, sources={"toy": raw, "twin": raw})
    report = build(both, twins(declared=declared), LocalEngine(1), quiet)
    (entry,) = report.shared
    assert says in entry
    assert "6 equal images" in entry
    (pair,) = json.loads(both.audit.read_text())["shared_images"]
    assert pair["sources"] == ["toy", "twin"]


def test_a_source_alone_shares_nothing(toy):
    assert shared_images([toy.card], []) == ()


def _questions(workspace):
    items, samples = (pd.read_parquet(p) for p in (workspace.items, workspace.samples))
    cases = samples.set_index("id")["case"]
    return {(cases[row.sample], row.task) for row in items.itertuples()}


@pytest.fixture
def run_build(toy, workspace, quiet):
    def run():
        build(workspace, {"toy": toy}, LocalEngine(1), quiet)
        dropped = json.loads(workspace.audit.read_text())["dropped"]
        return _questions(workspace), dropped

    return run


def test_a_picture_that_is_there_twice_is_asked_once(run_build, raw):
    shutil.copy(raw / "g (0).png", raw / "g (7).png")
    shutil.copy(raw / "g (0)_mask.png", raw / "g (7)_mask.png")
    questions, dropped = run_build()
    assert ("g (0)", "Disease Diagnosis") in questions
    assert ("g (7)", "Disease Diagnosis") not in questions
    assert dropped["Disease Diagnosis: repeated-picture"] == 1


def test_equal_pictures_with_different_labels_are_not_asked(run_build, raw):
    shutil.copy(raw / "g (0).png", raw / "m (7).png")
    shutil.copy(raw / "g (0)_mask.png", raw / "m (7)_mask.png")
    questions, dropped = run_build()
    assert not {("g (0)", "Disease Diagnosis"), ("m (7)", "Disease Diagnosis")} & questions
    assert not {("g (0)", "ROI Grounding"), ("m (7)", "ROI Grounding")} & questions
    assert dropped["Disease Diagnosis: contradicting-pictures"] == 2

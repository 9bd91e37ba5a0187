"""Two sources as an outsider writes them, whose words no table of the package has."""

from pathlib import Path

import pandas as pd
import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.source_checks.source_check import check_source
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.facts import Grade
from medrcube.sources.registry import find_sources
from medrcube.vocabulary.layers import activate_vocabulary
from medrcube.workspace import WorkspaceFolder

OUTSIDE = Path(__file__).parent / "outside"
WORDS = {"fetal-skulls": "fetal skull", "lung-groups": "pneumonia group"}
REAL = {"fetal-skulls": "HC18", "lung-groups": "COVID-CT-MD"}

pytestmark = pytest.mark.untraced


@pytest.fixture
def outside_sources():
    yield find_sources([OUTSIDE])
    activate_vocabulary([])


@pytest.mark.few(1)
@pytest.mark.parametrize("name", WORDS)
def test_a_source_outside_the_package_keeps_the_whole_contract(outside_sources, name):
    assert {
        entry.name: entry.failures
        for entry in check_source(outside_sources[name])
        if entry.failures
    } == {}


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "word"), WORDS.items())
def test_its_own_word_is_asked_about(outside_sources, tmp_path, name, word):
    outside_sources[name].build_fixture(
        tmp_path / "raw", outside_sources[name].card.layouts[0].name
    )
    settings = BuildSettings(evidence=Grade.C, items_per_cell=0, even_keys=False)
    workspace = WorkspaceFolder(
        root=tmp_path / "w", settings=settings, sources={name: tmp_path / "raw"}
    )
    build(workspace, outside_sources, LocalEngine(1), Reporter(quiet=True))
    assert word in str(pd.read_parquet(workspace.items).to_dict())


@pytest.mark.real
@pytest.mark.parametrize("name", WORDS)
def test_real_files_of_it_become_pictures(outside_sources, real_raw, tmp_path, name):
    sources = {name: real_raw / REAL[name]}
    workspace = WorkspaceFolder(root=tmp_path, settings=BuildSettings(), sources=sources)
    build(workspace, outside_sources, LocalEngine(1), Reporter(quiet=True))
    assert len(pd.read_parquet(workspace.samples)) >= 3

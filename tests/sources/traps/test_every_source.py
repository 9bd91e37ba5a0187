"""Every source has its traps: what its evidence warns of is asserted, or listed with a reason."""

import importlib.util
from pathlib import Path

import pytest

from medrcube.sources.registry import find_sources

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("source", find_sources())
def test_traps_are_asserted_and_the_rest_has_reasons(source):
    path = FOLDER / f"test_{source.replace('-', '_')}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    asserted = [name for name in vars(module) if name.startswith("test_")]
    assert len(asserted) > 10
    assert module.UNTESTED
    assert all(trap and len(why) > 5 for trap, why in module.UNTESTED.items())

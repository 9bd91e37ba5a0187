"""The names of the interface, and what importing them loads."""

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import medrcube
from medrcube.errors import MissingExtraError

MODULES = ("release", "run", "sources", "workspace")
HEAVY = ("jinja2", "numpy", "pandas", "PIL", "pydicom", "typer")


def test_importing_the_package_loads_no_library():
    script = f"import medrcube, sys; print([name for name in {HEAVY} if name in sys.modules])"
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "[]"


def test_a_checkout_hides_no_part_of_a_package_that_is_not_editable():
    """As after ``pip install .``: no finder of an editable install maps the other folders."""
    script = (
        "import sys\n"
        "sys.meta_path[:] = [each for each in sys.meta_path if 'editable' not in repr(each)]\n"
        "import medrcube\n"
        "print(len(medrcube.list_sources()), medrcube.sources.registry.__file__)\n"
    )
    checkout = Path(__file__).parents[2]
    process = subprocess.run(
        [sys.executable, "-c", script], cwd=checkout, capture_output=True, text=True, check=True
    )
    count, file = process.stdout.split()
    assert int(count) > 50
    assert file == str(checkout / "sources/registry.py")


@pytest.mark.parametrize("name", [name for name in medrcube.__all__ if name != "__version__"])
def test_every_public_name_has_a_docstring(name):
    assert getattr(medrcube, name).__doc__


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'open_workspaces'"):
        medrcube.open_workspaces  # noqa: B018


def test_a_missing_library_names_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, "medrcube.api.sources", raising=False)
    monkeypatch.delitem(medrcube.__dict__, "list_sources", raising=False)
    with pytest.raises(MissingExtraError, match=r"medrcube\[evaluate\]"):
        medrcube.list_sources  # noqa: B018


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_docstrings_hold(name, small_demo, monkeypatch):
    monkeypatch.chdir(small_demo)
    results = doctest.testmod(importlib.import_module(f"medrcube.api.{name}"))
    assert results.failed == 0
    assert results.attempted or name == "run"


def test_sources_are_listed_with_the_documented_columns():
    from medrcube.api.sources import SOURCE_COLUMNS  # noqa: PLC0415 - after the tests of imports

    sources = medrcube.list_sources()
    assert list(sources.columns) == list(SOURCE_COLUMNS)
    assert sources["id"].is_monotonic_increasing
    assert "Organ Recognition" in sources.set_index("id").loc["busi", "tasks"]

"""The page of the architecture names modules that exist."""

import re

from doc_blocks import ROOT

PAGE = ROOT / "docs/explanation/architecture.md"


def test_every_module_of_a_journey_exists():
    journeys = PAGE.read_text(encoding="utf-8").partition("## Journeys")[2].partition("## ")[0]
    modules = re.findall(r"`([\w/]+\.py)`", journeys)
    assert len(modules) > 50
    assert [module for module in modules if not (ROOT / module).is_file()] == []


def test_every_module_of_a_journey_is_used_by_another_of_it():
    journeys = PAGE.read_text(encoding="utf-8").partition("## Journeys")[2].partition("## ")[0]
    rows = [
        re.findall(r"`([\w/]+\.py)`", line) for line in journeys.splitlines() if line[:1] == "|"
    ]
    unused = [
        module
        for modules in filter(None, rows)
        for module in modules[1:]
        if not any(_uses(other, module) for other in modules if other != module)
    ]
    assert unused == []


def _uses(user, module):
    """Whether a module imports another, by its name or with others from its folder."""
    folder, _, name = _dotted(module).rpartition(".")
    text = (ROOT / user).read_text(encoding="utf-8")
    several = rf"from {re.escape(folder)} import [^()\n]*\b{name}\b"
    block = rf"from {re.escape(folder)} import \([^)]*\b{name}\b"
    return bool(re.search(rf"{re.escape(folder)}\.{name}\b|{several}|{block}", text))


def _dotted(module):
    path = module.removeprefix("medrcube/").removesuffix(".py").removesuffix("/__init__")
    return f"medrcube.{path.replace('/', '.')}"

"""The page of the architecture names modules that exist."""

import re

from doc_blocks import ROOT

PAGE = ROOT / "docs/explanation/architecture.md"


def test_every_module_of_a_journey_exists():
    journeys = PAGE.read_text(encoding="utf-8").partition("## Five journeys")[2].partition("## ")[0]
    modules = re.findall(r"`([\w/]+\.py)`", journeys)
    assert len(modules) > 50
    assert [module for module in modules if not (ROOT / module).is_file()] == []

"""A card to which a test adds the fields that it is about."""

import pytest

from medrcube.sources._framework.card import load_card

HEAD = """\
id = "toy"
title = "Toy"
homepage = "https://example.org"
release = "1"
images = 1
citation = "c"
[access]
mode = "open"
licence = "CC0-1.0"
redistribute = true
basis = { says = "CC BY 4.0", place = "https://example.org/toy" }
steps = ["get it"]
[[layout]]
name = "flat"
expect = { "*.png" = 1 }
[case]
anatomy = "Chest"
modality = "X-ray"
patient = "known"
tasks = [
    "Modality Recognition", "View Recognition", "Imaging Protocols Recognition",
    "Organ Recognition", "ROI Grounding", "Abnormality Diagnosis", "Disease Diagnosis",
    "Severity Grading",
]
"""


@pytest.fixture
def card(tmp_path, reasoned):
    """A card with more parts: ``card(FINDINGS, DISEASE)``."""

    def make(*parts):
        path = tmp_path / "card.toml"
        path.write_text(reasoned(HEAD + "".join(parts)), encoding="utf-8")
        return load_card(path)

    return make

"""The frame that boxes and outlines were drawn in is a fact of the card or of a table."""

import shutil

import pytest

from medrcube.errors import CardError
from medrcube.facts import Case
from medrcube.regions import Polygons, Rectangle
from medrcube.sources._framework.contract import load_source
from medrcube.sources.registry import find_sources

SOURCES = find_sources()


def frames(source, root, layout):
    cases = [entry for entry in source.scan(root, layout) if isinstance(entry, Case)]
    shapes = [region.shape for case in cases for region in case.regions]
    return {shape.frame for shape in shapes if isinstance(shape, (Polygons, Rectangle))}


@pytest.fixture
def altered(tmp_path):
    """A source of the package with another card."""

    def make(source, old, new):
        folder = tmp_path / "sources" / source.folder.name
        shutil.copytree(source.folder, folder)
        text = (folder / "card.toml").read_text()
        assert old in text
        (folder / "card.toml").write_text(text.replace(old, new, 1))
        return load_source(folder)

    return make


@pytest.mark.parametrize(
    ("source_id", "layout"),
    [("nih-chestxray14", "official"), ("rsna-pneumonia", "kaggle"), ("rsna-pneumonia", "mdai")],
)
def test_boxes_have_the_frame_of_the_card(altered, tmp_path, source_id, layout):
    source = SOURCES[source_id]
    source.build_fixture(tmp_path / "raw", layout)
    assert frames(source, tmp_path / "raw", layout) == {(1024, 1024)}
    other = altered(source, "width = 1024\nheight = 1024", "width = 800\nheight = 600")
    assert frames(other, tmp_path / "raw", layout) == {(800, 600)}


def test_outlines_of_echonet_have_the_frame_of_the_table_and_others_that_of_the_card(
    altered, tmp_path
):
    reasons = 'reason = "as a test"\nevidence = "none"\n'
    for source_id, expected in (("echonet-dynamic", (112, 112)), ("inbreast", (7, 9))):
        source = SOURCES[source_id]
        layout = source.card.layouts[0].name
        source.build_fixture(tmp_path / source_id, layout)
        other = altered(
            source, "[pixels]", f"[drawn_in]\nwidth = 7\nheight = 9\n{reasons}\n[pixels]"
        )
        assert frames(other, tmp_path / source_id, layout) == {expected}


def test_a_frame_that_the_adapter_tells_goes_before_that_of_the_card(altered, tmp_path):
    source = SOURCES["vindr-mammo"]
    source.build_fixture(tmp_path / "raw", "physionet")
    frame_numbers = frames(source, tmp_path / "raw", "physionet")
    reasons = 'reason = "as a test"\nevidence = "none"\n'
    card = f"[drawn_in]\nwidth = 7\nheight = 9\n{reasons}\n[pixels]"
    other = altered(source, "[pixels]", card)
    assert frames(other, tmp_path / "raw", "physionet") == frame_numbers


def test_a_frame_without_a_side_is_refused(altered):
    with pytest.raises(CardError, match="pixels, one or more"):
        altered(SOURCES["nih-chestxray14"], "height = 1024", "height = 0")

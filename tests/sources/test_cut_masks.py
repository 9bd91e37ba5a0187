"""Masks and tracings that contradict their picture, or stop short, cost the case its marks."""

import re

import numpy as np
import pytest
from PIL import Image

from medrcube.build import readers
from medrcube.errors import ReadError
from medrcube.facts import Case
from medrcube.sources.registry import find_sources

pytestmark = pytest.mark.thorough  # like the traps of a source

SOURCES = find_sources()


def scan(source, layout, root):
    return {entry.key: entry for entry in SOURCES[source].scan(root, layout)}


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("normal (2)", lambda marks: marks | 1, "marked-normal"),
        ("benign (1)", lambda marks: 1 - marks, "inverted-mask"),
        ("benign (1)", lambda marks: marks, ""),
        ("normal (2)", lambda marks: marks, ""),
    ],
)
def test_a_mask_that_contradicts_the_picture_of_busi_is_refused(tmp_path, name, change, code):
    SOURCES["busi"].build_fixture(tmp_path, "original")
    path = tmp_path / name.split()[0] / f"{name}_mask.png"
    marks = (np.asarray(Image.open(path).convert("L")) > 0).astype(np.uint8)
    Image.fromarray(change(marks) * 255).save(path)
    case = scan("busi", "original", tmp_path)[name]
    assert _refusal(case) == code


def test_a_mask_that_busi_lacks_is_named_and_the_picture_kept(tmp_path):
    SOURCES["busi"].build_fixture(tmp_path, "original")
    (tmp_path / "malignant" / "malignant (1)_mask.png").unlink()
    source_scan = scan("busi", "original", tmp_path)
    assert isinstance(source_scan["malignant (1)"], Case)
    assert source_scan["malignant (1)_mask"].code == "mask-missing"
    assert "malignant (1)_mask.png is not in this copy" in source_scan["malignant (1)_mask"].reason


def test_a_tracing_of_echonet_that_is_cut_short_is_named(tmp_path):
    source = SOURCES["echonet-dynamic"]
    (layout,) = source.card.layouts
    source.build_fixture(tmp_path, layout.name)
    table = next(tmp_path.rglob("VolumeTracings.csv"))
    lines = table.read_text().splitlines()
    last = max(n for n, line in enumerate(lines) if line.startswith("0X1A.avi"))
    table.write_text("\n".join(lines[: last - 7] + lines[last + 1 :]) + "\n")
    source_scan = scan("echonet-dynamic", layout.name, tmp_path)
    assert "12 of frame" in source_scan["0X1A outlines"].reason
    assert isinstance(source_scan["0X2B-ED"], Case)


def test_the_table_of_nih_that_is_not_read_is_named(tmp_path):
    SOURCES["nih-chestxray14"].build_fixture(tmp_path, "official")
    newest = tmp_path / "Data_Entry_2017_v2020.csv"
    (tmp_path / "Data_Entry_2017.csv").write_bytes(newest.read_bytes())
    other = scan("nih-chestxray14", "official", tmp_path)["Data_Entry_2017.csv"]
    assert other.reason.startswith("labels are read from Data_Entry_2017_v2020.csv alone")


def test_a_rating_of_lidc_that_readers_left_blank_is_named(tmp_path):
    source = SOURCES["lidc-idri"]
    layout = source.card.layouts[0].name
    source.build_fixture(tmp_path, layout)
    before = scan("lidc-idri", layout, tmp_path)
    for path in tmp_path.rglob("*.xml"):
        text = path.read_text()
        blank = re.sub(r"<malignancy>\d</malignancy>", "<malignancy></malignancy>", text)
        path.write_text(blank)
    new = scan("lidc-idri", layout, tmp_path).keys() - before.keys()
    assert new
    assert all(key.endswith("-malignancy") for key in new)


def _refusal(case):
    try:
        SOURCES["busi"].hook("frames")(case, readers.read(case.images[0]))
    except ReadError as error:
        return error.code
    return ""

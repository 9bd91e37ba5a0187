"""Traps of the evidence card `fetal-brain-abnormalities`."""

import numpy as np
import pytest

from medrcube.errors import SourceError
from medrcube.facts import Visibility
from medrcube.sources._synthetic.images import write_picture
from medrcube.sources.registry import find_sources

UNTESTED = {
    "class-with-fewer-than-five-images": "core rule: no option is hardly ever a key",
    "one-image-in-two-classes-or-splits": "the core compares pixels; the split is not used",
    "words-that-name-the-anomaly": "the detector of burnt-in graphics is on; its tests are its own",
    "grades-by-millimetres": "no scale exists, so nothing can be checked; noted as a quirk",
    "who-labelled-and-from-what": "unknown; noted as a quirk",
    "overlap-with-teaching-files": "no list exists; noted as a quirk",
    "number-of-images": "1,786 by a user, 1.77 thousand by the site: nothing is asserted",
}
SOURCE, LAYOUT = "fetal-brain-abnormalities", "folder"
CARD = find_sources()[SOURCE].card
FOLDER = "Fetal-Brain-Abnormalities-Ultrasound-1"
DEGREES = {"mild fetal ventriculomegaly", "severe fetal ventriculomegaly"}


def _of(cases, label):
    return [key for key in cases if key.startswith(f"{label}/")]


def test_every_class_is_a_finding_or_a_malformation_or_used_for_neither(scan_fixture):
    stated = {}
    for key, case in scan_fixture(SOURCE, LAYOUT).cases.items():
        stated[key.partition("/")[0]] = [label.field for label in case.labels]
    assert set(stated) == {
        *CARD.fields["finding"].values,
        *CARD.fields["malformation"].values,
    }
    assert stated["mild-ventriculomegaly"] == ["finding", "degree"]


@pytest.mark.parametrize("label", ["normal", "polencephaly"])
def test_class_that_proves_nothing_maps_to_no_concept(label):
    assert CARD.fields["malformation"].concept(label) is None


def test_moderate_degree_is_neither_key_nor_option(build_fixture, scan_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    for key in _of(scan_fixture(SOURCE, LAYOUT).cases, "moderate-ventriculomegaly"):
        assert "Severity Grading" not in build.tasks_of(key)
    graded = [item for item in build.items if item.task == "Severity Grading"]
    assert graded
    assert all({option.concept for option in item.options} == DEGREES for item in graded)


def test_nothing_is_called_sure_to_be_visible():
    assert {field.visible for field in CARD.fields.values()} == {Visibility.PARTLY}


def test_silence_about_a_second_anomaly_is_no_evidence():
    for name in ("finding", "malformation"):
        assert (CARD.fields[name].absence, CARD.fields[name].group) == ("silent", None)


@pytest.mark.parametrize(
    ("label", "look_alikes"),
    [
        ("hydracenphaly", {"holoprosencephaly", "arachnoid cyst"}),
        ("holoprosencephaly", {"hydranencephaly", "encephalocele"}),
        ("cerebellah-hypoplasia", {"Chiari malformation", "arachnoid cyst"}),
    ],
)
def test_malformations_that_look_alike_are_never_offered_together(rivals, label, look_alikes):
    assert not rivals(SOURCE, "malformation", label) & look_alikes


def test_colpocephaly_is_a_ventriculomegaly_and_no_wrong_option_beside_it(rivals):
    assert "colpocephaly" not in rivals(SOURCE, "finding", "severe-ventriculomegaly")
    assert "ventriculomegaly" not in rivals(SOURCE, "finding", "colphocephaly")


def test_image_in_colour_is_set_aside(edited_tree, build_tree):
    """Doppler is likely for the vein of Galen alone."""

    def colour(root):
        (path, *rest) = sorted((root / FOLDER).glob("*/*/*.jpg"))
        for other in rest:
            other.unlink()
        red = np.zeros((96, 96, 3), np.uint8)
        red[20:60, 20:60, 0] = 220
        write_picture(path, red)

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, colour))
    assert list(build.codes().values()) == ["coloured"]


def test_original_name_that_a_class_holds_twice_sets_both_aside(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    twice = [key for key, reason in scan.skips.items() if "copies of one are likely" in reason]
    assert len(twice) == 2
    assert len(_of(scan.cases, "arachnoid-cyst")) == 2


def test_original_name_is_no_key_and_names_nobody(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert not any("_jpg" in key or "_png" in key for key in cases)
    assert {(case.patient, case.split) for case in cases.values()} == {(None, None)}


def test_file_that_the_site_did_not_name_is_set_aside(edited_tree, scan_tree):
    def rename(root):
        path = next(iter((root / FOLDER / "train/normal").iterdir()))
        path.rename(path.with_name("scan.jpg"))

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, rename))
    assert scan.bad_rows("copies cannot be recognised") == {"train/normal/scan.jpg"}


def test_folder_of_another_set_stops_the_source_and_is_not_quoted(edited_tree, scan_tree):
    def add(root):
        folder = root / FOLDER / "train/normal"
        folder.rename(folder.with_name("Jane Example"))

    with pytest.raises(SourceError, match="none of the 16") as excinfo:
        scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, add))
    assert "Jane" not in str(excinfo.value)

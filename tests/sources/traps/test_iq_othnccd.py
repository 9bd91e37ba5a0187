"""Traps of the evidence card `iq-othnccd`."""

import json
import shutil

import pytest

from medrcube.errors import SourceError
from medrcube.facts import Scope, Visibility
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.images import picture, write_picture
from medrcube.sources.registry import find_sources

UNTESTED = {
    "one-slice-for-each-run-of-look-alikes": "patients are not named; equal pictures are (tested)",
    "benign-has-fifteen-cases": "which slices are one case is not recorded; noted as a quirk",
    "window-differs-by-case": "not recorded; noted as a quirk",
    "slices-at-apex-and-diaphragm": "advice on sampling; the level is not recorded",
    "screen-borders-of-some-exports": "no list of files",
    "licence-and-scanner-text": "unverified, need the page; the stricter licence is on the card",
    "text-says-1190-slices": "asserted as the number of files, the text is not read",
}
SOURCE = "iq-othnccd"
CARD = find_sources()[SOURCE].card
TOP = "The IQ-OTHNCCD lung cancer dataset"
ONE = "Malignant cases/Malignant case (1).jpg"


def test_spelling_of_the_authors_is_benign(scan_fixture):
    case = scan_fixture(SOURCE, "original").cases["Benign case (1)"]
    assert case.images[0].paths[0].name == "Bengin case (1).jpg"
    assert case.labels[0].value == "Benign"


def test_corrected_spelling_gives_the_same_cases(scan_fixture):
    spellings = [scan_fixture(SOURCE, layout) for layout in ("original", "respelled")]
    assert list(spellings[0].cases) == list(spellings[1].cases)


def test_doubled_folder_is_found(scan_fixture, fixture_tree):
    assert (fixture_tree(SOURCE, "respelled") / TOP / TOP).is_dir()
    assert scan_fixture(SOURCE, "respelled").cases


def test_numbers_sort_as_numbers(scan_fixture):
    keys = list(scan_fixture(SOURCE, "original").cases)
    assert keys.index("Benign case (2)") < keys.index("Benign case (10)")


def test_complete_copy_has_1097_files_and_not_1190():
    for layout in CARD.layouts:
        assert sorted(layout.expect.values()) == [120, 416, 561]
    assert CARD.images == 1097


def test_copy_with_fewer_files_is_called_partial(fixture_tree):
    text = inspect_copy(CARD, fixture_tree(SOURCE, "original")).describe()
    assert "partial copy" in text
    assert "120" in text


@pytest.mark.parametrize(("label", "number"), [("Normal", 417), ("Malignant", 562), ("Normal", 0)])
def test_number_beyond_the_release_stops_the_source(edited_tree, scan_tree, label, number):
    def augment(root):
        folder = root / TOP / f"{label} cases"
        shutil.copy(next(folder.glob("*.jpg")), folder / f"{label} case ({number}).jpg")

    with pytest.raises(SourceError, match="augmented"):
        scan_tree(SOURCE, "original", edited_tree(SOURCE, "original", augment))


def test_copy_with_everything_twice_stops_the_source(edited_tree, scan_tree):
    def double(root):
        shutil.copytree(root / TOP, root / "second" / TOP)

    with pytest.raises(SourceError, match="twice"):
        scan_tree(SOURCE, "original", edited_tree(SOURCE, "original", double))


@pytest.mark.parametrize("name", ["PIC 4.png", "Picture16.png", "Malignant case (2).jpg"])
def test_picture_that_is_misnamed_or_misfiled_is_set_aside(edited_tree, scan_tree, name):
    def mix(root):
        write_picture(root / TOP / "Normal cases" / name, picture(64, 64, seed=1))

    scan = scan_tree(SOURCE, "original", edited_tree(SOURCE, "original", mix))
    assert f"{TOP}/Normal cases/{name}" in scan.skips


def test_unlabelled_test_pictures_are_ignored(build_fixture):
    codes = build_fixture(SOURCE, "original").codes()
    assert codes["Test cases/(like 999999_99_99_999, no. 1 of 1).jpg"] == "ignored-by-card"


@pytest.mark.parametrize("size", [(623, 512), (801, 512), (511, 404), (331, 506), (64, 64)])
def test_size_that_gives_the_class_away_is_refused(edited_tree, build_tree, size):
    def resize(root):
        write_picture(root / TOP / ONE, picture(*size, seed=1))

    build = build_tree(SOURCE, edited_tree(SOURCE, "original", resize))
    assert build.codes()["Malignant case (1)"] == "odd-size"
    assert build.items_of("Malignant case (1)") == []


def test_odd_size_is_no_failure_of_the_build(build_fixture):
    quarantine = build_fixture(SOURCE, "original").quarantine
    assert set(quarantine[quarantine["code"] == "odd-size"]["stage"]) == {"select"}


def test_every_picture_has_one_size(build_fixture):
    samples = build_fixture(SOURCE, "original").samples
    assert {(sample.width, sample.height) for sample in samples} == {(512, 512)}


def test_rgb_of_equal_channels_is_grey(build_fixture):
    build = build_fixture(SOURCE, "original")
    assert build.pixels(build.sample("Normal case (3)")).ndim == 2


def test_label_is_of_the_study_and_no_slice_is_known_to_show_it():
    field = CARD.fields["diagnosis"]
    assert (field.scope, field.visible) == (Scope.STUDY, Visibility.NO)
    assert CARD.shows is Scope.IMAGE


def test_slice_that_may_not_show_the_lesion_is_asked_no_disease_no_sign_and_no_place(build_fixture):
    assert {item.task for item in build_fixture(SOURCE, "original").items} == {
        "Modality Recognition",
        "View Recognition",
    }


def test_normal_is_free_of_lung_tumours_alone():
    assert CARD.fields["diagnosis"].values["Normal"] == "no lung tumor"


def test_benign_and_malignant_are_no_grades(build_fixture):
    items = build_fixture(SOURCE, "original").items
    assert not any(item.ordered for item in items)


def test_patient_is_unknown_and_never_guessed(scan_fixture):
    assert {case.patient for case in scan_fixture(SOURCE, "original").cases.values()} == {None}
    assert CARD.patient == "unknown"


def test_equal_slices_are_named_by_the_audit(edited_tree, build_raw, tmp_path):
    def twin(root):
        folder = root / TOP / "Malignant cases"
        shutil.copy(folder / "Malignant case (1).jpg", folder / "Malignant case (2).jpg")

    build = build_raw(SOURCE, edited_tree(SOURCE, "original", twin), tmp_path / "workspace")
    (row,) = json.loads(build.audit.read_text())["duplicate_pictures"]
    assert row["cases"] == [f"{SOURCE}/Malignant case ({n})" for n in (1, 2)]


def test_unconfirmed_licence_keeps_the_pictures_from_being_passed_on():
    assert CARD.access.redistribute is False

"""Traps of the evidence card `rsna-ich`."""

import hashlib
import shutil

import numpy as np
import pytest
from pydicom import dcmread
from pydicom.config import disable_value_validation

from medrcube.facts import LabelState
from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.images import picture, write_picture
from medrcube.sources.registry import find_sources

UNTESTED = {
    "noise-of-one-reader": "small bleeds and the ends of a run; noted as a quirk",
    "level-of-the-lateral-ventricles": "not known without a look; the middle slice stands for it",
    "share-of-12-bit-files": "unverified; both kinds are in the fixture",
    "which-four-images-stand-twice": "their names are known for stage 1; any repeat is harmless",
    "adult-or-child": "no age is in these data",
}
SOURCE, LAYOUT = "rsna-ich", "stage-2"
CARD = find_sources()[SOURCE].card
TOP = "rsna-intracranial-hemorrhage-detection"
FOLDER, TABLE = f"{TOP}/stage_2_train", f"{TOP}/stage_2_train.csv"
FINDINGS = "Abnormality Diagnosis"
KINDS = ("epidural", "intraparenchymal", "intraventricular", "subarachnoid", "subdural")


def _name(patient, number):
    """Name of a slice of the fixture, counted from the bottom."""
    text = f"{10 * patient + number}".encode()
    return "ID_" + hashlib.md5(text, usedforsecurity=False).hexdigest()[:9]


def _header(patient, number, **elements):
    """An edit that changes elements of one slice."""

    def edit(root):
        path = root / FOLDER / f"{_name(patient, number)}.dcm"
        with disable_value_validation():  # the ids of these files are no valid ones
            data = dcmread(path)
            for keyword, value in elements.items():
                if value is None:
                    delattr(data, keyword)
                else:
                    setattr(data, keyword, value)
            data.save_as(path)

    return edit


def test_name_of_a_slice_is_parted_at_the_last_underscore(scan_fixture):
    assert _name(0, 2) in scan_fixture(SOURCE, LAYOUT).cases


def test_rows_that_stand_twice_change_nothing(scan_fixture, fixture_tree):
    table = (fixture_tree(SOURCE, LAYOUT) / TABLE).read_text()
    name = _name(2, 4)
    assert table.count(f"{name}_any,1") == 2
    assert name in scan_fixture(SOURCE, LAYOUT).cases


def test_slice_whose_rows_contradict_each_other_is_set_aside(edited_tree, scan_tree):
    def add(root):
        with (root / TABLE).open("a") as file:
            file.write(f"{_name(0, 2)}_subdural,0\n")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, add))
    assert scan.bad_rows("says otherwise") == {_name(0, 2)}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("_intracerebral,1", "expected an image and one of epidural"),
        ("_any,2", "Label=2: expected one of '1', '0'"),
        ("_any,", "Label=: expected one of '1', '0'"),
    ],
)
def test_row_of_another_form_is_set_aside(edited_tree, scan_tree, row, says):
    def add(root):
        with (root / TABLE).open("a") as file:
            file.write(f"{_name(0, 2)}{row}\n")

    assert scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, add)).bad_rows(says)


def test_slice_whose_any_contradicts_its_types_is_set_aside(scan_fixture):
    assert "contradicts itself" in scan_fixture(SOURCE, LAYOUT).skips[_name(3, 1)]


def test_slice_with_fewer_than_six_rows_is_set_aside(edited_tree, scan_tree, replacing):
    edit = replacing(TABLE, f"{_name(0, 2)}_epidural,0\n", "")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert "5 rows" in scan.skips[_name(0, 2)]


def test_slices_are_ordered_by_place_and_not_by_name(edited_tree, scan_tree, scan_fixture):
    names = [_name(0, number) for number in range(7)]
    assert names != sorted(names)
    assert _name(0, 2) in scan_fixture(SOURCE, LAYOUT).cases

    def move(root):
        for place, number in enumerate((0, 2, 4, 5, 1, 3, 6)):  # the run is 5, 1, 3 now
            _header(0, number, ImagePositionPatient=[0.0, 0.0, 5.0 * place])(root)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, move))
    assert _name(0, 1) in scan.cases


def test_place_counts_along_the_normal_of_a_tilted_slice(edited_tree, scan_tree):
    def tilt(root):
        for place, number in enumerate((0, 2, 4, 5, 1, 3, 6)):
            # Heights all alike: with rows that go down the slices follow one another backwards.
            tags = {"ImageOrientationPatient": [1, 0, 0, 0, 0.94, -0.34]}
            position = [0.0, 5.0 * place, 0.0]
            _header(0, number, ImagePositionPatient=position, **tags)(root)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, tilt))
    assert _name(0, 1) in scan.cases


@pytest.mark.parametrize("keyword", ["ImagePositionPatient", "PatientID", "StudyInstanceUID"])
def test_slice_whose_header_lacks_place_or_person_is_set_aside(edited_tree, scan_tree, keyword):
    edit = _header(0, 2, **{keyword: None})
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert keyword in scan.skips[_name(0, 2)]


def test_wrapped_12_bits_without_an_offset_are_put_right(build_fixture, fixture_tree):
    name = _name(1, 2)
    data = dcmread(fixture_tree(SOURCE, LAYOUT) / FOLDER / f"{name}.dcm")
    assert (data.BitsStored, data.PixelRepresentation, data.RescaleIntercept) == (12, 0, 0)
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(name))
    assert pixels[-1, -1] == 0  # air, stored as 3096
    assert pixels[10, 12] > 180  # the marker


def test_signed_16_bits_with_an_offset_are_left_as_they_are(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(_name(0, 2)))
    assert pixels[-1, -1] == 0
    assert pixels[10, 12] > 180


def test_padding_below_air_is_black(edited_tree, build_tree):
    def pad(root):
        path = root / FOLDER / f"{_name(0, 2)}.dcm"
        data = dcmread(path)
        pixels = data.pixel_array.copy()
        pixels[-20:, :20] = -2000
        data.PixelData = pixels.tobytes()
        data.save_as(path)

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, pad))
    assert (build.pixels(build.sample(_name(0, 2)))[-20:, :20] == 0).all()


def test_window_is_that_of_the_brain_whatever_the_header_says(
    edited_tree, build_tree, build_fixture
):
    edit = _header(0, 2, WindowCenter=[600, 40], WindowWidth=[2800, 80])
    build, plain = (
        build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)),
        build_fixture(SOURCE, LAYOUT),
    )
    name = _name(0, 2)
    assert (build.pixels(build.sample(name)) == plain.pixels(plain.sample(name))).all()


def test_ids_that_are_no_valid_uids_are_read(scan_fixture, fixture_tree):
    name = _name(0, 2)
    with disable_value_validation():
        data = dcmread(fixture_tree(SOURCE, LAYOUT) / FOLDER / f"{name}.dcm")
        assert data.SOPInstanceUID == name
    assert scan_fixture(SOURCE, LAYOUT).cases[name].patient == data.PatientID


def test_file_that_is_known_to_be_cut_is_dropped():
    assert quirk_of(CARD, "ID_6431af929", "drop")


def test_slice_with_several_types_is_not_chosen(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    for key in scan.cases:
        states = list(scan.states(key, "subtype").values())
        assert states.count(LabelState.PRESENT) <= 1
    assert any("several types" in reason for reason in scan.skips.values())


def test_other_four_types_of_a_slice_are_absent_and_may_be_wrong_options(
    scan_fixture, build_fixture
):
    name = _name(0, 2)
    states = scan_fixture(SOURCE, LAYOUT).states(name, "subtype")
    assert states.pop("subdural") is LabelState.PRESENT
    assert set(states.values()) == {LabelState.ABSENT}
    build = build_fixture(SOURCE, LAYOUT)
    assert build.right_of(name, FINDINGS) == {"subdural", "any"}
    assert build.wrong_of(name, FINDINGS) <= {*states, "no intracranial hemorrhage"}


def test_quiet_slice_of_an_exam_that_bleeds_is_not_chosen(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    quiet = {key for key in scan.cases if "none" in scan.states(key, "hemorrhage")}
    assert quiet == {_name(5, 1), _name(6, 2)}


def test_quiet_exam_is_shown_at_the_level_of_a_bleed(edited_tree, scan_tree):
    seven, quiet = (
        [_name(patient, k) for k in range(count)] for patient, count in ((0, 7), (6, 4))
    )

    def leave_one_bleed(root):
        """At the top of a stack of seven, beside a stack of four without any."""
        for path in (root / FOLDER).glob("*.dcm"):
            if path.stem not in {*seven, *quiet}:
                path.unlink()
        rows = [
            f"{name}_{kind},{int(name == seven[-1] and kind in ('subdural', 'any'))}"
            for name in (*seven, *quiet)
            for kind in (*KINDS, "any")
        ]
        (root / TABLE).write_text("\n".join(["ID,Label", *rows, ""]))

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, leave_one_bleed))
    assert set(scan.cases) == {seven[-1], quiet[-1]}


def test_slice_without_bleeding_is_never_called_normal(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.right_of(_name(5, 1), FINDINGS) == {"no intracranial hemorrhage"}
    concepts = {option.concept for item in build.items for option in item.options}
    assert concepts.isdisjoint({"No Finding", "normal"})


def test_question_is_about_the_slice_and_not_about_the_exam(build_fixture):
    items = build_fixture(SOURCE, LAYOUT).items
    assert {item.scope for item in items if item.task == FINDINGS} == {"slice"}


def test_slice_of_air_is_set_aside_and_no_failure(build_fixture):
    rows = build_fixture(SOURCE, LAYOUT).quarantine
    (row,) = rows[rows["case"] == _name(6, 2)].to_dict("records")
    assert (row["code"], row["stage"]) == ("little-tissue", "select")


def test_second_series_of_an_exam_is_no_neighbour_of_the_first(edited_tree, scan_tree):
    def part(root):
        for number in (2, 3):  # the run of three falls apart: 1 | 2 3
            _header(0, number, SeriesInstanceUID="ID_bone")(root)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, part))
    assert _name(0, 3) in scan.cases


def test_one_slice_stands_for_a_patient(scan_fixture):
    patients = [case.patient for case in scan_fixture(SOURCE, LAYOUT).cases.values()]
    assert len(patients) == len(set(patients)) == 7


@pytest.mark.parametrize("folder", ["stage_2_train", "stage_2_train_images"])
def test_both_names_of_the_folder_and_no_top_folder_are_found(
    edited_tree, scan_tree, scan_fixture, folder
):
    def move(root):
        shutil.move(root / FOLDER, root / folder)
        shutil.move(root / TABLE, root / "stage_2_train.csv")
        shutil.rmtree(root / TOP)

    root = edited_tree(SOURCE, LAYOUT, move)
    assert inspect_copy(CARD, root).fits
    assert list(scan_tree(SOURCE, LAYOUT, root).cases) == list(scan_fixture(SOURCE, LAYOUT).cases)


def test_test_part_without_labels_is_ignored_by_name(build_fixture):
    codes = build_fixture(SOURCE, LAYOUT).codes()
    assert codes[f"{TOP}/stage_2_test/(like XX_999999999, no. 1 of 1).dcm"] == "ignored-by-card"


def test_file_without_rows_is_set_aside(edited_tree, scan_tree):
    def add(root):
        shutil.copy(root / FOLDER / f"{_name(0, 2)}.dcm", root / FOLDER / "ID_ffffffff0.dcm")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, add))
    assert "no rows" in scan.skips["ID_ffffffff0"]


def test_resized_pictures_without_units_fit_no_layout(tmp_path):
    write_picture(tmp_path / "train_images/ID_000012eaf.png", picture(128, 128, seed=1))
    (tmp_path / "stage_2_train.csv").write_text("ID,Label\n")
    assert not inspect_copy(CARD, tmp_path).fits


def test_patient_lies_at_the_side_that_radiologists_expect(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(_name(0, 2)))
    assert pixels[10, 12] > pixels[10, -12]
    assert pixels[10, 12] > pixels[-10, 12]


def test_windows_of_this_project_are_not_asked_and_contrast_is():
    assert {field.constant for field in CARD.fields.values() if field.kind == "protocol"} == {
        "non-contrast CT"
    }


def test_masks_drawn_on_these_exams_elsewhere_are_named():
    assert [overlap.source for overlap in CARD.overlaps] == ["BHSD"]
    assert not CARD.access.redistribute


def test_picture_has_8_bits(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.pixels(build.sample(_name(0, 2))).dtype == np.uint8

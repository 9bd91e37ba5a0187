"""Traps of the evidence card `covid-ct-md`."""

import shutil

import numpy as np
import pytest
from pydicom import dcmread

from medrcube.errors import TableError
from medrcube.facts import LabelState
from medrcube.sources._formats.tables.arrays import read_flags

UNTESTED = {
    "licence-of-the-figshare-pages": "was not read: nothing may be redistributed",
    "clinical-table": "its header was not seen; it is not read",
    "lobe-flags-and-the-left-lung-of-P013": "no question of a lobe is made",
    "group-year-and-scanner-go-together": "a property of the data, noted as a quirk",
    "later-sets-of-the-same-group": "whether they share patients is unverified",
    "cap-is-broad": "bacterial pneumonia is not a concept of this source",
}
SOURCE, LAYOUT = "covid-ct-md", "groups"
NEW, OLD = "Slice-level-labels-updated-1.npy", "Slice-level-labels.npy"
COVID, SHIFTED, UNREAD, CAP, NORMAL = "P001", "P044", "P055", "cap025", "normal001"
LESION = (4, 5)
"""Slices of the fixture that show the lesion, from the head."""


def _number(case):
    return int(dcmread(case.images[0].paths[0], stop_before_pixels=True).InstanceNumber)


def _flags(root, change, name=NEW):
    flags = np.load(root / name)
    np.save(root / name, change(flags))


def _only(row, *columns):
    def change(flags):
        flags[row] = 0
        flags[row, list(columns)] = 1
        return flags

    return change


def _headers(folder, change):
    for path in sorted(folder.iterdir()):
        data = dcmread(path)
        change(data)
        data.save_as(path)


def test_slice_is_counted_from_the_head_and_not_by_file_names(scan_fixture):
    for key in (COVID, CAP):
        assert _number(scan_fixture(SOURCE, LAYOUT).cases[key]) - 1 in LESION


@pytest.mark.parametrize("key", [COVID, SHIFTED, CAP])
def test_picture_shows_the_lesion_that_the_array_marks(build_fixture, key):
    build = build_fixture(SOURCE, LAYOUT)
    inside, normal = (build.pixels(build.sample(entry))[30:70, 20:80] for entry in (key, NORMAL))
    assert (inside > 150).sum() > (normal > 150).sum() + 50


def test_row_of_the_arrays_is_that_of_the_index_and_not_its_number(edited_tree, scan_tree):
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, lambda r: _flags(r, _only(43, 7))))
    assert _number(scan.cases[SHIFTED]) == 8
    assert "[43, 7]" in scan.cases[SHIFTED].labels[0].evidence


def test_update_of_the_labels_is_preferred(edited_tree, scan_tree):
    def differ(root):
        _flags(root, _only(0, 6))
        _flags(root, _only(0, 2), OLD)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, differ))
    assert _number(scan.cases[COVID]) == 7


def test_middle_of_the_longest_run_is_shown(edited_tree, scan_tree):
    edit = _only(0, 0, 4, 5, 6, 9)
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, lambda r: _flags(r, edit)))
    assert _number(scan.cases[COVID]) == 6


def test_normal_scan_shows_the_level_of_a_marked_one(edited_tree, scan_tree):
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, lambda r: _flags(r, _only(0, 2))))
    assert _number(scan.cases[NORMAL]) == _number(scan.cases[COVID]) == 3


def test_scan_that_nobody_read_is_set_aside_and_no_negative(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert UNREAD not in scan.cases
    assert "not read slice by slice" in scan.skips[UNREAD]


def test_no_zero_of_an_array_is_an_absence(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases.values()
    assert {label.state for case in cases for label in case.labels} == {LabelState.PRESENT}


def test_mark_in_the_padding_sets_the_scan_aside(edited_tree, scan_tree):
    scan = scan_tree(
        SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, lambda r: _flags(r, _only(0, 5, 40)))
    )
    assert "get the whole scan" in scan.skips[COVID]


def test_part_of_a_scan_keeps_the_numbers_of_its_slices(edited_tree, scan_tree):
    def thin(root):
        folder = root / "COVID-19 subjects" / COVID
        for path in list(folder.iterdir()):
            if dcmread(path, stop_before_pixels=True).InstanceNumber in (2, 3, 5, 9):
                path.unlink()

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, thin))
    assert _number(scan.cases[COVID]) == 6


def _turned(data):
    data.InstanceNumber = 11 - data.InstanceNumber


def _wide(data):
    data.ImagePositionPatient[2] *= 1.5


def _bare(data):
    del data.ImagePositionPatient


def _coronal(data):
    data.ImageOrientationPatient = [1, 0, 0, 0, 0, -1]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_turned, "as the card assumes: the slice"),
        (_wide, "as the card assumes: the slice"),
        (_bare, "a file lacks InstanceNumber"),
        (_coronal, "not one axial series"),
    ],
)
def test_scan_whose_order_is_not_the_assumed_one_is_set_aside(edited_tree, scan_tree, change, says):
    root = edited_tree(SOURCE, LAYOUT, lambda r: _headers(r / "COVID-19 subjects" / COVID, change))
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert says in scan.skips[COVID]
    assert CAP in scan.cases


def test_slices_that_share_one_uid_are_told_apart(scan_fixture, build_fixture):
    assert len(scan_fixture(SOURCE, LAYOUT).cases["P002"].series) == 10
    assert build_fixture(SOURCE, LAYOUT).sample("P002")


def test_patient_whose_row_of_the_index_names_another_is_set_aside(
    edited_tree, scan_tree, replacing
):
    root = edited_tree(SOURCE, LAYOUT, replacing("Index.csv", "./P/,P002", "./P/,P053"))
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert scan.bad_rows("expected P002 here, since the arrays follow the rows") == {"P002"}
    assert COVID in scan.cases


def test_index_that_lost_a_row_moves_no_label(edited_tree, scan_tree):
    def lose(root):
        lines = (root / "Index.csv").read_text().splitlines()
        (root / "Index.csv").write_text("\n".join(lines[:3] + lines[4:]) + "\n")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, lose))
    assert scan.bad_rows("expected P044 here") == {SHIFTED}
    assert {COVID, "P002"} <= set(scan.cases)


def test_arrays_of_another_shape_or_with_other_values_are_refused(tmp_path):
    for array, says in ((np.zeros((3, 200)), "expected"), (np.full((3, 4), 2), "than 0 and 1")):
        np.save(tmp_path / "x.npy", array)
        with pytest.raises(TableError, match=says):
            read_flags(tmp_path / "x.npy", (3, 4))
    np.save(tmp_path / "x.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(TableError, match="no array of numbers"):
        read_flags(tmp_path / "x.npy", (1,))


def test_cause_of_an_infection_is_not_asked_of_a_slice(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    concepts = {option.concept for item in build.items for option in item.options}
    assert not concepts & {"COVID-19 pneumonia", "community-acquired pneumonia"}
    assert build.right_of(COVID, "Disease Diagnosis") == {"Pneumonia"}


def test_normal_group_is_free_of_infection_and_nothing_more(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.right_of(NORMAL, "Abnormality Diagnosis") == {"no signs of lung infection"}
    assert build.right_of(NORMAL, "Disease Diagnosis") == {"no lung infection"}


def test_patient_in_the_folder_of_another_group_is_no_case(edited_tree, scan_tree):
    def mix(root):
        shutil.move(root / "COVID-19 subjects" / COVID, root / "Normal subjects" / COVID)

    assert COVID not in scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, mix)).cases

"""Traps of the evidence card `vindr-cxr`."""

import csv
import shutil

import pydicom
import pytest

from medrcube.facts import LabelState
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "children-and-films-that-are-not-pa": "unverified and without a list; the view is not asked",
    "transfer-syntaxes-that-need-a-decoder": "a matter of the DICOM reader, tested with it",
    "style-goes-with-the-reader": "readers R8 to R10 made most abnormal reads; no mend exists",
    "kaggle-test-equals-physionet-test": "unverified; the Kaggle test part is left out (tested)",
    "global-labels-are-not-proven": "a property of the labels, noted as a quirk",
}
SOURCE = "vindr-cxr"
CARD = find_sources()[SOURCE].card
HEART, AIR, CLEAR, SPLIT, ALONE = range(5)
"""Training pictures of the fixture, in order."""

OPACITIES = {
    *("Lung Opacity", "Infiltration", "Consolidation", "ILD", "Pulmonary fibrosis"),
    "Nodule/Mass",
}


def _case(scan, number):
    return list(scan.cases.values())[number]


def _states(case):
    return {label.value: label.state for label in case.labels}


def _edit(name, change):
    """An edit that rewrites the rows of a table: ``change(rows, ids)``."""

    def edit(root):
        path = next(root.rglob(name))
        with path.open(newline="") as file:
            table = csv.DictReader(file)
            header, rows = table.fieldnames, list(table)
        change(rows, list(dict.fromkeys(row["image_id"] for row in rows)))
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, header)
            writer.writeheader()
            writer.writerows(rows)

    return edit


@pytest.mark.parametrize("layout", ["physionet", "kaggle"])
def test_what_one_reader_of_three_marks_is_unknown(scan_fixture, layout):
    states = _states(_case(scan_fixture(SOURCE, layout), ALONE))
    assert states["Nodule/Mass"] is states["Calcification"] is LabelState.UNKNOWN
    assert states["Cardiomegaly"] is LabelState.ABSENT


def test_what_two_readers_of_three_mark_is_present(scan_fixture):
    states = _states(_case(scan_fixture(SOURCE, "physionet"), SPLIT))
    assert states["Pleural effusion"] is states["COPD"] is LabelState.PRESENT


def test_disputed_finding_is_neither_key_nor_option(build_fixture, scan_fixture):
    key = _case(scan_fixture(SOURCE, "physionet"), HEART).key  # one reader saw a wide aorta
    for item in build_fixture(SOURCE, "physionet").items_of(key):
        assert "Aortic enlargement" not in {option.concept for option in item.options}


def test_no_finding_needs_all_three_readers(scan_fixture):
    scan = scan_fixture(SOURCE, "physionet")
    assert _states(_case(scan, CLEAR))["No finding"] is LabelState.PRESENT
    assert _states(_case(scan, ALONE))["No finding"] is LabelState.UNKNOWN


def test_two_votes_for_no_finding_are_not_enough(edited_tree, scan_tree):
    def doubt(rows, ids):
        row = next(row for row in rows if row["image_id"] == ids[CLEAR])
        row["No finding"] = "0"

    root = edited_tree(SOURCE, "physionet", _edit("image_labels_train.csv", doubt))
    states = _states(_case(scan_tree(SOURCE, "physionet", root), CLEAR))
    assert states["No finding"] is LabelState.UNKNOWN


@pytest.mark.parametrize(
    ("layout", "table"), [("physionet", "image_labels_train.csv"), ("kaggle", "train.csv")]
)
@pytest.mark.parametrize("count", [1, 2])
def test_film_without_the_rows_of_all_its_readers_is_set_aside_by_name(
    edited_tree, scan_tree, layout, table, count
):
    lost = []

    def lose(rows, ids):
        readers = sorted({row["rad_id"] for row in rows})[count:]
        rows[:] = [
            row for row in rows if row["image_id"] != ids[ALONE] or row["rad_id"] not in readers
        ]
        lost.append(ids[ALONE])

    scan = scan_tree(SOURCE, layout, edited_tree(SOURCE, layout, _edit(table, lose)))
    assert scan.bad_rows(f"{count} of 3 reading(s)") == set(lost)


def test_film_that_has_boxes_and_no_row_of_labels_is_set_aside(edited_tree, scan_tree):
    lost = []

    def lose(rows, ids):
        rows[:] = [row for row in rows if row["image_id"] != ids[0]]
        lost.append(ids[0])

    root = edited_tree(SOURCE, "physionet", _edit("image_labels_test.csv", lose))
    assert scan_tree(SOURCE, "physionet", root).bad_rows("0 of 1 reading(s)") == set(lost)


def test_test_part_is_one_consensus(scan_fixture):
    case = next(c for c in scan_fixture(SOURCE, "physionet").cases.values() if c.split == "test")
    states = _states(case)
    assert states["Clavicle fracture"] is LabelState.PRESENT
    assert states["Cardiomegaly"] is LabelState.ABSENT
    assert len(case.regions) == 1


def test_rest_class_of_diseases_has_two_spellings(scan_fixture):
    cases = scan_fixture(SOURCE, "physionet").cases.values()
    named = {case.split: set(_states(case)) for case in cases}
    assert "Other diseases" in named["train"]
    assert "Other disease" in named["test"]


def test_rest_classes_are_no_answers(build_fixture):
    build = build_fixture(SOURCE, "physionet")
    texts = {option.text.lower() for item in build.items for option in item.options}
    assert not [text for text in texts if "other" in text]


@pytest.mark.parametrize("folder", ["annotations", "train", "."])
def test_tables_may_lie_beside_the_pictures(edited_tree, scan_tree, scan_fixture, folder):
    def move(root):
        for path in list(root.glob("annotations/*.csv")):
            if folder != "annotations":
                shutil.move(path, root / folder / path.name)

    root = edited_tree(SOURCE, "physionet", move)
    expected = scan_fixture(SOURCE, "physionet").cases.keys()
    assert scan_tree(SOURCE, "physionet", root).cases.keys() == expected


def test_mark_that_is_neither_zero_nor_one_sets_its_case_aside(edited_tree, scan_tree):
    def spoil(rows, ids):
        del ids
        rows[0]["Edema"] = "0.5"

    root = edited_tree(SOURCE, "physionet", _edit("image_labels_train.csv", spoil))
    scan = scan_tree(SOURCE, "physionet", root)
    assert scan.bad_rows("expected one of '1', '0'")


@pytest.mark.parametrize(("film", "state"), [(HEART, LabelState.ABSENT), (AIR, LabelState.UNKNOWN)])
def test_rare_labels_that_kaggle_folds_are_absent_only_where_nobody_gave_the_fold(
    scan_fixture, film, state
):
    states = _states(_case(scan_fixture(SOURCE, "kaggle"), film))
    assert {states[name] for name in ("Rib fracture", "Edema", "Lung cavity")} == {state}


def test_diseases_that_kaggle_leaves_out_are_unknown(scan_fixture):
    states = _states(_case(scan_fixture(SOURCE, "kaggle"), HEART))
    assert {states[name] for name in ("COPD", "Tuberculosis")} == {LabelState.UNKNOWN}


def test_hidden_test_part_of_kaggle_makes_no_case(scan_fixture, build_fixture):
    scan = scan_fixture(SOURCE, "kaggle")
    assert {case.split for case in scan.cases.values()} == {"train"}
    assert "ignored-by-card" in build_fixture(SOURCE, "kaggle").codes().values()


def test_editions_are_told_apart_by_their_tables(fixture_tree):
    for layout in ("physionet", "kaggle"):
        assert inspect_copy(CARD, fixture_tree(SOURCE, layout)).layout == layout


def test_films_stored_inverted_look_like_the_others(build_fixture, scan_fixture):
    build, scan = build_fixture(SOURCE, "physionet"), scan_fixture(SOURCE, "physionet")
    for number, interpretation in ((HEART, "MONOCHROME2"), (AIR, "MONOCHROME1")):
        case = _case(scan, number)
        header = pydicom.dcmread(case.images[0].paths[0], stop_before_pixels=True)
        assert header.PhotometricInterpretation == interpretation
        pixels = build.pixels(build.sample(case.key))
        assert pixels[16, 16] > 200  # the marker
        assert pixels[-4, -4] < 20  # the air


def test_window_of_the_header_is_used(edited_tree, build_tree, scan_fixture):
    key = _case(scan_fixture(SOURCE, "physionet"), HEART).key

    def narrow(root):
        path = root / "train" / f"{key}.dicom"
        header = pydicom.dcmread(path)
        header.WindowCenter, header.WindowWidth = 1000, 400
        header.save_as(path)

    build = build_tree(SOURCE, edited_tree(SOURCE, "physionet", narrow))
    assert (build.pixels(build.sample(key)) == 255).mean() > 0.3


def test_boxes_of_readers_on_one_place_are_merged(scan_fixture):
    case = _case(scan_fixture(SOURCE, "physionet"), HEART)
    (region,) = case.regions
    assert region.evidence == "boxes of Cardiomegaly by R10, R8, R9"
    assert all(corner == int(corner) for corner in region.shape.xyxy)  # mean of n, n+1, n+2


def test_box_of_one_reader_elsewhere_leaves_the_finding_without_a_place(edited_tree, scan_tree):
    def move(rows, ids):
        row = next(row for row in rows if row["image_id"] == ids[HEART])
        row.update(x_min="1", y_min="1", x_max="12", y_max="12")

    root = edited_tree(SOURCE, "physionet", _edit("annotations_train.csv", move))
    case = _case(scan_tree(SOURCE, "physionet", root), HEART)
    assert case.regions == ()
    assert _states(case)["Cardiomegaly"] is LabelState.PRESENT


def test_two_boxes_of_one_reader_do_not_make_an_agreement(edited_tree, scan_tree):
    def same_reader(rows, ids):
        mine = [row for row in rows if row["image_id"] == ids[SPLIT]]
        boxes = [row for row in mine if row["x_min"]]
        boxes[1]["rad_id"] = boxes[0]["rad_id"]

    root = edited_tree(SOURCE, "physionet", _edit("annotations_train.csv", same_reader))
    assert _case(scan_tree(SOURCE, "physionet", root), SPLIT).regions == ()


def test_rest_class_gets_no_box(scan_fixture):
    for case in scan_fixture(SOURCE, "physionet").cases.values():
        assert "Other lesion" not in {region.value for region in case.regions}


def test_film_is_kept_without_a_box_that_lies_outside(edited_tree, build_tree, scan_fixture):
    key = _case(scan_fixture(SOURCE, "physionet"), HEART).key

    def shrink(root):
        path = root / "train" / f"{key}.dicom"
        header = pydicom.dcmread(path)
        pixels = header.pixel_array[::4, ::4].copy()
        header.Rows, header.Columns = pixels.shape
        header.PixelData = pixels.tobytes()
        header.save_as(path)

    build = build_tree(SOURCE, edited_tree(SOURCE, "physionet", shrink))
    assert build.codes()[key] == "box-outside"
    assert build.sample(key)
    assert build.tasks_of(key)
    assert "ROI Grounding" not in build.tasks_of(key)


def test_copy_as_png_fits_no_layout(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "train/000434271f63a053c4128a0ba6352c7f.png").touch()
    (tmp_path / "train.csv").touch()
    assert not inspect_copy(CARD, tmp_path).fits


@pytest.mark.parametrize("name", sorted(OPACITIES))
def test_opacity_leaves_open_whether_another_word_for_it_is_true(edited_tree, scan_tree, name):
    def only(rows, ids):
        for row in rows:
            if row["image_id"] == ids[HEART]:
                row.update(dict.fromkeys(set(row) - {"image_id", "rad_id"}, "0"), **{name: "1"})

    def no_boxes(rows, ids):
        rows[:] = [row for row in rows if row["image_id"] != ids[HEART]]

    def both(root):
        _edit("image_labels_train.csv", only)(root)
        _edit("annotations_train.csv", no_boxes)(root)

    root = edited_tree(SOURCE, "physionet", both)
    states = _states(_case(scan_tree(SOURCE, "physionet", root), HEART))
    assert {other for other in OPACITIES if states[other] is LabelState.UNKNOWN} == OPACITIES - {
        name
    }
    assert states[name] is LabelState.PRESENT
    assert states["Clavicle fracture"] is LabelState.ABSENT


def test_opacities_are_absent_where_readers_saw_none(scan_fixture):
    states = _states(_case(scan_fixture(SOURCE, "physionet"), HEART))
    assert {states[name] for name in OPACITIES} == {LabelState.ABSENT}


def test_view_is_not_asked_since_no_file_says_it(build_fixture):
    assert "View Recognition" not in {i.task for i in build_fixture(SOURCE, "physionet").items}


def test_each_picture_is_a_patient_of_its_own(scan_fixture):
    for key, case in scan_fixture(SOURCE, "physionet").cases.items():
        assert case.patient == key


def test_sex_that_is_no_sex_is_kept_nowhere(scan_fixture):
    assert {case.facts for case in scan_fixture(SOURCE, "physionet").cases.values()} == {()}


def test_pictures_may_not_be_passed_on(build_fixture):
    samples = build_fixture(SOURCE, "physionet").samples
    assert {sample.redistribute for sample in samples} == {False}

"""Traps of the evidence card `rsna-pneumonia`."""

import io
import json
import shutil

import numpy as np
import pytest
from PIL import Image
from pydicom import dcmread
from pydicom.encaps import encapsulate
from pydicom.uid import JPEGBaseline8Bit

from medrcube.errors import SourceError
from medrcube.facts import LabelState
from medrcube.sources._synthetic.chest_film import lung_lesion
from medrcube.sources._synthetic.images import bounds
from medrcube.sources.registry import find_sources

UNTESTED = {
    "lines-leads-and-letters-of-bedside-films": "no list of files; advice to reviewers",
    "readers-a-film": "the tables do not say who read what; noted as a quirk",
    "labels-of-nih-disagree": "they are not read here, so they cannot be mixed in",
    "pa-films-for-diagnosis": "advice for the choice of a batch",
}
SOURCE, LAYOUT = "rsna-pneumonia", "kaggle"
CARD = find_sources()[SOURCE].card
OTHER, NORMAL, OLD, TWO, ONE = (
    "0004cfab-14fd-4e49-80ba-63a80b6bddd6",
    "00313ee0-9eaa-42f4-b0ab-c148ed3241cd",
    "00322d4d-1c29-4943-afc9-b6754be640eb",
    "00436515-870c-4b36-a041-de91049b9ab4",
    "00704310-78a8-4b38-8475-49f4573b2dbb",
)
LABELS, MAPPING = "stage_2_train_labels.csv", "pneumonia-challenge-dataset-mappings_2018.json"
MARKS = "pneumonia-challenge-annotations-adjudicated-kaggle_2018.json"
FINDINGS, DISEASES = "Abnormality Diagnosis", "Disease Diagnosis"


def test_film_without_opacity_that_is_not_normal_is_never_called_normal(
    scan_fixture, build_fixture
):
    states = scan_fixture(SOURCE, LAYOUT).states(OTHER, "film")
    assert "Normal" not in states
    assert states["Lung Opacity"] is LabelState.ABSENT
    build = build_fixture(SOURCE, LAYOUT)
    assert build.tasks_of(OTHER).isdisjoint({FINDINGS, DISEASES})
    assert build.right_of(NORMAL, FINDINGS) == {"No Finding"}


def test_opacity_is_possible_and_not_proven_pneumonia(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.right_of(ONE, DISEASES) == {"possible pneumonia"}
    concepts = {option.concept for item in build.items for option in item.options}
    assert "Pneumonia" not in concepts


def test_rows_for_each_box_are_one_film_and_do_not_multiply(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert len(scan.entries) == 5
    assert [len(scan.cases[key].regions) for key in (OTHER, TWO, ONE)] == [0, 2, 1]


def test_box_of_corner_and_size_lies_on_the_opacity(scan_fixture):
    (region,) = scan_fixture(SOURCE, LAYOUT).cases[ONE].regions
    assert region.shape.xyxy == bounds(lung_lesion(1024, 1024, seed=4))


def test_film_with_two_boxes_is_not_asked_for_the_one_place(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert "ROI Grounding" in build.tasks_of(ONE)
    assert "ROI Grounding" not in build.tasks_of(TWO)


def _resize(size):
    def edit(root):
        for path in root.glob("**/*.[jp][pn]g"):
            with Image.open(path) as film:
                film.resize(size).save(path)

    return edit


def test_film_of_a_copy_of_224_pixels_keeps_its_box_and_its_labels(edited_tree, build_tree):
    build = build_tree(SOURCE, edited_tree(SOURCE, "jpg", _resize((224, 224))))
    assert build.codes().get(ONE) in {None, "no-grounding"}
    assert "Disease Diagnosis" in build.tasks_of(ONE)


def test_box_of_a_copy_of_512_pixels_lies_on_the_same_part(edited_tree, build_tree):
    build = build_tree(SOURCE, edited_tree(SOURCE, "jpg", _resize((512, 512))))
    expected = [side * 512 / 1024 for side in bounds(lung_lesion(1024, 1024, seed=4))]
    (recipe,) = build.recipes(ONE, "boxes")
    assert recipe["boxes_drawn_in"] == [[1024, 1024]]
    left, top, *_ = recipe["mark"].get("window", (0, 0))
    x0, y0, x1, y1 = recipe["mark"]["boxes"][int(build.sample(ONE, "boxes").truth) - 1]
    assert [x0 + left, y0 + top, x1 + left, y1 + top] == pytest.approx(expected, abs=12)


def test_film_of_a_stretched_copy_is_kept_without_its_boxes(edited_tree, build_tree):
    build = build_tree(SOURCE, edited_tree(SOURCE, "jpg", _resize((512, 400))))
    assert build.codes()[ONE] == "box-frame"
    assert build.sample(ONE)
    assert "Disease Diagnosis" in build.tasks_of(ONE)
    assert "ROI Grounding" not in build.tasks_of(ONE)


@pytest.mark.parametrize(
    ("target", "says"), [("0", "Target=0 but"), ("", "Target=: expected one of")]
)
def test_film_whose_target_differs_from_its_class_is_set_aside(
    edited_tree, scan_tree, target, says
):
    def edit(root):
        lines = (root / LABELS).read_text().splitlines()
        lines = [line[:-1] + target if line.startswith(ONE) else line for line in lines]
        (root / LABELS).write_text("\n".join(lines))

    assert scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit)).bad_rows(says) == {ONE}


def test_film_whose_rows_name_two_classes_is_set_aside(edited_tree, scan_tree):
    def edit(root):
        rows = f"patientId,class\n{TWO},Lung Opacity\n{TWO},Normal\n"
        (root / "stage_2_detailed_class_info.csv.zip").unlink()
        (root / "stage_2_detailed_class_info.csv").write_text(rows)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.bad_rows("another row says 'Lung Opacity'") == {TWO}


def test_table_that_is_still_packed_is_read(fixture_tree, scan_fixture):
    assert (fixture_tree(SOURCE, LAYOUT) / "stage_2_detailed_class_info.csv.zip").exists()
    assert len(scan_fixture(SOURCE, LAYOUT).cases) == 5


def test_patient_is_that_of_the_nih_name_and_not_the_image_id(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert [cases[key].patient for key in (OTHER, NORMAL, OLD)] == [
        "13427685",
        "13427685",
        "13427686",
    ]


def test_without_the_mapping_nobody_knows_whose_film_it_is(edited_tree, scan_tree):
    root = edited_tree(SOURCE, LAYOUT, lambda root: (root / MAPPING).unlink())
    assert {case.patient for case in scan_tree(SOURCE, LAYOUT, root).cases.values()} == {None}


def test_mapping_with_another_key_is_named_and_tells_no_patient(edited_tree, scan_tree, replacing):
    root = edited_tree(SOURCE, LAYOUT, replacing(MAPPING, "img_id", "nih_name"))
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert "assumes (unverified)" in scan.skips[MAPPING.rpartition("/")[2]]
    assert {case.patient for case in scan.cases.values()} == {None}


def test_entry_of_the_mapping_without_an_nih_name_sets_its_film_aside(
    edited_tree, scan_tree, scan_fixture
):
    def edit(root):
        entries = json.loads((root / MAPPING).read_text())
        next(entry for entry in entries if entry["subset_img_id"] == OLD)["img_id"] = "CANARY"
        (root / MAPPING).write_text(json.dumps(entries))

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.bad_rows("names no NIH file") == {OLD}
    assert scan.cases.keys() == scan_fixture(SOURCE, LAYOUT).cases.keys() - {OLD}
    assert "CANARY" not in scan.skips[OLD]


@pytest.mark.parametrize(("age", "expected"), [("051Y", "51"), ("100", "100"), ("101", None)])
def test_age_above_100_is_unknown(edited_tree, scan_tree, age, expected):
    def edit(root):
        path = root / f"stage_2_train_images/{NORMAL}.dcm"
        data = dcmread(path)
        data.PatientAge = age.rjust(3, "0") + "Y" * ("Y" not in age)
        data.save_as(path)

    facts = dict(scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit)).cases[NORMAL].facts)
    assert facts.get("age") == expected


def test_age_of_155_without_a_unit_is_unknown(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert cases[OLD].facts == (("sex", "F"),)
    assert dict(cases[NORMAL].facts)["age"] == "48"


def test_spacing_of_the_film_before_it_was_resized_does_not_stretch_it(edited_tree, build_tree):
    def edit(root):
        path = root / f"stage_2_train_images/{NORMAL}.dcm"
        data = dcmread(path)
        data.PixelSpacing = [0.2, 0.1]
        data.save_as(path)

    sample = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).sample(NORMAL)
    assert sample.width == sample.height


def test_lossy_jpeg_inside_dicom_is_read(edited_tree, build_tree, build_fixture):
    def compress(root):
        path = root / f"stage_2_train_images/{NORMAL}.dcm"
        data = dcmread(path)
        stream = io.BytesIO()
        Image.fromarray(data.pixel_array).save(stream, "jpeg", quality=95)
        data.PixelData = encapsulate([stream.getvalue()])
        data["PixelData"].is_undefined_length = True
        data.file_meta.TransferSyntaxUID = JPEGBaseline8Bit
        data.save_as(path)

    lossy = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, compress))
    plain = build_fixture(SOURCE, LAYOUT)
    first, second = (build.pixels(build.sample(NORMAL)).astype(int) for build in (lossy, plain))
    assert 0 < np.abs(first - second).max() < 40


def test_film_is_shown_without_a_window(build_fixture, scan_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    path = scan_fixture(SOURCE, LAYOUT).cases[NORMAL].images[0].paths[0]
    assert np.array_equal(build.pixels(build.sample(NORMAL)), dcmread(path).pixel_array)


def test_films_of_stage_1_without_its_classes_have_boxes_alone(edited_tree, scan_tree):
    def rename(root):
        (root / "stage_2_train_images").rename(root / "stage_1_train_images")
        (root / LABELS).rename(root / LABELS.replace("stage_2", "stage_1"))

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, rename))
    stated = {label.value for case in scan.cases.values() for label in case.labels}
    assert "Lung Opacity" in stated
    assert stated.isdisjoint({"Normal", "No Lung Opacity / Not Normal"})


@pytest.mark.parametrize("folder", ["stage_2_test_images", "stage_1_train_images"])
def test_films_without_labels_of_this_stage_are_ignored_by_name(edited_tree, survey, folder):
    def add(root):
        (root / folder).mkdir()
        shutil.copy(root / f"stage_2_train_images/{ONE}.dcm", root / folder / "other.dcm")

    contents = survey(SOURCE, edited_tree(SOURCE, LAYOUT, add))
    assert {(p.case, p.code) for p in contents.problems} == {
        (f"{folder}/other.dcm", "ignored-by-card")
    }


def test_first_export_knows_labels_of_films_and_of_studies(scan_fixture):
    cases = scan_fixture(SOURCE, "mdai").cases
    states = [scan_fixture(SOURCE, "mdai").states(key, "film") for key in cases]
    assert states.count({"Lung Opacity": LabelState.PRESENT}) == 2
    assert states.count({"Normal": LabelState.PRESENT}) == 2
    assert sorted(len(case.regions) for case in cases.values()) == [0, 0, 1, 2]


def test_film_that_the_first_export_excludes_is_set_aside(scan_fixture):
    (reason,) = scan_fixture(SOURCE, "mdai").skips.values()
    assert "'Exclude'" in reason


def test_first_export_of_another_form_stops_the_source(edited_tree, scan_tree):
    def edit(root):
        data = json.loads((root / MARKS).read_text())
        data["labels"] = data.pop("labelGroups")
        (root / MARKS).write_text(json.dumps(data))

    with pytest.raises(SourceError, match="unverified"):
        scan_tree(SOURCE, "mdai", edited_tree(SOURCE, "mdai", edit))


def test_sources_with_the_same_films_are_named():
    assert {overlap.source for overlap in CARD.overlaps} == {
        "nih-chestxray14",
        "covid19-radiography",
        "siim-acr-pneumothorax",
    }
    assert not CARD.access.redistribute

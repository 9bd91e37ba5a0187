"""Traps of the evidence card `nih-chestxray14`."""

import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.build import readers
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import Absence, Grade, LabelState
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "treated-pneumothorax-with-a-drain": "no field says so; noted with the label noise",
    "films-turned-or-of-children": "no list of files; a blank film is refused (tested)",
    "side-letters-burnt-in": "no list of files; noted as a quirk",
    "names-shared-with-chestx-det": "that set has no map to these names",
    "expert-relabels": "separate downloads with other keys, which the adapter does not read",
}
SOURCE = "nih-chestxray14"
LAYOUTS = ("official", "kaggle", "sample")
CARD = find_sources()[SOURCE].card
BOXED = "00000005_000"


def _table(root):
    return next(root.rglob("*Entry*.csv"), None) or next(root.rglob("sample_labels.csv"))


def _replace(old, new):
    def edit(root):
        path = _table(root)
        path.write_text(path.read_text().replace(old, new))

    return edit


def _findings(case):
    return {label.value for label in case.labels if label.field == "finding"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_commas_in_the_brackets_of_the_header_shift_no_column(scan_fixture, layout):
    case = scan_fixture(SOURCE, layout).cases["00000001_001"]
    assert _findings(case) == {"Cardiomegaly", "Emphysema"}
    assert case.labels[0].value == "PA"


def test_sex_or_gender_may_head_the_column(edited_tree, scan_tree, scan_fixture):
    root = edited_tree(SOURCE, "official", _replace("Patient Sex", "Patient Gender"))
    cases = scan_tree(SOURCE, "official", root).cases
    assert {key: case.labels for key, case in cases.items()} == {
        key: case.labels for key, case in scan_fixture(SOURCE, "official").cases.items()
    }


def test_header_without_the_trailing_comma_is_read(edited_tree, scan_tree):
    root = edited_tree(SOURCE, "official", _replace("[x,y],\n", "[x,y]\n"))
    assert len(scan_tree(SOURCE, "official", root).cases) == 9


def test_newer_of_two_label_tables_wins(edited_tree, scan_tree):
    def older(root):
        text = _table(root).read_text().replace("Hernia", "Mass")
        (root / "Data_Entry_2017.csv").write_text(text)

    cases = scan_tree(SOURCE, "official", edited_tree(SOURCE, "official", older)).cases
    assert _findings(cases["00000003_001"]) == {"Hernia"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_patient_number_is_padded_as_in_the_file_name(scan_fixture, layout):
    for key, case in scan_fixture(SOURCE, layout).cases.items():
        assert case.patient == key[:8]


def test_follow_up_number_is_no_part_of_the_name(scan_fixture):
    assert "00030805_003" in scan_fixture(SOURCE, "official").cases  # its row says 0


def test_pictures_lie_in_one_folder_or_in_twelve(scan_fixture):
    for layout, folder in (("official", "images"), ("kaggle", "images_012/images")):
        path = scan_fixture(SOURCE, layout).cases["00030805_003"].images[0].paths[0]
        assert path.exists()
        assert path.parent.as_posix().endswith(folder)


def test_copy_of_small_pictures_in_a_folder_of_that_size_is_taken(tmp_path, fixture_tree):
    (tmp_path / "images-224").mkdir()
    shutil.copy(
        next(fixture_tree(SOURCE, "official").glob("images/*.png")), tmp_path / "images-224"
    )
    shutil.copy(_table(fixture_tree(SOURCE, "official")), tmp_path)
    assert inspect_copy(CARD, tmp_path).layout == "official"


def test_file_with_four_channels_is_grey(build_fixture, fixture_tree):
    path = fixture_tree(SOURCE, "official") / "images/00000002_000.png"
    with Image.open(path) as picture:
        assert picture.mode == "RGBA"
    build = build_fixture(SOURCE, "official")
    assert build.pixels(build.sample("00000002_000")).ndim == 2


def test_box_is_a_corner_with_width_and_height(scan_fixture):
    (region,) = scan_fixture(SOURCE, "official").cases[BOXED].regions
    assert region.shape.xyxy == pytest.approx((225.084745762712, 347.5, 411.584745762712, 497.5))


def test_box_lies_in_the_frame_of_the_release_and_not_of_the_original(scan_fixture):
    case = scan_fixture(SOURCE, "official").cases[BOXED]
    marked = rasterise(case.regions[0].shape, readers.read(case.images[0]))[0]
    rows, columns = np.nonzero(marked)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (347, 497, 225, 411)


def _resize(size):
    def edit(root):
        path = root / "images" / f"{BOXED}.png"
        with Image.open(path) as picture:
            picture.resize(size).save(path)

    return edit


def test_box_of_images_224_is_scaled(edited_tree, build_tree):
    build = build_tree(SOURCE, edited_tree(SOURCE, "official", _resize((224, 224))))
    assert build.codes().get(BOXED) not in {"box-frame", "box-outside"}
    (recipe,) = build.recipes(BOXED, "boxes")
    left, top, *_ = recipe["mark"].get("window", (0, 0))
    x0, y0, x1, y1 = recipe["mark"]["boxes"][int(build.sample(BOXED, "boxes").truth) - 1]
    expected = [side * 224 / 1024 for side in (225.08, 347.5, 411.58, 497.5)]
    assert [x0 + left, y0 + top, x1 + left, y1 + top] == pytest.approx(expected, abs=6)
    assert recipe["boxes_drawn_in"] == [[1024, 1024]]
    assert recipe["spacing_mm"] == [None]


def test_film_of_a_stretched_copy_is_kept_without_its_box(edited_tree, build_tree):
    build = build_tree(SOURCE, edited_tree(SOURCE, "official", _resize((512, 400))))
    assert build.codes()[BOXED] == "box-frame"
    assert build.sample(BOXED)
    assert "Abnormality Diagnosis" in build.tasks_of(BOXED)
    assert not build.recipes(BOXED, "boxes")


def test_infiltrate_of_the_boxes_is_the_infiltration_of_the_labels(build_fixture):
    build = build_fixture(SOURCE, "official")
    assert build.sample(BOXED, "boxes").marked == "Infiltration"
    concepts = {item.concept for item in build.items_of(BOXED, "Abnormality Diagnosis")}
    assert concepts == {"Infiltration", "Pneumonia"}


def test_no_finding_states_nothing_and_denies_nothing(build_fixture, scan_fixture):
    case = scan_fixture(SOURCE, "official").cases["00000002_000"]
    assert not [label for label in case.labels if label.state is LabelState.ABSENT]
    tasks = {item.task for item in build_fixture(SOURCE, "official").items_of(case.key)}
    assert tasks == {"Modality Recognition", "View Recognition"}


def test_label_that_is_not_mined_is_weakest_evidence_of_absence(scan_fixture):
    assert CARD.fields["finding"].absence is Absence.SILENT
    case = scan_fixture(SOURCE, "official").cases["00000003_001"]
    ground = facts_of_case(CARD, case, load_terms())
    findings = [mark for mark in ground.absent.values() if mark.field == "finding"]
    assert {mark.grade for mark in findings} == {Grade.C}


@pytest.mark.parametrize(
    "kin",
    [{"Infiltration", "Consolidation", "Pneumonia", "Atelectasis"}, {"Nodule", "Mass"}],
    ids=["opacities", "nodule-and-mass"],
)
def test_findings_that_mean_nearly_the_same_are_not_set_against_each_other(rivals, kin):
    for name in kin:
        others = rivals(SOURCE, "finding", name)
        assert others.isdisjoint(kin)
        assert "Cardiomegaly" in others


def test_diseases_mined_from_reports_are_not_asked_as_diseases(build_fixture):
    assert "Disease Diagnosis" not in {
        item.task for item in build_fixture(SOURCE, "official").items
    }


@pytest.mark.parametrize("age", ["058Y", "412"])
def test_impossible_age_is_kept_nowhere(edited_tree, scan_tree, age):
    root = edited_tree(SOURCE, "official", _replace(",57,", f",{age},"))
    assert scan_tree(SOURCE, "official", root).cases["00000001_000"].facts == ()


def test_split_is_that_of_the_lists(scan_fixture):
    cases = scan_fixture(SOURCE, "official").cases
    assert (cases["00000001_000"].split, cases["00030805_003"].split) == ("train_val", "test")


def test_lines_with_carriage_returns_leave_no_trace(scan_fixture, fixture_tree):
    assert b"\r\n" in _table(fixture_tree(SOURCE, "sample")).read_bytes()
    values = {
        label.value
        for case in scan_fixture(SOURCE, "sample").cases.values()
        for label in case.labels
    }
    assert not [value for value in values if value != value.strip()]


def test_unknown_label_sets_its_case_aside(edited_tree, scan_tree):
    root = edited_tree(SOURCE, "official", _replace("Hernia", "Fracture"))
    scan = scan_tree(SOURCE, "official", root)
    assert scan.bad_rows("value '(like Xxxxxxxx)'")


def test_blank_film_is_refused(edited_tree, build_tree):
    def blank(root):
        path = root / "images/00000003_001.png"
        Image.fromarray(np.zeros((256, 256), np.uint8)).save(path)

    build = build_tree(SOURCE, edited_tree(SOURCE, "official", blank))
    assert build.codes()["00000003_001"] == "blank"


def test_sets_made_from_these_films_are_named():
    assert {overlap.source for overlap in CARD.overlaps} == {
        "rsna-pneumonia",
        "siim-acr-pneumothorax",
        "covid19-radiography",
    }

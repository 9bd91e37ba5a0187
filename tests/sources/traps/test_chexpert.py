"""Traps of the evidence card `chexpert`."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.build import readers
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import LabelState
from medrcube.sources._synthetic.chest_film import lung_lesion
from medrcube.sources.registry import find_sources

UNTESTED = {
    "burnt-in-markers-and-redaction-boxes": "unverified, no list of files; advice to reviewers",
    "one-image-a-patient": "advice for the choice of a batch; patients are kept together",
}
SOURCE, LAYOUT = "chexpert", "localize"
CARD = find_sources()[SOURCE].card
TABLE = "CheXpert/val_labels.csv"
# Position of a label in the tables.
NAMES = (
    *("No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity", "Lung Lesion"),
    *("Edema", "Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion"),
    *("Pleural Other", "Fracture", "Support Devices"),
)
FRONTAL = "valid/patient64542/study1/view1_frontal"
LATERAL = "valid/patient64542/study1/view2_lateral"
FINDINGS, DISEASES = "Abnormality Diagnosis", "Disease Diagnosis"


NORMAL = {"No_Finding": "1.0"}


def _row(film="view", **states):
    """An edit: the films of patient 64542 have these labels, all others are uncertain."""
    cells = [states.get(name.replace(" ", "_"), "-1.0") for name in NAMES]

    def edit(root):
        lines = (root / TABLE).read_text().splitlines()
        for place, line in enumerate(lines):
            if f"64542/study1/{film}" in line:
                lines[place] = ",".join((line.partition(",")[0], *cells))
        (root / TABLE).write_text("\n".join(lines) + "\n")

    return edit


def test_label_of_a_study_is_not_asked_of_its_lateral_film(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert FINDINGS in build.tasks_of(FRONTAL)
    assert build.tasks_of(LATERAL) == {"Modality Recognition", "View Recognition"}


@pytest.mark.parametrize(
    ("child", "parent"),
    [
        ("Cardiomegaly", "Enlarged Cardiomediastinum"),
        ("Edema", "Lung Opacity"),
        ("Consolidation", "Lung Opacity"),
        ("Lung Lesion", "Lung Opacity"),
        ("Atelectasis", "Lung Opacity"),
    ],
)
def test_parent_that_the_table_denies_is_no_wrong_option_of_its_child(
    edited_tree, build_tree, child, parent
):
    states = {child.replace(" ", "_"): "1.0", parent.replace(" ", "_"): "0.0", "Fracture": "0.0"}
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _row(**states)))
    assert build.right_of(FRONTAL, FINDINGS) == {child}
    assert build.wrong_of(FRONTAL, FINDINGS) == {"Fracture"}


def test_films_of_one_study_with_two_rows_leave_open_what_differs(edited_tree, build_tree):
    normal = _row(**dict.fromkeys((name.replace(" ", "_") for name in NAMES), "0.0") | NORMAL)
    other = {"No_Finding": "0.0", "Consolidation": "1.0", "Lung_Opacity": "1.0"}
    lateral = _row("view2", **dict.fromkeys((n.replace(" ", "_") for n in NAMES), "0.0") | other)

    def both(root):
        normal(root)
        lateral(root)

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, both))
    assert {FRONTAL, LATERAL} <= build.codes().keys()
    assert build.codes()[FRONTAL] == "images-disagree"
    assert {FINDINGS, DISEASES}.isdisjoint(build.tasks_of(FRONTAL))


def test_opacity_that_the_table_denies_is_no_wrong_option_beside_pneumonia(edited_tree, build_tree):
    edit = _row(Pneumonia="1.0", Pneumothorax="1.0", Lung_Opacity="0.0", Fracture="0.0")
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit))
    assert build.right_of(FRONTAL, FINDINGS) == {"Pneumothorax"}
    assert build.wrong_of(FRONTAL, FINDINGS) <= {"Fracture"}


def test_no_finding_is_no_wrong_option_beside_support_devices(edited_tree, build_tree):
    others = {name.replace(" ", "_"): "0.0" for name in NAMES}
    edit = _row(**others | {"No_Finding": "1.0", "Support_Devices": "1.0"})
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit))
    assert build.right_of(FRONTAL, FINDINGS) <= {"No Finding", "Support Devices"}
    assert build.wrong_of(FRONTAL).isdisjoint({"No Finding", "Support Devices"})


def test_uncertain_is_unknown_zero_is_absent_and_blank_says_nothing(scan_fixture):
    scan = scan_fixture(SOURCE, "full")
    states = scan.states("train/patient00002/study1/view1_frontal", "finding")
    assert states["Cardiomegaly"] is LabelState.ABSENT
    assert "Lung Lesion" not in states
    other = scan.states("train/patient43018/study2/view1_frontal", "finding")
    assert other["Atelectasis"] is LabelState.UNKNOWN


def test_labels_mined_from_reports_are_not_asked(build_fixture):
    build = build_fixture(SOURCE, "full")
    tasks = build.tasks_of("train/patient00002/study1/view1_frontal")
    assert tasks == {"Modality Recognition", "View Recognition"}
    assert FINDINGS in build.tasks_of("valid/patient64543/study1/view1_frontal")


@pytest.mark.parametrize("view", ["LL", "RL"])
def test_lateral_projection_that_the_table_calls_frontal_is_set_aside(
    edited_tree, scan_tree, replacing, view
):
    edit = replacing("CheXpert-v1.0/train.csv", "Frontal,LL", f"Frontal,{view}")
    scan = scan_tree(SOURCE, "full", edited_tree(SOURCE, "full", edit))
    assert "lateral projection" in scan.skips["train/patient33093/study1/view1_frontal"]


def test_unknown_sex_and_age_zero_are_missing_and_the_other_one_stays(
    edited_tree, scan_tree, replacing
):
    table = "CheXpert-v1.0/train.csv"

    def edit(root):
        replacing(table, "Unknown,0,Frontal,LL", "Unknown,61,Frontal,AP")(root)
        replacing(table, "Female,68", "Female,0")(root)

    cases = scan_tree(SOURCE, "full", edited_tree(SOURCE, "full", edit)).cases
    assert cases["train/patient33093/study1/view1_frontal"].facts == (("age", "61"),)
    assert cases["train/patient00001/study1/view1_frontal"].facts == (("sex", "Female"),)


@pytest.mark.parametrize("layout", ["small", "full", "batches"])
def test_paths_of_the_tables_are_found_in_every_shape_of_the_release(scan_fixture, layout):
    cases = scan_fixture(SOURCE, layout).cases
    assert len(cases) == 8
    assert all(case.images[0].paths[0].exists() for case in cases.values())


def test_paths_of_the_test_table_are_relative_to_its_own_folder(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases["test/patient64741/study1/view1_frontal"]
    assert case.images[0].paths[0].exists()
    assert case.split == "test"


def test_row_whose_path_has_another_form_is_set_aside(edited_tree, scan_tree, replacing):
    root = edited_tree(SOURCE, LAYOUT, replacing(TABLE, "view1_frontal.jpg", "frontal.png"))
    assert scan_tree(SOURCE, LAYOUT, root).bad_rows("expected patientNNNNN")


def test_films_of_one_patient_stay_together(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert cases[FRONTAL].patient == cases[LATERAL].patient == "patient64542"


def test_tables_of_other_labelers_change_nothing(edited_tree, scan_tree, scan_fixture):
    def add(root):
        for name in ("train_cheXbert.csv", "train_visualCheXbert.csv"):
            shutil.copy(root / "CheXpert-v1.0/train.csv", root / "CheXpert-v1.0" / name)

    scan = scan_tree(SOURCE, "full", edited_tree(SOURCE, "full", add))
    assert list(scan.cases) == list(scan_fixture(SOURCE, "full").cases)


def test_mask_runs_down_the_columns(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases["test/patient64741/study1/view1_frontal"]
    region = next(region for region in case.regions if region.value == "Consolidation")
    marked = rasterise(region.shape, readers.read(case.images[0]))[0]
    assert (marked == lung_lesion(150, 170, seed=64741)).all()


def test_airspace_opacity_of_the_masks_is_lung_opacity(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases["test/patient64741/study1/view1_frontal"]
    assert {region.value for region in case.regions} == {"Lung Opacity", "Consolidation"}
    assert any(region.evidence.endswith("Airspace Opacity") for region in case.regions)


@pytest.mark.parametrize("name", ["Lung Opacity", "Airspace Opacity"])
def test_both_names_of_lung_opacity_are_accepted_in_a_table(
    edited_tree, scan_tree, replacing, name
):
    root = edited_tree(SOURCE, LAYOUT, replacing(TABLE, "Lung Opacity", name))
    scan = scan_tree(SOURCE, LAYOUT, root)
    states = scan.states("valid/patient64543/study1/view1_frontal", "finding")
    assert states["Lung Opacity"] is LabelState.PRESENT


def test_mask_of_zeros_is_an_absent_finding_and_no_region(scan_fixture, fixture_tree):
    path = fixture_tree(SOURCE, LAYOUT) / "CheXlocalize/gt_segmentations_test.json"
    assert len(json.loads(path.read_text())["patient64741_study1_view1_frontal"]) == 10
    case = scan_fixture(SOURCE, LAYOUT).cases["test/patient64741/study1/view1_frontal"]
    assert len(case.regions) == 2


def test_mask_in_two_pieces_is_not_asked_for_one_place(build_fixture, scan_fixture):
    key = "test/patient64742/study1/view1_frontal"
    pieces = [region.value for region in scan_fixture(SOURCE, LAYOUT).cases[key].regions]
    assert pieces.count("Pleural Effusion") > 1
    build = build_fixture(SOURCE, LAYOUT)
    assert "Pleural Effusion" not in build.right_of(key, "ROI Grounding")
    assert {sample.marked for sample in build.samples if sample.case == key}.isdisjoint(
        {"Pleural Effusion"}
    )


def test_thin_lines_of_support_devices_are_not_grounded(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    key = "test/patient64742/study1/view1_frontal"
    assert scan.states(key, "finding")["Support Devices"] is LabelState.PRESENT
    assert "Support Devices" not in {region.value for region in scan.cases[key].regions}


def test_mask_of_another_size_than_its_film_is_refused(edited_tree, build_tree):
    path = "CheXpert/test/patient64741/study1/view1_frontal.jpg"

    def shrink(root):
        with Image.open(root / path) as film:
            film.resize((85, 75)).save(root / path)

    codes = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, shrink)).codes()
    assert codes["test/patient64741/study1/view1_frontal"] == "mask-size"


def test_film_with_a_damaged_mask_is_set_aside(edited_tree, scan_tree):
    def damage(root):
        path = root / "CheXlocalize/gt_segmentations_val.json"
        masks = json.loads(path.read_text())
        masks["patient64541_study1_view1_frontal"]["Edema"]["counts"] = "0"
        path.write_text(json.dumps(masks))

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, damage))
    says = "Edema is not a mask of COCO"
    assert scan.bad_rows(says) == {"valid/patient64541/study1/view1_frontal"}


def test_a_copy_without_masks_marks_nothing(edited_tree, scan_tree, scan_fixture):
    root = edited_tree(SOURCE, LAYOUT, lambda root: shutil.rmtree(root / "CheXlocalize"))
    cases = scan_tree(SOURCE, LAYOUT, root).cases
    assert cases.keys() == scan_fixture(SOURCE, LAYOUT).cases.keys()
    assert not any(case.regions for case in cases.values())


def test_film_is_shown_as_it_is_stored(build_fixture, fixture_tree):
    build = build_fixture(SOURCE, LAYOUT)
    with Image.open(fixture_tree(SOURCE, LAYOUT) / f"CheXpert/val/{FRONTAL[6:]}.jpg") as film:
        assert np.array_equal(build.pixels(build.sample(FRONTAL)), np.asarray(film))


def test_nothing_may_be_passed_on():
    assert not CARD.access.redistribute

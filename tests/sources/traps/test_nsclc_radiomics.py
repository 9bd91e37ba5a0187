"""Traps of the evidence card `nsclc-radiomics`."""

import re
import shutil

import numpy as np
import pydicom
import pytest

from medrcube.build import readers
from medrcube.build.pixels.case_image import open_case_images
from medrcube.build.pixels.volume import stack_slices
from medrcube.build.regions.rasterize import rasterise
from medrcube.build.stages.plan import plan_jobs
from medrcube.errors import ReadError
from medrcube.facts import Absence
from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.chest_ct import chest, organ, tumour
from medrcube.sources._synthetic.dicom import (
    Series,
    write_segmentation,
    write_series,
    write_structures,
)
from medrcube.sources._synthetic.images import CANARY, bounds
from medrcube.sources.registry import find_sources

UNTESTED = {
    "couch-and-masks-of-radiotherapy": "a bias of the collection, noted as a quirk",
    "lung-masks-may-exclude-the-tumour": "a property of the real drawings, true as drawn",
    "sides-of-the-lung-masks": "no field states a side, so none is asked (tested)",
    "counts-of-the-clinical-table": "unverified; the table gives facts and no labels (tested)",
    "names-of-regions-beyond-gtv-1": "unverified; unknown names are passed over (tested)",
    "licence-line-of-today": "unverified, needs the page; the stricter one is on the card (tested)",
}
SOURCE = "nsclc-radiomics"
CARD = find_sources()[SOURCE].card
BASE = "manifest-1603198545583/NSCLC-Radiomics"
STUDY = "01-01-2014-StudyID-NA-85095"
SEG, CT = "300.000000-Segmentation-5.421", "1.000000-NA-61228"
LEFT_OUT = (128, 412, 14, 21, 85, 95, 194, 62, 180, 252, 353)
SLICES = (1, 61, 63, 127, 129, 179, 181, 251, 253, 352, 354)


def _study(root, patient="LUNG1-001"):
    return root / BASE / patient / STUDY


def _series(patient="LUNG1-001", number=1):
    volume = chest(seed=number, tumour=tumour(seed=number))
    return Series(name=f"{patient} CT", patient=patient, volume=volume)


def _segment(masks):
    """An edit that puts other segments in place of those of the first patient."""

    def edit(root):
        write_segmentation(_study(root) / SEG / "1-1.dcm", _series(), masks)

    return edit


def _values(scan, key):
    return [region.value for region in scan.cases[key].regions]


def _marked(case, value):
    region = next(region for region in case.regions if region.value == value)
    return stack_slices(rasterise(region.shape, readers.read(case.images[0])))


@pytest.mark.parametrize("number", LEFT_OUT)
def test_patient_that_public_readers_leave_out_is_dropped(number):
    assert quirk_of(CARD, f"LUNG1-{number:03}-tumor", "drop")


@pytest.mark.parametrize("number", SLICES)
def test_neighbour_of_such_a_patient_is_kept(number):
    """Two lists of indexes count from 0, so the names are one higher."""
    assert quirk_of(CARD, f"LUNG1-{number:03}-tumor", "drop") is None


def test_number_of_a_series_folder_tells_nothing(edited_tree, scan_tree, scan_fixture):
    def swap(root):
        (_study(root) / SEG).rename(_study(root) / "x")
        (_study(root) / CT).rename(_study(root) / SEG)
        (_study(root) / "x").rename(_study(root) / CT)

    scan = scan_tree(SOURCE, "descriptive", edited_tree(SOURCE, "descriptive", swap))
    assert list(scan.cases) == list(scan_fixture(SOURCE, "descriptive").cases)


def test_drawing_chooses_the_ct_even_if_another_has_more_files(edited_tree, scan_tree):
    def add(root):
        volume = np.concatenate([chest(seed=3)] * 2)
        other = Series(name="other", patient="LUNG1-001", volume=volume)
        write_series(_study(root) / "0.000000-NA-82046", other)

    scan = scan_tree(SOURCE, "descriptive", edited_tree(SOURCE, "descriptive", add))
    (folder,) = {path.parent.name for path in scan.cases["LUNG1-001-tumor"].images[0].paths}
    assert folder == CT


def test_file_of_another_patient_in_a_folder_is_set_aside(edited_tree, scan_tree):
    def nest(root):
        shutil.copytree(_study(root, "LUNG1-002") / CT, _study(root) / "nested")

    scan = scan_tree(SOURCE, "descriptive", edited_tree(SOURCE, "descriptive", nest))
    assert "another patient" in scan.skips["LUNG1-001/nested"]
    assert "LUNG1-001-tumor" in scan.cases


def test_old_download_without_segmentation_uses_the_structure_set(scan_fixture):
    case = scan_fixture(SOURCE, "classic").cases["LUNG1-001-tumor"]
    assert case.regions[0].evidence == "RTSTRUCT GTV-1"


def test_segmentation_goes_before_the_structure_set(scan_fixture):
    case = scan_fixture(SOURCE, "descriptive").cases["LUNG1-001-tumor"]
    assert case.regions[0].evidence == "SEG GTV-1"


def _refusal(edited_tree, edit, layout="descriptive"):
    """Why the tumour of the first patient gives no picture, and under which code."""
    root = edited_tree(SOURCE, layout, edit)
    source = find_sources()[SOURCE]
    (case,) = (entry for entry in source.scan(root, layout) if entry.key == "LUNG1-001-tumor")
    try:
        open_case_images(plan_jobs(source, root, [case])[0])
    except ReadError as error:
        return error.code, str(error)
    return "", ""


def _shifted(mask, pixels):
    return np.roll(mask, pixels, axis=2)


def _structures(root, name, mask, series=None):
    write_structures(_study(root) / name / "1-1.dcm", series or _series(), {"GTV-1": mask})


def test_segmentation_and_structure_set_that_agree_are_taken(edited_tree):
    assert _refusal(edited_tree, lambda _: None) == ("", "")


def test_segmentation_beside_its_structure_set_is_refused_with_the_measure(edited_tree):
    moved = _shifted(tumour(seed=1), 8)
    code, message = _refusal(edited_tree, _segment({"GTV-1": moved}))
    assert code == "contradicting-marks"
    assert re.search(r"Dice coefficient is 0\.\d\d and their centres lie 16\.0 mm apart", message)


def test_two_structure_sets_that_contradict_each_other_are_refused(edited_tree):
    moved = _shifted(tumour(seed=1), 8)
    code, message = _refusal(
        edited_tree, lambda root: _structures(root, "9.0-NA-1", moved), "classic"
    )
    assert code == "contradicting-marks"
    assert "9.0-NA-1/1-1.dcm" in message


def test_two_segmentations_that_contradict_each_other_are_refused(edited_tree):
    def add(root):
        masks = {"GTV-1": _shifted(tumour(seed=1), 8)}
        write_segmentation(_study(root) / "301.0-NA-2" / "1-1.dcm", _series(), masks)

    assert _refusal(edited_tree, add)[0] == "contradicting-marks"


@pytest.mark.parametrize("name", ["4.000000-NA-45931", SEG])
def test_drawing_of_another_frame_of_reference_is_refused(edited_tree, name):
    def edit(root):
        path = _study(root) / name / "1-1.dcm"
        data = pydicom.dcmread(path)
        data.FrameOfReferenceUID = "1.2.3.4"
        data.save_as(path)

    assert _refusal(edited_tree, edit)[0] == "frame-of-reference"


def test_names_that_a_drawing_holds_are_told_where_the_tumour_is_not_among_them(
    edited_tree, scan_tree
):
    def edit(root):
        shutil.rmtree(_study(root) / "4.000000-NA-45931")
        _segment({"gtv-1": tumour(seed=1), "Heart": organ("heart")})(root)

    scan = scan_tree(SOURCE, "descriptive", edited_tree(SOURCE, "descriptive", edit))
    assert scan.skips["LUNG1-001-tumor"].endswith("hold Heart, gtv-1; expected GTV-1")


def test_copy_as_nifti_fits_no_layout(tmp_path):
    (tmp_path / "LUNG1-001").mkdir()
    (tmp_path / "LUNG1-001/seg-GTV-1.nii.gz").touch()
    assert not inspect_copy(CARD, tmp_path).fits


def test_segment_is_named_by_its_description_and_not_its_label(fixture_tree, scan_fixture):
    """All segments of the fixture have one label."""
    path = _study(fixture_tree(SOURCE, "descriptive")) / SEG / "1-1.dcm"
    data = pydicom.dcmread(path, stop_before_pixels=True)
    assert {item.SegmentLabel for item in data.SegmentSequence} == {"Organ"}
    scan = scan_fixture(SOURCE, "descriptive")
    assert _values(scan, "LUNG1-001-heart") == ["Heart", "Esophagus", "Spinal-Cord"]


def test_frames_that_run_against_the_slices_are_placed_by_position(scan_fixture):
    case = scan_fixture(SOURCE, "descriptive").cases["LUNG1-001-tumor"]
    assert (_marked(case, "GTV-1") == tumour(seed=1)).all()


def test_contours_in_millimetres_are_placed_by_the_geometry_of_the_ct(scan_fixture):
    case = scan_fixture(SOURCE, "classic").cases["LUNG1-001-tumor"]
    marked, lesion = _marked(case, "GTV-1"), tumour(seed=1)
    assert (marked.any(axis=(1, 2)) == lesion.any(axis=(1, 2))).all()
    assert bounds(marked[6]) == bounds(lesion[6])


def test_file_names_that_run_against_positions_do_not_turn_the_stack(build_fixture):
    assert build_fixture(SOURCE, "descriptive").sample("LUNG1-001-tumor").frames == "6"


def test_picture_is_not_turned(build_fixture):
    build = build_fixture(SOURCE, "descriptive")
    pixels = build.pixels(build.sample("LUNG1-001-tumor")).astype(int)
    assert pixels[8:11, 10:14].min() > 200
    assert pixels[6:13, -19:-6].max() < 50


def test_other_gtvs_are_not_taken_for_the_primary_tumour(edited_tree, scan_tree):
    masks = {"GTV-2": tumour(seed=5), "GTV-1": tumour(seed=1), "Heart": organ("heart")}
    scan = scan_tree(SOURCE, "descriptive", edited_tree(SOURCE, "descriptive", _segment(masks)))
    assert _values(scan, "LUNG1-001-tumor") == ["GTV-1"]


def test_patient_without_a_drawn_tumour_gets_no_tumour_picture(edited_tree, scan_tree):
    def edit(root):
        _segment({"Heart": organ("heart")})(root)
        shutil.rmtree(_study(root) / "4.000000-NA-45931")

    scan = scan_tree(SOURCE, "descriptive", edited_tree(SOURCE, "descriptive", edit))
    assert "GTV-1" in scan.skips["LUNG1-001-tumor"]
    assert "LUNG1-001-heart" in scan.cases


def test_joined_lungs_are_lung(scan_fixture):
    assert _values(scan_fixture(SOURCE, "descriptive"), "LUNG1-002-lungs") == ["Lungs-Total"]


def test_no_side_of_a_lung_is_asked():
    lungs = {CARD.fields["organ"].values[f"Lung-{side}"] for side in ("Left", "Right")}
    assert lungs == {"lung"}


def test_one_lung_alone_is_not_asked_since_the_other_shows_too(edited_tree, scan_tree):
    def edit(root):
        _segment({"Lung-Left": organ("left lung")})(root)
        shutil.rmtree(_study(root) / "4.000000-NA-45931")

    scan = scan_tree(SOURCE, "descriptive", edited_tree(SOURCE, "descriptive", edit))
    assert "one lung is drawn" in scan.skips["LUNG1-001-lungs"]


def test_two_lungs_are_not_asked_for_the_one_place(build_fixture):
    build = build_fixture(SOURCE, "descriptive")
    assert build.items_of("LUNG1-001-lungs", "ROI Grounding") == []


def test_organ_that_is_not_drawn_is_not_absent():
    assert CARD.fields["organ"].absence is Absence.SILENT


def test_stage_and_histology_are_kept_as_facts_and_never_asked(scan_fixture, build_fixture):
    facts = dict(scan_fixture(SOURCE, "descriptive").cases["LUNG1-001-tumor"].facts)
    assert (facts["stage"], facts["histology"]) == ("IIIb", "large cell")
    tasks = {item.task for item in build_fixture(SOURCE, "descriptive").items}
    assert "Severity Grading" not in tasks


def _clinical(text):
    def edit(root):
        path = next(root.glob("NSCLC*.csv"))
        head = path.read_text().splitlines()[0]
        path.write_text(f"{head}\n{text}\n")

    return edit


def test_missing_cell_of_the_clinical_table_is_no_fact(edited_tree, scan_tree):
    edit = _clinical("LUNG1-001,NA,5,4,3,NA,NA,male,2165,NA")
    scan = scan_tree(SOURCE, "descriptive", edited_tree(SOURCE, "descriptive", edit))
    assert scan.cases["LUNG1-001-tumor"].facts == (("sex", "male"),)


def test_clinical_table_with_hyphens_in_its_name_is_found(edited_tree, scan_tree):
    def rename(root):
        path = next(root.glob("NSCLC*.csv"))
        path.rename(root / "NSCLC-Radiomics-Lung1.clinical-version3-Oct-2019.csv")

    scan = scan_tree(SOURCE, "descriptive", edited_tree(SOURCE, "descriptive", rename))
    assert scan.cases["LUNG1-001-tumor"].facts


def test_everyone_has_cancer_so_no_picture_denies_it(build_fixture):
    concepts = {
        item.concept
        for item in build_fixture(SOURCE, "descriptive").items
        if item.task.endswith("Diagnosis")
    }
    assert concepts == {"primary lung tumor", "lung cancer"}


def test_picture_of_organs_is_not_asked_for_the_tumour(build_fixture):
    build = build_fixture(SOURCE, "descriptive")
    for part in ("lungs", "heart"):
        assert build.items_of(f"LUNG1-001-{part}", "Abnormality Diagnosis") == []


def test_tumour_of_ten_millimetres_and_more_may_be_located():
    least, _ = CARD.roi
    assert least * 512**2 * 0.977**2 < np.pi * 10**2


def test_licence_is_the_non_commercial_one():
    assert CARD.access.licence == "CC-BY-NC-3.0"


def test_no_identifier_is_kept_as_a_fact(scan_fixture):
    for case in scan_fixture(SOURCE, "descriptive").cases.values():
        assert CANARY not in str(case.facts)


def test_lung_cancer_of_stanford_is_said_to_be_another():
    assert "msd-lung" in CARD.overlaps[0].note


def test_slice_that_is_empty_is_named_as_such(edited_tree, survey):
    layout = CARD.layouts[0].name
    empty = lambda root: min(root.rglob("*.dcm")).write_bytes(b"")  # noqa: E731
    problems = survey(SOURCE, edited_tree(SOURCE, layout, empty)).problems
    assert "is empty (0 bytes)" in " ".join(problem.message for problem in problems)
    assert "unclaimed" not in {problem.code for problem in problems}

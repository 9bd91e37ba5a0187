"""Traps of the evidence card `vindr-mammo`."""

import csv
import hashlib

import numpy as np
import pydicom
import pytest

from medrcube.build.questions.case_facts import facts_of_case
from medrcube.facts import LabelState, Scope
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "letters-for-side-and-view-burnt-in": "no list of files; advice to reviewers, noted as a quirk",
    "lookup-tables-and-compressed-files": "unverified for this source; the core reader's own tests",
    "columns-of-metadata-csv": "unverified, so the file is not used",
    "licence-name-and-size": "unverified, need the page",
    "test-part-first-one-view-a-study": "advice for the choice of a batch",
}
SOURCE, LAYOUT = "vindr-mammo", "physionet"
CARD = find_sources()[SOURCE].card
TABLE = "finding_annotations.csv"


def _rows(root):
    with (root / TABLE).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _study(number):
    return hashlib.md5(f"study {number}".encode(), usedforsecurity=False).hexdigest()


@pytest.fixture
def image(fixture_tree):
    """``(study, side, view)`` -> key of the picture."""

    def find(study, side, view):
        named = (_study(study), side, view)
        rows = _rows(fixture_tree(SOURCE, LAYOUT))
        columns = ("study_id", "laterality", "view_position")
        return next(r["image_id"] for r in rows if tuple(r[c] for c in columns) == named)

    return find


def _set(key, **cells):
    """An edit that changes cells of the rows of one picture."""

    def edit(root):
        rows = _rows(root)
        for row in rows:
            if row["image_id"] == key:
                row.update(cells)
        with (root / TABLE).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)

    return edit


def _header(key, **elements):
    """An edit that changes elements of one DICOM file."""

    def edit(root):
        path = next(root.rglob(f"{key}.dicom"))
        data = pydicom.dcmread(path)
        for keyword, value in elements.items():
            setattr(data, keyword, value)
        data.save_as(path)

    return edit


def test_findings_of_a_cell_are_a_list_of_names(scan_fixture, image):
    case = scan_fixture(SOURCE, LAYOUT).cases[image(2, "L", "CC")]
    assert [region.value for region in case.regions] == ["Mass", "Skin Retraction"]


@pytest.mark.parametrize("cell", ["__import__('os').getcwd()", "Mass", "['Mass', 3]", ""])
def test_cell_that_is_no_list_of_names_is_read_and_never_run(edited_tree, scan_tree, image, cell):
    root = edited_tree(SOURCE, LAYOUT, _set(image(1, "L", "CC"), finding_categories=cell))
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert scan.bad_rows("expected a list of names") == {image(1, "L", "CC")}


@pytest.mark.parametrize(
    ("study", "side", "view", "clear"),
    [
        (0, "L", "CC", True),  # BI-RADS 1
        (0, "R", "CC", False),  # BI-RADS 2: something benign is there
        (1, "R", "MLO", False),  # the other view of a breast of BI-RADS 3
    ],
)
def test_no_finding_means_normal_in_a_breast_of_bi_rads_1_only(
    scan_fixture, image, study, side, view, clear
):
    scan, key = scan_fixture(SOURCE, LAYOUT), image(study, side, view)
    label_states = scan.states(key, "lesion")
    assert label_states["No Finding"] is (LabelState.PRESENT if clear else LabelState.UNKNOWN)
    assert ("Mass" in label_states) == clear


def test_benign_findings_are_not_boxed_so_a_mass_is_not_denied_in_bi_rads_2(scan_fixture, image):
    case = scan_fixture(SOURCE, LAYOUT).cases[image(0, "R", "MLO")]
    ground = facts_of_case(CARD, case, load_terms())
    assert "No Finding" not in ground.present
    # What is implied absent is the mass of BI-RADS 3 to 5, never the mass.
    assert "breast mass" not in ground.absent
    assert "mass BI-RADS 3-5" in ground.absent


def test_breast_of_bi_rads_1_denies_every_finding(scan_fixture, image):
    states = scan_fixture(SOURCE, LAYOUT).states(image(0, "L", "MLO"), "sign")
    assert set(states.values()) == {LabelState.ABSENT}
    assert len(states) == 4


def test_grade_of_the_breast_is_open_on_a_view_without_its_finding(
    scan_fixture, build_fixture, image
):
    marked_view, unseen = image(1, "R", "CC"), image(1, "R", "MLO")
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.states(marked_view, "birads") == {"BI-RADS 3": LabelState.PRESENT}
    assert scan.states(unseen, "birads") == {"BI-RADS 3": LabelState.UNKNOWN}
    assert build_fixture(SOURCE, LAYOUT).items_of(unseen, "Severity Grading") == []


def test_grade_of_the_breast_is_open_where_all_boxes_have_a_lower_one(
    edited_tree, scan_tree, image
):
    key = image(1, "L", "CC")
    root = edited_tree(SOURCE, LAYOUT, _set(key, finding_birads="BI-RADS 3"))
    assert scan_tree(SOURCE, LAYOUT, root).states(key, "birads") == {
        "BI-RADS 4": LabelState.UNKNOWN
    }


def test_bi_rads_2_is_not_asked_nor_held_against_1_since_no_benign_finding_is_marked(
    scan_fixture, build_fixture, image
):
    benign, normal = image(0, "R", "CC"), image(0, "L", "CC")
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.states(benign, "birads") == {"BI-RADS 2": LabelState.UNKNOWN}
    assert scan.states(normal, "birads") == {
        "BI-RADS 1": LabelState.PRESENT,
        "BI-RADS 2": LabelState.UNKNOWN,
    }
    graded = [entry for entry in build_fixture(SOURCE, LAYOUT).items if entry.field == "birads"]
    keys = {item.concept for item in graded}
    assert "BI-RADS 1" in keys
    assert "BI-RADS 2" not in keys
    for item in graded:
        if item.concept == "BI-RADS 1":
            assert "BI-RADS 2" not in {option.concept for option in item.options}


def test_grade_belongs_to_the_breast():
    assert CARD.fields["birads"].scope is CARD.fields["density"].scope is Scope.BREAST
    assert CARD.shows is Scope.BREAST


def test_lesion_in_a_box_without_a_grade_is_left_open(edited_tree, scan_tree, image):
    key = image(1, "L", "CC")
    root = edited_tree(SOURCE, LAYOUT, _set(key, finding_birads=""))
    assert scan_tree(SOURCE, LAYOUT, root).states(key, "lesion") == {"Mass": LabelState.UNKNOWN}


def test_sign_in_a_box_without_a_grade_is_present(scan_fixture, image):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.states(image(5, "L", "CC"), "sign") == {"Suspicious Lymph Node": LabelState.PRESENT}


def test_box_that_sticks_out_is_clipped_at_the_border(scan_fixture, build_fixture, image):
    key = image(3, "L", "MLO")
    case = scan_fixture(SOURCE, LAYOUT).cases[key]
    assert case.regions[1].shape.xyxy == (0.0, 140.25, 24.0, 165.0)
    assert build_fixture(SOURCE, LAYOUT).sample(key)


@pytest.mark.parametrize(
    ("corner", "beyond", "place", "clipped"), [("xmax", "900", 2, 140.0), ("ymax", "900", 3, 176.0)]
)
def test_box_that_sticks_out_at_the_far_side_is_clipped(
    edited_tree, scan_tree, image, corner, beyond, place, clipped
):
    key = image(1, "L", "CC")
    root = edited_tree(SOURCE, LAYOUT, _set(key, **{corner: beyond}))
    assert scan_tree(SOURCE, LAYOUT, root).cases[key].regions[0].shape.xyxy[place] == clipped


def test_box_of_a_copy_at_half_size_is_scaled(
    edited_tree, build_tree, build_fixture, scan_fixture, image
):
    key = image(1, "L", "CC")
    (region,) = scan_fixture(SOURCE, LAYOUT).cases[key].regions
    doubled = [str(2 * side) for side in region.shape.xyxy]
    cells = dict(zip(("xmin", "ymin", "xmax", "ymax"), doubled, strict=True))
    root = edited_tree(SOURCE, LAYOUT, _set(key, height="352", width="280", **cells))
    build = build_tree(SOURCE, root)
    (recipe,) = build.recipes(key, "boxes")
    (whole,) = build_fixture(SOURCE, LAYOUT).recipes(key, "boxes")
    assert recipe["boxes_drawn_in"] == [[280, 352]]
    assert recipe["mark"] == whole["mark"]


def test_two_findings_in_one_box_are_not_set_against_each_other(build_fixture, image):
    wrong = build_fixture(SOURCE, LAYOUT).wrong_of(image(2, "L", "CC"))
    assert wrong.isdisjoint({"mass BI-RADS 3-5", "skin retraction"})


def test_no_biopsy_stands_behind_a_grade_so_no_disease_is_asked(build_fixture):
    tasks = {item.task for item in build_fixture(SOURCE, LAYOUT).items}
    assert "Disease Diagnosis" not in tasks


def test_negative_of_monochrome1_is_shown_positive(build_fixture, scan_fixture):
    build, kinds = build_fixture(SOURCE, LAYOUT), set()
    for key, case in scan_fixture(SOURCE, LAYOUT).cases.items():
        header = pydicom.dcmread(case.images[0].paths[0], stop_before_pixels=True)
        kinds.add(header.PhotometricInterpretation)
        pixels = build.pixels(build.sample(key))
        assert pixels[0].min() < 40, key
        assert pixels[16:20, 16:20].mean() > 200, key
    assert kinds == {"MONOCHROME1", "MONOCHROME2"}


def test_first_of_several_windows_is_used(edited_tree, build_tree, build_fixture, image):
    key = image(0, "L", "CC")
    edit = _header(key, WindowCenter=[2048, 100], WindowWidth=[4096, 10])
    first, second = (
        build_fixture(SOURCE, LAYOUT),
        build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)),
    )
    assert (first.pixels(first.sample(key)) == second.pixels(second.sample(key))).all()


def test_rescaling_comes_before_the_window(edited_tree, build_tree, build_fixture, image):
    key = image(0, "L", "CC")
    edit = _header(key, RescaleSlope=2, RescaleIntercept=-1000, WindowCenter=3096, WindowWidth=8192)
    first, second = (
        build_fixture(SOURCE, LAYOUT),
        build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)),
    )
    difference = first.pixels(first.sample(key)).astype(int) - second.pixels(second.sample(key))
    assert np.abs(difference).max() <= 1


def test_raw_data_for_processing_are_refused(edited_tree, build_tree, image):
    key = image(0, "L", "CC")
    edit = _header(key, PresentationIntentType="FOR PROCESSING")
    quarantine = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).quarantine
    row = quarantine[quarantine["case"] == key].iloc[0]
    assert (row["stage"], row["code"]) == ("select", "for-processing")


def test_data_for_presentation_are_shown(edited_tree, build_tree, image):
    key = image(0, "L", "CC")
    edit = _header(key, PresentationIntentType="FOR PRESENTATION")
    assert build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).sample(key)


def test_study_stands_for_the_patient(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases.values()
    assert {case.patient for case in cases} == {_study(number) for number in range(6)}


def test_study_with_three_views_of_one_kind_keeps_them_all(edited_tree, scan_tree, image):
    key = image(0, "L", "MLO")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _set(key, view_position="CC")))
    mine = [k for k, case in scan.cases.items() if case.patient == _study(0)]
    assert [next(iter(scan.states(k, "view"))) for k in mine] == ["CC", "CC", "CC", "MLO"]


def test_edition_of_png_pictures_fits_no_layout(edited_tree):
    def convert(root):
        for path in root.rglob("*.dicom"):
            path.rename(path.with_suffix(".png"))

    assert not inspect_copy(CARD, edited_tree(SOURCE, LAYOUT, convert)).fits


def test_box_below_two_thousandths_of_the_frame_is_not_asked():
    assert CARD.roi[0] == 0.002


def test_category_that_the_card_does_not_know_sets_its_case_aside(edited_tree, scan_tree, image):
    edit = _set(image(1, "L", "CC"), finding_categories="['Breast Implant']")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))

    assert scan.bad_rows("(like Xxxxxx Xxxxxxx)")


@pytest.mark.parametrize(
    ("element", "value"),
    [("ViewPosition", "XCCL"), ("ImageLaterality", "R"), ("Rows", None)],
)
def test_header_that_contradicts_the_table_sets_its_picture_aside(
    edited_tree, build_tree, image, element, value
):
    key = image(0, "L", "CC")

    def edit(root):
        (path,) = root.rglob(f"{key}.dicom")
        data = pydicom.dcmread(path)
        if value is None:
            data.PixelData = data.PixelData[: -2 * data.Columns]
            data.Rows -= 1
        else:
            setattr(data, element, value)
        data.save_as(path)

    codes = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).codes()
    assert [case for case, code in codes.items() if code == "header-contradicts"] == [key]


def test_header_that_states_nothing_contradicts_nothing(edited_tree, build_tree, image):
    key = image(0, "L", "CC")

    def edit(root):
        (path,) = root.rglob(f"{key}.dicom")
        data = pydicom.dcmread(path)
        del data.ViewPosition, data.ImageLaterality
        data.save_as(path)

    assert key not in build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).codes()


def test_views_of_one_breast_with_two_grades_deny_nothing(edited_tree, build_tree, image):
    cc, mlo = image(0, "L", "CC"), image(0, "L", "MLO")
    edit = _set(cc, breast_birads="BI-RADS 5", breast_density="DENSITY D")
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit))
    for view in (cc, mlo):
        assert {"Abnormality Diagnosis", "Severity Grading"}.isdisjoint(build.tasks_of(view))
        assert build.codes()[view] == "images-disagree"

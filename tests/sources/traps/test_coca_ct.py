"""Traps of the evidence card `coca-ct`."""

import plistlib
import shutil

import pytest
from pydicom import dcmread

from medrcube.facts import LabelState
from medrcube.sources._formats.dicom.headers import in_slice_order, read_header
from medrcube.sources.registry import find_sources

UNTESTED = {
    "numbers-of-scans-and-files": "not verified and contradictory: nothing is asserted",
    "agatston-category": "a sum over the scan, which no slice shows; noted as a quirk",
    "meaning-of-an-empty-list": "not verified: such a scan is unknown (tested)",
    "stents-leads-valves": "no list of scans; noted as a quirk",
    "third-party-masks-of-non-gated-scans": "under other names, which no glob fits",
    "half-a-pixel": "harmless at 10 square mm; noted as a quirk",
    "agreement-text": "not read; stated as unknown",
}
SOURCE, LAYOUT = "coca-ct", "gated"
CARD = find_sources()[SOURCE].card
GATED = "cocacoronarycalciumandchestcts-2/Gated_release_final"
SERIES = "Pro_Gated_CS_3.0_I30f_3_70%"
RCA, LCX = "right coronary artery", "left circumflex artery"


@pytest.fixture
def relisted(edited_tree):
    """``(number, edit)`` -> root of a copy after ``edit(images)`` of one list of marks."""

    def make(number, edit):
        def rewrite(root):
            path = root / GATED / f"calcium_xml/{number}.xml"
            content = plistlib.loads(path.read_bytes())
            edit(content["Images"])
            path.write_bytes(plistlib.dumps(content))

        return edited_tree(SOURCE, LAYOUT, rewrite)

    return make


def _rois(images):
    return [roi for image in images for roi in image["ROIs"] if roi["Point_mm"]]


def _height(case):
    path = case.images[0].paths[0]
    return float(
        read_header(path, ("ImagePositionPatient",))["ImagePositionPatient"].split("\\")[2]
    )


def _level_of(case):
    """Number of its slice from the foot, from 0."""
    (image,) = case.images
    order = in_slice_order((*image.paths, *image.parts))
    return order.index(image.paths[0])


def test_mark_lies_on_the_slice_of_its_height(scan_fixture, fixture_tree):
    case = scan_fixture(SOURCE, LAYOUT).cases["patient-1-calcium"]
    content = (fixture_tree(SOURCE, LAYOUT) / GATED / "calcium_xml/1.xml").read_bytes()
    heights = {roi["Point_mm"][0].split(",")[2] for roi in _rois(plistlib.loads(content)["Images"])}
    assert _height(case) in {float(text.strip(" )")) for text in heights}


@pytest.mark.parametrize(("number", "start"), [(0, 0), (1, 1)])
def test_way_of_counting_is_learnt_for_each_scan(scan_fixture, number, start):
    case = scan_fixture(SOURCE, LAYOUT).cases[f"patient-{number}-calcium"]
    assert dict(case.facts)["ImageIndex"] == f"from the foot, from {start}"


def test_index_that_agrees_in_no_way_sets_the_scan_aside(relisted, scan_tree):
    def scramble(images):
        for place, image in enumerate(images):
            image["ImageIndex"] = 50 + 7 * place

    scan = scan_tree(SOURCE, LAYOUT, relisted(0, scramble))
    assert scan.bad_rows("ImageIndex agrees with the height of 0 % of the marks") == {"patient-0"}


def test_mark_between_scans_sets_the_scan_aside(relisted, scan_tree):
    def lift(images):
        for roi in _rois(images):
            roi["Point_mm"] = [text.replace(")", "9)") for text in roi["Point_mm"]]
            roi["Point_mm"] = [f"(0, {k}, 500)" for k, _ in enumerate(roi["Point_mm"])]
            roi["Point_mm"][0] = "(5, 0, 500)"

    scan = scan_tree(SOURCE, LAYOUT, relisted(0, lift))
    assert scan.bad_rows("off the nearest slice") == {"patient-0"}


def test_mark_without_millimetres_sets_the_scan_aside(relisted, scan_tree):
    def strip(images):
        for roi in _rois(images):
            del roi["Point_mm"]

    scan = scan_tree(SOURCE, LAYOUT, relisted(0, strip))
    assert scan.bad_rows("states no Point_mm") == {"patient-0"}


def test_mark_of_no_area_or_no_points_is_dropped(scan_fixture):
    for case in scan_fixture(SOURCE, LAYOUT).cases.values():
        assert all(len(region.shape.outlines[0].points) > 2 for region in case.regions)


@pytest.mark.parametrize("number", [5, 6])
def test_scan_without_marks_is_unknown_and_not_clear(scan_fixture, number):
    case = scan_fixture(SOURCE, LAYOUT).cases[f"patient-{number}-unread"]
    assert (case.labels, case.regions) == ((), ())


def test_slice_without_marks_of_a_marked_scan_is_clear_with_its_neighbours(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    apart = abs(_height(cases["patient-0-clear"]) - _height(cases["patient-0-calcium"]))
    assert apart >= 2 * 3.0
    (label,) = cases["patient-0-clear"].labels
    assert (label.value, label.state) == ("none", LabelState.PRESENT)


@pytest.mark.parametrize("points", [[], ["(40, 40)", "(41, 41)"]])
def test_slice_with_a_mark_of_no_outline_is_not_clear(relisted, scan_tree, scan_fixture, points):
    before = _level_of(scan_fixture(SOURCE, LAYOUT).cases["patient-0-clear"])
    spot = {"Name": RCA, "Point_px": points, "Point_mm": []}

    def mark_it(images):
        images.append({"ImageIndex": before, "ROIs": [spot]})  # counted from the foot, from 0

    scan = scan_tree(SOURCE, LAYOUT, relisted(0, mark_it))
    assert abs(_level_of(scan.cases["patient-0-clear"]) - before) >= 2


def test_scan_with_a_mark_of_no_outline_on_an_unknown_slice_has_no_clear_slice(relisted, scan_tree):
    spot = {"Name": RCA, "Point_px": [], "Point_mm": []}
    scan = scan_tree(SOURCE, LAYOUT, relisted(0, lambda images: images.append({"ROIs": [spot]})))
    assert "patient-0-calcium" in scan.cases
    assert "patient-0-clear" not in scan.cases


def test_mark_too_small_to_be_seen_is_not_asked(scan_fixture):
    assert {key for key in scan_fixture(SOURCE, LAYOUT).cases if "patient-7" in key} == {
        "patient-7-clear"
    }


def test_slice_with_one_mark_goes_before_a_slice_with_two(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases["patient-3-calcium"]
    assert [region.value for region in case.regions] == ["left anterior descending artery"]


def test_main_stem_is_calcium_and_no_artery_that_is_asked(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert cases["patient-4-calcium"].labels[0].value == "left coronary artery"
    assert "patient-4-artery" not in cases


def test_artery_is_asked_by_its_outline_and_never_by_its_place(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    named = {"left anterior descending artery", LCX, RCA}
    assert {
        item.options[item.key].concept for item in build.items if item.task == "Organ Recognition"
    } == named
    assert CARD.fields["artery"].absence == "silent"


def test_name_of_no_artery_sets_the_slice_aside(relisted, survey):
    def rename(images):
        for roi in _rois(images):
            roi["Name"] = "Aorta"

    problems = survey(SOURCE, relisted(0, rename)).problems
    assert {"patient-0-calcium"} <= {
        problem.case for problem in problems if problem.code == "bad-row"
    }


def test_right_artery_left_of_the_circumflex_sets_the_scan_aside(relisted, scan_tree):
    def swap(images):
        names = {RCA.title(): LCX.title(), LCX.title(): RCA.title()}
        for roi in _rois(images):
            roi["Name"] = names.get(roi["Name"], roi["Name"])

    scan = scan_tree(SOURCE, LAYOUT, relisted(3, swap))
    assert scan.bad_rows("lie left of the") == {"patient-3"}


def test_two_series_of_a_scan_set_it_aside(edited_tree, scan_tree):
    def copy(root):
        folder = root / GATED / "patient/0"
        shutil.copytree(folder / SERIES, folder / "Pro_Gated_CS_3.0_I30f_3_40%")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, copy))
    assert scan.bad_rows("not one series") == {"patient-0"}


def test_copy_of_a_slice_changes_nothing(edited_tree, scan_tree, scan_fixture):
    def copy(root):
        folder = root / GATED / "patient/0" / SERIES
        shutil.copy(folder / "IM-0001-0004.dcm", folder / "IM-0001-0104.dcm")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, copy))
    whole = scan_fixture(SOURCE, LAYOUT).cases
    for key in ("patient-0-calcium", "patient-0-clear"):
        assert _height(scan.cases[key]) == _height(whole[key])


def _shifted(root, number, units):
    for path in (root / GATED / f"patient/{number}" / SERIES).iterdir():
        data = dcmread(path)
        data.RescaleIntercept += units
        data.save_as(path)


@pytest.mark.parametrize(("units", "code"), [(-450, "not-calcium"), (250, "contrast")])
def test_outline_without_calcium_and_blood_with_contrast_are_refused(
    edited_tree, build_tree, units, code
):
    def shift(root):
        for folder in (root / GATED / "patient").iterdir():
            if folder.name not in {"0", "1"}:
                shutil.rmtree(folder)
        _shifted(root, 0, units)

    assert (
        build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, shift)).codes()["patient-0-calcium"] == code
    )


def test_no_grade_is_asked():
    assert "Severity Grading" not in CARD.tasks

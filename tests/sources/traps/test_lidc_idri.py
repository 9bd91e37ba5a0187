"""Traps of the evidence card `lidc-idri`."""

import re
import shutil

import numpy as np
import pydicom
import pytest

from medrcube.build import readers
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import LabelState
from medrcube.sources._formats.borrowed_levels import drawn_slice
from medrcube.sources._synthetic.chest_ct import tumour
from medrcube.sources._synthetic.images import bounds
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet
from medrcube.sources.registry import find_sources

UNTESTED = {
    "unlabelled-masses-and-other-disease": "not marked anywhere; silence is never called healthy",
    "transfer-syntax-of-every-series": "unverified; the readers have tests of their own",
    "text-of-the-spreadsheet-heads": "unverified; their beginnings are checked (tested)",
    "groups-of-more-than-four-marks": "asserted in tests/sources/test_lidc_xml.py",
    "uneven-spacing-of-four-series": "single slices are shown, which need no even spacing",
    "contrast-from-any-tag": "too weak to be stated, so no protocol is asked",
    "split-by-patient": "a matter of the release; the patient is known (tested)",
}
SOURCE = "lidc-idri"
CARD = find_sources()[SOURCE].card
PATIENTS = tuple(f"LIDC-IDRI-{number:04}" for number in range(1, 7))


def _of(scan, patient, what="cases"):
    return {key: value for key, value in getattr(scan, what).items() if key.startswith(patient)}


def _reading(root, patient):
    return next(root.rglob(f"**/{patient}/**/*.xml"))


def _respell(patient, old, new, count=0):
    """An edit of the text of a patient's reading."""

    def edit(root):
        path = _reading(root, patient)
        path.write_text(re.sub(old, new, path.read_text(), count=count, flags=re.DOTALL))

    return edit


def _diagnose(code, method, heads=("TCIA Patient ID", "Diagnosis at the Patient Level", None)):
    def edit(root):
        names = [*heads[:2], heads[2] or "Diagnosis Method\n0=unknown"]
        path = root / "tcia-diagnosis-data-2012-04-20.xls"
        write_spreadsheet(path, {"Diagnosis Truth": [names, [PATIENTS[0], code, method]]})

    return edit


def _diagnosis(scan):
    (case,) = _of(scan, PATIENTS[0]).values()
    return [(label.value, label.state) for label in case.labels if label.field == "diagnosis"]


@pytest.mark.parametrize("layout", ["classic", "descriptive"])
def test_both_directory_styles_give_the_same_cases(scan_fixture, layout):
    scan = scan_fixture(SOURCE, layout)
    assert list(scan.cases) == list(scan_fixture(SOURCE, "classic").cases)


def test_folder_names_do_not_tell_the_series(edited_tree, scan_tree, scan_fixture):
    def rename(root):
        for number, folder in enumerate(sorted(root.glob("manifest-*/LIDC-IDRI/*/*/*"))):
            folder.rename(folder.with_name(f"renamed-{number}"))

    scan = scan_tree(SOURCE, "descriptive", edited_tree(SOURCE, "descriptive", rename))
    assert list(scan.cases) == list(scan_fixture(SOURCE, "descriptive").cases)


def test_reading_is_joined_by_series_and_not_by_file_name(edited_tree, scan_tree, scan_fixture):
    def swap(root):
        folder = root / "tcia-lidc-xml/157"
        shutil.move(folder / "001.xml", folder / "x.xml")
        shutil.move(folder / "006.xml", folder / "001.xml")
        shutil.move(folder / "x.xml", folder / "006.xml")

    scan = scan_tree(SOURCE, "descriptive", edited_tree(SOURCE, "descriptive", swap))
    assert list(scan.cases) == list(scan_fixture(SOURCE, "descriptive").cases)


def test_film_in_a_patient_folder_is_no_ct(scan_fixture):
    reasons = _of(scan_fixture(SOURCE, "classic"), PATIENTS[0], "skips").values()
    assert any("chest X-ray" in reason for reason in reasons)


def test_reading_of_a_film_is_passed_over(scan_fixture, fixture_tree):
    films = list((fixture_tree(SOURCE, "classic") / "tcia-lidc-xml/185").iterdir())
    assert "IdriReadMessage" in films[0].read_text()
    assert not [key for key in scan_fixture(SOURCE, "classic").skips if "068" in key]


def test_corrected_reading_replaces_the_first_one(edited_tree, scan_tree, scan_fixture):
    assert _of(scan_fixture(SOURCE, "classic"), PATIENTS[0])

    def drop(root):
        (root / "161-resubmitted-correction-3-9-12.xml").unlink()

    scan = scan_tree(SOURCE, "classic", edited_tree(SOURCE, "classic", drop))
    assert not _of(scan, PATIENTS[0])
    assert "contradict" in next(iter(_of(scan, PATIENTS[0], "skips").values()))


def test_scan_without_a_reading_is_not_called_clear(edited_tree, scan_tree):
    root = edited_tree(SOURCE, "classic", lambda root: _reading(root, PATIENTS[5]).unlink())
    scan = scan_tree(SOURCE, "classic", root)
    assert not _of(scan, PATIENTS[5])


def test_scan_with_three_readers_is_not_called_clear(edited_tree, scan_tree):
    edit = _respell(PATIENTS[5], r"<readingSession>.*?</readingSession>", "", count=1)
    scan = scan_tree(SOURCE, "classic", edited_tree(SOURCE, "classic", edit))
    assert not _of(scan, PATIENTS[5])
    assert "3 reading sessions" in next(iter(_of(scan, PATIENTS[5], "skips").values()))


def test_nodule_below_three_millimetres_is_none_even_with_ratings(scan_fixture):
    """Every reader of the fixture marks one by a point, with ratings of 0."""
    cases = _of(scan_fixture(SOURCE, "classic"), PATIENTS[5])
    assert [key.rpartition("-")[2] for key in cases] == ["clear"]


def test_small_nodule_is_not_denied_by_a_clear_scan():
    assert CARD.fields["nodule"].values["none"] == "no lung nodule >= 3 mm"


def test_nodule_of_two_readers_is_neither_present_nor_absent(scan_fixture):
    scan = scan_fixture(SOURCE, "classic")
    assert not _of(scan, PATIENTS[4])
    assert any("2 of 4" in entry for entry in _of(scan, PATIENTS[4], "skips").values())


def test_nodule_ids_of_readers_mean_nothing(scan_fixture):
    """Each reader of the fixture gives both nodules of patient 3 one id."""
    cases = _of(scan_fixture(SOURCE, "classic"), PATIENTS[2])
    assert len([case for case in cases.values() if case.regions]) == 2


@pytest.mark.thorough
def test_order_of_the_readers_does_not_matter(edited_tree, build_fixture, build_tree):
    def turn(root):
        path = _reading(root, PATIENTS[0])
        head, *sessions = path.read_text().split("<readingSession>")
        tail = sessions[-1].rpartition("</readingSession>")
        sessions[-1] = tail[0] + tail[1]
        text = (
            head + "".join(f"<readingSession>{session}" for session in reversed(sessions)) + tail[2]
        )
        path.write_text(text)
        (root / "161-resubmitted-correction-3-9-12.xml").write_text(text)

    build = build_tree(SOURCE, edited_tree(SOURCE, "classic", turn))
    usual = build_fixture(SOURCE, "classic")
    areas = [
        next(
            s.area
            for s in entry.samples
            if s.case.startswith(PATIENTS[0]) and s.artefact == "boxes"
        )
        for entry in (build, usual)
    ]
    assert areas[0] == areas[1]


def _marked(scan, patient):
    case = next(case for case in _of(scan, patient).values() if case.regions)
    return rasterise(case.regions[0].shape, readers.read(case.images[0]))[0]


def test_line_lies_outside_the_nodule_and_half_of_the_readers_mark_it(scan_fixture):
    """Two of four readers draw one row lower, so half of them mark either place."""
    lesion = tumour(seed=1)[6]
    expected = lesion | np.roll(lesion, 1, axis=0)
    marked = _marked(scan_fixture(SOURCE, "classic"), PATIENTS[0])
    assert not (marked & ~expected).any()
    assert bounds(marked) == bounds(expected)


def test_excluded_outline_is_a_hole(edited_tree, scan_tree, scan_fixture):
    def pierce(root):
        path = _reading(root, PATIENTS[1])
        rows, columns = np.nonzero(tumour(seed=2)[5])
        x, y = round(columns.mean()), round(rows.mean())
        corners = [(x - 2, y - 2), (x + 2, y - 2), (x + 2, y + 2), (x - 2, y + 2)]
        points = "".join(
            f"<edgeMap><xCoord>{a}</xCoord><yCoord>{b}</yCoord></edgeMap>" for a, b in corners
        )

        def beside(nodule):
            rois = re.findall(r"<roi>.*?</roi>", nodule[0], flags=re.DOTALL)
            largest = max(rois, key=len)
            hole = re.sub(r"<edgeMap>.*</edgeMap>", points, largest, flags=re.DOTALL)
            return nodule[0].replace(largest, largest + hole.replace("TRUE", "FALSE"))

        pattern = r"<unblindedReadNodule><noduleID>Nodule.*?</unblindedReadNodule>"
        path.write_text(re.sub(pattern, beside, path.read_text(), flags=re.DOTALL))

    pierced = _marked(
        scan_tree(SOURCE, "classic", edited_tree(SOURCE, "classic", pierce)), PATIENTS[1]
    )
    usual = _marked(scan_fixture(SOURCE, "classic"), PATIENTS[1])
    assert not (pierced & ~usual).any()
    assert 9 <= (usual & ~pierced).sum() <= 25


def test_outline_belongs_to_the_slice_that_it_names(scan_fixture):
    case = next(iter(_of(scan_fixture(SOURCE, "classic"), PATIENTS[0]).values()))
    header = pydicom.dcmread(case.images[0].paths[0], stop_before_pixels=True)
    named = {line.slice for reading in case.regions[0].shape.readings for line in reading.outlines}
    assert named == {header.SOPInstanceUID}


def test_clear_scan_is_shown_at_a_level_of_nodules_counted_by_position(scan_fixture):
    (case,) = _of(scan_fixture(SOURCE, "classic"), PATIENTS[5]).values()
    first, *_ = headers = [
        pydicom.dcmread(path, stop_before_pixels=True)
        for path in (case.images[0].paths[0], *case.series)
    ]
    places = sorted(float(header.ImagePositionPatient[2]) for header in headers[1:])
    uid = first.SeriesInstanceUID
    index = drawn_slice(uid, len(places), CARD.numbers["nodule_levels"])
    assert first.ImagePositionPatient[2] == places[index]
    assert index != len(places) // 2


def test_picture_is_not_turned(build_fixture):
    build = build_fixture(SOURCE, "classic")
    sample = next(s for s in build.samples if s.case.endswith("clear"))
    pixels = build.pixels(sample).astype(int)
    assert pixels[8:11, 10:14].min() > 200
    assert pixels[6:13, -19:-6].max() < 100


def test_padding_outside_the_field_of_view_is_black(edited_tree, build_tree):
    def pad(root):
        for path in root.rglob("LIDC-IDRI-0006/**/*.dcm"):
            data = pydicom.dcmread(path)
            pixels = data.pixel_array.astype(np.int16)
            pixels[:, -4:] = -2000 + 1024
            data.PixelRepresentation = 1
            data.PixelData = pixels.tobytes()
            data.save_as(path)

    build = build_tree(SOURCE, edited_tree(SOURCE, "classic", pad))
    sample = next(s for s in build.samples if s.case.endswith("clear"))
    pixels = build.pixels(sample)
    assert (pixels[:, -4:] == 0).all()
    assert pixels[40:60, 20:40].mean() > 50


def test_rating_on_which_readers_differ_is_not_stated(scan_fixture):
    case = next(iter(_of(scan_fixture(SOURCE, "classic"), PATIENTS[2]).values()))
    assert "margin" not in {label.field for label in case.labels}


def test_choice_of_a_single_reader_is_no_wrong_option(build_fixture):
    build = build_fixture(SOURCE, "classic")
    case = next(s.case for s in build.samples if s.case.startswith(PATIENTS[0]))
    (item,) = build.items_of(case, "Severity Grading")
    assert "malignancy rating 4" not in {option.concept for option in item.options}


@pytest.mark.parametrize("rating", ["3", "2.5", "4.5"])
def test_indeterminate_malignancy_is_not_graded(rating):
    assert CARD.fields["malignancy"].concept(rating) is None


def test_malignancy_is_an_opinion_and_no_disease(build_fixture):
    items = build_fixture(SOURCE, "classic").items
    graded = {item.concept for item in items if item.task == "Severity Grading"}
    assert all(concept.startswith("malignancy rating") for concept in graded)


@pytest.mark.parametrize("word", ["spiculation", "lobulation", "calcification"])
def test_scale_that_sites_used_the_other_way_round_is_left_out(word):
    assert word not in CARD.fields


def test_disease_comes_from_the_spreadsheet_alone(edited_tree, scan_tree):
    def drop(root):
        (root / "tcia-diagnosis-data-2012-04-20.xls").unlink()

    scan = scan_tree(SOURCE, "classic", edited_tree(SOURCE, "classic", drop))
    assert _diagnosis(scan) == []


@pytest.mark.parametrize(
    ("code", "method", "state"),
    [
        (1, 1, LabelState.PRESENT),
        (2, 2, LabelState.PRESENT),
        (3, 3, LabelState.PRESENT),
        (2, 0, LabelState.UNKNOWN),
        (1, None, LabelState.UNKNOWN),
        (2, 1, LabelState.UNKNOWN),
    ],
)
def test_code_of_the_diagnosis_counts_with_its_method(edited_tree, scan_tree, code, method, state):
    root = edited_tree(SOURCE, "classic", _diagnose(code, method))
    assert _diagnosis(scan_tree(SOURCE, "classic", root)) == [(str(code), state)]


def test_diagnosis_of_unknown_code_says_nothing():
    assert CARD.fields["diagnosis"].concept("0") is None


def test_spreadsheet_of_another_edition_is_named_and_its_diagnoses_are_not_asked(
    edited_tree, scan_tree
):
    heads = ("TCIA Patent ID", "Total Number of Nodules", "Nodules >= 3mm")
    scan = scan_tree(SOURCE, "classic", edited_tree(SOURCE, "classic", _diagnose(2, 2, heads)))
    assert _diagnosis(scan) == []
    assert any("another edition" in reason for reason in scan.skips.values())


def test_diagnosis_of_a_patient_is_asked_where_all_nodules_are_shown(scan_fixture):
    cases = _of(scan_fixture(SOURCE, "classic"), PATIENTS[2])
    counts = {
        k: len(c.images) for k, c in cases.items() if "diagnosis" in {x.field for x in c.labels}
    }
    assert counts == {f"{PATIENTS[2]}-diagnosis": 2}


def test_patient_is_the_folder_whatever_the_series(scan_fixture):
    for key, case in scan_fixture(SOURCE, "classic").cases.items():
        assert case.patient == key[:14]


def test_dates_and_ages_of_the_headers_are_no_facts(scan_fixture):
    for case in scan_fixture(SOURCE, "classic").cases.values():
        assert {name for name, _ in case.facts} <= {"readers"}


def test_sets_that_took_the_scans_over_are_named():
    assert {overlap.source for overlap in CARD.overlaps} >= {"luna16", "COVIDx-CT"}


@pytest.mark.parametrize("layout", ["classic", "series"])
def test_slices_that_are_no_dicom_are_named_with_what_they_are(edited_tree, survey, layout):
    def spoil(root):
        empty, text = sorted(root.rglob("*.dcm"))[2:4]
        empty.write_bytes(b"")
        text.write_text("<html>no such file</html>")

    problems = survey(SOURCE, edited_tree(SOURCE, layout, spoil)).problems
    result = " ".join(
        problem.message for problem in problems if problem.case.endswith("unreadable")
    )
    assert "3.dcm: is empty (0 bytes)" in result
    assert "4.dcm: holds no DICOM" in result
    assert "unclaimed" not in {problem.code for problem in problems}

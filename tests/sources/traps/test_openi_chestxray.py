"""Traps of the evidence card `openi-chestxray`."""

import shutil

import numpy as np
import pytest

from medrcube.facts import LabelState, Scope
from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources.registry import find_sources

UNTESTED = {
    "burnt-in-identity": "the paper admits two films and does not name them",
    "polarity-of-png": "unverified, so PNG editions are refused: see the table of copies",
    "training-on-this-set": "known of many report generators; no property of a copy",
}
SOURCE, LAYOUT = "openi-chestxray", "dicom"
CARD = find_sources()[SOURCE].card
HOME = "NLMCXR_reports/ecgen-radiology"
VIEW, FINDINGS, GRADES = "View Recognition", "Abnormality Diagnosis", "Severity Grading"

_CLAVICLE = "fractures, bone/clavicle"


@pytest.fixture
def fixture_scan(scan_fixture):
    return scan_fixture(SOURCE, LAYOUT)


@pytest.fixture
def edited(edited_tree, replacing, scan_tree):
    """A scan of the fixture after one text of a report is replaced."""

    def make(report, old, new):
        edit = replacing(f"{HOME}/{report}.xml", old, new)
        return scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))

    return make


def test_film_of_report_1_is_found_though_its_identity_has_a_number_more(fixture_scan):
    assert fixture_scan.cases["1_IM-0001-4001"].images[0].paths[0].name == "1_IM-0001-4001.dcm"


def test_two_films_that_both_claim_pa_have_the_view_of_the_table_alone(
    fixture_scan, edited_tree, scan_tree
):
    assert fixture_scan.states("2_IM-0652-1001", "view") == {"frontal": LabelState.PRESENT}
    assert fixture_scan.states("2_IM-0652-2001", "view") == {"lateral": LabelState.PRESENT}
    root = edited_tree(SOURCE, LAYOUT, lambda root: (root / "indiana_projections.csv").unlink())
    bare = scan_tree(SOURCE, LAYOUT, root)
    assert bare.states("2_IM-0652-1001", "view") == {}


def test_film_without_a_proven_view_is_asked_about_nothing_of_its_report(fixture_scan):
    assert fixture_scan.cases["5_IM-2117-1003002"].shows is Scope.IMAGE


def test_findings_are_asked_of_the_frontal_film_alone(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert {FINDINGS, GRADES} <= build.tasks_of("7_IM-2263-1001")
    assert build.tasks_of("7_IM-2263-2001") == {"Modality Recognition", VIEW}


def test_ap_film_beside_a_lateral_one_is_frontal_and_no_more(fixture_scan):
    assert fixture_scan.states("4_IM-2050-1001", "view") == {"frontal": LabelState.PRESENT}
    assert CARD.fields["view"].concept("frontal") is None
    assert fixture_scan.cases["4_IM-2050-1001"].shows is Scope.STUDY


def test_film_that_a_caption_calls_ap_is_frontal_and_no_more_though_its_header_says_pa(
    fixture_scan,
):
    assert fixture_scan.states("14_IM-0188-1001", "view") == {"frontal": LabelState.PRESENT}
    assert fixture_scan.cases["14_IM-0188-1001"].shows is Scope.STUDY


@pytest.mark.parametrize(
    ("caption", "view"),
    [
        ("Portable AP chest radiograph (1 view) ", "frontal"),
        (" AP chest XXXX, XXXX at XXXX comparison XXXX ", "frontal"),
        ("TWO-VIEW CHEST (AP/PA and lateral): XXXX.", "frontal"),
        ("Supine chest", "frontal"),
        ("PA and lateral chest, apical views", "PA"),
        ("CHEST 2V FRONTAL/LATERAL", "PA"),
    ],
)
def test_projection_is_open_where_the_caption_names_ap(edited, caption, view):
    scan = edited(7, "Xray Chest PA and Lateral", caption)
    assert scan.states("7_IM-2263-1001", "view") == {view: LabelState.PRESENT}


def test_drawings_on_films_are_looked_for():
    assert CARD.pixels.burnt_in == "film"


def test_films_whose_header_names_a_limb_are_dropped():
    assert quirk_of(CARD, "2427_IM-0969-5001", "drop")


def test_film_whose_words_give_its_view_away_is_not_asked_for_it():
    assert quirk_of(CARD, "2608_IM-1098-2001", "unseen").fields == ("view",)


def test_table_that_contradicts_two_headers_sets_the_report_aside(edited_tree, scan_tree):
    lines = "uid,filename,projection\n7,7_IM-2263-1001.dcm.png,Lateral\n"
    root = edited_tree(
        SOURCE, LAYOUT, lambda root: (root / "indiana_projections.csv").write_text(lines)
    )
    assert scan_tree(SOURCE, LAYOUT, root).bad_rows("contradicts ViewPosition") == {"report 7"}


def test_projection_that_is_neither_frontal_nor_lateral_sets_its_report_aside(
    edited_tree, replacing, scan_tree
):
    root = edited_tree(SOURCE, LAYOUT, replacing("indiana_projections.csv", "Frontal", "Oblique"))
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert scan.bad_rows("expected one of 'Frontal', 'Lateral'") == {"report 2"}


def test_normal_beside_another_code_sets_the_report_aside(edited):
    scan = edited(1, "<major>normal", "<major>Granuloma</major><major>normal")
    assert scan.bad_rows("contradicts") == {"report 1"}


def test_no_indexing_is_not_normal(fixture_scan):
    assert fixture_scan.states("6_IM-2192-1001", "finding") == {"no indexing": LabelState.PRESENT}
    assert CARD.fields["finding"].concept("no indexing") is None


def test_normal_report_whose_text_names_a_finding_is_not_asked(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.right_of("1_IM-0001-4001", FINDINGS) == {"No Finding"}
    assert FINDINGS not in build.tasks_of("3_IM-1384-1001")


def test_spaces_and_case_of_codes_do_not_matter(fixture_scan):
    states = fixture_scan.states("7_IM-2263-1001", "finding")
    assert states["subcutaneous emphysema"] is LabelState.PRESENT


@pytest.mark.parametrize(
    ("key", "field", "value"),
    [
        ("14_IM-0188-1001", "finding", "fractures, bone/ribs/chronic"),
        ("8_IM-2333-1001", "finding", "cardiomegaly/borderline"),
        ("8_IM-2333-1001", "finding", "nodule"),
        ("9_IM-2407-1001", "finding", "fractures, bone/ribs/healed"),
        ("9_IM-2407-1001", "disease", "tuberculosis/healed"),
    ],
)
def test_doubtful_or_healed_finding_is_left_open(fixture_scan, key, field, value):
    assert fixture_scan.states(key, field)[value] is LabelState.UNKNOWN
    assert CARD.fields[field].concept(value)


@pytest.fixture
def judged(edited_tree, replacing, survey):
    """State of a finding of report 15, held against its text, after a part of that is replaced."""

    def make(old, new, value):
        root = edited_tree(SOURCE, LAYOUT, replacing(f"{HOME}/15.xml", old, new))
        case = next(
            candidate
            for candidate in survey(SOURCE, root).cases
            if candidate.key == "15_IM-0201-1001"
        )
        return next(label.state for label in case.labels if label.value == value)

    return make


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("Old rib fracture.", LabelState.UNKNOWN),
        ("Healing right 8th rib fracture.", LabelState.UNKNOWN),
        ("Several age-indeterminate left-sided rib fractures.", LabelState.UNKNOWN),
        ("Fractures of the left 4th and 5th ribs, age-indeterminate.", LabelState.UNKNOWN),
        ("A minimally displaced rib fracture.", LabelState.PRESENT),
    ],
)
def test_fracture_that_the_report_calls_past_or_of_any_age_is_left_open(judged, words, state):
    assert judged("Old lateral right rib fractures.", words, "fractures, bone/ribs") is state


@pytest.mark.parametrize(
    ("words", "state"),
    [("Remote", LabelState.UNKNOWN), ("Displaced", LabelState.PRESENT)],
)
def test_remote_fracture_of_the_clavicle_is_left_open(judged, words, state):
    text = f"{words} left clavicle fracture"
    assert judged("Displaced fracture of the left clavicle", text, _CLAVICLE) is state


def test_borderline_heart_has_no_degree(fixture_scan):
    assert fixture_scan.states("8_IM-2333-1001", "heart_size") == {}
    assert fixture_scan.states("7_IM-2263-1001", "heart_size") == {"moderate": LabelState.PRESENT}


def test_degrees_of_the_heart_are_rivals_of_each_other_alone(rivals):
    assert rivals(SOURCE, "heart_size", "mild") == {"moderate cardiomegaly", "severe cardiomegaly"}


def test_terms_of_the_automatic_indexer_are_not_read(fixture_scan):
    """They say "pericardial effusion" in every report of the fixture."""
    values = {label.value for label in fixture_scan.cases["7_IM-2263-1001"].labels}
    assert "pericardial effusion" not in values
    assert CARD.fields["finding"].concept("pericardial effusion")


def test_unknown_code_sets_the_film_aside(edited):
    assert edited(7, "Pleural Effusion/left/small", "Zebra/lung").bad_rows("finding")


def test_report_without_film_and_unfit_films_are_set_aside(fixture_scan):
    assert fixture_scan.skips["report 11"] == "the report has no film"
    assert "unfit" in fixture_scan.skips["report 10"]


def test_report_under_another_number_is_refused(edited):
    assert edited(7, 'id="CXR7"', 'id="CXR8"').bad_rows("not the number of the file")


def test_image_of_another_form_is_refused(edited):
    assert edited(7, 'id="CXR7_IM-2263-1001"', 'id="0.png"').bad_rows("names no film")


def test_film_that_was_stored_inverted_looks_like_its_twin(build_fixture, edited_tree, build_tree):
    twin = build_fixture(SOURCE, LAYOUT)

    def swap(root):
        home = root / "NLMCXR_dcm"
        shutil.copy(home / "2/2_IM-0652-1001.dcm", home / "7/7_IM-2263-1001.dcm")

    other = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, swap))
    pixels = other.pixels(other.sample("7_IM-2263-1001"))
    same = twin.pixels(twin.sample("2_IM-0652-1001"))
    assert np.array_equal(pixels, same)
    assert pixels[-1, -1] < 40 < pixels.max()

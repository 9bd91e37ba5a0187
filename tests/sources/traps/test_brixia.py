"""Traps of the evidence card `brixia`."""

import shutil

import numpy as np
import pytest

from medrcube.facts import LabelState
from medrcube.ontologies.relations import load_relations
from medrcube.sources._synthetic.images import picture, write_dicom
from medrcube.sources.registry import find_sources

UNTESTED = {
    "tubes-and-electrodes-go-with-severity": "a bias of bedside films, noted as a quirk",
    "films-turned-or-mirrored": "unverified, no list of files",
    "transfer-syntax": "unverified; compressed DICOM is tested with the readers",
    "one-film-a-subject-spread-over-bands": "advice for the choice of a batch",
}
SOURCE = "brixia"
CARD = find_sources()[SOURCE].card
SEVERITY = "Severity Grading"
FIRST = 7319560022110
TABLES = {"v1": "metadata_global_v1.csv", "v2": "metadata_global_v2.csv"}
PUBLIC = "data/public-annotations.csv"


def _name(number):
    return str(FIRST + number)


def _state(scan, key, field):
    (state,) = set(scan.states(key, field).values())
    return state


def test_semicolons_and_byte_order_mark_of_v2_give_what_commas_give_in_v1(scan_fixture):
    newer, older = scan_fixture(SOURCE, "v2"), scan_fixture(SOURCE, "v1")
    assert list(newer.cases) == list(older.cases) != []
    assert newer.states(_name(2), "score") == older.states(_name(2), "score")


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_names_with_and_without_suffix_find_their_films(scan_fixture, fixture_tree, layout):
    table = (fixture_tree(SOURCE, layout) / TABLES[layout]).read_text()
    assert (f"{_name(0)}.dcm" in table) == (layout == "v2")
    case = scan_fixture(SOURCE, layout).cases[_name(0)]
    assert case.images[0].paths[0].exists()


def test_tables_beside_or_above_the_films_are_found(edited_tree, scan_tree, scan_fixture):
    def move(root):
        shutil.move(root / TABLES["v2"], root / "data" / TABLES["v2"])

    scan = scan_tree(SOURCE, "v2", edited_tree(SOURCE, "v2", move))
    assert list(scan.cases) == list(scan_fixture(SOURCE, "v2").cases)


@pytest.mark.parametrize(("number", "zones"), [(0, "000000"), (1, "000110"), (2, "000123")])
def test_lost_leading_zeros_of_the_zones_are_put_back(scan_fixture, number, zones):
    scan = scan_fixture(SOURCE, "v2")
    grades = [*(scan.states(_name(number), f"zone_{zone}") for zone in "abcdef")]
    assert "".join(next(iter(states)) for states in grades) == zones


@pytest.mark.parametrize("zones", ["332", "124000", "12300", "1110000", "1,2,0"])
def test_zones_that_are_no_digits_from_0_to_3_or_do_not_add_up_are_set_aside(
    edited_tree, scan_tree, replacing, zones
):
    edit = replacing(TABLES["v2"], ";213123;12;", f";{zones};7;")
    scan = scan_tree(SOURCE, "v2", edited_tree(SOURCE, "v2", edit))
    assert "do not add up" in scan.skips[_name(3)]


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("A", "right upper"),
        ("B", "right middle"),
        ("C", "right lower"),
        ("D", "left upper"),
        ("E", "left middle"),
        ("F", "left lower"),
    ],
)
def test_zones_are_named_by_the_side_of_the_patient(zone, words):
    field = CARD.fields[f"zone_{zone.lower()}"]
    assert load_relations().scale(field.group).of == f"the {words} lung zone"
    concepts = {f"Brixia {zone}{grade}" for grade in (0, 3)}
    assert concepts == set(field.concepts()) == set(load_relations().group_members(field.group))


def test_a_question_about_a_zone_names_it(build_fixture):
    build = build_fixture(SOURCE, "v2")
    graded = [
        entry
        for entry in build.items_of(_name(2), SEVERITY)
        if entry.group.startswith("Brixia zone")
    ]
    assert len(graded) == 4
    for item in graded:
        assert load_relations().scale(item.group).of in item.question


def test_zones_are_asked_only_at_the_ends_of_the_scale(build_fixture):
    answers = build_fixture(SOURCE, "v2").right_of(_name(2), SEVERITY)
    assert answers == {f"Brixia {zone}" for zone in ("A0", "B0", "C0", "F3")}


@pytest.mark.parametrize(
    ("score", "band"),
    [
        ("0", "Brixia 0-5"),
        ("4", "Brixia 0-5"),
        ("5", None),
        ("6", None),
        ("7", "Brixia 6-11"),
        ("10", "Brixia 6-11"),
        ("11", None),
        ("12", None),
        ("13", "Brixia 12-18"),
        ("18", "Brixia 12-18"),
    ],
)
def test_score_near_the_edge_of_a_band_is_not_asked(score, band):
    assert CARD.fields["score"].concept(score) == band


def test_score_of_zero_is_no_healthy_person(build_fixture):
    build = build_fixture(SOURCE, "v2")
    concepts = {option.concept for item in build.items for option in item.options}
    assert concepts.isdisjoint({"No Finding", "normal"})
    assert "Brixia 0-5" in build.right_of(_name(0), SEVERITY)


def test_disease_that_all_films_share_is_not_asked(build_fixture):
    tasks = {item.task for item in build_fixture(SOURCE, "v2").items}
    assert tasks.isdisjoint({"Disease Diagnosis", "Organ Recognition", "ROI Grounding"})


def test_panel_of_five_stands_before_the_reader_on_duty(scan_fixture):
    scan = scan_fixture(SOURCE, "v2")
    assert scan.states(_name(5), "score") == {"9": LabelState.PRESENT}  # the table says 6
    assert scan.states(_name(5), "zone_d") == {"2": LabelState.PRESENT}  # the table says 1


def test_mode_of_the_panel_need_not_be_the_sum_of_its_zones(scan_fixture):
    assert _name(6) in scan_fixture(SOURCE, "v2").cases


def test_panel_whose_mean_is_far_from_its_mode_has_no_score(scan_fixture):
    assert _state(scan_fixture(SOURCE, "v2"), _name(6), "score") is LabelState.UNKNOWN


def test_films_of_the_panel_are_the_test_part(scan_fixture):
    splits = {key: case.split for key, case in scan_fixture(SOURCE, "v2").cases.items()}
    assert [key for key, split in splits.items() if split == "test"] == [_name(5), _name(6)]


def test_release_without_the_panel_is_read_from_the_reader_on_duty(edited_tree, scan_tree):
    def remove(root):
        (root / "metadata_consensus_v1.csv").unlink()

    scan = scan_tree(SOURCE, "v2", edited_tree(SOURCE, "v2", remove))
    assert scan.states(_name(5), "score") == {"6": LabelState.PRESENT}


@pytest.mark.parametrize(
    ("key", "state"),
    [
        ("16724_1_1.jpg", LabelState.PRESENT),  # 10 and 10
        ("immagine 2.png", LabelState.PRESENT),  # 0 and 0
        ("kjr-21-e24-g001-l-a.jpg", LabelState.UNKNOWN),  # 11 and 8
    ],
)
def test_score_of_senior_and_junior_counts_where_they_lie_near(scan_fixture, key, state):
    assert _state(scan_fixture(SOURCE, "public"), f"public-{key}", "score") is state


def test_zone_that_senior_and_junior_grade_apart_is_unknown(scan_fixture):
    scan = scan_fixture(SOURCE, "public")
    assert scan.states("public-16724_1_1.jpg", "zone_a") == {
        "2": LabelState.UNKNOWN,
        "1": LabelState.UNKNOWN,
    }


def test_public_row_that_does_not_add_up_is_set_aside(edited_tree, scan_tree, replacing):
    edit = replacing(PUBLIC, "16724_1_1.jpg,2,3,3,1,0,1,10", "16724_1_1.jpg,2,3,3,1,0,1,9")
    scan = scan_tree(SOURCE, "public", edited_tree(SOURCE, "public", edit))
    assert "public-16724_1_1.jpg" in scan.skips


@pytest.mark.parametrize(
    ("zones", "total", "interstitial", "alveolar"),
    [
        ("0", "0", LabelState.ABSENT, LabelState.ABSENT),
        ("111111", "6", LabelState.PRESENT, LabelState.ABSENT),
        ("222000", "6", LabelState.PRESENT, LabelState.UNKNOWN),
        ("300000", "3", LabelState.PRESENT, LabelState.PRESENT),
    ],
)
def test_pattern_follows_from_the_grades(
    edited_tree, scan_tree, replacing, zones, total, interstitial, alveolar
):
    edit = replacing(TABLES["v2"], ";123;6;", f";{zones};{total};")
    states = scan_tree(SOURCE, "v2", edited_tree(SOURCE, "v2", edit)).states(_name(2), "pattern")
    assert states == {"interstitial": interstitial, "alveolar": alveolar}


def test_inverted_film_is_turned_back(build_fixture):
    build = build_fixture(SOURCE, "v2")
    for number in (2, 3):  # stored as MONOCHROME2 and as MONOCHROME1
        pixels = build.pixels(build.sample(_name(number)))
        assert pixels[15, 20] > 200  # the marker
        assert pixels[-1, -1] < 30


def test_window_of_the_header_is_not_used(build_fixture):
    build = build_fixture(SOURCE, "v2")  # it says 1 and 1, which gives black and white
    assert len(np.unique(build.pixels(build.sample(_name(2))))) > 50


def test_view_is_that_of_the_header_and_only_if_it_is_frontal(scan_fixture):
    scan = scan_fixture(SOURCE, "v2")
    assert scan.states(_name(0), "view") == {"AP": LabelState.PRESENT}
    assert scan.states(_name(2), "view") == scan.states(_name(4), "view") == {}


def test_age_is_the_number_of_a_band_of_five_years(scan_fixture):
    assert dict(scan_fixture(SOURCE, "v2").cases[_name(0)].facts)["age"] == "60-64"


def test_films_of_one_subject_stay_together(edited_tree, scan_tree, replacing):
    edit = replacing(TABLES["v2"], "IDENTITY1;", "IDENTITY0;")
    cases = scan_tree(SOURCE, "v2", edited_tree(SOURCE, "v2", edit)).cases
    assert cases[_name(0)].patient == cases[_name(1)].patient != cases[_name(2)].patient


def test_true_date_of_a_study_reaches_no_output(build_fixture):
    build = build_fixture(SOURCE, "v2")
    for path in build.root.rglob("*"):
        if path.is_file():
            assert b"20200317" not in path.read_bytes(), path.name


def test_row_without_a_film_is_absent_and_a_film_without_a_row_is_reported(edited_tree, survey):
    def edit(root):
        (root / f"data/dicom_clean/{_name(0)}.dcm").unlink()
        extra = picture(160, 140, seed=80, maximum=4095)
        write_dicom(root / "data/dicom_clean/99.dcm", extra)

    contents = survey(SOURCE, edited_tree(SOURCE, "v2", edit))
    assert contents.absent == (_name(0),)
    assert ("data/dicom_clean/99.dcm", "unclaimed") in {(p.case, p.code) for p in contents.problems}


def test_public_films_of_another_source_are_named_as_such():
    (overlap,) = CARD.overlaps
    assert overlap.source == "covid-chestxray"
    assert any("other causes" in quirk.reason for quirk in CARD.quirks)


def test_nothing_made_of_the_films_may_be_passed_on():
    assert not CARD.access.redistribute

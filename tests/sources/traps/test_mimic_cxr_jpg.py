"""Traps of the evidence card `mimic-cxr-jpg`."""

import gzip
import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.facts import Case, LabelState
from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "films-on-their-side": "unverified, no list of files; noted as a quirk",
    "black-margins-and-burnt-in-words": "no list of files; advice to reviewers",
    "report-compares-with-earlier-films": "not visible in the tables; noted as a quirk",
    "age-and-sex-need-another-collection": "nothing of them is in these tables",
}
SOURCE, LAYOUT = "mimic-cxr-jpg", "2.1.0"
CARD = find_sources()[SOURCE].card
HOME = "physionet.org/files/mimic-cxr-jpg/2.1.0"
METADATA = f"{HOME}/mimic-cxr-2.0.0-metadata.csv"
HIGH = {"Abnormality Diagnosis", "Disease Diagnosis"}
# Numbers of films in the fixture, in the order of the table.
ERECT, LATERAL, RECUMBENT, UNSURE, LL, READ, AXIAL, KNEE, UNNAMED, TEST = range(10)


def _key(scan, number):
    return scan.entries[number].key


@pytest.mark.parametrize("number", [KNEE, UNNAMED])
def test_film_of_another_region_is_set_aside_although_its_view_is_frontal(scan_fixture, number):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert "another region" in scan.skips[_key(scan, number)]


@pytest.mark.parametrize(
    "procedure",
    ["ABDOMEN (SUPINE)", "CLAVICLE LEFT", "SCOLIOSIS SERIES", "RIB UNILAT, W/ AP CHEST RIGHT",
     "STERNUM AND CHEST", "SHOULDER 2 VIEWS"],
)  # fmt: skip
def test_procedure_that_names_other_bones_is_no_chest_film(
    edited_tree, scan_tree, replacing, procedure
):
    edit = replacing(METADATA, "CHEST (PORTABLE AP)", procedure)
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert _key(scan, RECUMBENT) in scan.skips


@pytest.mark.parametrize(
    "view",
    ["", "LPO", "RAO", "RPO", "LAO", "AP AXIAL", "XTABLE LATERAL", "AP LLD", "PA LLD", "AP RLD",
     "PA RLD", "SWIMMERS", "L5 S1"],
)  # fmt: skip
def test_view_that_is_neither_plain_frontal_nor_lateral_is_set_aside(
    edited_tree, scan_tree, replacing, view
):
    edit = replacing(METADATA, ",AP AXIAL,", f",{view},")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert "the view is" in scan.skips[_key(scan, AXIAL)]


def test_view_that_the_card_does_not_know_sets_its_case_aside(edited_tree, scan_tree, replacing):
    root = edited_tree(SOURCE, LAYOUT, replacing(METADATA, ",AP AXIAL,", ",OBLIQUE,"))
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert scan.bad_rows("ViewPosition=(like XXXXXXX): value '(like XXXXXXX)'")


def test_ll_and_lateral_are_both_lateral(build_fixture, scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    for number in (LATERAL, LL):
        key = _key(scan, number)
        assert build_fixture(SOURCE, LAYOUT).right_of(key, "View Recognition") == {"LATERAL"}


@pytest.mark.parametrize(
    "key",
    [
        "8672a4e7-366801a0-26cf2395-9344335c-aac8d728",
        "4b32608b-c2ead7c4-1fe5565f-42f7ab80-9dad30de",
    ],
)
def test_film_whose_view_is_known_to_be_wrong_is_dropped(key):
    assert quirk_of(CARD, key, "drop")


def test_label_of_a_study_is_not_asked_of_its_lateral_film(build_fixture, scan_fixture):
    scan, build = scan_fixture(SOURCE, LAYOUT), build_fixture(SOURCE, LAYOUT)
    assert _has_same_labels(scan, UNSURE, LL)
    assert build.tasks_of(_key(scan, UNSURE)) & HIGH
    assert not build.tasks_of(_key(scan, LL)) & HIGH


def _has_same_labels(scan, first, second):
    key, twin = _key(scan, first), _key(scan, second)
    return scan.states(key, "finding") == scan.states(twin, "finding") != {}


def test_finding_counts_only_where_both_labelers_agree(scan_fixture):
    scan = scan_fixture(SOURCE, "2.0.0")
    states = scan.states(_key(scan, UNSURE), "finding")
    assert states["Lung Opacity"] is LabelState.UNKNOWN  # one says it, one is silent
    assert states["Pneumothorax"] is LabelState.PRESENT
    other = scan.states(_key(scan, READ), "finding")
    assert other["Lung Lesion"] is LabelState.UNKNOWN


def test_finding_whose_parent_is_uncertain_is_uncertain(scan_fixture):
    scan = scan_fixture(SOURCE, "2.0.0")
    states = scan.states(_key(scan, UNSURE), "finding")
    assert states["Edema"] is LabelState.UNKNOWN  # both say it, but not the opacity


def test_finding_whose_child_is_uncertain_is_uncertain(edited_tree, scan_tree, replacing):
    table = f"{HOME}/mimic-cxr-2.1.0-test-set-labeled.csv"
    edit = replacing(table, "51178377,0.0,1.0,0.0,1.0,0.0", "51178377,0.0,1.0,0.0,1.0,-1.0")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.states(_key(scan, READ), "finding")["Cardiomegaly"] is LabelState.UNKNOWN


def test_zero_of_both_labelers_is_absent(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    key = _key(scan, RECUMBENT)
    assert scan.states(key, "finding")["Cardiomegaly"] is LabelState.ABSENT
    assert scan.states(key, "disease")["Pneumonia"] is LabelState.PRESENT


def test_row_without_any_label_is_not_normal(edited_tree, scan_tree):
    def blank(root):
        for labeler in ("chexpert", "negbio"):
            path = root / f"mimic-cxr-2.0.0-{labeler}.csv.gz"
            lines = gzip.decompress(path.read_bytes()).decode().splitlines()
            lines[1] = "10000032,50414267" + "," * 14
            path.write_bytes(gzip.compress("\n".join(lines).encode()))

    scan = scan_tree(SOURCE, "2.0.0", edited_tree(SOURCE, "2.0.0", blank))
    assert scan.states(_key(scan, ERECT), "finding") == {}


def test_study_without_a_row_has_no_labels(scan_fixture):
    scan = scan_fixture(SOURCE, "2.0.0")
    assert scan.states(_key(scan, TEST), "finding") == {}
    assert scan.states(_key(scan, TEST), "view")


def test_labels_of_the_radiologist_stand_before_those_of_the_labelers(scan_fixture):
    newer, older = scan_fixture(SOURCE, LAYOUT), scan_fixture(SOURCE, "2.0.0")
    assert older.states(_key(older, READ), "finding")["Support Devices"] is LabelState.PRESENT
    assert newer.states(_key(newer, READ), "finding")["Support Devices"] is LabelState.ABSENT


def test_airspace_opacity_of_the_radiologist_is_lung_opacity(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.states(_key(scan, READ), "finding")["Lung Opacity"] is LabelState.PRESENT


def test_unclear_report_is_unknown(edited_tree, scan_tree, replacing):
    table = f"{HOME}/mimic-cxr-2.1.0-test-set-labeled.csv"
    edit = replacing(table, "52821744,0.0,1.0", "52821744,0.0,-1.0")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.states(_key(scan, TEST), "finding")["Cardiomegaly"] is LabelState.UNKNOWN


def test_split_is_called_validate(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    splits = [entry.split for entry in scan.entries if isinstance(entry, Case)]
    assert splits[:3] == ["train", "validate", "test"]


def test_tables_keep_the_older_number_in_the_newer_version(fixture_tree):
    report = inspect_copy(CARD, fixture_tree(SOURCE, LAYOUT))
    assert (report.layout, report.missing) == ("2.1.0", ())
    assert inspect_copy(CARD, fixture_tree(SOURCE, "2.0.0")).layout == "2.0.0"


def test_unpacked_tables_and_the_folders_of_wget_are_found(scan_fixture):
    packed, unpacked = scan_fixture(SOURCE, "2.0.0"), scan_fixture(SOURCE, LAYOUT)
    assert list(packed.cases) == list(unpacked.cases)
    for case in unpacked.cases.values():
        assert case.images[0].paths[0].exists()


def test_study_without_a_folder_is_absent_and_no_failure(edited_tree, survey):
    def remove(root):
        shutil.rmtree(root / HOME / "files/p10/p10001038")

    contents = survey(SOURCE, edited_tree(SOURCE, LAYOUT, remove))
    assert len(contents.absent) == 1


def test_films_of_one_patient_stay_together(scan_fixture):
    cases = list(scan_fixture(SOURCE, LAYOUT).cases.values())
    assert cases[0].patient == cases[1].patient != cases[2].patient


def test_shifted_dates_are_no_facts(scan_fixture):
    for case in scan_fixture(SOURCE, LAYOUT).cases.values():
        assert "2180" not in str(case.facts) + str(case.labels)


def test_equalised_film_is_shown_as_it_is_stored(build_fixture, scan_fixture):
    scan, build = scan_fixture(SOURCE, LAYOUT), build_fixture(SOURCE, LAYOUT)
    key = _key(scan, ERECT)
    with Image.open(scan.cases[key].images[0].paths[0]) as film:
        assert np.array_equal(build.pixels(build.sample(key)), np.asarray(film))


def test_card_warns_of_model_services_and_forbids_sharing():
    assert not CARD.access.redistribute
    assert any("model services" in quirk.reason for quirk in CARD.quirks)


def test_sets_that_annotate_the_same_films_are_named():
    names = " ".join(overlap.source for overlap in CARD.overlaps)
    assert all(name in names for name in ("MS-CXR", "ImaGenome", "CheXmask", "CXR-LT"))

"""Traps of the evidence card `padchest`."""

import csv
import gzip
import io
import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.facts import LabelState, Scope
from medrcube.ontologies.relations import load_relations
from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources.registry import find_sources

UNTESTED = {
    "side-letters-burnt-in": "no list of films; advice to reviewers",
    "extent-of-inversion": "unverified, so films stored inverted are set aside as a whole",
    "single-finding-rows-first": "advice for the choice of a batch",
    "archives-named-in-part": "the list of archives is unverified; folders are not looked at",
}
SOURCE, LAYOUT = "padchest", "unpacked"
CARD = find_sources()[SOURCE].card
TABLE = "PADCHEST_chest_x_ray_images_labels_160K_01.02.19.csv.gz"
# Numbers of rows in the fixture.
NORMAL, LATERAL, FIBROSIS, PNEUMONIA, COPD, PREDICTED, EMPTY, BLANK, COSTAL, EXCLUDED = range(10)
SUBOPTIMAL, INVERTED, CHILD, YOUNG = range(10, 14)
VIEW, FINDINGS = "View Recognition", "Abnormality Diagnosis"


def _key(scan, number):
    return scan.entries[number].key


def _set(number, **cells):
    """An edit that changes cells of one row of the packed table."""

    def edit(root):
        text = gzip.decompress((root / TABLE).read_bytes()).decode()
        table = csv.DictReader(io.StringIO(text))
        header, rows = table.fieldnames, list(table)
        rows[number].update(cells)
        out = io.StringIO()
        writer = csv.DictWriter(out, header, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        (root / TABLE).write_bytes(gzip.compress(out.getvalue().encode()))

    return edit


def _after(edited_tree, scan_tree, number, **cells):
    return scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _set(number, **cells)))


def test_labels_of_the_report_are_not_asked_of_a_lateral_film(scan_fixture, build_fixture):
    scan, build = scan_fixture(SOURCE, LAYOUT), build_fixture(SOURCE, LAYOUT)
    assert FINDINGS in build.tasks_of(_key(scan, NORMAL))
    assert build.tasks_of(_key(scan, LATERAL)) == {"Modality Recognition", VIEW}
    assert scan.cases[_key(scan, LATERAL)].shows is Scope.IMAGE


def test_items_of_a_list_lose_their_blanks_their_repeats_and_what_is_empty(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert list(scan.states(_key(scan, FIBROSIS), "finding")) == [
        "pulmonary fibrosis",
        "chronic changes",
        "kyphosis",
    ]
    labels = scan.cases[_key(scan, PNEUMONIA)].labels
    assert [label.value for label in labels if label.field == "disease"] == ["pneumonia"]


@pytest.mark.parametrize("cell", ["[]", "", "nan", "['']"])
def test_film_without_labels_is_a_picture_without_findings(edited_tree, scan_tree, cell):
    scan = _after(edited_tree, scan_tree, EMPTY, Labels=cell)
    key = _key(scan, EMPTY)
    assert scan.states(key, "finding") == scan.states(key, "disease") == {}
    assert scan.states(key, "view")


@pytest.mark.parametrize("cell", ["pneumonia", "['pneumonia'", "__import__('os').name", "[1]"])
def test_cell_that_is_no_list_of_texts_sets_its_case_aside(edited_tree, scan_tree, cell):
    scan = _after(edited_tree, scan_tree, NORMAL, Labels=cell)
    assert scan.bad_rows("expected a list of texts")


def test_label_that_the_card_does_not_know_sets_its_case_aside(edited_tree, scan_tree):
    scan = _after(edited_tree, scan_tree, NORMAL, Labels="['mystery']")
    assert scan.bad_rows("value '(like xxxxxxx)'")


def test_view_that_a_network_could_not_tell_is_known_and_not_asked(edited_tree, scan_tree):
    """Eight rows of the real table say UNK."""
    cells = {"Projection": "UNK", "MethodProjection": "resnet-50.t7"}
    scan = _after(edited_tree, scan_tree, NORMAL, **cells)
    assert scan.states(_key(scan, NORMAL), "view") == {"UNK": LabelState.UNKNOWN}
    assert CARD.fields["view"].concept("UNK") is None


@pytest.mark.parametrize("label", ["unchanged", "chronic changes"])
def test_word_for_a_stable_finding_is_no_finding_of_its_own(label):
    assert CARD.fields["finding"].concept(label) is None


def test_normal_beside_another_label_does_not_make_the_film_normal(edited_tree, scan_tree):
    scan = _after(edited_tree, scan_tree, NORMAL, Labels="['normal', 'unchanged']")
    assert scan.states(_key(scan, NORMAL), "finding") == {"unchanged": LabelState.PRESENT}


def test_normal_sentence_does_not_make_the_film_normal(edited_tree, scan_tree):
    scan = _after(
        edited_tree,
        scan_tree,
        PNEUMONIA,
        LabelsLocalizationsBySentence="[['normal', 'loc  lobar']]",
    )
    assert "normal" not in scan.states(_key(scan, PNEUMONIA), "finding")


def test_what_is_not_mentioned_is_never_called_absent(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    states = {label.state for case in scan.cases.values() for label in case.labels}
    assert LabelState.ABSENT not in states
    assert {CARD.fields[name].absence for name in ("finding", "disease")} == {"silent"}


@pytest.mark.parametrize(
    ("label", "kin"),
    [
        ("alveolar pattern", "Consolidation"),
        ("alveolar pattern", "Infiltration"),
        ("alveolar pattern", "air bronchogram"),
        ("Consolidation", "Infiltration"),
        ("Consolidation", "air bronchogram"),
        ("costophrenic angle blunting", "Pleural Effusion"),
        ("Cardiomegaly", "heart insufficiency"),
    ],
)
def test_parent_and_sibling_are_no_rivals(label, kin):
    assert load_relations().alike(label, kin)


@pytest.mark.parametrize("kind", ["aortic button enlargement", "supra aortic elongation"])
def test_kinds_of_aortic_elongation_are_one_answer(kind):
    assert CARD.fields["finding"].concept(kind) == "aortic elongation"


@pytest.mark.parametrize(
    "name",
    [
        "216840111366964012989926673512011151082430686_00-157-045",
        "216840111366964012373310883942009152114636712_00-102-045",
        "216840111366964012819207061112010281134410801_00-129-131",
        "216840111366964013590140476722013043111952381_02-065-198",
        "216840111366964013962490064942014134093945580_01-178-104",
        "216840111366964012819207061112010307142602253_04-014-084",
        "216840111366964012989926673512011074122523403_00-163-058",
        "216840111366964012959786098432011033083840143_00-176-115",
        "216840111366964012558082906712009327122220177_00-102-064",
        "216840111366964012339356563862009072111404053_00-043-192",
        "216840111366964013076187734852011291090445391_00-196-188",
        "216840111366964012373310883942009117084022290_00-064-025",
        "216840111366964012283393834152009033102258826_00-059-087",
        "216840111366964012373310883942009170084120009_00-097-074",
        "216840111366964012819207061112010315104455352_04-024-184",
        "216840111366964012819207061112010306085429121_04-020-102",
        "216840111366964012989926673512011083134050913_00-168-009",
        "216840111366964012487858717522009280135853083_00-075-001",
        "216840111366964013686042548532013208193054515_02-026-007",
        "216840111366964013590140476722013058110301622_02-056-111",
        "216840111366964013829543166512013353113303615_02-092-190",
    ],
)
def test_file_that_is_known_to_be_broken_is_dropped(name):
    assert quirk_of(CARD, name, "drop")


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (COSTAL, "COSTAL"),
        (EXCLUDED, "EXCLUDE"),
        (SUBOPTIMAL, "unfit"),
        (INVERTED, "stored inverted"),
        (CHILD, "child"),
        (YOUNG, "child"),
    ],
)
def test_film_that_is_no_fit_chest_film_of_an_adult_is_set_aside(scan_fixture, number, reason):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert reason in scan.skips[_key(scan, number)]


def test_label_exclude_sets_a_frontal_film_aside(edited_tree, scan_tree):
    scan = _after(edited_tree, scan_tree, NORMAL, Labels="['exclude', 'normal']")
    assert "unfit" in scan.skips[_key(scan, NORMAL)]


@pytest.mark.parametrize("birth", ["", "nan"])
def test_missing_year_of_birth_is_no_child(edited_tree, scan_tree, birth):
    scan = _after(edited_tree, scan_tree, NORMAL, PatientBirth=birth)
    assert _key(scan, NORMAL) in scan.cases


def test_predicted_projection_is_unknown(scan_fixture, build_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    key = _key(scan, PREDICTED)
    assert scan.states(key, "view") == {"PA": LabelState.UNKNOWN}
    assert VIEW not in build_fixture(SOURCE, LAYOUT).tasks_of(key)


@pytest.mark.parametrize("method", ["RNN_model", "another"])
def test_label_that_a_network_gave_is_unknown(edited_tree, scan_tree, method):
    scan = _after(edited_tree, scan_tree, FIBROSIS, MethodLabel=method)
    assert set(scan.states(_key(scan, FIBROSIS), "finding").values()) == {LabelState.UNKNOWN}


def test_view_of_the_header_is_not_used(edited_tree, scan_tree):
    scan = _after(edited_tree, scan_tree, NORMAL, ViewPosition_DICOM="LATERAL")
    assert scan.states(_key(scan, NORMAL), "view") == {"PA": LabelState.PRESENT}


def test_supine_film_is_an_ap_film(build_fixture, scan_fixture):
    key = _key(scan_fixture(SOURCE, LAYOUT), PNEUMONIA)
    assert build_fixture(SOURCE, LAYOUT).right_of(key, VIEW) == {"AP"}


def test_names_of_both_styles_are_kept_to_the_last_digit(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert _key(scan, NORMAL) == "20536686640136348236148679891455886468_k6ga00"
    assert _key(scan, LATERAL) == "216840111366964012283393834152009033102258827_00-001-099"


def test_film_is_found_in_a_folder_that_the_table_does_not_name(scan_fixture):
    last = list(scan_fixture(SOURCE, LAYOUT).cases.values())[-1]
    path = last.images[0].paths[0]
    assert path.parent.name == "images"
    assert path.exists()


def test_film_of_16_bits_is_neither_white_nor_black(build_fixture, scan_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(_key(scan_fixture(SOURCE, LAYOUT), NORMAL)))
    assert pixels.dtype == np.uint8
    assert pixels[14, 14] > 200  # the marker
    assert pixels[-1, -1] < 20
    assert 50 < np.median(pixels[40:100, 10:110]) < 200


def test_small_copy_of_8_bits_gives_the_same_picture(edited_tree, build_tree, build_fixture):
    def shrink(root):
        for path in root.rglob("*.png"):
            with Image.open(path) as film:
                grey = (np.asarray(film) >> 8).astype(np.uint8)
            Image.fromarray(grey).save(path)

    small = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, shrink))
    whole = build_fixture(SOURCE, LAYOUT)
    key = whole.samples[0].case
    first, second = (build.pixels(build.sample(key)).astype(int) for build in (small, whole))
    assert np.abs(first - second).max() <= 3


def test_table_that_is_not_packed_is_read(edited_tree, scan_tree, scan_fixture):
    def unpack(root):
        text = gzip.decompress((root / TABLE).read_bytes())
        (root / TABLE.removesuffix(".gz")).write_bytes(text)
        (root / TABLE).unlink()

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, unpack))
    assert list(scan.cases) == list(scan_fixture(SOURCE, LAYOUT).cases)


def test_spanish_report_reaches_no_output(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    for path in build.root.rglob("*"):
        if path.is_file():
            assert b"torax" not in path.read_bytes(), path.name


def test_row_without_a_film_is_absent(edited_tree, survey):
    def remove(root):
        shutil.rmtree(root / "images")

    assert len(survey(SOURCE, edited_tree(SOURCE, LAYOUT, remove)).absent) == 1


def test_collection_of_the_same_hospitals_is_named_and_nothing_may_be_passed_on():
    assert [overlap.source for overlap in CARD.overlaps] == ["BIMCV-COVID19"]
    assert not CARD.access.redistribute


@pytest.mark.parametrize(
    ("label", "field"),
    [("callus rib fracture", "finding"), ("tuberculosis sequelae", "disease")],
)
def test_healed_disease_is_left_open(edited_tree, scan_tree, label, field):
    scan = _after(edited_tree, scan_tree, NORMAL, Labels=f"['{label}']")
    assert scan.states(_key(scan, NORMAL), field) == {label: LabelState.UNKNOWN}


def test_films_of_one_study_with_two_reports_leave_open_what_differs(edited_tree, scan_tree):
    one = {"StudyID": "s1", "MethodLabel": "Physician"}

    def edit(root):
        _set(NORMAL, **one, Labels="['normal']")(root)
        _set(FIBROSIS, **one, Labels="['pulmonary fibrosis']")(root)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    for number in (NORMAL, FIBROSIS):
        states = scan.states(_key(scan, number), "finding")
        assert set(states.values()) == {LabelState.UNKNOWN}
        assert {"normal", "pulmonary fibrosis"} <= states.keys()

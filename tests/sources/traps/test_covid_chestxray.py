"""Traps of the evidence card `covid-chestxray`."""

import csv
import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.facts import LabelState, Scope
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Modality

UNTESTED = {
    "the-row-that-is-a-warning-image": "the card does not say which row it is",
    "views-corrected-over-time": "the table of the last master is taken as it is",
    "disease-tied-to-the-web-site": "a bias of the collection, noted as a quirk",
    "arrows-letters-and-captions": "no list of files; advice to reviewers, noted as a quirk",
    "names-of-the-lung-boxes": "left and right are unverified, so the boxes are not used",
    "polarity-of-lung-masks": "drawn by a machine and unverified, so they are not used",
    "wide-films-of-one-per-patient": "advice for the choice of a batch",
}
SOURCE = "covid-chestxray"
CARD = find_sources()[SOURCE].card
COVID = "16654_1_1.png"
CLEAR = "auntminnie-a-2020_01_28_Vietnam_coronavirus.jpeg"


def _set(**cells):
    """An edit that changes cells of the row of ``16654_1_1.png``."""

    def edit(root):
        with (root / "metadata.csv").open(encoding="utf-8", newline="") as file:
            table = csv.DictReader(file)
            header, rows = table.fieldnames, list(table)
        for row in rows:
            if row["filename"] == COVID:
                row.update(cells)
        with (root / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, header)
            writer.writeheader()
            writer.writerows(rows)

    return edit


def _score(extent):
    def edit(root):
        path = root / "annotations/covid-severity-scores.csv"
        path.write_text(path.read_text().replace(f"{COVID},1.7", f"{COVID},{extent}"))

    return edit


def _both(*edits):
    def edit(root):
        for entry in edits:
            entry(root)

    return edit


def _stated(case, *fields):
    return {
        label.value
        for label in case.labels
        if label.field in fields and label.state is LabelState.PRESENT
    }


def test_columns_are_found_by_name_where_the_last_table_inserts_one(scan_fixture):
    case = scan_fixture(SOURCE, "scored").cases[COVID]
    assert _stated(case, "view") == {"PA"}
    assert (case.modality, case.licence) == (Modality("X-ray"), "CC BY-NC-SA 4.0")


def test_quoted_line_breaks_of_the_notes_do_not_part_a_row(scan_fixture):
    assert len(scan_fixture(SOURCE, "scored").cases) == 36


@pytest.mark.parametrize(
    ("layout", "name", "parts", "syndromes"),
    [
        ("scored", "000001-5.jpg", {"Influenza", "H1N1"}, set()),
        ("scored", "000003-1.jpg", {"Pneumocystis"}, set()),
        ("scored", "000004-2.jpg", set(), {"Pneumonia"}),
        ("early", "ryct.2020200034.fig2.jpeg", {"COVID-19"}, {"ARDS"}),
        ("early", "pneumocystis-jiroveci-pneumonia-1.jpg", {"Pneumocystis"}, set()),
    ],
)
def test_finding_is_a_path_in_one_edition_and_a_list_in_another(
    scan_fixture, layout, name, parts, syndromes
):
    case = scan_fixture(SOURCE, layout).cases[name]
    assert _stated(case, "cause") == parts
    assert _stated(case, "syndrome") == syndromes


def test_trailing_blank_of_a_finding_does_not_matter(scan_fixture):
    assert _stated(scan_fixture(SOURCE, "scored").cases["000001-3.jpg"], "cause") == {"Herpes"}


@pytest.mark.parametrize("name", ["000003-7.jpg", "000003-8.jpg", "000003-9.jpg"])
def test_unknown_todo_and_blank_are_no_diagnosis(build_fixture, name):
    tasks = {item.task for item in build_fixture(SOURCE, "scored").items_of(name)}
    assert tasks == {"Modality Recognition"}


def test_finding_that_the_card_does_not_know_sets_its_case_aside(edited_tree, scan_tree):
    root = edited_tree(SOURCE, "scored", _set(finding="Pneumonia/Viral/Measles"))
    scan = scan_tree(SOURCE, "scored", root)
    assert scan.bad_rows("value '(like Xxxxxxx)'")


def test_first_table_says_ct_in_the_view(scan_fixture):
    cases = scan_fixture(SOURCE, "early").cases
    assert cases["kjr-21-e24-g001-l-b.jpg"].modality is Modality("CT")
    assert cases["kjr-21-e24-g001-l-a.jpg"].modality is Modality("CT")
    assert cases["nejmoa2001191_f1-PA.jpeg"].modality is Modality("X-ray")


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("000001-2.jpg", []),
        ("000001-3.jpg", []),
        ("000001-4.jpg", []),
        ("000001-5.jpg", ["LATERAL"]),
        ("16660_2_2.jpg", ["coronal"]),
    ],
)
def test_frontal_view_that_films_themselves_refute_is_not_asked(build_fixture, name, view):
    items = build_fixture(SOURCE, "scored").items_of(name, "View Recognition")
    assert [item.concept for item in items] == view


def test_row_without_a_view_is_asked_none(edited_tree, scan_tree):
    root = edited_tree(SOURCE, "scored", _set(view=""))
    assert _stated(scan_tree(SOURCE, "scored", root).cases[COVID], "view", "plane") == set()


@pytest.mark.parametrize(
    ("name", "free"),
    [
        (COVID, True),  # CC BY-NC-SA 4.0
        ("01E392EE-69F9-4E33-BFCE-E5C968654078.jpeg", True),  # CC BY 3.0
        ("covid-19-pneumonia[7].PNG", True),  # Apache 2.0
        ("000003-9.jpg", True),  # CC0
        ("covid-19 pneumonia (mild).JPG", False),  # CC BY-NC-ND 4.0
        ("000003-7.jpg", False),  # blank
        ("000003-8.jpg", False),  # words that are no licence
        (CLEAR, False),  # nothing
    ],
)
def test_licence_is_that_of_the_row(scan_fixture, name, free):
    assert scan_fixture(SOURCE, "scored").cases[name].redistribute is free


def test_names_with_blanks_brackets_and_capital_suffixes_are_found(build_fixture):
    build = build_fixture(SOURCE, "scored")
    assert build.sample("covid-19-pneumonia[7].PNG")
    assert build.sample("covid-19 pneumonia (mild).JPG")


def test_rows_of_one_file_that_contradict_each_other_are_set_aside(scan_fixture):
    scan = scan_fixture(SOURCE, "scored")
    assert scan.skips["000004-1.jpg"] == "rows of this file contradict each other"
    assert "000004-1.jpg" not in scan.cases


def test_row_that_stands_twice_is_one_case(edited_tree, scan_tree):
    def repeat(root):
        with (root / "metadata.csv").open("r+", encoding="utf-8", newline="") as file:
            table = csv.DictReader(file)
            again = next(row for row in table if row["filename"] == COVID)
            csv.DictWriter(file, table.fieldnames).writerow(again)

    assert COVID in scan_tree(SOURCE, "scored", edited_tree(SOURCE, "scored", repeat)).cases


def test_ct_volume_of_the_second_download_is_set_aside(edited_tree, scan_tree):
    root = edited_tree(SOURCE, "scored", _set(folder="volumes", modality="CT", view="Axial"))
    assert "second download" in scan_tree(SOURCE, "scored", root).skips[COVID]


def test_lines_of_remarks_before_the_scores_are_skipped(scan_fixture):
    case = scan_fixture(SOURCE, "scored").cases[COVID]
    assert _stated(case, "extent") == {"1.7"}


@pytest.mark.parametrize(
    ("extent", "band"),
    [
        ("0.0", "lung involvement 0 of 8"),
        ("1.0", "lung involvement 1-2 of 8"),
        ("2.3333333333", "lung involvement 1-2 of 8"),
        ("3.0", "lung involvement 3-5 of 8"),
        ("8", "lung involvement 6-8 of 8"),
    ],
)
def test_mean_of_three_readers_falls_in_a_band(edited_tree, build_tree, extent, band):
    build = build_tree(SOURCE, edited_tree(SOURCE, "scored", _score(extent)))
    (item,) = build.items_of(COVID, "Severity Grading")
    assert item.concept == band


@pytest.mark.parametrize("extent", ["0.6666666667", "2.6666666667", "5.5"])
def test_mean_between_two_bands_is_not_asked(edited_tree, build_tree, extent):
    build = build_tree(SOURCE, edited_tree(SOURCE, "scored", _score(extent)))
    assert build.items_of(COVID, "Severity Grading") == []


@pytest.mark.parametrize("extent", ["0", "0.0", "0.00"])
def test_disease_is_not_asked_of_a_film_on_which_readers_saw_nothing(
    edited_tree, scan_tree, extent
):
    case = scan_tree(SOURCE, "scored", edited_tree(SOURCE, "scored", _score(extent))).cases[COVID]
    assert _stated(case, "cause", "family", "syndrome") == set()


def test_no_finding_speaks_of_the_film_and_not_of_the_patient(build_fixture):
    build = build_fixture(SOURCE, "scored")
    assert [i.concept for i in build.items_of("000003-6.jpg", "Abnormality Diagnosis")] == [
        "No Finding"
    ]
    assert build.items_of("000003-6.jpg", "Disease Diagnosis") == []


def test_no_finding_of_one_ct_figure_says_nothing(build_fixture):
    tasks = {i.task for i in build_fixture(SOURCE, "scored").items_of("16660_2_3.jpg")}
    assert tasks <= {"Modality Recognition", "View Recognition"}


@pytest.mark.parametrize("layout", ["scored", "early"])
def test_diagnosis_of_the_patient_is_not_asked_of_a_film(build_fixture, layout):
    build = build_fixture(SOURCE, layout)
    assert "Disease Diagnosis" not in {item.task for item in build.items}


@pytest.mark.parametrize(
    "note",
    [
        "Chest X-ray on admission was normal.",
        "Follow-up film shows a normal study, with resolution of the pneumonia.",
        "Normal appearances.",
        "The chest radiograph did not show abnormal pleuropulmonary changes.",
        "Illness day 7. Unremarkable",
    ],
)
def test_film_that_the_notes_call_normal_is_asked_neither_opacity_nor_extent(
    edited_tree, build_tree, note
):
    root = edited_tree(SOURCE, "scored", _both(_score("4.7"), _set(clinical_notes=note)))
    build = build_tree(SOURCE, root)
    assert build.items_of(COVID, "Abnormality Diagnosis") == []
    assert build.items_of(COVID, "Severity Grading") == []
    assert "contradicted-by-words" in set(build.quarantine["code"])


def test_film_called_normal_keeps_the_extent_of_zero(edited_tree, build_tree):
    called_normal = _set(clinical_notes="The film was normal.")
    root = edited_tree(SOURCE, "scored", _both(_score("0.0"), called_normal))
    (item,) = build_tree(SOURCE, root).items_of(COVID, "Severity Grading")
    assert item.concept == "lung involvement 0 of 8"


def test_patients_of_digits_and_of_letters_stay_text(edited_tree, scan_tree):
    root = edited_tree(SOURCE, "scored", _set(patientid="0042"))
    assert scan_tree(SOURCE, "scored", root).cases[COVID].patient == "0042"


def test_coloured_border_of_a_journal_copy_becomes_grey(edited_tree, build_tree):
    def border(root):
        pixels = np.full((96, 110, 3), 90, np.uint8)
        pixels[:4] = (200, 30, 30)
        pixels[40:60, 40:60] = 200
        Image.fromarray(pixels).save(root / "images" / COVID)

    build = build_tree(SOURCE, edited_tree(SOURCE, "scored", border))
    assert build.pixels(build.sample(COVID)).ndim == 2


def test_lung_masks_of_a_machine_are_no_pictures(build_fixture):
    codes = build_fixture(SOURCE, "scored").codes()
    for name in ("16654_1_1_mask.png", "000001-1_mask.png.png"):
        assert codes[f"annotations/lungVAE-masks/{name}"] == "ignored-by-card"


def test_file_that_was_removed_from_the_table_is_reported(edited_tree, survey):
    def stray(root):
        shutil.copy(root / "images" / COVID, root / "images/removed.png")

    contents = survey(SOURCE, edited_tree(SOURCE, "scored", stray))
    assert ("images/(like xxxxxxx, no. 2 of 2).png", "unclaimed") in {
        (p.case, p.code) for p in contents.problems
    }


def test_row_whose_file_was_removed_is_counted_as_absent(edited_tree, survey):
    contents = survey(
        SOURCE, edited_tree(SOURCE, "scored", lambda r: (r / "images" / COVID).unlink())
    )
    assert COVID in contents.absent


def test_film_shows_no_more_than_itself(scan_fixture):
    assert scan_fixture(SOURCE, "scored").cases[COVID].shows is None
    assert CARD.shows is Scope.IMAGE


def test_sets_that_took_the_films_over_are_named():
    assert {overlap.source for overlap in CARD.overlaps} == {"brixia", "covid19-radiography"}

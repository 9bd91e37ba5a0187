"""What the whole real tables say in words, held against their labels.

The searches here are their own: they know neither the phrases of the cards nor how cues reach.
"""

import re

import pytest

from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.stages.contradictions import check_labels
from medrcube.facts import Case
from medrcube.ontologies.terms import load_terms
from medrcube.sources._formats.tables.tables import read_csv
from medrcube.sources.registry import find_sources

pytestmark = pytest.mark.real
TERMS = load_terms()
SIGNS = {
    "Effusion": r"effusion|effucion",
    "Consolidations": r"consolidat|hepatiz",
    "B-lines": r"\bb[ _-]?lines?\b|white ?lung",
    "A-lines": r"\ba-lines?\b|effusiona-line",
    "Pleural line irregularities": r"pleura\w* (line )?(irregularit|thicken)|unsmooth",
    "Air bronchogram": r"air bronchogram|\bbronchiogram",
}
COMMENTS = ("Comments from web site", "Comments first medical doctor (MD1)", "MD2", "MD3")
NOTES = ("clinical_notes", "other_notes")
NORMAL = (
    r"(film|radiographs?|x-ray)[^.;]{0,70}\b(was|were|shows a|:)[^.;]{0,10}\b(normal|unremarkable)"
    r"|^unremarkable|\. ?unremarkable\b|normal appearances|lungs clear"
    r"|(radiograph|radiography|x-ray)[^.;]{0,90}(did not show|no) (any )?abnormal"
)
CALLED_NORMAL = {
    *("000002-11-a.jpg", "000002-11-b.jpg", "covid-19-pneumonia-mild.JPG", "000001.jpg"),
    *("000002-16.jpg", "kjr-21-e25-g001-l-a.jpg", "41182_2020_203_Fig3_HTML.jpg", "AR-1.jpg"),
    *("SARS-10.1148rg.242035193-g04mr34g04b-Fig4b-day12.jpeg", "gr1_lrg-a.jpg"),
    *("covid-19-pneumonia-evolution-over-a-week-1-day0-PA.jpg",),
}
"""Films whose notes, read by eye, call them normal while the table keys a disease."""


@pytest.fixture(scope="module")
def heard(real_raw):
    """``(source, folder, layout)`` -> card, rows of the table, ground of every case."""

    def make(source, folder, layout, table, name):
        root = real_raw / folder
        if not root.is_dir():
            pytest.skip(f"no real sample at {root}")
        card = find_sources()[source].card
        cases = [
            entry for entry in find_sources()[source].scan(root, layout) if isinstance(entry, Case)
        ]
        grounds = {
            case.key: facts_of_case(card, check_labels(card, case, TERMS).case, TERMS)
            for case in cases
        }
        rows = {row[name]: row for row in read_csv(root / table, columns=(name,))}
        return card, rows, grounds

    return make


@pytest.fixture(scope="module")
def clips(heard):
    folder = "covid19_pocus_ultrasound"
    return heard("pocus-lung", folder, "current", "data/dataset_metadata.csv", "Filename")


@pytest.fixture(scope="module")
def films(heard):
    folder = "covid-chestxray-dataset"
    return heard("covid-chestxray", folder, "scored", "metadata.csv", "filename")


def test_no_sign_that_a_comment_names_counts_as_absent(clips):
    card, rows, grounds = clips
    keys = []
    for key, ground in grounds.items():
        text = " . ".join([key, *(rows[key][column] for column in COMMENTS)]).lower()
        for sign, pattern in SIGNS.items():
            named = [
                match
                for match in re.finditer(pattern, text)
                if not re.search(r"\b(no|without)\b[^.]*$", text[: match.start()])
            ]
            if named and rows[key][sign] == "0":
                keys.append((key, sign))
                assert card.fields["sign"].concept(sign) not in ground.absent, (key, sign)
    assert len(keys) > 60
    assert ("Cov_unsmooth_pleuralline_prelim_study_SSRN_paper2", "B-lines") in keys
    assert ("Pneu_Avi_small-effusionA-line", "A-lines") in keys


def test_no_lung_is_called_healthy_whose_name_tells_an_effusion(clips):
    _, _, grounds = clips
    sick = [key for key in grounds if key.startswith("Reg_Avi") and "ffusion" in key]
    assert len(sick) == 5
    assert not any("healthy lung" in grounds[key].present for key in sick)


def test_film_that_its_notes_call_normal_has_no_finding_disease_or_extent(films):
    card, rows, grounds = films
    abnormal = {
        concept
        for field in card.fields.values()
        if field.kind in ("finding", "disease", "severity")
        for concept in field.concepts()
    } - {"No Finding", "lung involvement 0 of 8"}
    called = {
        key
        for key, ground in grounds.items()
        if rows[key]["modality"] == "X-ray"
        and any(re.search(NORMAL, rows[key][column], re.IGNORECASE) for column in NOTES)
        and rows[key]["finding"] != "No Finding"
        and "(not shown) was normal" not in rows[key]["clinical_notes"]  # of another film
    }
    assert len(called) > 10
    for key in called | CALLED_NORMAL:
        assert abnormal.isdisjoint(grounds[key].present), key

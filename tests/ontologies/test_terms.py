import csv
import re
from pathlib import Path

import pytest

from medrcube.ontologies.label_words import normalise
from medrcube.ontologies.reference_page import terms_page
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import (
    MATCHES,
    NO_TERM,
    Term,
    TermError,
    Terms,
    load_terms,
    read_table,
)
from medrcube.sources.registry import find_sources

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "terms.md"

DIFFERENCES = {
    ("Hernia", "radlex"): ("RID4934", "exact", "the term for any hernia of the diaphragm"),
    ("AP supine", "radlex"): ("RID45662", "exact", "the term for both words, not for supine alone"),
    ("Clavicle fracture", "hpo"): ("HP:0041144", "exact", "the first map had none"),
    ("prosthetic valve", "hpo"): ("HP:6000227", "exact", "the first map had none"),
    ("adenopathy", "icd11"): ("MA01", "exact", "the first map had none"),
    ("SPICULATED", "hpo"): ("HP:6001049", "broader", "a modifier of any abnormality"),
    ("MINF", "hpo"): ("HP:0001658", "broader", "an infarction of any age"),
    ("MINF", "radlex"): ("RID3236", "broader", "an infarction of any age"),
    ("MYO", "radlex"): ("RID1398", "broader", "of every chamber"),
    ("LV", "radlex"): ("RID1392", "close", "the chamber with its wall"),
    ("RV (structure)", "radlex"): ("RID1389", "close", "the chamber with its wall"),
    ("heart insufficiency", "icd11"): ("BD10", "narrower", "the congestive form"),
    ("cerebral microbleed", "icd11"): ("8B21.1", "narrower", "the silent ones"),
    ("cerebral aneurysm", "hpo"): ("HP:0004944", "broader", "any widening of the artery"),
    ("vertebral degenerative changes", "icd11"): ("FA8Z", "close", "a residual category"),
    ("any", "icd11"): ("8B0Z", "close", "a residual category"),
    ("pacemaker", "icd11"): ("QB50.00", "close", "a code for having one"),
    ("skin thickening", "hpo"): ("HP:0001072", "broader", "of any site"),
    ("architectural distortion", "radlex"): ("RID34261", "broader", "of any organ"),
    ("calcification type VASCULAR", "radlex"): ("RID34253", "broader", "of any site"),
    ("calcification type FINE_LINEAR_BRANCHING", "radlex"): ("RID34255", "close", "no branches"),
    ("ILD", "hpo"): ("HP:0006530", "broader", "any change of the interstitium"),
    ("apical pleural thickening", "hpo"): ("HP:0032176", "close", "the opacity, not its cause"),
    ("OVAL", "radlex"): ("RID5800", "broader", "the descriptor"),
    ("ROUND", "radlex"): ("RID5799", "broader", "the descriptor"),
    ("IRREGULAR", "radlex"): ("RID5809", "broader", "the descriptor"),
    ("LOBULATED", "radlex"): ("RID5801", "broader", "the descriptor"),
    ("CIRCUMSCRIBED", "radlex"): ("RID34279", "broader", "the descriptor"),
    ("OBSCURED", "radlex"): ("RID5710", "broader", "the descriptor"),
    ("ILL_DEFINED", "radlex"): ("RID34283", "broader", "the descriptor"),
    ("MICROLOBULATED", "radlex"): ("RID5712", "broader", "the descriptor"),
    ("SPICULATED", "radlex"): ("RID5713", "broader", "the descriptor"),
    ("calcification distribution LINEAR", "radlex"): ("RID5811", "broader", "the descriptor"),
    ("calcification distribution REGIONAL", "radlex"): ("RID34260", "broader", "the descriptor"),
    ("calcification distribution SEGMENTAL", "radlex"): ("RID5694", "broader", "the descriptor"),
    ("BENIGN", "radlex"): ("RID15654", "broader", "the descriptor"),
    ("MALIGNANT", "radlex"): ("RID15655", "broader", "the descriptor"),
    ("hypoechoic", "radlex"): ("RID6046", "broader", "the descriptor"),
    ("anechoic", "radlex"): ("RID34360", "broader", "the descriptor"),
    ("hyperechoic", "radlex"): ("RID6048", "broader", "the descriptor"),
    ("T1", "radlex"): ("RID10794", "close", "the weighting"),
    ("T2", "radlex"): ("RID10795", "close", "the weighting"),
    ("T2*", "radlex"): ("RID10796", "close", "the weighting"),
    ("PD", "radlex"): ("RID28832", "close", "the weighting"),
    ("DWI", "radlex"): ("RID10799", "close", "the weighting"),
    ("left", "radlex"): ("RID5824", "close", "the descriptor"),
    ("right", "radlex"): ("RID5825", "close", "the descriptor"),
    ("bilateral", "radlex"): ("RID5771", "close", "the descriptor"),
    ("unilateral", "radlex"): ("RID38593", "close", "the descriptor"),
}
"""Where terms.csv departs from the first map: id, closeness and why."""


@pytest.fixture
def first_map(real_ontologies):
    """Rows of the first map and of its closeness table, by label."""
    folder = real_ontologies.with_name("terms")
    if not folder.is_dir():
        pytest.skip(f"no label map at {folder}; set MEDRCUBE_SHARED to its parent folder")
    tables = []
    for name in ("label_terms.csv", "label_terms_match.csv"):
        with (folder / name).open(encoding="utf-8", newline="") as file:
            tables.append({row["label"]: row for row in csv.DictReader(file)})
    return tables


@pytest.mark.real
def test_every_label_of_the_first_map_has_its_ids_or_a_reason(first_map):
    labels, matches = first_map
    terms, members = load_terms(), set()
    for label, row in labels.items():
        for ontology, column in (
            ("hpo", "hpo_id"),
            ("radlex", "radlex_id"),
            ("icd11", "icd11_code"),
        ):
            closeness = matches[label][f"{ontology}_match"]
            ours = terms[label].matches().get(ontology, ("", ""))
            if ours != (row[column], closeness):
                members.add((label, ontology))
                assert ours == DIFFERENCES[label, ontology][:2], label
    assert members == DIFFERENCES.keys()


@pytest.mark.real
def test_notes_hold_no_title_of_hpo_or_icd11(first_map):
    for label, row in first_map[0].items():
        term = load_terms()[label]
        for title in (row["hpo_label"], row["icd11_title"]):
            if title and normalise(title) not in (normalise(term.name), normalise(label)):
                assert normalise(title) not in normalise(term.note), label


def test_every_value_of_every_card_is_a_term_that_has_an_id_or_says_why_not():
    terms = load_terms()
    stated = {
        concept
        for source in find_sources().values()
        for field in source.card.fields.values()
        for concept in field.concepts()
    }
    assert len(stated) > 300
    for label in stated:
        assert terms[label].ids() or terms[label].note.startswith(NO_TERM), label


def test_a_term_without_an_id_says_why_and_one_with_an_id_does_not():
    for term in load_terms().values():
        assert bool(term.ids()) != bool(re.match(f"{NO_TERM}[a-zA-Z]", term.note)), term


@pytest.mark.parametrize("reviewed", ["Dr. A. Name", "2026-01-31", "yes", "A. Name 31.1.2026"])
def test_a_review_needs_a_name_and_a_day(reviewed):
    with pytest.raises(TermError, match="expected the clinician's name and the day"):
        Terms([Term(label="a", kind="finding", name="a", reviewed=reviewed)])


def test_a_review_with_a_name_and_a_day_is_kept():
    terms = Terms([Term(label="a", kind="finding", name="a", reviewed="A. Name 2026-01-31")])
    assert terms["a"].reviewed == "A. Name 2026-01-31"


def test_the_committed_page_is_what_the_tables_say():
    assert PAGE.read_text(encoding="utf-8") == terms_page(), "run  make reference"


def test_the_page_lists_what_no_clinician_has_seen_and_nothing_else():
    review_note = "A. Name 2026-01-31"
    term = Term(label="one", kind="finding", name="first", hpo_id="HP:9", hpo_match="close")
    terms = Terms(
        [
            term,
            Term(
                label="two",
                kind="finding",
                name="x",
                hpo_id="HP:8",
                hpo_match="broader",
                reviewed=review_note,
            ),
            Term(label="three", kind="finding", name="y", radlex_id="RID9", radlex_match="exact"),
            Term(label="four", kind="finding", name="z", note="no term: made up; here"),
        ]
    )
    page = terms_page(terms, Relations((), terms))
    assert "| `one` | first | HPO HP:9 close |  |" in page
    assert "`two`" not in page
    assert "| finding | `three` |" in page
    assert "| made up | `four` |" in page
    assert "| terms with an id that is not exact | 2 | 1 |" in page
    assert "No clinician has seen any row" not in page


def test_an_unknown_label_is_named_with_what_to_do():
    with pytest.raises(TermError, match=r"'Nonsense' is not a concept .* add a row"):
        load_terms()["Nonsense"]


def test_a_label_cannot_stand_twice():
    term = Term(label="a", kind="finding", name="a")
    with pytest.raises(TermError, match="two rows"):
        Terms([term, term])


def test_a_term_needs_a_name():
    with pytest.raises(TermError, match="needs a kind and a name"):
        Terms([Term(label="a", kind="finding", name=" ")])


def test_a_table_with_another_header_is_refused():
    with pytest.raises(TermError, match="header"):
        read_table("terms.csv", ("label", "kind"))


def test_only_exact_ids_identify_a_concept():
    fibrosis = load_terms()["Fibrosis"]
    assert fibrosis.exact_ids() == {"HP:0002206"}
    assert fibrosis.ids() == {"hpo": "HP:0002206", "radlex": "RID3820"}


def test_every_id_has_the_form_of_its_ontology_and_a_closeness():
    for term in load_terms().values():
        for value, match, form in (
            (term.hpo_id, term.hpo_match, r"HP:\d{7}"),
            (term.radlex_id, term.radlex_match, r"RID\d+"),
            (term.icd11_code, term.icd11_match, r"[0-9A-Z]{4}(\.[0-9A-Z]+)?"),
        ):
            if value:
                assert re.fullmatch(form, value), term
                assert match in MATCHES, term
            else:
                assert match == "", term


def test_names_start_in_lower_case_unless_proper_or_abbreviated():
    proper = {
        "Alzheimer",
        "Chiari",
        "Parkinson",
        "Escherichia",
        "A-line",
        "B-line",
        "BI-RADS",
        "Nottingham",
        "Brixia",
    }
    for term in load_terms().values():
        first = term.name.split()[0]
        capital = first[0].isupper()
        assert (
            not capital
            or first in proper
            or re.match(r"[A-Z]+[a-z]*\d|[A-Z]{2}|X-ray", first)
            or (term.label.endswith("pneumonia"))
        ), term


def test_letters_that_mean_two_things_are_two_concepts():
    terms = load_terms()
    assert terms["PA"].name == "posteroanterior (PA) view"
    assert terms["PA (structure)"].name == "pulmonary artery"
    assert terms["RV"].kind != terms["RV (structure)"].kind

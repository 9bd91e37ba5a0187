import re

import pytest

from medrcube.ontologies.terms import Term, TermError, Terms, load_terms, read_table


def test_an_unknown_label_is_named_with_what_to_do():
    with pytest.raises(TermError, match=r"'Nonsense' is no concept .* add a row"):
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
                assert match in {"exact", "close", "broader", "narrower"}, term
            else:
                assert match == "", term


def test_names_start_in_lower_case_unless_proper_or_abbreviated():
    proper = {
        "Alzheimer",
        "Parkinson",
        "Escherichia",
        "A-lines",
        "B-lines",
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

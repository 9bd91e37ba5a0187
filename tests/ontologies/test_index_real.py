"""The index of the three real ontologies, built once, against answers that are known.

The likenesses are those that an independent reader of HPO 2025-01-16 gave before this was written.
"""

import time

import pytest

from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.index.compile import OntologyInput, up_to_date
from medrcube.ontologies.index_knowledge import IndexKnowledge
from medrcube.ontologies.terms import load_terms

pytestmark = pytest.mark.real
LIN = {
    ("Atelectasis", "Consolidation"): 0.59,
    ("Atelectasis", "Pneumonia"): 0.44,
    ("Atelectasis", "Edema"): 0.40,
    ("Atelectasis", "Effusion"): 0.44,
    ("Atelectasis", "Pneumothorax"): 0.44,
    ("Atelectasis", "Lung Opacity"): 0.67,
    ("Consolidation", "Pneumonia"): 0.42,
    ("Consolidation", "Edema"): 0.38,
    ("Consolidation", "Effusion"): 0.41,
    ("Consolidation", "Pneumothorax"): 0.41,
    ("Consolidation", "Lung Opacity"): 0.87,
    ("Pneumonia", "Edema"): 0.49,
    ("Pneumonia", "Effusion"): 0.53,
    ("Pneumonia", "Pneumothorax"): 0.53,
    ("Pneumonia", "Lung Opacity"): 0.48,
    ("Edema", "Effusion"): 0.67,
    ("Edema", "Pneumothorax"): 0.48,
    ("Edema", "Lung Opacity"): 0.43,
    ("Effusion", "Pneumothorax"): 0.80,
    ("Effusion", "Lung Opacity"): 0.47,
    ("Effusion", "Pleural_Thickening"): 0.73,
    ("Pneumothorax", "Lung Opacity"): 0.47,
    ("Cardiomegaly", "Atelectasis"): 0.00,
    ("Cardiomegaly", "Consolidation"): 0.00,
    ("Cardiomegaly", "Pneumonia"): 0.00,
    ("Cardiomegaly", "Edema"): 0.00,
    ("Cardiomegaly", "Effusion"): 0.00,
    ("Cardiomegaly", "Pneumothorax"): 0.00,
    ("Cardiomegaly", "Lung Opacity"): 0.00,
}


@pytest.fixture
def index(real_index):
    with OntologyIndex(real_index) as opened:
        yield opened


def _files(folder):
    return [
        OntologyInput(ontology="hpo", path=folder / "hp_2025-01-16.obo.gz"),
        OntologyInput(ontology="radlex", path=folder / "radlex_2017-01_term_rid_parent.csv.gz"),
        OntologyInput(ontology="icd11", path=folder / "SimpleTabulation-ICD-11-MMS-en_2024-01.zip"),
        OntologyInput(
            ontology="sssom",
            path=folder / "mondo_exactmatch_icd11_foundation_2026-08-04.sssom.tsv.gz",
        ),
    ]


def test_everything_of_every_file_is_in_it(index, real_index, real_ontologies):
    holdings = {holding.edition.ontology: holding for holding in index.holdings}
    assert (holdings["hpo"].concepts, holdings["hpo"].obsolete) == (19_484, 450)
    assert holdings["radlex"].concepts >= 45_468
    assert holdings["icd11"].concepts == 36_044
    assert holdings["sssom"].mappings == 4_633
    assert up_to_date(real_index, _files(real_ontologies))


@pytest.mark.parametrize("pair", LIN)
def test_likeness_in_hpo(index, pair):
    first, second = (load_terms()[label].hpo_id for label in pair)
    assert index.lin(first, second) == pytest.approx(LIN[pair], abs=0.005)


def test_every_id_of_the_term_table_is_known(index):
    unknown = {
        (term.label, identity)
        for term in load_terms().values()
        for identity in term.ids().values()
        if index.resolve(identity) is None
    }
    assert unknown == set()


def test_a_begun_word_finds_pleural_effusion_in_all_three(index):
    first = {hit.id if not hit.code else hit.code for hit in index.search("pleural eff", 3)}
    assert first == {"HP:0002202", "RID34539", "CB27"}


def test_british_spelling_plural_and_synonyms_lead_to_the_concept(index):
    assert index.search("pulmonary oedemas")[0].id == "HP:0100598"
    assert index.search("enlarged heart")[0].id == "HP:0001640"


def test_siblings_of_hpo_are_not_made_implications(index):
    knowledge, terms = IndexKnowledge(index), load_terms()
    malignant, effusion = terms["malignant pleural effusion"], terms["Pleural Effusion"]
    assert not knowledge.implies(malignant, effusion)
    assert knowledge.implies(terms["empyema"], effusion)
    assert not knowledge.same(malignant, effusion)


def test_terms_are_named_by_the_ontology_of_their_kind(index):
    knowledge, terms = IndexKnowledge(index), load_terms()
    named = {
        label: knowledge.preferred(terms[label])
        for label in ("Pneumonia", "Cardiomegaly", "FLAIR", "PA", "Nodule/Mass")
    }
    assert (named["Pneumonia"].id, named["Pneumonia"].ontology) == ("CA40", "icd11")
    assert (named["Cardiomegaly"].id, named["Cardiomegaly"].ontology) == ("HP:0001640", "hpo")
    assert (named["FLAIR"].ontology, named["PA"].ontology) == ("radlex", "radlex")
    assert named["Nodule/Mass"] is None


def test_mappings_reach_icd_concepts_by_their_foundation(index):
    row = next(
        entry for entry in index.mapped("MONDO:0000004") if entry.predicate == "skos:exactMatch"
    )
    assert index.concept(row.object) is not None
    assert row.object in index.equivalents("MONDO:0000004")


def test_150_labels_with_all_ancestors_take_less_than_50_ms(real_index):
    ids = list(dict.fromkeys(id_ for term in load_terms().values() for id_ in term.ids().values()))
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        with OntologyIndex(real_index) as index:
            ancestors = [index.ancestors(identity) for identity in ids[:150]]
        best = min(best, time.process_time() - started)
    assert sum(map(len, ancestors)) > 500
    assert best < 0.05

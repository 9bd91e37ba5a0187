import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medrcube.ontologies.concept_records import SynonymScope


@pytest.fixture
def index(compiled, concept):
    return compiled(
        hpo=[
            concept("HP:0000001", "Marsh fog", also=("Fog over marshes", "MF")),
            concept("HP:0000002", "Cold marsh fog"),
            concept("HP:0000003", "Oedematous fog", obsolete=True),
            concept(
                "HP:0000004", "obsolete Swamp mist", obsolete=True, replaced_by=("HP:0000001",)
            ),
            concept(
                "HP:0000005",
                "Haematoma of the moon",
                also=("Moonbleed",),
                scope=SynonymScope.RELATED,
            ),
        ],
        radlex=[
            concept("RID10", "marsh-fog"),
            concept("RID11", "T2* gazing"),
            concept("RID12", "T2 gazing"),
            concept("RID13", "C7"),
            concept("RID14", "Sjögren's β-lake"),
            concept("RID15", "fibrosis of stone"),
            concept("RID16", "fibroma of stone"),
        ],
        icd11=[
            concept("icd:1", "Other specified marsh fog", code="MF10.Y", residual=True),
            concept("icd:2", "Marsh fog in its long and wet form", code="MF10"),
        ],
    )


def ids(hits):
    return [hit.id for hit in hits]


def test_the_last_word_may_be_begun_only(index):
    assert ids(index.search("marsh fo"))[:2] == ["HP:0000001", "RID10"]
    assert index.search("mar fog") == ()


def test_plural_hyphen_case_british_spelling_and_accents_do_not_matter(index):
    assert {"HP:0000001", "RID10"} <= set(ids(index.search("MARSH-FOGS")))
    assert ids(index.search("hematomas of the moon")) == ["HP:0000005"]
    assert ids(index.search("sjogrens beta lake")) == ["RID14"]
    assert ids(index.search("Sjogren's beta-lakes")) == ["RID14"]


def test_a_word_is_not_cut_when_it_is_only_begun(index):
    assert ids(index.search("fibros")) == ["RID15"]


def test_digits_and_stars_are_kept(index):
    assert ids(index.search("c7")) == ["RID13"]
    assert ids(index.search("t2* gazing")) == ["RID11"]
    assert ids(index.search("t2 gazing")) == ["RID12"]


def test_each_concept_comes_once_with_its_best_name(index):
    hits = index.search("marsh fog")
    assert len(ids(hits)) == len(set(ids(hits)))
    first = hits[0]
    assert (first.id, first.matched, first.scope, first.exact) == (
        "HP:0000001",
        "Marsh fog",
        "LABEL",
        True,
    )


def test_an_equal_name_comes_before_a_longer_one(index):
    hits = index.search("fog over marsh")
    assert (hits[0].id, hits[0].matched) == ("HP:0000001", "Fog over marshes")


def test_the_name_of_a_withdrawn_concept_leads_to_its_heir(index):
    (hit,) = index.search("swamp mist")
    assert (hit.id, hit.label, hit.matched, hit.obsolete) == (
        "HP:0000001",
        "Marsh fog",
        "obsolete Swamp mist",
        False,
    )


def test_the_closest_name_counts_where_several_are_equal(compiled, concept):
    index = compiled(
        hpo=[
            concept(
                "HP:0000001", "old", also=("mist",), obsolete=True, replaced_by=("HP:0000002",)
            ),
            concept("HP:0000002", "Mist"),
            concept("HP:0000003", "haze", also=("mist",)),
        ]
    )
    first, second = index.by_name("mist")
    assert (first.id, first.matched, first.scope) == ("HP:0000002", "Mist", "LABEL")
    assert (second.id, second.scope) == ("HP:0000003", "EXACT")


def test_what_is_withdrawn_or_a_rest_class_comes_last(index):
    hits = index.search("fog")
    assert {hit.id for hit in hits[-2:]} == {"HP:0000003", "icd:1"}
    assert all(not (hit.obsolete or hit.residual) for hit in hits[:-2])
    assert len(hits) == 6


def test_an_id_or_code_finds_its_concept_first(index):
    assert ids(index.search("rid13")) == ["RID13"]
    assert ids(index.search("MF10"))[0] == "icd:2"
    assert ids(index.search("HP:0000004")) == ["HP:0000001"]


def test_one_ontology_and_a_limit_may_be_asked_for(index):
    assert ids(index.search("marsh fog", ontology="radlex")) == ["RID10"]
    assert ids(index.search("RID10", ontology="hpo")) == []
    assert len(index.search("fog", 2)) == 2


def test_named_takes_only_equal_names(index):
    assert set(ids(index.by_name("Marsh fogs"))) == {"HP:0000001", "RID10"}
    assert index.by_name("marsh") == ()
    assert [hit.scope for hit in index.by_name("moonbleed")] == ["RELATED"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=st.text(max_size=20) | st.sampled_from(['"', "fog*", "a OR", "NEAR(fog)", "-", "^fog"]))
def test_no_text_breaks_a_search(index, text):
    index.search(text)

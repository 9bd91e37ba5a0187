import pytest

from medrcube.ontologies.index_knowledge import IndexKnowledge
from medrcube.ontologies.knowledge_protocol import ConceptName
from medrcube.ontologies.terms import Term


@pytest.fixture
def knowledge(compiled, concept):
    return IndexKnowledge(
        compiled(
            hpo=[
                concept("HP:0000001", "All"),
                concept("HP:0000002", "Wetness", "HP:0000001"),
                concept("HP:0000003", "Marsh", "HP:0000002", also=("Boggy ground", "MG")),
                concept("HP:0000004", "Lake", "HP:0000002", also=("Mere", "MG")),
                concept("HP:0000005", "Dryness", "HP:0000001"),
                concept("HP:0000006", "Old marsh", obsolete=True, replaced_by=("HP:0000003",)),
                concept("HP:0000007", "Lost", obsolete=True),
                concept("HP:0000008", "Salt lake", "HP:0000004", also=("Inland sea",)),
                concept("HP:0000009", "Dead lake", "HP:0000008", also=("Inland sea",)),
                concept("HP:0000010", "Bitter lake", "HP:0000004", also=("Inland sea",)),
                concept("HP:0000011", "L\N{REPLACEMENT CHARACTER}ke", "HP:0000001"),
            ],
            radlex=[
                concept("RID1", "thing"),
                concept("RID2", "pond", "RID1"),
                concept("RID3", "mere", "RID2"),
                concept("RID4", "desert", "RID1"),
                concept("RID5", "oasis", "RID4"),
            ],
            icd11=[
                concept("icd:1", "Drowning"),
                concept("icd:2", "Drowning in a marsh", "icd:1", code="DR10"),
                concept("icd:4", "Shore", code="XA1", chapter="X"),
                concept("icd:3", "Other drowning", "icd:1", code="DR1Y", residual=True),
            ],
            sssom=[
                ("MONDO:1", "skos:exactMatch", "icd:2"),
                ("MONDO:1", "skos:exactMatch", "HP:0000005"),
                ("MONDO:2", "skos:narrowMatch", "icd:1"),
                ("MONDO:2", "skos:narrowMatch", "HP:0000002"),
            ],
        )
    )


def term(name, kind="finding", match="exact", **ids):
    return Term(
        label=f"{name} {sorted(ids.items())}",
        kind=kind,
        name=name,
        hpo_id=ids.get("hpo", ""),
        hpo_match=match if "hpo" in ids else "",
        radlex_id=ids.get("radlex", ""),
        radlex_match=match if "radlex" in ids else "",
        icd11_code=ids.get("icd11", ""),
        icd11_match=match if "icd11" in ids else "",
    )


MARSH = term("soft ground", hpo="HP:0000003")
LAKE = term("still water", hpo="HP:0000004")
WET = term("wet", hpo="HP:0000002")


def test_editions_are_named_with_their_versions(knowledge):
    assert knowledge.editions() == {"hpo": "1", "radlex": "1", "icd11": "1", "sssom": "1"}


class TestSame:
    def test_ids_that_lead_to_one_concept(self, knowledge):
        assert knowledge.same(MARSH, term("other word", hpo="HP:0000006"))
        assert not knowledge.same(MARSH, LAKE)

    def test_names_across_ontologies(self, knowledge):
        assert knowledge.same(LAKE, term("small water", radlex="RID3"))
        assert knowledge.same(LAKE, term("Meres"))
        assert not knowledge.same(MARSH, term("small water", radlex="RID3"))

    def test_an_exact_mapping_through_one_id_between(self, knowledge):
        assert knowledge.same(term("x", icd11="DR10"), term("y", hpo="HP:0000005"))
        assert not knowledge.same(term("x", icd11="icd:1"), WET)

    def test_an_abbreviation_joins_nothing(self, knowledge):
        assert not knowledge.same(MARSH, LAKE)
        assert not knowledge.same(LAKE, term("MG"))

    @pytest.mark.parametrize("match", ["close", "broader", "narrower"])
    def test_an_id_that_is_not_exact_identifies_nothing(self, knowledge, match):
        assert not knowledge.same(MARSH, term("x", match=match, hpo="HP:0000003"))
        assert not knowledge.same(LAKE, term("x", match=match, radlex="RID3"))

    def test_an_id_that_no_index_holds_still_identifies(self, knowledge):
        a, b = term("x", hpo="HP:0000099"), term("y", hpo="HP:0000099")
        assert knowledge.same(a, b)


class TestImplies:
    def test_ancestors_in_any_ontology(self, knowledge):
        assert knowledge.implies(MARSH, WET)
        assert not knowledge.implies(WET, MARSH)
        assert not knowledge.implies(MARSH, LAKE)
        assert knowledge.implies(term("x", radlex="RID3"), term("y", radlex="RID1"))

    def test_an_icd_code_stands_for_its_concept(self, knowledge):
        assert knowledge.implies(term("x", icd11="DR10"), term("y", icd11="icd:1"))

    def test_one_concept_does_not_imply_itself(self, knowledge):
        assert not knowledge.implies(MARSH, MARSH)
        assert not knowledge.implies(MARSH, term("wet", hpo="HP:0000003"))
        salt, dead = term("salt", hpo="HP:0000008"), term("dead", hpo="HP:0000009")
        assert knowledge.same(salt, dead)
        assert not knowledge.implies(dead, salt)
        assert knowledge.implies(dead, LAKE)

    @pytest.mark.parametrize("match", ["close", "broader", "narrower"])
    def test_only_exact_ids_count(self, knowledge, match):
        assert not knowledge.implies(term("x", match=match, hpo="HP:0000003"), WET)
        assert not knowledge.implies(MARSH, term("x", match=match, hpo="HP:0000002"))


class TestLikeness:
    def test_the_highest_of_all_ontologies_counts(self, knowledge):
        a = term("a", hpo="HP:0000004", radlex="RID3")
        b = term("b", hpo="HP:0000005", radlex="RID2")
        assert knowledge.similarity(term("a", hpo="HP:0000004"), term("b", hpo="HP:0000005")) == 0
        alone = knowledge.similarity(term("a", radlex="RID3"), term("b", radlex="RID2"))
        assert alone > 0
        assert knowledge.similarity(a, b) == knowledge.similarity(b, a) == alone

    def test_close_ids_count_and_wider_ones_do_not(self, knowledge):
        exact = knowledge.similarity(MARSH, LAKE)
        assert exact == knowledge.similarity(term("x", match="close", hpo="HP:0000003"), LAKE) > 0
        assert knowledge.similarity(term("x", match="broader", hpo="HP:0000003"), LAKE) is None

    def test_nothing_is_said_where_no_ontology_has_both(self, knowledge):
        assert knowledge.similarity(MARSH, term("x", radlex="RID2")) is None
        assert knowledge.similarity(MARSH, term("x")) is None

    def test_siblings_share_a_direct_parent(self, knowledge):
        assert knowledge.siblings(MARSH, LAKE)
        assert knowledge.siblings(LAKE, term("x", match="close", hpo="HP:0000003"))
        assert not knowledge.siblings(MARSH, term("dry", hpo="HP:0000005"))
        assert not knowledge.siblings(MARSH, WET)
        assert not knowledge.siblings(MARSH, term("again", hpo="HP:0000006"))
        salt, bitter = term("salt", hpo="HP:0000008"), term("bitter", hpo="HP:0000010")
        assert not knowledge.siblings(salt, bitter)
        assert not knowledge.siblings(
            term("x", radlex="RID2"), term("y", match="close", radlex="RID2")
        )


class TestPreferred:
    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            ("finding", ConceptName(text="Marsh", id="HP:0000003", ontology="hpo", version="1")),
            (
                "disease",
                ConceptName(text="Drowning in a marsh", id="DR10", ontology="icd11", version="1"),
            ),
            ("view", ConceptName(text="oasis", id="RID5", ontology="radlex", version="1")),
        ],
    )
    def test_the_ontology_of_the_kind_names_the_term(self, knowledge, kind, name):
        query_term = term("x", kind, hpo="HP:0000003", radlex="RID5", icd11="DR10")
        assert knowledge.preferred(query_term) == name

    def test_the_next_names_it_where_the_first_has_none(self, knowledge):
        assert knowledge.preferred(term("x", "disease", hpo="HP:0000003")).text == "Marsh"
        assert knowledge.preferred(term("x", "view", hpo="HP:0000003")) is None

    def test_a_rest_class_or_a_withdrawn_concept_names_nothing(self, knowledge):
        assert knowledge.preferred(term("x", "disease", icd11="DR1Y")) is None
        assert knowledge.preferred(term("x", hpo="HP:0000007")) is None
        assert knowledge.preferred(term("x", hpo="HP:0000011")) is None
        assert knowledge.preferred(term("x", "disease", icd11="XA1")) is None
        assert knowledge.preferred(term("x", hpo="HP:0000006")).id == "HP:0000003"

    @pytest.mark.parametrize("match", ["close", "broader", "narrower"])
    def test_only_an_exact_id_names(self, knowledge, match):
        assert knowledge.preferred(term("x", match=match, hpo="HP:0000003")) is None


def test_find_takes_labels_and_exact_synonyms_of_living_concepts(knowledge):
    assert [name.id for name in knowledge.find("meres")] == ["RID3", "HP:0000004"]
    assert knowledge.find("old marsh")[0].text == "Marsh"
    for text in ("mere water", "MG", "Other drowning", "lost", "shore", "l ke", ""):
        assert knowledge.find(text) == ()


def test_what_is_remembered_is_bounded(knowledge):
    for number in range(5000):
        knowledge.similarity(MARSH, term(f"word {number}"))
    assert knowledge._facts.cache_info().currsize <= 4096


class TestContents:
    def test_what_stands_deeper_says_more(self, knowledge):
        wet, lake, dead = knowledge.contents([WET, LAKE, term("x", hpo="HP:0000009")])
        assert 0 < wet < lake < dead == 1

    def test_all_are_of_the_ontology_that_has_most(self, knowledge):
        both = term("a", hpo="HP:0000004", radlex="RID3")
        mixed = knowledge.contents([both, term("b", radlex="RID2"), term("c", radlex="RID1")])
        assert mixed == knowledge.contents(
            [term("a", radlex="RID3"), term("b", radlex="RID2"), term("c", radlex="RID1")]
        )
        assert None not in mixed

    def test_what_no_exact_or_close_id_names_is_not_known(self, knowledge):
        far = term("x", match="broader", hpo="HP:0000003")
        assert knowledge.contents([LAKE, far, term("y")])[1:] == (None, None)

import pytest

from medrcube.ontologies.relations import Relation, Relations, load_relations
from medrcube.ontologies.terms import Term, TermError, Terms, load_terms


@pytest.fixture
def relations():
    return load_relations()


def make(*rows):
    labels = dict.fromkeys(label for a, _, b in rows for label in (a, b))
    terms = Terms(Term(label=label, kind="finding", name=label) for label in labels)
    return Relations(
        (Relation(group="g", label_a=a, relation=r, label_b=b, reason="") for a, r, b in rows),
        terms,
    )


def test_closure_climbs_through_every_step(relations):
    assert relations.closure("COVID-19 pneumonia") == {
        "COVID-19 pneumonia",
        "viral pneumonia",
        "Pneumonia",
        "Lung Opacity",
    }


def test_closure_crosses_synonyms():
    relations = make(("a", "same as", "b"), ("b", "implies", "c"))
    assert relations.closure("a") == {"a", "b", "c"}


def test_a_label_without_relations_implies_itself(relations):
    assert relations.closure("pneumoperitoneum") == {"pneumoperitoneum"}


def test_labels_that_share_an_exact_id_are_synonyms():
    terms = Terms(
        Term(label=label, kind="finding", name=label, hpo_id="HP:0000001", hpo_match=match)
        for label, match in (("a", "exact"), ("b", "exact"), ("c", "broader"))
    )
    assert Relations((), terms).synonyms("a") == {"a", "b"}


def test_exclusion_is_inherited_by_the_special(relations):
    assert relations.excludes("BI-RADS 4A", "BI-RADS 5")
    assert relations.excludes("laminar atelectasis", "No Finding")


def test_a_part_is_not_excluded_by_its_own_whole(relations):
    assert not relations.excludes("BI-RADS 4A", "BI-RADS 4")
    assert not relations.excludes("bilateral", "left")


def test_look_alikes_are_symmetric_and_inherited(relations):
    assert relations.alike("Infiltration", "Consolidation")
    assert relations.alike("Consolidation", "Infiltration")
    assert relations.alike("COVID-19 pneumonia", "Infiltration")
    assert not relations.alike("Cardiomegaly", "Pneumothorax")


def test_what_is_suggested_brings_what_it_implies():
    relations = make(("a", "suggests", "b"), ("b", "implies", "c"))
    assert relations.alike("c", "a")


def test_members_of_a_scale_stand_in_scale_order(relations):
    assert relations.group_members("severity word") == ("minimal", "mild", "moderate", "severe")
    assert relations.rank("BI-RADS", "BI-RADS 4B") == relations.rank("BI-RADS", "BI-RADS 4")


def test_a_group_whose_labels_do_not_all_exclude_each_other_is_no_exclusive_group(relations):
    with pytest.raises(TermError, match="'chest' is no exclusive group"):
        relations.group_members("chest")


def test_a_stranger_has_no_rank(relations):
    with pytest.raises(TermError, match="'Edema' is no member"):
        relations.rank("BI-RADS", "Edema")


@pytest.mark.parametrize("ask", ["closure", "synonyms"])
def test_an_unknown_label_is_an_error(relations, ask):
    with pytest.raises(TermError, match="'Nonsense'"):
        getattr(relations, ask)("Nonsense")


def test_a_pair_both_implied_and_excluded_is_an_error():
    with pytest.raises(TermError, match="both implies and excludes"):
        make(("a", "implies", "b"), ("b", "implies", "c"), ("c", "excludes", "a"))


def test_two_labels_that_imply_each_other_are_an_error():
    with pytest.raises(TermError, match="imply each other"):
        make(("a", "implies", "b"), ("b", "implies", "a"))


def test_a_row_with_an_unknown_label_is_an_error():
    row = Relation(group="g", label_a="Edema", relation="implies", label_b="x", reason="")
    with pytest.raises(TermError, match="'x' is no label"):
        Relations([row], load_terms())


def test_a_row_with_an_unknown_relation_is_an_error():
    with pytest.raises(TermError, match="relation must be one of"):
        make(("a", "causes", "b"))


def test_every_scale_with_a_wording_is_an_exclusive_group(relations):
    assert set(relations._scales) <= set(relations.groups())

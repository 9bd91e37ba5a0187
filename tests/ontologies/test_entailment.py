from dataclasses import dataclass

import pytest

from medrcube.facts import Grade, Scope
from medrcube.ontologies.distractor_safety import (
    CaseFacts,
    DistractorRequest,
    Evidence,
    SafetyRules,
    judge_distractor,
    option_conflict,
)
from medrcube.ontologies.knowledge_protocol import ConceptName, NoKnowledge
from medrcube.taxonomy import Anatomy, Modality

MARK = Evidence(field="f", scope=Scope.IMAGE, grade=Grade.A)


@dataclass(frozen=True)
class Ontology(NoKnowledge):
    """A small index: parents by label, pairs that are one concept, preferred names."""

    parents: tuple = ()
    one: frozenset = frozenset()
    names: tuple = ()

    def editions(self):
        return {"hpo": "2031-01"}

    def same(self, a, b):
        return frozenset({a.label, b.label}) in self.one

    def implies(self, a, b):
        return (a.label, b.label) in self.parents

    def preferred(self, term):
        text = dict(self.names).get(term.label)
        return ConceptName(text=text, id="X:1", ontology="hpo", version="2031-01") if text else None


def verdict(candidate, key, knowledge, *, grade=Grade.A, group=None, unknown=()):
    mark = Evidence(field="g", scope=Scope.IMAGE, grade=grade)
    ground = CaseFacts(
        present={key: MARK},
        absent={} if group else {candidate: mark},
        unknown=frozenset(unknown),
        anatomy=Anatomy("Chest"),
        modality=Modality("X-ray"),
    )
    request = DistractorRequest(key=key, ground=ground, scope=Scope.IMAGE, group=group)
    return judge_distractor(candidate, request, SafetyRules(knowledge=knowledge))


KINDS_OF = Ontology(parents=(("Fracture", "Hernia"),))


def test_one_concept_of_an_ontology_is_refused_under_another_label():
    knowledge = Ontology(one=frozenset({frozenset({"Hernia", "Fracture"})}))
    assert verdict("Hernia", "Fracture", knowledge).reason == "identity"
    assert verdict("Hernia", "Fracture", NoKnowledge()).allowed


def test_what_an_ontology_makes_true_is_refused_even_when_read_as_absent():
    assert verdict("Hernia", "Fracture", KINDS_OF).reason == "implied"


def test_what_an_uncertain_label_would_make_true_is_refused():
    assert verdict("Hernia", "Pneumothorax", KINDS_OF, unknown=["Fracture"]).reason == "implied"


def test_the_special_is_refused_beside_its_general_even_when_read_as_absent():
    assert verdict("Fracture", "Hernia", KINDS_OF, grade=Grade.B).reason == "implies-true"
    assert verdict("Fracture", "Hernia", KINDS_OF).reason == "implies-true"
    assert verdict("Fracture", "Hernia", NoKnowledge()).allowed


def test_entailments_of_table_and_ontology_join():
    """Ontology: fracture is an edema; table: edema is an opacity. So a fracture is an opacity."""
    joined = Ontology(parents=(("Fracture", "Edema"),))
    assert verdict("Lung Opacity", "Fracture", joined).reason == "implied"
    assert verdict("Lung Opacity", "Fracture", NoKnowledge()).allowed
    twice = Ontology(parents=(("Lung Opacity", "Hernia"),))
    assert verdict("Hernia", "Edema", twice).reason == "implied"


def test_synonyms_of_an_ontology_bring_what_they_imply():
    joined = Ontology(one=frozenset({frozenset({"Fracture", "Edema"})}))
    assert verdict("Lung Opacity", "Fracture", joined).reason == "implied"


def test_preferred_names_that_hold_each_other_are_refused():
    names = (("Hernia", "Malignant gap of bone"), ("Fracture", "Gap of bone"))
    assert verdict("Hernia", "Fracture", Ontology(names=names)).reason == "words"


def test_an_entailment_refuses_a_member_of_the_group_of_the_key():
    between = Ontology(parents=(("AP", "PA"),))
    assert verdict("PA", "AP", between, group="chest view").reason == "implied"
    assert verdict("AP", "PA", between, group="chest view").reason == "implies-true"
    assert verdict("PA", "AP", NoKnowledge(), group="chest view").allowed


def test_a_finding_may_bear_the_name_of_its_organ_but_no_other_finding_may():
    rules = SafetyRules()
    assert not rules.entailment.nested("lung", "Lung Lesion")
    assert rules.entailment.nested("Emphysema", "subcutaneous emphysema")


def test_synonyms_of_the_table_are_one_concept_under_names_that_differ():
    rules = SafetyRules()
    assert rules.entailment.same("calcification cluster", "calcification distribution CLUSTERED")
    assert not rules.entailment.same("calcification cluster", "calcification distribution LINEAR")


def test_entailment_runs_from_the_special_to_the_general_alone():
    entailment = SafetyRules(knowledge=KINDS_OF).entailment
    assert entailment.closure("Fracture") == {"Fracture", "Hernia"}
    assert entailment.closure("Hernia") == {"Hernia"}
    assert entailment.implied("Fracture", "Hernia")
    assert entailment.implied("Hernia", "Fracture")
    assert not entailment.implied("Hernia", "Pneumothorax")


def test_an_ontology_makes_one_concept_of_no_other_pair():
    knowledge = Ontology(one=frozenset({frozenset({"Hernia", "Fracture"})}))
    entailment = SafetyRules(knowledge=knowledge).entailment
    assert entailment.same("Fracture", "Hernia")
    assert not entailment.same("Fracture", "Pneumothorax")


def test_names_are_compared_in_both_directions_and_with_their_own_kind_of_name():
    names = (("Hernia", "Gap"), ("Fracture", "Gap of bone"))
    entailment = SafetyRules(knowledge=Ontology(names=names)).entailment
    assert entailment.nested("Hernia", "Fracture")
    assert entailment.nested("Fracture", "Hernia")
    crossed = SafetyRules(knowledge=Ontology(names=(("Hernia", "Fracture"),))).entailment
    assert not crossed.nested("Hernia", "Fracture")


@pytest.mark.parametrize(
    ("knowledge", "reason"),
    [
        (KINDS_OF, "implied"),
        (Ontology(one=frozenset({frozenset({"Hernia", "Fracture"})})), "same"),
        (Ontology(names=(("Hernia", "Gap"), ("Fracture", "Gap of bone"))), "words"),
        (NoKnowledge(), ""),
    ],
)
def test_two_wrong_options_must_not_be_one_for_an_ontology(knowledge, reason):
    ground = CaseFacts(
        present={"Pneumothorax": MARK},
        absent={},
        unknown=frozenset(),
        anatomy=Anatomy("Chest"),
        modality=Modality("X-ray"),
    )
    request = DistractorRequest(key="Pneumothorax", ground=ground, scope=Scope.IMAGE)
    assert (
        option_conflict("Fracture", "Hernia", request, SafetyRules(knowledge=knowledge)) == reason
    )


@pytest.mark.parametrize("candidate", ["Pleural Effusion", "Lung Opacity", "Infiltration"])
def test_an_index_allows_nothing_that_the_tables_refuse(candidate):
    for key in ("Effusion", "Consolidation", "Edema"):
        if not verdict(candidate, key, NoKnowledge()).allowed:
            assert not verdict(candidate, key, KINDS_OF).allowed

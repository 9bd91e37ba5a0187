from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.facts import Grade, Scope
from medrcube.ontologies.distractor_safety import (
    CaseFacts,
    DistractorRequest,
    Evidence,
    SafetyRules,
    judge_absence,
    judge_distractor,
    judge_key,
    option_conflict,
)
from medrcube.ontologies.distractor_selection import LabelUsage, choose_distractors
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import COLUMNS, TermError, load_terms
from medrcube.taxonomy import Anatomy, Modality
from medrcube.vocabulary.layers import using_vocabulary

CHEST = (
    *("No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity", "Lung Lesion"),
    *("Edema", "Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion"),
    *("Pleural Other", "Fracture", "Support Devices", "Infiltration", "Mass", "Nodule"),
    *("Emphysema", "Fibrosis", "Pleural_Thickening", "Hernia", "Nodule/Mass", "Effusion"),
)
RULES = SafetyRules()


def mark(grade=Grade.A, scope=Scope.IMAGE, field="finding"):
    return Evidence(field=field, scope=scope, grade=grade)


def ground(present, absent=(), unknown=(), *, grade=Grade.A, region=False, **place):
    return CaseFacts(
        present={label: mark() for label in present},
        absent={label: mark(grade) for label in absent},
        unknown=frozenset(unknown),
        anatomy=place.get("anatomy", Anatomy("Chest")),
        modality=place.get("modality", Modality("X-ray")),
        region=region,
    )


def ask(candidate, key, facts, *, scope=Scope.IMAGE, group=None, rules=RULES):
    return judge_distractor(
        candidate, DistractorRequest(key=key, ground=facts, scope=scope, group=group), rules
    )


def test_a_label_read_as_absent_is_allowed_with_grade_a():
    verdict = ask("Cardiomegaly", "Pneumothorax", ground(["Pneumothorax"], ["Cardiomegaly"]))
    assert verdict.allowed
    assert verdict.grade is Grade.A
    assert verdict.passed == (1, 2, 3, 4, 5, 6, 7, 8, 9, 11)


def test_blank_is_not_zero():
    blank = ask("Cardiomegaly", "Pneumothorax", ground(["Pneumothorax"]))
    silent = ask(
        "Cardiomegaly", "Pneumothorax", ground(["Pneumothorax"], ["Cardiomegaly"], grade=Grade.C)
    )
    assert (blank.allowed, blank.reason) == (False, "no-evidence")
    assert (silent.allowed, silent.reason) == (False, "evidence-C")


def test_an_image_lacks_what_was_denied_though_nothing_else_was_seen():
    verdict = judge_absence("Cardiomegaly", ground([], ["Cardiomegaly"]), Scope.IMAGE, RULES)
    assert (verdict.allowed, verdict.grade) == (True, Grade.A)


@pytest.mark.parametrize(
    ("present", "absent", "unknown", "grade", "reason"),
    [
        (["No Finding"], [], [], Grade.A, "no-evidence"),
        ([], ["Cardiomegaly"], [], Grade.C, "evidence-C"),
        ([], [], ["Cardiomegaly"], Grade.A, "identity"),
        (["Pneumonia"], ["Consolidation"], [], Grade.B, "look-alike"),
    ],
    ids=["no finding alone", "silence", "unknown", "what pneumonia may look like"],
)
def test_an_image_does_not_lack_what_nobody_surely_denied(present, absent, unknown, grade, reason):
    facts = ground(present, absent, unknown, grade=grade)
    candidate = next(iter([*absent, *unknown, "Cardiomegaly"]))
    assert judge_absence(candidate, facts, Scope.IMAGE, RULES).reason == reason


def test_a_value_of_a_group_is_lacking_where_another_holds():
    facts = ground(["no pneumothorax"])
    verdict = judge_absence(
        "Pneumothorax", facts, Scope.IMAGE, RULES, group="pneumothorax presence"
    )
    assert (verdict.allowed, verdict.grade) == (True, Grade.A)
    assert judge_absence("Pneumothorax", facts, Scope.IMAGE, RULES).reason == "no-evidence"


def test_silence_counts_only_when_asked_for():
    facts = ground(["Pneumothorax"], ["Cardiomegaly"], grade=Grade.C)
    assert ask("Cardiomegaly", "Pneumothorax", facts, rules=SafetyRules(evidence=Grade.C)).allowed


@pytest.mark.parametrize(
    ("candidate", "key"),
    [("Atelectasis", "Mass"), ("Edema", "Cardiomegaly"), ("Pneumothorax", "Rib fracture")],
)
def test_silence_about_what_often_accompanies_the_key_is_no_evidence(candidate, key):
    lenient = SafetyRules(evidence=Grade.C)
    silent = ask(candidate, key, ground([key], [candidate], grade=Grade.C), rules=lenient)
    assert (silent.allowed, silent.reason) == (False, "accompanies")
    assert ask(candidate, key, ground([key], [candidate], grade=Grade.B), rules=lenient).allowed


@pytest.mark.parametrize(
    ("candidate", "key"),
    [
        ("Mass", "hilar enlargement"),
        ("Mass", "adenopathy"),
        ("Mass", "goiter"),
        ("hilar enlargement", "pulmonary hypertension"),
    ],
)
def test_what_readers_take_for_the_key_is_refused(candidate, key):
    facts = ground([key], [candidate], grade=Grade.B)
    assert ask(candidate, key, facts).reason == "look-alike"


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [("Pleural Effusion", "identity"), ("Effusion", "identity"), ("Lung Opacity", "implied")],
)
def test_what_is_true_under_another_name_or_implied_is_refused(candidate, reason):
    facts = ground(["Effusion", "Edema"], [candidate])
    assert ask(candidate, "Effusion", facts).reason == reason


def test_a_grade_of_one_zone_is_not_the_equally_named_grade_of_another():
    facts = ground(["Brixia A0", "Brixia F3"])
    assert ask("Brixia A3", "Brixia A0", facts, group="Brixia zone A").allowed
    facts = ground(["Brixia A0"], unknown=["Brixia A3"])
    assert ask("Brixia A3", "Brixia A0", facts, group="Brixia zone A").reason == "identity"


@pytest.mark.parametrize("child", ["Edema", "Consolidation", "Pneumonia", "Atelectasis"])
def test_parents_of_the_chexpert_tree_are_no_wrong_options(child):
    facts = ground([child], [label for label in CHEST if label != child])
    assert ask("Lung Opacity", child, facts).reason == "implied"


def test_an_uncertain_label_is_no_option_even_when_a_parent_of_it_is_offered():
    facts = ground(["Pneumothorax"], ["Lung Opacity"], ["Edema"])
    assert ask("Edema", "Pneumothorax", facts).reason == "identity"
    assert ask("Lung Opacity", "Pneumothorax", facts).reason == "implied"


def test_the_special_may_be_true_where_the_general_is():
    implied = ground(["Pneumonia"], ["COVID-19 pneumonia"], grade=Grade.B)
    facts = ground(["Pneumonia"], ["COVID-19 pneumonia"])
    assert ask("COVID-19 pneumonia", "Pneumonia", implied).reason == "implies-true"
    assert ask("COVID-19 pneumonia", "Pneumonia", facts).reason == "implies-true"


def test_the_special_read_as_absent_is_no_option_beside_the_general_that_is_the_key():
    facts = ground(["Lung Opacity", "Cardiomegaly"], ["Consolidation"])
    assert ask("Consolidation", "Lung Opacity", facts).reason == "implies-true"
    assert ask("Consolidation", "Cardiomegaly", facts).allowed


def test_infiltration_is_no_wrong_option_for_consolidation():
    facts = ground(["Consolidation"], ["Infiltration"], grade=Grade.B)
    assert ask("Infiltration", "Consolidation", facts).reason == "look-alike"


def test_a_look_alike_is_allowed_when_the_same_reader_read_it_as_absent():
    facts = ground(["Consolidation"], ["Infiltration"])
    other = CaseFacts(
        present=facts.present,
        absent={"Infiltration": mark(field="another")},
        unknown=frozenset(),
        anatomy=Anatomy("Chest"),
        modality=Modality("X-ray"),
    )
    assert ask("Infiltration", "Consolidation", facts).allowed
    assert ask("Infiltration", "Consolidation", other).reason == "look-alike"


def test_a_look_alike_of_a_disputed_label_is_refused_though_read_as_absent():
    facts = ground(["Pneumothorax"], ["Infiltration"], ["Consolidation"])
    assert ask("Infiltration", "Pneumothorax", facts).reason == "look-alike"


def test_a_look_alike_that_nobody_read_is_refused():
    assert ask("Infiltration", "Consolidation", ground(["Consolidation"])).reason == "look-alike"


def test_what_implies_a_disputed_label_is_refused_unless_read_as_absent():
    for grade, reason in ((Grade.A, ""), (Grade.B, "implies-true")):
        facts = ground(["Fracture"], ["Consolidation"], ["Lung Opacity"], grade=grade)
        assert ask("Consolidation", "Fracture", facts).reason == reason


def test_a_slice_level_absence_does_not_answer_a_question_about_the_scan():
    facts = CaseFacts(
        present={"subdural": mark(scope=Scope.SLICE)},
        absent={"intraventricular": mark(scope=Scope.SLICE)},
        unknown=frozenset(),
        anatomy=Anatomy("Brain"),
        modality=Modality("CT"),
    )
    assert ask("intraventricular", "subdural", facts, scope=Scope.SLICE).allowed
    assert ask("intraventricular", "subdural", facts, scope=Scope.VOLUME).reason == "level"


def test_a_member_of_the_group_is_false_of_the_scan_whatever_was_read_on_a_slice():
    facts = CaseFacts(
        present={"Brixia A0": mark(scope=Scope.VOLUME)},
        absent={"Brixia A3": mark(scope=Scope.SLICE)},
        unknown=frozenset(),
        anatomy=Anatomy("Chest"),
        modality=Modality("X-ray"),
    )
    at = {"scope": Scope.VOLUME, "group": "Brixia zone A"}
    assert ask("Brixia A3", "Brixia A0", facts, **at).allowed


def test_a_name_that_says_less_or_more_of_the_same_is_refused():
    """The case "malignant pleural effusion": no relation ties it to its part, the words do."""
    facts = ground(["pleural plaque"], ["Pleural Other", "osteopenia", "Clavicle fracture"])
    clavicle = ground(["Clavicle fracture"], ["Fracture"])
    assert ask("Pleural Other", "pleural plaque", facts).reason == "rest-class"
    assert ask("osteopenia", "pleural plaque", facts).allowed
    assert ask("Fracture", "Clavicle fracture", clavicle).reason == "implied"
    emphysema = ground(["subcutaneous emphysema"], ["Emphysema"])
    assert ask("Emphysema", "subcutaneous emphysema", emphysema).reason == "words"


def test_composites_are_no_options():
    facts = ground(["Pneumothorax"], ["Nodule/Mass"])
    assert ask("Nodule/Mass", "Pneumothorax", facts).reason == "composite"


def test_what_excludes_the_key_is_absent_only_where_the_group_is_declared():
    facts = ground(["Brixia A0"])
    assert ask("Brixia A3", "Brixia A0", facts).reason == "no-evidence"
    assert ask("Brixia A3", "Brixia A0", facts, group="Brixia zone A").allowed


def test_members_of_a_declared_group_are_absent_by_definition():
    facts = ground(["DCM"], anatomy=Anatomy("Heart"), modality=Modality("MRI"))
    verdict = ask("MINF", "DCM", facts, group="ACDC group")
    assert verdict.allowed
    assert verdict.grade is Grade.A
    assert ask("MINF", "DCM", facts).reason == "look-alike"


def test_an_exclusive_cause_is_false_although_it_implies_what_is_true():
    facts = ground(["COVID-19 pneumonia", "Pneumonia"])
    group = "pneumonia family"
    verdict = ask("bacterial pneumonia", "COVID-19 pneumonia", facts, group=group)
    assert verdict.grade is Grade.A
    assert ask("bacterial pneumonia", "COVID-19 pneumonia", facts).reason == "implies-true"


def test_left_and_right_are_true_of_a_bilateral_finding():
    bilateral = ground(["bilateral"], ["left", "right"])
    left = ground(["left"], ["bilateral"], grade=Grade.B)
    assert ask("left", "bilateral", bilateral, group="laterality").reason == "implied"
    assert ask("right", "bilateral", bilateral, group="laterality").reason == "implied"
    assert ask("bilateral", "left", left, group="laterality").reason == "implies-true"
    assert ask("right", "left", left, group="laterality").allowed


def test_an_organ_that_the_picture_also_shows_is_no_wrong_answer():
    facts = ground(["heart"], anatomy=Anatomy("Heart"), modality=Modality("MRI"))
    assert ask("lung", "heart", facts, group="organ").reason == "also-shown"
    assert ask("brain", "heart", facts, group="organ").allowed


def test_an_outlined_structure_may_be_asked_beside_one_that_is_also_shown():
    facts = ground(["heart"], anatomy=Anatomy("Chest"), modality=Modality("X-ray"), region=True)
    assert ask("lung", "heart", facts, group="organ").allowed


def test_what_a_picture_cannot_show_is_neither_option_nor_key():
    facts = ground(
        ["Alzheimer disease", "glioma"], anatomy=Anatomy("Brain"), modality=Modality("MRI")
    )
    request = DistractorRequest(key="Alzheimer disease", ground=facts, scope=Scope.PATIENT)
    verdict = judge_key(request, RULES)
    assert (verdict.allowed, verdict.reason) == (False, "key-not-visible")
    facts = ground(
        ["glioma"], ["Parkinson disease"], anatomy=Anatomy("Brain"), modality=Modality("MRI")
    )
    assert ask("Parkinson disease", "glioma", facts).reason == "not-visible"


def test_facts_of_the_whole_image_show_what_its_field_of_view_holds():
    facts = CaseFacts(
        present={"heart": mark()},
        absent={},
        unknown=frozenset(),
        anatomy=Anatomy("Chest"),
        modality=Modality("X-ray"),
    )
    assert ask("lung", "heart", facts, group="organ").reason == "also-shown"


def test_no_finding_is_false_by_definition_beside_a_finding_with_grade_b():
    facts = ground(["Pneumothorax"])
    assert ask("No Finding", "Pneumothorax", facts).grade is Grade.B
    denied = ground(["Pneumothorax"], ["No Finding"])
    assert ask("No Finding", "Pneumothorax", denied).grade is Grade.A


def test_no_finding_that_was_read_as_absent_needs_no_key_that_was_read_with_care():
    for grade, reason in ((Grade.A, ""), (Grade.B, "no-finding")):
        facts = CaseFacts(
            present={"Pneumothorax": mark(Grade.B)},
            absent={"No Finding": mark(grade)},
            unknown=frozenset(),
            anatomy=Anatomy("Chest"),
            modality=Modality("X-ray"),
        )
        assert ask("No Finding", "Pneumothorax", facts).reason == reason


def test_no_finding_stands_beside_a_positive_that_was_read():
    facts = ground(["Pneumothorax"])
    mined = CaseFacts(
        present={"Pneumothorax": mark(Grade.C)},
        absent={},
        unknown=frozenset(),
        anatomy=Anatomy("Chest"),
        modality=Modality("X-ray"),
    )
    assert ask("No Finding", "Pneumothorax", facts).allowed
    assert ask("No Finding", "Pneumothorax", mined).reason == "no-finding"


def test_a_finding_needs_no_key_that_was_read_with_care():
    facts = CaseFacts(
        present={"Pneumothorax": mark(Grade.B)},
        absent={"Cardiomegaly": mark(Grade.B)},
        unknown=frozenset(),
        anatomy=Anatomy("Chest"),
        modality=Modality("X-ray"),
    )
    assert ask("Cardiomegaly", "Pneumothorax", facts).allowed


def test_no_finding_is_key_only_when_the_whole_list_is_absent():
    pool = ("Edema", "Pneumothorax", "Support Devices", "No Finding")
    whole = ground(["No Finding", "Support Devices"], ["Edema", "Pneumothorax"], grade=Grade.B)
    part = ground(["No Finding"], ["Edema"])
    ask_key = lambda facts: judge_key(  # noqa: E731
        DistractorRequest(key="No Finding", ground=facts, scope=Scope.IMAGE, pool=pool), RULES
    )
    assert ask_key(whole).allowed
    assert (ask_key(part).allowed, ask_key(part).reason) == (False, "no-finding-not-exhaustive")


@pytest.mark.parametrize("grade", [Grade.A, Grade.B, Grade.C])
def test_no_finding_needs_a_list_whose_absence_has_evidence_that_is_accepted(grade):
    facts = ground(["No Finding"], ["Edema"], grade=grade)
    request = DistractorRequest(key="No Finding", ground=facts, scope=Scope.IMAGE, pool=("Edema",))
    for accepted in Grade:
        verdict = judge_key(request, SafetyRules(evidence=accepted))
        assert verdict.allowed is (grade <= accepted)
        assert verdict.passed == ((11, 12) if verdict.allowed else ())


def test_a_finding_is_key_whatever_else_the_list_holds():
    facts = ground(["Edema"])
    request = DistractorRequest(key="Edema", ground=facts, scope=Scope.IMAGE, pool=("Nodule",))
    verdict = judge_key(request, RULES)
    assert (verdict.allowed, verdict.passed) == (True, (12,))


def test_a_key_that_is_disputed_is_refused():
    facts = ground(["Edema"], unknown=["Edema"])
    request = DistractorRequest(key="Edema", ground=facts, scope=Scope.IMAGE)
    assert judge_key(request, RULES).reason == "key-not-true"


@pytest.mark.parametrize("pool", [(), ("Fracture",)])
def test_a_key_that_the_images_also_show_may_be_asked(pool):
    facts = ground(["lung"], anatomy=Anatomy("Heart"), modality=Modality("MRI"))
    request = DistractorRequest(key="lung", ground=facts, scope=Scope.IMAGE, pool=pool)
    assert judge_key(request, RULES).allowed


def test_a_key_that_is_not_true_is_refused():
    request = DistractorRequest(key="Edema", ground=ground(["Nodule"]), scope=Scope.IMAGE)
    verdict = judge_key(request, RULES)
    assert (verdict.allowed, verdict.reason) == (False, "key-not-true")


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("Effusion", "Pleural Effusion", "same"),
        ("Edema", "Lung Opacity", "implied"),
        ("Consolidation", "Infiltration", "look-alike"),
        ("Emphysema", "Cardiomegaly", "kind"),
        ("Emphysema", "subcutaneous emphysema", "kind"),
        ("Cardiomegaly", "Pneumothorax", ""),
    ],
)
def test_two_options_must_not_be_true_of_one_thing(first, second, reason):
    request = DistractorRequest(key="Fracture", ground=ground(["Fracture"]), scope=Scope.IMAGE)
    assert option_conflict(first, second, request, RULES) == reason


def test_members_of_the_group_of_the_key_may_stand_together_though_they_look_alike():
    facts = ground(["T1"], anatomy=Anatomy("Brain"), modality=Modality("MRI"))
    request = DistractorRequest(key="T1", ground=facts, scope=Scope.IMAGE)
    assert option_conflict("T2", "FLAIR", replace(request, group="MRI sequence"), RULES) == ""
    assert option_conflict("T2", "FLAIR", request, RULES) == "look-alike"


def test_a_normal_class_of_a_group_is_key_whatever_else_a_source_labels():
    facts = ground(["NOR"], anatomy=Anatomy("Heart"), modality=Modality("MRI"))
    request = DistractorRequest(key="NOR", ground=facts, scope=Scope.PATIENT, pool=("Edema",))
    assert judge_key(replace(request, group="ACDC group"), RULES).allowed
    assert judge_key(request, RULES).reason == "no-finding-not-exhaustive"


def test_an_unknown_candidate_is_an_error():
    with pytest.raises(TermError, match="Nonsense"):
        ask("Nonsense", "Edema", ground(["Edema"]))


STATES = st.sampled_from(["present", "unknown", "A", "B", "C", "nothing"])


@given(
    states=st.fixed_dictionaries(dict.fromkeys(CHEST, STATES)),
    evidence=st.sampled_from(list(Grade)),
    seed=st.integers(0, 5),
)
def test_whatever_the_facts_chosen_options_are_false_and_safe_together(states, evidence, seed):
    facts = CaseFacts(
        present={label: mark() for label, state in states.items() if state == "present"},
        absent={label: mark(Grade(s)) for label, s in states.items() if s in tuple("ABC")},
        unknown=frozenset(label for label, state in states.items() if state == "unknown"),
        anatomy=Anatomy("Chest"),
        modality=Modality("X-ray"),
    )
    rules = SafetyRules(evidence=evidence)
    relations = rules.relations
    for key in facts.present:
        request = DistractorRequest(key=key, ground=facts, scope=Scope.IMAGE, pool=CHEST)
        choice = choose_distractors(
            request, rules, options=4, seed=str(seed), prior=LabelUsage(keyed={})
        )
        picked_labels = [distractor.label for distractor in choice.distractors]
        assert len(picked_labels) <= 3
        assert key not in picked_labels
        for label in (*facts.present, *facts.unknown):
            assert relations.closure(label).isdisjoint(picked_labels)
        for distractor in choice.distractors:
            assert distractor.grade <= evidence
        for item in picked_labels:
            for other in set(picked_labels) - {item}:
                assert not relations.implied(item, other)
                assert not relations.alike(item, other)


def _outside(tmp_path, *, reviewed, name="toy shadow"):
    """A concept of a layer, with one relation."""
    (tmp_path / "terms.csv").write_text(
        f"{','.join(COLUMNS)}\ntoy shadow,finding,{name},,,,,,,no term: made up,\n"
    )
    (tmp_path / "relations.csv").write_text(
        "group,label_a,relation,label_b,reason,reviewed\n"
        f"toy,toy shadow,implies,Lung Opacity,a shadow is an opacity,{reviewed}\n"
    )
    with using_vocabulary([tmp_path]):
        return SafetyRules(terms=load_terms(), relations=load_relations())


@pytest.mark.parametrize(
    ("reviewed", "grade", "reason"),
    [
        ("", Grade.A, ""),
        ("", Grade.B, "relations-unreviewed"),
        ("A. Name 2026-01-31", Grade.B, ""),
    ],
)
def test_a_concept_of_a_layer_needs_reviewed_relations_or_a_reader_that_denies_it(
    tmp_path, reviewed, grade, reason
):
    rules = _outside(tmp_path, reviewed=reviewed)
    facts = ground(["Fracture"], ["toy shadow"], grade=grade)
    assert ask("toy shadow", "Fracture", facts, rules=rules).reason == reason


def test_a_concept_of_a_layer_may_be_the_key(tmp_path):
    rules = _outside(tmp_path, reviewed="")
    request = DistractorRequest(key="toy shadow", ground=ground(["toy shadow"]), scope=Scope.IMAGE)
    assert judge_key(request, rules).allowed


@pytest.mark.parametrize(
    ("name", "reason"), [("other opacity", "rest-class"), ("opacity or shadow", "composite")]
)
def test_a_rest_class_or_composite_is_known_by_its_name_alone(tmp_path, name, reason):
    rules = _outside(tmp_path, reviewed="", name=name)
    facts = ground(["Fracture"], ["toy shadow"])
    assert ask("toy shadow", "Fracture", facts, rules=rules).reason == reason


def test_a_concept_of_a_layer_that_is_named_like_another_is_the_same(tmp_path):
    rules = _outside(tmp_path, reviewed="", name="Pneumothoraces of fracture")
    assert not rules.entailment.same("toy shadow", "Fracture")
    (tmp_path / "second").mkdir()
    rules = _outside(tmp_path / "second", reviewed="", name="Fractures")
    assert rules.entailment.same("toy shadow", "Fracture")

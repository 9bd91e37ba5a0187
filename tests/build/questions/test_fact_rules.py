from dataclasses import replace
from pathlib import Path

import pytest

from medrcube.build.profile.answerable import prepare_cases
from medrcube.build.questions.case_facts import facts_of_case, facts_of_region
from medrcube.build.questions.fact_rules import derive_questions
from medrcube.build.questions.sampling.quotas import cell_of
from medrcube.build.stages.samples import Sample
from medrcube.facts import (
    Case,
    Grade,
    ImageRef,
    Label,
    LabelState,
    Rectangle,
    Region,
    Scope,
    Visibility,
)
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import load_terms
from medrcube.regions import Runs
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.layers import using_vocabulary

FINDINGS = """
[[field]]
name = "finding"
kind = "finding"
absence = "silent"
stated = "A"
[field.values]
edema = "Edema"
opacity = "Lung Opacity"
nodule = "Nodule"
heart = "Cardiomegaly"
rest = "Other lesion"
devices = "Support Devices"
none = "No Finding"
unused = ""
"""
STRUCTURES = """
[[field]]
name = "structure"
kind = "structure"
absence = "silent"
values = { heart = "heart", left = "left lung", right = "right lung" }
"""
DISEASE = """
[[field]]
name = "disease"
kind = "disease"
scope = "patient"
absence = "reader"
group = "brain tumor class"
values = { g = "glioma", m = "meningioma" }
"""


def case(*labels, regions=(), **changes):
    return Case(
        key="c1",
        images=(ImageRef(paths=(Path("c1.png"),)),),
        labels=tuple(
            Label(field=field, value=value, state=state, evidence="t:1")
            for field, value, state in labels
        ),
        regions=tuple(
            Region(field=field, value=value, shape=Rectangle(xyxy=box), evidence="t:2")
            for field, value, box in regions
        ),
        **changes,
    )


def sample(**changes):
    values = {
        "id": "s1",
        "source": "toy",
        "case": "c1",
        "artefact": "clean",
        "field": "",
        "marked": "",
        "truth": "",
        "choices": 0,
        "area": 0.0,
        "regions": 0,
        "image": "images/c1.png",
        "pixel_sha256": "0",
        "perceptual_hash": "",
        "width": 10,
        "height": 10,
        "anatomy": "Chest",
        "modality": "X-ray",
        "patient": "p",
        "split": "",
        "scope": "image",
        "licence": "CC0-1.0",
        "redistribute": True,
        "frames": "0",
        "reason": "only one",
        "recipe": "r",
    }
    return Sample(**{**values, **changes})


OUTLINE = {
    "artefact": "outline",
    "field": "structure",
    "marked": "heart",
    "area": 0.1,
    "regions": 1,
}
BOXES = {**OUTLINE, "artefact": "boxes", "truth": "2", "choices": 4}
PRESENT, ABSENT, UNKNOWN = LabelState.PRESENT, LabelState.ABSENT, LabelState.UNKNOWN


def bars_by_key(queries, task):
    return {query.key: query.bar_reason for query in queries if query.task is task}


def test_every_clean_picture_is_asked_for_its_modality(card):
    (query,) = derive_questions(card(), case(), [sample()])
    assert (query.task, query.key, query.group) == (
        Task("Modality Recognition"),
        "X-ray",
        "modality",
    )


def test_a_modality_of_the_case_beats_that_of_the_card(card):
    from medrcube.taxonomy import Modality  # noqa: PLC0415

    (query,) = derive_questions(card(), case(modality=Modality("CT")), [sample(modality="CT")])
    assert query.key == "CT"


def test_a_task_that_the_card_does_not_declare_is_not_asked(card):
    source = replace(card(FINDINGS), tasks=(Task("View Recognition"),))
    assert derive_questions(source, case(("finding", "edema", PRESENT)), [sample()]) == []


def test_the_most_special_of_what_is_present_is_asked(card):
    facts = case(("finding", "edema", PRESENT), ("finding", "opacity", PRESENT))
    queries = derive_questions(card(FINDINGS), facts, [sample()])
    assert bars_by_key(queries, Task("Abnormality Diagnosis")) == {"Edema": ""}


def test_rest_classes_and_unused_values_are_never_keys(card):
    facts = case(("finding", "rest", PRESENT), ("finding", "unused", PRESENT))
    assert (
        bars_by_key(
            derive_questions(card(FINDINGS), facts, [sample()]), Task("Abnormality Diagnosis")
        )
        == {}
    )


def test_a_concept_of_two_fields_is_asked_as_of_the_one_that_states_it(card):
    source = card(FINDINGS + FINDINGS.replace('"finding"\nkind', '"second"\nkind'))
    queries = derive_questions(source, case(("second", "edema", PRESENT)), [sample()])
    fields = [query.field for query in queries if query.key == "Edema"]
    assert set(fields) == {"second"}


def test_what_is_uncertain_or_disputed_is_neither_key_nor_known(card):
    facts = case(
        ("finding", "edema", UNKNOWN),
        ("finding", "edema", PRESENT),
        ("finding", "nodule", PRESENT),
        ("finding", "nodule", ABSENT),
    )
    source = card(FINDINGS)
    ground = facts_of_case(source, facts, load_terms())
    assert ground.unknown == {"Edema", "Nodule"}
    assert ground.unknown.isdisjoint({*ground.present, *ground.absent})
    assert (
        bars_by_key(derive_questions(source, facts, [sample()]), Task("Abnormality Diagnosis"))
        == {}
    )


def test_an_uncertain_label_is_unknown_and_never_absent(card):
    facts = case(("finding", "edema", UNKNOWN), ("finding", "nodule", PRESENT))
    ground = facts_of_case(card(FINDINGS), facts, load_terms())
    assert ground.unknown == {"Edema"}
    assert "Edema" not in {*ground.present, *ground.absent}


def test_a_stated_absence_is_grade_a_and_a_blank_grade_c(card):
    facts = case(("finding", "nodule", PRESENT), ("finding", "edema", ABSENT))
    ground = facts_of_case(card(FINDINGS), facts, load_terms())
    assert ground.absent["Edema"].grade is Grade.A
    assert ground.absent["Cardiomegaly"].grade is Grade.C


def test_no_finding_lifts_silence_to_grade_b_devices_aside(card):
    ground = facts_of_case(card(FINDINGS), case(("finding", "none", PRESENT)), load_terms())
    assert ground.absent["Edema"].grade is Grade.B
    assert ground.absent["Support Devices"].grade is Grade.C


def test_an_exclusive_field_that_states_nothing_says_nothing(card):
    source = card(DISEASE)
    assert facts_of_case(source, case(), load_terms()).absent == {}
    facts = facts_of_case(source, case(("disease", "g", PRESENT)), load_terms())
    assert set(facts.absent) == {"meningioma"}


def test_the_pool_holds_the_findings_of_the_label_table(card):
    queries = derive_questions(card(FINDINGS), case(("finding", "edema", PRESENT)), [sample()])
    (query,) = [entry for entry in queries if entry.task is Task("Abnormality Diagnosis")]
    assert query.group is None
    assert {"Nodule", "Cardiomegaly", "No Finding"} <= set(query.pool)


@pytest.mark.parametrize(("shows", "bar_reason"), [("image", "scope"), ("patient", "")])
def test_a_fact_wider_than_the_picture_is_barred(card, shows, bar_reason):
    facts = case(("disease", "g", PRESENT))
    queries = derive_questions(card(DISEASE), facts, [sample(scope=shows)])
    assert bars_by_key(queries, Task("Disease Diagnosis")) == {"glioma": bar_reason}
    assert {query.scope for query in queries if query.bar_reason == bar_reason} <= set(Scope)


def test_an_undiagnosed_case_keeps_its_low_level_questions(card):
    quirk = '\n[[quirk]]\nkeys = ["c*"]\naction = "undiagnosed"\nreason = "r"\nevidence = "e"\n'
    view = '\n[[field]]\nname = "v"\nkind = "view"\nabsence = "reader"\nconstant = "AP"\n'
    facts = case(("disease", "g", PRESENT))
    queries = derive_questions(card(DISEASE, view, quirk), facts, [sample(scope="patient")])
    assert bars_by_key(queries, Task("View Recognition")) == {"AP": ""}
    assert bars_by_key(queries, Task("Disease Diagnosis")) == {"glioma": "undiagnosed"}
    assert bars_by_key(queries, Task("Modality Recognition")) == {"X-ray": ""}


MARKED = '\n[[quirk]]\nkeys = ["c*"]\naction = "marked"\nreason = "r"\nevidence = "e"\n'
VIEW = '\n[[field]]\nname = "v"\nkind = "view"\nabsence = "reader"\nconstant = "AP"\n'


@pytest.mark.parametrize(
    ("quirk", "graphics", "bar_reason", "view"),
    [
        ("", "", "", ""),
        ("", "text:apart", "", "burnt-in"),
        ("", "caliper:on", "burnt-in", ""),
        ("", "text:apart text:on", "burnt-in", "burnt-in"),
        (MARKED, "", "burnt-in", ""),
        (MARKED.replace('"c*"', '"d*"'), "", "", ""),
    ],
)
def test_what_marks_and_words_in_a_picture_tell_is_not_asked(
    card, quirk, graphics, bar_reason, view
):
    facts = case(("disease", "g", PRESENT), regions=REGIONS)
    picture = {"scope": "patient", "graphics": graphics}
    source = card(DISEASE, STRUCTURES, VIEW, quirk)
    queries = derive_questions(source, facts, [sample(**picture), sample(**BOXES, **picture)])
    assert bars_by_key(queries, Task("Disease Diagnosis")) == {"glioma": bar_reason}
    assert bars_by_key(queries, Task("ROI Grounding")) == {"heart": bar_reason}
    assert bars_by_key(queries, Task("View Recognition")) == {"AP": view}


BOXED = {"artefact": "boxes", "truth": "1", "choices": 4, "area": 0.1, "regions": 1}


@pytest.mark.parametrize(("kind", "bar_reason"), [("finding", "undiagnosed"), ("structure", "")])
def test_an_undiagnosed_case_is_not_asked_where_a_lesion_lies(card, kind, bar_reason):
    quirk = '\n[[quirk]]\nkeys = ["c*"]\naction = "undiagnosed"\nreason = "r"\nevidence = "e"\n'
    marked = FINDINGS if kind == "finding" else STRUCTURES
    box = (kind, "nodule" if kind == "finding" else "heart", (1, 1, 5, 5))
    concept = "Nodule" if kind == "finding" else "heart"
    facts = case((*box[:2], PRESENT), regions=(box,))
    boxed_sample = sample(field=kind, marked=concept, **BOXED)
    queries = derive_questions(card(marked, quirk), facts, [boxed_sample])
    assert bars_by_key(queries, Task("ROI Grounding")) == {concept: bar_reason}


@pytest.mark.parametrize(("region_count", "bar_reason"), [(2, "regions-missing"), (None, "")])
def test_a_case_with_fewer_regions_than_the_card_counts_is_not_asked_where_they_lie(
    card, region_count, bar_reason
):
    quirk = f"""
[[quirk]]
keys = ["c1"]
action = "{"regions" if region_count else "note"}"
{f"regions = {region_count}" if region_count else ""}
reason = "r"
evidence = "e"
"""
    box = ("finding", "nodule", (1, 1, 5, 5))
    facts = case((*box[:2], PRESENT), regions=(box,))
    boxed_sample = sample(field="finding", marked="Nodule", **BOXED)
    queries = derive_questions(card(FINDINGS, quirk), facts, [boxed_sample])
    assert bars_by_key(queries, Task("ROI Grounding")) == {"Nodule": bar_reason}


REGIONS = (("structure", "heart", (1, 1, 5, 5)), ("structure", "left", (7, 1, 9, 9)))


def test_an_outlined_structure_is_asked_among_the_other_structures(card):
    facts = case(regions=REGIONS)
    (query,) = derive_questions(card(STRUCTURES), facts, [sample(**OUTLINE)])
    assert (query.task, query.key) == (Task("Organ Recognition"), "heart")
    assert set(query.ground.present) == {"heart"}
    assert query.ground.absent["left lung"].grade is Grade.B
    assert query.ground.region
    assert query.group is None
    assert {"heart", "left lung"} <= set(query.pool)


def test_boxes_have_no_options_from_labels(card):
    queries = derive_questions(card(STRUCTURES), case(regions=REGIONS), [sample(**BOXES)])
    (query,) = (query for query in queries if query.task == Task("ROI Grounding"))
    assert (query.group, query.pool) == (None, ())


def test_an_outline_has_the_options_of_the_group_of_its_field_and_boxes_have_none(card):
    organs = STRUCTURES.replace("values =", 'group = "organ"\nvalues =').replace(
        'left = "left lung", right = "right lung"', 'left = "brain"'
    )
    facts = case(regions=REGIONS)
    outlined = derive_questions(card(organs), facts, [sample(**OUTLINE)])
    assert {(query.group, query.pool) for query in outlined} == {("organ", ())}
    boxed = derive_questions(card(organs), facts, [sample(**BOXES)])
    assert {(query.group, query.pool) for query in boxed} == {(None, ())}


def test_a_case_of_another_region_than_its_card_is_asked_as_such(card):
    (query,) = derive_questions(card(), replace(case(), anatomy=Anatomy("Brain")), [sample()])
    assert query.ground.anatomy == Anatomy("Brain")


def test_structures_beside_others_are_no_answer_to_which_organ_is_shown(card):
    for facts in (case(regions=REGIONS), case(("structure", "heart", PRESENT))):
        queries = derive_questions(card(STRUCTURES), facts, [sample()])
        assert bars_by_key(queries, Task("Organ Recognition")) == {}


def test_a_constant_organ_is_asked_of_the_clean_picture(card):
    organ = '\n[[field]]\nname = "o"\nkind = "structure"\nabsence = "reader"\nconstant = "breast"\n'
    queries = derive_questions(card(organ), case(), [sample()])
    (query,) = [entry for entry in queries if entry.task is Task("Organ Recognition")]
    assert (query.key, query.group) == ("breast", "organ")


def test_a_second_box_on_the_spot_makes_its_concept_unknown(card):
    facts = case(regions=(REGIONS[0], ("structure", "left", (4, 4, 9, 9))))
    source = card(STRUCTURES)
    ground = facts_of_region(source, facts, facts_of_case(source, facts, load_terms()), "heart")
    assert "left lung" in ground.unknown
    assert "left lung" not in ground.absent


@pytest.mark.parametrize(
    ("box", "met"),
    [
        ((4, 4, 9, 9), True),
        ((0, 0, 2, 2), True),
        ((2, 2, 4, 4), True),
        ((5, 1, 9, 5), False),
        ((0, 1, 1, 5), False),
        ((1, 5, 5, 9), False),
        ((1, 0, 5, 1), False),
        ((6, 6, 9, 9), False),
    ],
)
def test_boxes_that_share_a_pixel_lie_on_one_spot(card, box, met):
    source = card(STRUCTURES)
    for first, second in ((REGIONS[0][2], box), (box, REGIONS[0][2])):
        facts = case(regions=(("structure", "heart", first), ("structure", "left", second)))
        case_facts = facts_of_case(source, facts, load_terms())
        ground = facts_of_region(source, facts, case_facts, "heart")
        assert ("left lung" in ground.unknown) is met
        assert ("left lung" in ground.absent) is not met
        assert set(ground.present) == {"heart"}


def test_a_box_on_another_image_and_a_second_box_of_the_concept_lie_on_no_spot_of_it(card):
    source = card(STRUCTURES)
    spot = (1, 1, 5, 5)
    facts = case(
        regions=(
            ("structure", "heart", spot),
            ("structure", "heart", spot),
            ("structure", "left", spot),
        )
    )
    *hearts, last = facts.regions
    facts = replace(facts, regions=(*hearts, replace(last, image=1)), images=facts.images * 2)
    case_facts = facts_of_case(source, facts, load_terms())
    ground = facts_of_region(source, facts, case_facts, "heart")
    assert ground.unknown == frozenset()
    assert ground.absent.keys() == {"left lung", "right lung"}


@pytest.mark.parametrize(
    ("changes", "bar_reason"),
    [
        ({}, ""),
        ({"area": 0.005}, ""),
        ({"area": 0.0049}, "roi-size"),
        ({"area": 0.5}, ""),
        ({"area": 0.51}, "roi-size"),
        ({"regions": 2}, "several-regions"),
        ({"choices": 1}, "no-boxes"),
        ({"truth": ""}, "no-boxes"),
    ],
)
def test_boxes_need_one_region_of_sensible_size(card, changes, bar_reason):
    facts = case(regions=REGIONS)
    (query,) = derive_questions(card(STRUCTURES), facts, [sample(**{**BOXES, **changes})])
    assert (query.task, query.bar_reason) == (Task("ROI Grounding"), bar_reason)


def test_that_no_other_place_shows_a_finding_rests_on_how_it_was_read(card):
    facts = case(regions=(("finding", "nodule", (1, 1, 5, 5)),))
    boxes = sample(**{**BOXES, "field": "finding", "marked": "Nodule"})
    silent = derive_questions(card(FINDINGS), facts, [boxes])
    whole = FINDINGS.replace("[field.values]", "whole = true\n[field.values]")
    marked = derive_questions(card(whole), facts, [boxes])
    by_reader = derive_questions(card(FINDINGS.replace("silent", "reader")), facts, [boxes])
    grades = [query.grade for query in (*silent, *marked, *by_reader)]
    assert grades == [Grade.C, Grade.C, Grade.A]


@pytest.mark.parametrize(
    ("field", "grade"),
    [
        (STRUCTURES, Grade.C),
        (f"{STRUCTURES}whole = true\n", Grade.B),
        (STRUCTURES.replace("silent", "implied"), Grade.B),
    ],
)
def test_that_no_other_place_shows_a_structure_rests_on_how_much_of_it_is_marked(
    card, field, grade
):
    (query,) = derive_questions(card(field), case(regions=REGIONS), [sample(**BOXES)])
    assert query.grade is grade


def test_the_order_of_the_samples_does_not_matter(card):
    facts = case(regions=REGIONS)
    pictures = [sample(), sample(id="s2", **OUTLINE), sample(id="s3", **BOXES)]
    assert derive_questions(card(STRUCTURES), facts, pictures) == derive_questions(
        card(STRUCTURES), facts, pictures[::-1]
    )


def test_the_card_says_how_large_a_region_must_be(card):
    """A nodule that one source asks about is too small in another."""
    patient = replace(card(STRUCTURES), roi=(0.001, 0.002))
    small = sample(**{**BOXES, "area": 0.0015})
    large = sample(**{**BOXES, "area": 0.0025})
    facts = case(regions=REGIONS)
    assert [
        derive_questions(patient, facts, [entry])[0].bar_reason for entry in (small, large)
    ] == [
        "",
        "roi-size",
    ]


def test_a_query_carries_how_far_its_picture_shows_the_fact(card):
    source = card(FINDINGS.replace("absence", 'visible = "partly"\nabsence'))
    queries = derive_questions(source, case(("finding", "edema", PRESENT)), [sample()])
    visibility = {query.task: query.visible for query in queries}
    assert visibility == {
        Task("Modality Recognition"): Visibility.YES,
        Task("Abnormality Diagnosis"): Visibility.PARTLY,
    }


@pytest.mark.parametrize(("key", "visibility"), [("c1", Visibility.NO), ("c2", Visibility.YES)])
def test_a_quirk_hides_its_fields_on_the_pictures_that_it_names(card, key, visibility):
    quirk = """
[[quirk]]
keys = ["c1*"]
action = "unseen"
fields = ["structure"]
reason = "cropped"
evidence = "t"
"""
    source = card(FINDINGS, STRUCTURES, quirk)
    facts = case(("finding", "edema", PRESENT), regions=REGIONS)
    queries = derive_questions(source, replace(facts, key=key), [sample(), sample(**BOXES)])
    assert {query.visible for query in queries if query.field == "structure"} == {visibility}
    assert {query.visible for query in queries if query.field == "finding"} == {Visibility.YES}


PHASE = """
[[field]]
name = "phase"
kind = "protocol"
absence = "reader"
group = "cardiac phase"
values = { ED = "end-diastole", ES = "end-systole" }
"""


def test_a_numbered_picture_is_asked_which_number_shows_the_fact(card):
    pair = sample(artefact="numbered", field="phase", marked="end-systole", truth="2", choices=2)
    (query,) = derive_questions(card(PHASE), case(), [pair])
    assert (query.task, query.key) == (Task("Imaging Protocols Recognition"), "end-systole")
    assert (query.grade, query.bar_reason, query.visible) == (Grade.A, "", Visibility.YES)
    assert set(query.ground.present) == {"end-systole"}


def test_a_clean_picture_is_not_asked_what_its_panels_show(card):
    panels = tuple(Label(field="phase", value=value, evidence="t") for value in ("ED", "ES"))
    facts = replace(case(), panels=panels, images=(ImageRef(paths=(Path("a.png"),)),) * 2)
    assert derive_questions(card(PHASE), facts, [sample(frames="0+0")]) == []


def test_modality_is_asked_of_single_pictures_alone(card):
    pair = replace(case(), images=(ImageRef(paths=(Path("a.png"),)),) * 2)
    tasks = [
        {question.task for question in derive_questions(card(VIEW), one_case, [sample()])}
        for one_case in (case(), pair)
    ]
    assert [Task("Modality Recognition") in task for task in tasks] == [True, False]


def test_a_question_of_images_side_by_side_knows_what_each_shows(card):
    panels = tuple(Label(field="phase", value=value, evidence="t") for value in ("ES", "ED"))
    images = (ImageRef(paths=(Path("a.png"),)),) * 2
    facts = case(("disease", "g", LabelState.PRESENT))
    pair = replace(facts, panels=panels, images=images, shows=Scope.PATIENT)
    queries_by_task = {
        query.task: query for query in derive_questions(card(PHASE + DISEASE), pair, [sample()])
    }
    assert queries_by_task[Task("Disease Diagnosis")].panels == ("end-systole", "end-diastole")


def test_words_of_one_name_in_two_workspaces_are_never_mixed_up(tmp_path):
    card = replace(find_sources()["ixi"].card, tasks=(Task("Modality Recognition"),))
    projections = []
    for projection in ("true", "false"):
        folder = tmp_path / projection
        folder.mkdir()
        text = f'name = "Toy"\nconcept = "CT"\nimage = "scan"\nprojection = {projection}\n'
        (folder / "words.toml").write_text(f"[[modality]]\n{text}")
        with using_vocabulary([folder]):
            case = Case(key="a", images=(ImageRef(paths=()),), modality=Modality("Toy"))
            [question] = prepare_cases(card, [case]).ready
            projections += [question.query.ground.modality.projection]
            projections += [cell_of(question).modality.projection]
    assert projections == [True, True, False, False]


def test_the_given_relations_decide_which_of_two_findings_is_the_more_specific(card):
    both = case(("finding", "nodule", PRESENT), ("finding", "opacity", PRESENT))
    no_relations = Relations((), load_terms())

    def keys(relations):
        queries = derive_questions(card(FINDINGS), both, [sample()], relations=relations)
        return sorted(bars_by_key(queries, Task("Abnormality Diagnosis")))

    assert keys(None) == ["Nodule"]
    assert keys(no_relations) == ["Lung Opacity", "Nodule"]


@pytest.mark.parametrize("place", [0, 1])
def test_only_boxes_are_compared_for_a_common_spot(card, place):
    source = card(STRUCTURES)
    facts = case(regions=(REGIONS[0], ("structure", "left", (4, 4, 9, 9))))
    regions = list(facts.regions)
    regions[place] = replace(regions[place], shape=Runs(runs=((0, 9),), size=(9, 9)))
    facts = replace(facts, regions=tuple(regions))
    ground = facts_of_region(source, facts, facts_of_case(source, facts, load_terms()), "heart")
    assert ground.unknown == frozenset()


def test_a_box_without_a_concept_makes_nothing_unknown(card):
    source = card(STRUCTURES.replace('right = "right lung"', 'right = "right lung", other = ""'))
    facts = case(regions=(REGIONS[0], ("structure", "other", (4, 4, 9, 9))))
    ground = facts_of_region(source, facts, facts_of_case(source, facts, load_terms()), "heart")
    assert ground.unknown == frozenset()

"""Equal pictures: asked once, and not about what their labels disagree on."""

from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.questions.fact_rules import UNDIAGNOSED, QuestionCandidate
from medrcube.build.stages.deduplicate import CONTRADICTION, REPEAT, bar_repeats
from medrcube.build.stages.samples import Sample
from medrcube.facts import Scope
from medrcube.ontologies.distractor_safety import CaseFacts
from medrcube.taxonomy import Anatomy, Level, Modality, Task

GROUND = CaseFacts(
    present={},
    absent={},
    unknown=frozenset(),
    anatomy=Anatomy("Breast"),
    modality=Modality("Ultrasound"),
)


def sample(case, pixels, artefact="clean"):
    return Sample(
        id=f"{case}-{artefact}",
        source="busi",
        case=case,
        artefact=artefact,
        field="lesion" if artefact != "clean" else "",
        marked="",
        truth="",
        choices=0,
        area=0.1,
        regions=1,
        image="",
        # Marks are drawn into a copy, so that its pixels are its own.
        pixel_sha256=pixels if artefact == "clean" else f"{case} {artefact}",
        perceptual_hash="",
        width=1,
        height=1,
        anatomy=Anatomy("Breast"),
        modality=Modality("Ultrasound"),
        patient="",
        split="",
        scope="image",
        licence="",
        redistribute=True,
        frames="0",
        reason="",
        recipe="",
    )


def queries_of_case(case, diagnosis, pixels="equal", *, bar_reason="", boxes="breast lesion"):
    """Queries of one case: modality, diagnosis and the place of the lesion."""
    clean, marked = sample(case, pixels), sample(case, pixels, "boxes")
    rows = [
        (Task("Modality Recognition"), clean, "", "ultrasound", ""),
        (Task("Disease Diagnosis"), clean, "diagnosis", diagnosis, bar_reason),
        (Task("ROI Grounding"), marked, "lesion", boxes, ""),
    ]
    return [
        QuestionCandidate(
            task=task,
            sample=image_sample,
            field=field,
            key=key,
            scope=Scope.IMAGE,
            ground=GROUND,
            bar_reason=reason,
        )
        for task, image_sample, field, key, reason in rows
    ]


def reasons(queries):
    return {
        (query.sample.case, query.task.value): query.bar_reason for query in bar_repeats(queries)
    }


def test_place_of_a_lesion_is_not_asked_where_equal_pictures_tell_another_lesion():
    reason_by_question = reasons(
        [
            *queries_of_case("benign (433)", "BENIGN"),
            *queries_of_case("malignant (145)", "MALIGNANT"),
        ]
    )
    for case in ("benign (433)", "malignant (145)"):
        assert reason_by_question[case, "Disease Diagnosis"] == CONTRADICTION
        assert reason_by_question[case, "ROI Grounding"] == CONTRADICTION


def test_what_is_known_to_be_in_doubt_still_shows_that_labels_disagree():
    reason_by_question = reasons(
        [
            *queries_of_case("benign (433)", "BENIGN", bar_reason=UNDIAGNOSED),
            *queries_of_case("malignant (145)", "MALIGNANT", bar_reason=UNDIAGNOSED),
        ]
    )
    assert reason_by_question["benign (433)", "Disease Diagnosis"] == UNDIAGNOSED
    assert reason_by_question["benign (433)", "ROI Grounding"] == CONTRADICTION
    assert reason_by_question["malignant (145)", "ROI Grounding"] == CONTRADICTION


def test_what_does_not_rest_on_the_lesion_is_asked_once():
    reason_by_question = reasons(
        [*queries_of_case("b", "BENIGN"), *queries_of_case("m", "MALIGNANT")]
    )
    assert reason_by_question["b", "Modality Recognition"] == ""
    assert reason_by_question["m", "Modality Recognition"] == REPEAT


def test_place_of_a_lesion_is_asked_once_of_equal_pictures():
    reason_by_question = reasons([*queries_of_case("a", "BENIGN"), *queries_of_case("b", "BENIGN")])
    assert (reason_by_question["a", "ROI Grounding"], reason_by_question["b", "ROI Grounding"]) == (
        "",
        REPEAT,
    )


def test_marked_regions_of_different_names_contradict_each_other():
    reason_by_question = reasons(
        [*queries_of_case("a", "BENIGN"), *queries_of_case("b", "BENIGN", boxes="cyst")]
    )
    assert (
        reason_by_question["a", "ROI Grounding"]
        == reason_by_question["b", "ROI Grounding"]
        == CONTRADICTION
    )
    assert reason_by_question["a", "Disease Diagnosis"] == CONTRADICTION


def test_scope_of_a_label_that_is_not_asked_contradicts_nothing():
    reason_by_question = reasons(
        [*queries_of_case("a", "BENIGN", bar_reason="scope"), *queries_of_case("b", "MALIGNANT")]
    )
    assert reason_by_question["a", "ROI Grounding"] == ""
    assert reason_by_question["b", "Disease Diagnosis"] == ""


CASES = st.lists(
    st.tuples(st.sampled_from("xyz"), st.sampled_from(["BENIGN", "MALIGNANT", "NORMAL"])),
    min_size=1,
    max_size=6,
)


@given(CASES, st.randoms(use_true_random=False))
def test_of_each_picture_a_task_is_asked_once_or_never_in_any_order(cases, random):
    queries = [
        query
        for number, (pixels, diagnosis) in enumerate(cases)
        for query in queries_of_case(f"c{number}", diagnosis, pixels)
    ]
    reason_by_question = reasons(queries)
    random.shuffle(queries)
    assert reasons(queries) == reason_by_question
    for pixels in "xyz":
        members = [n for n, case in enumerate(cases) if case[0] == pixels]
        disagree = len({cases[n][1] for n in members}) > 1
        for task in (
            Task("Modality Recognition"),
            Task("Disease Diagnosis"),
            Task("ROI Grounding"),
        ):
            numbers = [n for n in members if reason_by_question[f"c{n}", task.value] == ""]
            rests = task.level is not Level("low")
            assert len(numbers) == (0 if not members or (disagree and rests) else 1)


def test_different_pictures_have_nothing_to_do_with_each_other():
    reason_by_question = reasons(
        [*queries_of_case("a", "BENIGN"), *queries_of_case("b", "MALIGNANT", "other")]
    )
    assert set(reason_by_question.values()) == {""}

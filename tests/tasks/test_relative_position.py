"""Relative position: asked of an image and its mirror image, which have opposite answers."""

from collections import Counter
from dataclasses import replace

import pytest

from medrcube.build.open_items.authoring.trial_views import trial_views
from medrcube.build.open_items.rule_files import open_questions
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task

TASK = "Relative Position"
APART = {"x0": 350, "x1": 400, "centroid_x": 375.0}
HERE = {"x0": 150, "x1": 200, "centroid_x": 175.0}


def text_of(question):
    return dict(question.target.options)[question.target.key]


@pytest.fixture(scope="session")
def all_asked():
    cards = [source.card for source in find_sources().values()]
    return [
        question
        for card in cards
        for view in trial_views(Task(TASK), card)
        for question in open_questions(view)
        if not question.bar_reason
    ]


def two_structures():
    return next(
        [view.geometry[0].concept, view.geometry[1].concept]
        for view in trial_views(Task(TASK), find_sources()["mmwhs"].card)
        if len(view.geometry) == 2
    )


@pytest.mark.parametrize(("first", "second"), [(HERE, APART), (APART, HERE)])
def test_an_image_and_its_mirror_image_have_opposite_answers(view_of, first, second):
    concepts = two_structures()
    view = view_of(TASK, "mmwhs", concepts, first, second)
    clean, mirrored = open_questions(view)
    assert [clean.sample.artefact, mirrored.sample.artefact] == ["clean", "mirrored"]
    lies_left = (clean.concept == concepts[0]) == (first == HERE)
    sides = ("left", "right") if lies_left else ("right", "left")
    assert (clean.role, mirrored.role) == sides
    assert [text_of(q) for q in (clean, mirrored)] == [
        f"To the {side} in the image" for side in sides
    ]
    assert clean.stratum == mirrored.stratum
    assert clean.values == mirrored.values


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"x0": 196, "x1": 240, "centroid_x": 215.0}, "not-side-by-side"),  # 7.8 % of the width
        ({"x0": 160, "x1": 400, "centroid_x": 375.0}, "not-side-by-side"),
        ({**APART, "partial": True}, "partial"),
    ],
)
def test_what_is_not_clearly_beside_the_other_is_barred(view_of, change, reason):
    view = view_of(TASK, "mmwhs", two_structures(), HERE, change)
    assert [question.bar_reason for question in open_questions(view)] == [reason]


def test_an_image_without_a_mirror_image_is_not_asked(view_of):
    view = view_of(TASK, "mmwhs", two_structures())
    clean = tuple(sample for sample in view.samples if sample.artefact == "clean")
    reasons = [question.bar_reason for question in open_questions(replace(view, samples=clean))]
    assert reasons == ["no-mirror-image"]


def test_the_left_of_a_pair_is_no_landmark(view_of):
    """In a mirror image the right lung looks like the left one."""
    view = next(
        view
        for view in trial_views(Task(TASK), find_sources()["jsrt"].card)
        if {row.concept for row in view.geometry} == {"left lung", "right lung"}
    )
    assert {question.bar_reason for question in open_questions(view)} == {"named-side"}


def test_a_part_is_not_asked_beside_its_whole(all_asked):
    from medrcube.ontologies.relations import load_relations  # noqa: PLC0415

    closure = load_relations().closure
    for question in all_asked:
        other = question.stratum[-1]
        assert other not in closure(question.concept)
        assert question.concept not in closure(other)


def test_what_a_text_says_is_right_half_of_the_time_and_never_in_a_set(all_asked):
    """A reader of names alone answers alike for an image and its mirror image."""
    pairs: dict[tuple[str, ...], Counter[str]] = {}
    for question in all_asked:
        pairs.setdefault(question.stratum, Counter())[question.role] += 1
    assert pairs
    assert all(roles["left"] == roles["right"] > 0 for roles in pairs.values())


def test_a_structure_is_asked_about_once_on_an_image(view_of):
    """Else the item and its mirror image might come from two questions."""
    view = view_of(TASK, "mmwhs", two_structures())
    first, second = view.geometry
    third = replace(second, concept="AO", x0=450, x1=500, centroid_x=475.0, region=2)
    counts = Counter(
        question.concept
        for question in open_questions(replace(view, geometry=(first, second, third)))
        if not question.bar_reason
    )
    assert set(counts.values()) == {2}


def test_of_a_cavity_and_the_wall_around_it_one_is_asked(view_of):
    view = view_of(TASK, "mmwhs", two_structures())
    first, second = view.geometry
    inner = {"x0": 160, "x1": 190, "y0": 160, "y1": 190, "centroid_x": 175.0, "centroid_y": 175.0}
    ring = {"x0": 140, "x1": 210, "y0": 140, "y1": 210, "centroid_x": 180.0, "centroid_y": 176.0}
    beside = {"x0": 350, "x1": 400, "y0": 150, "y1": 200, "centroid_x": 375.0, "centroid_y": 175.0}
    rows = (
        replace(first, concept="LV", region=0, **inner),
        replace(first, concept="MYO", region=1, **ring),
        replace(second, concept="RV", region=2, **beside),
    )
    questions = list(open_questions(replace(view, geometry=rows)))
    assert len([question for question in questions if not question.bar_reason]) == 2
    repeats = {"asked of what surrounds it", "asked of another structure"}
    assert len([question for question in questions if question.bar_reason in repeats]) == 1


def test_structures_that_lie_apart_are_each_asked(view_of):
    view = view_of(TASK, "mmwhs", two_structures())
    first, second = view.geometry
    places = [(40, 80), (160, 200), (280, 320)]
    rows = tuple(
        replace(row, concept=concept, region=n, x0=x0, x1=x1, centroid_x=(x0 + x1) / 2)
        for n, (row, concept, (x0, x1)) in enumerate(
            zip((first, second, second), ("LA", "RV", "AO"), places, strict=True)
        )
    )
    questions = [q for q in open_questions(replace(view, geometry=rows)) if not q.bar_reason]
    assert len(questions) >= 4


def test_few_sets_of_each_patient_are_asked():
    assert Task(TASK).declaration.per_patient == 2

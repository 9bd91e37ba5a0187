"""Who may be given which items, and which specialties there are."""

import json

import pytest

from medrcube.review.assigning import assignment as assigning
from medrcube.review.assigning.assignment import (
    AssignmentScope,
    active_assignments,
    add_specialty,
    create_assignment,
    end_assignment,
    scope_of,
    set_specialties,
)
from medrcube.review.assigning.routing import (
    EVERYTHING,
    AssignmentRule,
    assignment_rules,
    may_review,
    route_of,
)
from medrcube.review.assigning.specialties import (
    NOTHING,
    SpecialtyCoverage,
    all_specialties,
    check_specialties,
    coverage_condition,
    coverage_of,
)
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Assignment, Event, User
from medrcube.review.reviewing.policy import Policy

ALL = AssignmentScope()
KIND = ("toy", "Organ Recognition", "Brain", "MRI")


@pytest.fixture
def manager(project, person):
    """A manager of a project."""
    project(gold_rate=0.0)
    return person("manager")


def test_an_assignment_is_kept_and_on_record_with_its_scope_and_reviewers(
    manager, person, add_items
):
    add_items(1, source="toy")
    first, second = person(), person()
    axes = {"source": "toy", "anatomy": "Brain", "modality": "MRI"}
    scope = AssignmentScope(task="organ recognition", **axes)
    assignment = create_assignment(
        manager, scope, [second.pk, first.pk], mode="first", specialty="MRI"
    )
    expected = AssignmentScope(task="Organ Recognition", **axes)
    assert scope_of(assignment) == expected
    names = sorted([first.pseudonym, second.pseudonym])
    assert active_assignments() == [(assignment, names)]
    entry = Event.objects.get(kind="assignment.made")
    assert (entry.actor, entry.object) == (manager.pseudonym, f"assignment:{assignment.pk}")
    assert json.loads(entry.body) == {
        "mode": "first",
        "specialty": "MRI",
        "reviewers": names,
        "task": "Organ Recognition",
        **axes,
    }
    end_assignment(manager, assignment.pk)
    assert active_assignments() == []
    assert Event.objects.filter(kind="assignment.ended").count() == 1


def test_a_scope_is_told_by_what_it_names():
    assert str(ALL) == "all items"
    assert str(AssignmentScope(source="toy", modality="MRI")) == "toy, MRI"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mode": "never"}, "expected one of only, first"),
        ({"scope": AssignmentScope(source="nowhere")}, "no item is of the source"),
        ({"scope": AssignmentScope(task="Cooking")}, "Cooking"),
        ({"scope": AssignmentScope(anatomy="Elbow grease")}, "Elbow grease"),
        ({"scope": AssignmentScope(modality="Crystal ball")}, "Crystal ball"),
        ({"specialty": "radiology:none"}, "is not a specialty"),
        ({"reviewers": []}, "at least one reviewer or a specialty"),
        ({"reviewers": [0]}, "an account that does not exist"),
    ],
)
def test_an_assignment_that_names_nothing_real_is_refused(manager, person, changes, words):
    arguments = {"scope": ALL, "reviewers": [person().pk], "mode": "only", **changes}
    with pytest.raises(InvalidAnswerError, match=words):
        create_assignment(manager, arguments.pop("scope"), arguments.pop("reviewers"), **arguments)
    assert not Assignment.objects.exists()


def test_only_people_who_review_are_given_items(manager, person):
    reviewer, gone = person(), person()
    User.objects.filter(pk=gone.pk).update(is_active=False)
    for other in (manager, gone):
        with pytest.raises(
            InvalidAnswerError, match=f"{other.pseudonym} is not an active reviewer"
        ):
            create_assignment(manager, ALL, [reviewer.pk, other.pk], mode="only")
    assert create_assignment(manager, ALL, [reviewer.pk, reviewer.pk], mode="only")


def test_the_same_assignment_is_not_made_twice(manager, person):
    first, second = person(), person()
    assignment = create_assignment(manager, ALL, [first.pk], mode="only")
    with pytest.raises(ConflictError, match=f"assignment {assignment.pk} is already the same"):
        create_assignment(manager, ALL, [first.pk], mode="only")
    for reviewers, changes in (
        ([first.pk, second.pk], {"mode": "only"}),
        ([second.pk], {"mode": "only"}),
        ([first.pk], {"mode": "first"}),
        ([first.pk], {"mode": "only", "specialty": "MRI"}),
    ):
        assert create_assignment(manager, ALL, reviewers, **changes)
    assert create_assignment(manager, AssignmentScope(anatomy="Brain"), [first.pk], mode="only")
    end_assignment(manager, assignment.pk)
    assert create_assignment(manager, ALL, [first.pk], mode="only")


def test_so_many_assignments_are_in_force_and_no_more(manager, person, monkeypatch):
    monkeypatch.setattr(assigning, "_MOST", 2)
    first, *people = [person() for _ in range(3)]
    assignment = create_assignment(manager, ALL, [first.pk], mode="only")
    create_assignment(manager, ALL, [people[0].pk], mode="only")
    with pytest.raises(ConflictError, match="2 assignments are in force"):
        create_assignment(manager, ALL, [people[1].pk], mode="only")
    end_assignment(manager, assignment.pk)
    create_assignment(manager, ALL, [people[1].pk], mode="only")


def test_specialties_of_a_reviewer_change_and_stand_in_the_trail(manager, person):
    reviewer = person(specialties=["MRI"])
    reviewer_after = set_specialties(manager, reviewer.pk, ["radiology:neuro", "CT", "CT"])
    codes = check_specialties(["CT", "radiology:neuro"])
    assert reviewer_after.specialties == User.objects.get(pk=reviewer.pk).specialties == codes
    body = json.loads(Event.objects.get(kind="person.changed").body)
    assert (body["before"]["specialties"], body["after"]["specialties"]) == (["MRI"], codes)
    with pytest.raises(InvalidAnswerError, match="nothing was changed"):
        set_specialties(manager, reviewer.pk, codes[::-1])
    with pytest.raises(InvalidAnswerError, match="is not a specialty"):
        set_specialties(manager, reviewer.pk, ["cooking"])
    with pytest.raises(InvalidAnswerError, match="only reviewers have specialties"):
        set_specialties(manager, manager.pk, ["CT"])
    with pytest.raises(ConflictError, match="no such account"):
        set_specialties(manager, 0, ["CT"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "expected a name"),
        (":x", "expected a name"),
        ("a" * 49, "expected a name"),
        ("ct", "already exists"),
        ("Radiology:NEURO", "already exists"),
    ],
)
def test_a_specialty_needs_a_name_of_its_own(manager, name, words):
    with pytest.raises(InvalidAnswerError, match=words):
        add_specialty(manager, name, anatomies=["Brain"])


def test_a_specialty_covers_what_it_names(manager):
    add_specialty(manager, " spine ", anatomies=["brain"], modalities=["mri"])
    added = all_specialties()["spine"]
    assert (added.anatomies, added.modalities) == ({"Brain"}, {"MRI"})
    add_specialty(manager, "a" * 48, modalities=["CT"])
    assert list(all_specialties())[-2:] == ["a" * 48, "spine"]
    assert [field.name for field in coverage_of(["spine", "CT", "gone"])] == ["CT", "spine"]
    for places in ({}, {"anatomies": ["Elbow grease"]}, {"modalities": ["Crystal ball"]}):
        with pytest.raises(InvalidAnswerError):
            add_specialty(manager, "other", **places)


def test_a_specialty_covers_an_item_by_both_of_its_sides():
    none, brain, mri = frozenset(), frozenset({"Brain"}), frozenset({"MRI"})
    for anatomies, modalities, covered in (
        (none, none, {("Brain", "MRI"), ("Brain", "CT"), ("Chest", "MRI"), ("Chest", "CT")}),
        (brain, none, {("Brain", "MRI"), ("Brain", "CT")}),
        (none, mri, {("Brain", "MRI"), ("Chest", "MRI")}),
        (brain, mri, {("Brain", "MRI")}),
    ):
        field = SpecialtyCoverage(name="x", anatomies=anatomies, modalities=modalities)
        kinds = [(a, m) for a in ("Brain", "Chest") for m in ("MRI", "CT")]
        assert {kind for kind in kinds if field.covers(*kind)} == covered


def test_the_condition_of_fields_names_each_side_that_they_have():
    both = SpecialtyCoverage(
        name="x", anatomies=frozenset({"Brain", "Chest"}), modalities=frozenset({"MRI"})
    )
    every = SpecialtyCoverage(name="y", anatomies=frozenset(), modalities=frozenset())
    assert coverage_condition([]) == NOTHING
    assert coverage_condition([both, every]) == (
        "((i.anatomy IN (%s, %s) AND i.modality IN (%s)) OR (1 = 1))",
        ("Brain", "Chest", "MRI"),
    )


def test_an_assignment_matches_items_of_all_that_it_names():
    for scope, matches in (
        (("", "", "", ""), True),
        (("toy", "", "Brain", ""), True),
        (("toy", "", "Chest", ""), False),
        (("other", "", "", ""), False),
        (KIND, True),
    ):
        assert AssignmentRule(only=True, scope=scope, mine=False).matches(KIND) is matches


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        ([], True),
        ([(True, "", False)], False),
        ([(True, "", True)], True),
        ([(True, "", False), (True, "toy", True)], True),
        ([(True, "other", False)], True),
        ([(False, "", False)], True),
        ([(True, "", False), (False, "", True)], False),
    ],
)
def test_items_that_some_alone_review_are_left_to_these(rules, allowed):
    assignments = [
        AssignmentRule(only=only, scope=(source, "", "", ""), mine=mine)
        for only, source, mine in rules
    ]
    assert may_review(KIND, assignments) is allowed


def test_rules_say_whose_an_assignment_is(manager, person):
    own, other = person(), person()
    create_assignment(manager, AssignmentScope(anatomy="Brain"), [own.pk], mode="only")
    create_assignment(manager, ALL, [], mode="first", specialty="MRI")
    brain, everything = ("", "", "Brain", ""), ("", "", "", "")
    assert assignment_rules(own.pk, []) == [
        AssignmentRule(only=True, scope=brain, mine=True),
        AssignmentRule(only=False, scope=everything, mine=False),
    ]
    assert [rule.mine for rule in assignment_rules(other.pk, ["MRI"])] == [False, True]


@pytest.mark.parametrize(
    ("names", "specialists", "parts"),
    [
        ([], 0, [(False, EVERYTHING.sql), (True, EVERYTHING.sql)]),
        ([], 1, [(False, EVERYTHING.sql)]),
        ([], 2, [(False, NOTHING.sql)]),
        (["Brain"], 0, [(False, EVERYTHING.sql), (True, EVERYTHING.sql)]),
        (["Brain"], 1, [(True, "((i.anatomy IN (%s)))"), (False, EVERYTHING.sql)]),
    ],
)
def test_what_waits_for_a_specialist_is_the_first_part_of_their_route(
    manager, person, names, specialists, parts
):
    route = route_of(person().pk, names, Policy(specialists=specialists))
    assert [(part.reserved, part.where.sql) for part in route.parts] == parts


def test_what_is_assigned_first_comes_first_and_what_is_others_comes_last(manager, person):
    own, other = person(), person()
    create_assignment(manager, AssignmentScope(anatomy="Brain"), [own.pk], mode="first")
    create_assignment(manager, AssignmentScope(modality="MRI"), [other.pk], mode="first")
    mine, others, rest, reserved = route_of(own.pk, [], Policy()).parts
    assert mine.where == ("((i.anatomy = %s))", ("Brain",))
    assert others.where == ("NOT ((i.modality = %s))", ("MRI",))
    assert (rest.where, reserved.where) == (EVERYTHING, EVERYTHING)
    assert [part.reserved for part in (mine, others, rest, reserved)] == [False] * 3 + [True]


def test_what_some_alone_review_is_no_part_of_the_route_of_others(manager, person):
    own, other = person(), person()
    create_assignment(manager, AssignmentScope(anatomy="Brain"), [own.pk], mode="only")
    brain = "((i.anatomy = %s))"
    assert route_of(own.pk, [], Policy()).allowed == (
        f"(NOT {brain} OR {brain})",
        ("Brain", "Brain"),
    )
    assert route_of(other.pk, [], Policy()).allowed == (f"(NOT {brain} OR 1 = 0)", ("Brain",))
    assert route_of(own.pk, ["CT"], Policy(specialists=2)).allowed == (
        f"((NOT {brain} OR {brain}) AND ((i.modality IN (%s))))",
        ("Brain", "Brain", "CT"),
    )

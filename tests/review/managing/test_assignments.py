"""The page of assignments, what a reviewer is told who gets nothing, and what nobody can finish."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medrcube.review.assigning.assignment import AssignmentScope, create_assignment
from medrcube.review.models import Assignment, Event, Specialty, User
from medrcube.review.reviewing.policy import current_policy

PAGE = "/assignment/"
FORMS = {
    "assign": ("source", "task", "anatomy", "modality", "mode", "specialty", "reviewers"),
    "end": ("assignment",),
    "rule": ("specialists",),
    "specialties": ("reviewer", "specialties"),
    "specialty": ("name", "anatomies", "modalities"),
}
HOSTILE = ["\0", "a\0b", "x" * 20_001, "\ud800", "<script>", "9" * 40, "-1", "٣", "' OR 1=1 --"]
TEXT = st.one_of(st.sampled_from(["", "only", "Brain", "MRI", "1", *HOSTILE]), st.text(max_size=30))
COLOUR = "mammo <b>"


@pytest.fixture
def manager(signed_in):
    return signed_in("manager")[0]


def test_items_are_assigned_and_an_assignment_is_ended(manager, add_items, person, words):
    add_items(1)
    reviewer = person()
    form_data = {"form": "assign", "anatomy": "Brain", "mode": "only", "reviewers": [reviewer.pk]}
    assert "Assignment 1 is now in force." in words(manager.post(PAGE, form_data, follow=True))
    text = words(manager.get(PAGE))
    assert f"1 Brain only {reviewer.pseudonym}" in text
    ended = manager.post(PAGE, {"form": "end", "assignment": 1}, follow=True)
    assert "Assignment 1 has ended." in words(ended)
    assert "Every item goes to every reviewer." in words(ended)
    kinds = Event.objects.filter(kind__startswith="assignment.").values_list("kind", flat=True)
    assert sorted(kinds) == ["assignment.ended", "assignment.made"]


def test_the_rule_the_specialties_and_the_vocabulary_are_stored(manager, person):
    reviewer = person()
    form_data = {"form": "specialty", "name": "radiology:hand", "modalities": ["X-ray"]}
    assert manager.post(PAGE, form_data).status_code == 302
    form_data = {"form": "specialties", "reviewer": reviewer.pk, "specialties": ["radiology:hand"]}
    assert manager.post(PAGE, form_data).status_code == 302
    assert manager.post(PAGE, {"form": "rule", "specialists": 1}).status_code == 302
    reviewer.refresh_from_db()
    assert reviewer.specialties == ["radiology:hand"]
    assert current_policy().specialists == 1
    assert Specialty.objects.get().modalities == ["X-ray"]


@pytest.mark.parametrize("role", ["reviewer", "adjudicator", "administrator"])
@pytest.mark.parametrize("form", FORMS)
def test_only_managers_change_anything(signed_in, person, role, form):
    client, _ = signed_in(role)
    form_data = {
        "form": form,
        "mode": "only",
        "reviewers": [person().pk],
        "specialists": 1,
        "name": "a",
    }
    assert client.post(PAGE, form_data).status_code in (403, 404)
    assert client.get(PAGE).status_code in (403, 404)
    assert not Assignment.objects.exists()
    assert not Event.objects.exists()


@pytest.mark.parametrize("role", ["manager", "reviewer"])
def test_whoever_is_no_active_reviewer_is_assigned_nothing(manager, person, words, role):
    other = person(role, is_active=role != "reviewer")
    form_data = {"form": "assign", "mode": "only", "reviewers": [other.pk]}
    reply = manager.post(PAGE, form_data)
    assert reply.status_code == 422
    assert f"{other.pseudonym} is not an active reviewer" in words(reply)


def test_an_account_that_does_not_exist_is_not_passed_over(manager, person, words):
    for forged in ("x", "0", "9" * 40, "-1"):
        form_data = {"form": "assign", "mode": "only", "reviewers": [str(person().pk), forged]}
        reply = manager.post(PAGE, form_data)
        assert reply.status_code == 422, forged
        assert "an account that does not exist" in words(reply)
    assert not Assignment.objects.exists()


@pytest.mark.parametrize(
    ("form_data", "message"),
    [
        ({"mode": "often"}, "mode &#x27;often&#x27;; expected one of only, first"),
        ({"mode": "only", "source": "toi"}, "(nearest: &#x27;toy&#x27;)"),
        ({"mode": "only", "anatomy": "Brian"}, "did you mean &#x27;Brain&#x27;?"),
        ({"mode": "only", "specialty": "radiology:nero"}, "(nearest: &#x27;radiology:neuro&#x27;"),
        ({"mode": "only"}, "name at least one reviewer or a specialty"),
    ],
)
def test_a_wrong_name_is_refused_with_the_nearest(manager, add_items, words, form_data, message):
    add_items(1)
    reply = manager.post(PAGE, {"form": "assign", **form_data})
    assert reply.status_code == 422
    assert message in words(reply)


def test_what_was_typed_stands_there_after_it_was_refused(manager, person, add_items):
    add_items(1)
    reviewer = person()
    form_data = {"form": "specialty", "name": "a;b", "anatomies": ["Heart"], "modalities": ["CT"]}
    page = manager.post(PAGE, form_data).content.decode()
    assert 'name="name" value="a;b"' in page
    assert 'name="anatomies" value="Heart" checked' in page
    assert 'name="modalities" value="CT" checked' in page
    form_data = {
        "form": "specialties",
        "reviewer": reviewer.pk,
        "specialties": ["MRI", "none such"],
    }
    page = manager.post(PAGE, form_data).content.decode()
    assert 'name="specialties" value="MRI" checked' in page
    form_data = {"form": "assign", "anatomy": "Brain", "mode": "first"}
    page = manager.post(PAGE, form_data).content.decode()
    assert "<option selected>Brain</option>" in page
    assert 'name="mode" value="first" checked' in page


@pytest.mark.thorough
def test_no_text_breaks_a_form_on_either_database(any_database, manager, add_items, person):
    add_items(1)
    person()
    manager.raise_request_exception = False

    @settings(
        max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(st.sampled_from(list(FORMS)), st.lists(TEXT, min_size=7, max_size=7))
    def post_form(form, texts):
        texts = [text.encode("utf-8", "replace").decode() for text in texts]
        reply = manager.post(PAGE, {"form": form, **dict(zip(FORMS[form], texts, strict=False))})
        assert reply.status_code in (302, 409, 422), (form, texts)

    post_form()


def test_names_of_sources_are_text_and_no_markup(manager, add_items, person):
    add_items(1, source=COLOUR)
    reviewer = person()
    manager.post(
        PAGE, {"form": "assign", "source": COLOUR, "mode": "only", "reviewers": [reviewer.pk]}
    )
    assert Assignment.objects.get().source == COLOUR
    page = manager.get(PAGE).content.decode()
    assert COLOUR not in page
    assert "mammo &lt;b&gt;" in page


def test_a_reviewer_is_told_why_nothing_is_there(project, signed_in, person, add_items, words):
    project(gold_rate=0.0, specialists=2)
    add_items(2)
    add_items(3, anatomy="Breast", modality="Ultrasound", source="mammo")
    create_assignment(
        person("manager"), AssignmentScope(source="mammo"), [person().pk], mode="only"
    )
    client, _ = signed_in("reviewer")
    text = words(client.post("/review/", follow=True))
    assert "There is nothing left for you to review." in text
    assert "2 items wait for a specialist in Brain or MRI." in text
    assert "3 items are assigned to other reviewers." in text


def test_a_reviewer_who_has_done_all_is_told_of_nothing_else(project, signed_in, words):
    client, _ = signed_in("reviewer")
    text = words(client.get("/review/?empty"))
    assert "There is nothing left for you to review." in text
    assert "not for you" not in text


@pytest.mark.parametrize("page", [PAGE, "/dashboard/"])
def test_managers_are_told_what_cannot_be_finished(
    project, manager, person, add_items, words, page
):
    project(gold_rate=0.0, specialists=1)
    add_items(2)
    add_items(1, anatomy="Breast", modality="Ultrasound", source="mammo")
    add_items(4, anatomy="Chest", modality="CT", source="ct")
    neuro, breast, chest = (person(specialties=[name]) for name in ("MRI", "Breast", "CT"))
    boss = person("manager")
    create_assignment(boss, AssignmentScope(source="mammo"), [breast.pk], mode="only")
    create_assignment(boss, AssignmentScope(source="ct"), [neuro.pk, breast.pk], mode="only")
    text = words(manager.get(page))
    assert "1 item of Breast, Ultrasound: 1 reviewer for them, 2 needed." in text
    assert (
        "4 items of Chest, CT: they are assigned to reviewers other than the enrolled specialists"
        in text
    )
    assert "of Brain, MRI" not in text
    User.objects.filter(pk=neuro.pk).update(paused=True)
    assert "2 items of Brain, MRI: no specialist for them, 1 needed." in words(manager.get(PAGE))
    assert chest.pk


def test_managers_see_what_waits_for_a_specialist(
    project, manager, person, add_items, review, words
):
    project(gold_rate=0.0, specialists=1)
    add_items(1)
    review(person())
    assert "Brain MRI 1 nobody" in words(manager.get(PAGE))
    able = person(specialties=["radiology:neuro"])
    assert f"Brain MRI 1 {able.pseudonym}" in words(manager.get(PAGE))

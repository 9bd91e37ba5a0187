"""``medrcube review assign``: the same as the page, for people and for programs."""

import json

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import MedrcubeError
from medrcube.review.models import Assignment, Event


@pytest.fixture
def run(project, monkeypatch):
    """Run ``medrcube review assign ...`` on the database of this test: gives what is printed."""
    monkeypatch.setattr("medrcube.cli.review.assign.open_queue", lambda directory: directory)

    def command(name, *words):
        ran = CliRunner().invoke(app, ["review", "assign", name, ".", *map(str, words)])
        if ran.exception is not None and not isinstance(ran.exception, SystemExit):
            raise ran.exception
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    return command


@pytest.fixture
def run_json(run):
    return lambda *words: json.loads(run(*words, "--json"))


def test_an_assignment_is_made_listed_and_ended(run, run_json, person, add_items):
    add_items(1)
    first, second = person(), person()
    by_name = ("--reviewer", first.pseudonym, "--reviewer", second.email.upper())
    assignment = run_json("add", "only", *by_name, "--anatomy", "brain", "--source", "toy")
    reviewers = sorted([first.pseudonym, second.pseudonym])
    assert assignment["reviewers"] == assignment["to"] == reviewers
    assert (assignment["mode"], assignment["anatomy"], assignment["items"]) == (
        "only",
        "Brain",
        "toy, Brain",
    )
    assert run_json("list")["assignments"] == [assignment]
    assert "toy, Brain" in run("list")
    assert run_json("end", assignment["assignment"]) == {"assignment": assignment["assignment"]}
    assert run_json("list")["assignments"] == []
    actors = Event.objects.filter(kind__startswith="assignment.").values_list("actor", flat=True)
    assert set(actors) == {"console"}


def test_people_read_what_was_done_in_words(run, person):
    reviewer = person()
    result = run("add", "first", "--specialty", "radiology:neuro")
    assert result == "assignment 1: all items go first to specialists in radiology:neuro\n"
    assert run("end", 1) == "assignment 1 has ended\n"
    result = run("specialist", reviewer.pseudonym, "MRI", "radiology:neuro")
    assert result == f"{reviewer.pseudonym}: MRI, radiology:neuro\n"
    result = run("specialist", reviewer.pseudonym)
    assert result == f"{reviewer.pseudonym}: no specialty (removed: MRI, radiology:neuro)\n"
    result = run("specialty", "radiology:hand", "--modality", "x-ray")
    assert result == "radiology:hand can now be assigned to reviewers\n"


def test_a_specialty_of_the_project_can_be_given_to_reviewers(run_json, person):
    reviewer = person()
    result = run_json("specialty", "radiology:hand", "--modality", "x-ray")
    assert result == {"specialty": "radiology:hand", "anatomies": [], "modalities": ["X-ray"]}
    people = run_json("specialist", reviewer.email, "radiology:hand")
    row = {"reviewer": reviewer.pseudonym, "specialties": ["radiology:hand"], "removed": []}
    assert people == row
    data = run_json("list")
    assert data["reviewers"] == {reviewer.pseudonym: ["radiology:hand"]}
    assert "radiology:hand" in data["specialties"]


def test_specialties_of_the_account_are_replaced_by_name_or_kept(run, run_json, person):
    reviewer = person(specialties=["Breast"])
    data = run_json("specialist", reviewer.email, "radiology:breast", "--add")
    assert (set(data["specialties"]), data["removed"]) == ({"Breast", "radiology:breast"}, [])
    result = run("specialist", reviewer.email, "radiology:breast")
    assert result == f"{reviewer.pseudonym}: radiology:breast (removed: Breast)\n"


@pytest.mark.parametrize(
    ("specialists", "sentence"),
    [
        (0, "no review of an item has to come from a specialist"),
        (1, "at least 1 of 2 reviews of an item must come from a specialist"),
    ],
)
def test_the_list_states_the_rule_of_specialists(run, project, specialists, sentence):
    project(gold_rate=0.0, specialists=specialists)
    assert run("list").splitlines()[0] == sentence


def test_the_items_of_an_assignment_are_named_in_a_sentence(run, add_items):
    add_items(1)
    result = run("add", "only", "--anatomy", "Brain", "--specialty", "radiology:neuro")
    assert result == "assignment 1: Brain items go only to specialists in radiology:neuro\n"


def test_the_list_says_what_waits_and_what_nobody_can_finish(
    run, run_json, project, person, add_items, review
):
    project(gold_rate=0.0, specialists=1)
    add_items(1)
    review(person())
    data = run_json("list")
    assert (data["reviews"], data["specialists"]) == (2, 1)
    field = {"anatomy": "Brain", "modality": "MRI", "items": 1}
    assert data["waiting"] == [{**field, "reviewers": []}]
    assert data["gaps"] == [{**field, "why": "no specialist for them, 1 needed"}]
    ran = CliRunner().invoke(app, ["review", "assign", "list"])
    assert "CANNOT BE FINISHED: 1 item of Brain, MRI: no specialist for them" in ran.stderr


def test_an_empty_list_says_how_to_make_an_assignment_and_an_account(run, project):
    project()
    ran = CliRunner().invoke(app, ["review", "assign", "list"])
    assert ran.stdout.splitlines()[1:] == [
        "no assignments yet; make one with  medrcube review assign add",
        "no reviewers yet; create an account with  medrcube review adduser",
        "no items wait for a specialist",
    ]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (("add", "only", "--reviewer", "reviewer-nora"), "'reviewer-norah'"),
        (("add", "only", "--reviewer", "norah@example.com"), "'norah@example.org'"),
        (("add", "only", "--specialty", "radiology:nuero"), "'radiology:neuro'"),
        (("add", "only", "--specialty", "MRI", "--anatomy", "Brian"), "'Brain'"),
        (("add", "only", "--specialty", "MRI", "--modality", "Ultrasond"), "'Ultrasound'"),
        (("add", "only", "--specialty", "MRI", "--source", "toyy"), "'toy'"),
        (("specialist", "reviewer-norah", "Brian"), "'Brain'"),
        (("specialist", "reviewer-nora", "Brain"), "'reviewer-norah'"),
        (("specialty", "mine", "--anatomy", "Hart"), "'Heart'"),
    ],
)
def test_a_wrong_name_is_refused_with_the_nearest(run, person, add_items, words, nearest):
    add_items(1)
    person(pseudonym="reviewer-norah", email="norah@example.org")
    with pytest.raises(MedrcubeError, match=nearest):
        run(*words)
    assert not Assignment.objects.exists()
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("end", 7), "no assignment 7 is in force"),
        (("add", "only"), "name at least one reviewer or a specialty"),
        (("specialty", "MRI", "--anatomy", "Brain"), "already exists"),
        (("specialty", "mine"), "name the anatomies or modalities"),
    ],
)
def test_what_cannot_be_done_says_why(run, words, message):
    with pytest.raises(MedrcubeError, match=message):
        run(*words)

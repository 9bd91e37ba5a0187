import json
from xml.etree import ElementTree as ET

import pytest

from medrcube.console.progress import Reporter
from medrcube.errors import WorkspaceError
from medrcube.review.audit_trail.event_chain import verify_chain
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.exchange.import_items import import_workspace
from medrcube.review.exchange.labelstudio import (
    export_labelstudio_tasks,
    import_labelstudio_annotations,
    labelling_config,
)
from medrcube.review.models import BlindAnswer, Claim, Disclosure, Item, ItemVersion, Review, User
from medrcube.review.quality.gold_items import make_gold
from medrcube.review.reviewing import claims, steps, submissions
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.reviewing.questionnaire import CHECKLIST

WORDS = ("glioma", "meningioma", "brain abscess", "infarct")
FINE = {
    "answer": ["A. glioma"],
    "confidence": ["3"],
    "needs_image": ["yes"],
    "image_adequate": ["yes"],
    "decision": ["accept"],
}


def result(name, values):
    kind, at = ("textarea", "text") if name == "comment" else ("choices", "choices")
    return {"from_name": name, "to_name": "image", "type": kind, "value": {at: values}}


def annotation(by=1, **outcome):
    values = {name: value for name, value in {**FINE, **outcome}.items() if value is not None}
    results = [result(name, value) for name, value in values.items()]
    return {"id": 7, "completed_by": by, "result": results, "lead_time": 12.5}


@pytest.fixture
def tasks(three, tmp_path):
    export_labelstudio_tasks(tmp_path / "out")
    return {
        task["data"]["item"]: task for task in json.loads((tmp_path / "out/tasks.json").read_text())
    }


@pytest.fixture
def send(reviewers, tmp_path):
    """Import annotations: ``send(task_of_a, annotation(), ...)``."""

    def run(task, *annotations, **who):
        path = tmp_path / "from-label-studio.json"
        path.write_text(json.dumps([{"id": 1, **task, "annotations": list(annotations)}]))
        people = who or {"1": reviewers[0].pseudonym, "2": reviewers[1].pseudonym}
        return import_labelstudio_annotations(path, people)

    return run


def why(report):
    assert report.reviews == 0
    return report.refused[0].reason


def test_a_task_shows_what_a_reviewer_needs_to_answer(tasks, tmp_path):
    data = tasks["a"]["data"]
    assert data["question"] == "Which diagnosis applies to this MRI image?"
    assert [option["value"] for option in data["options"]] == [
        "A. glioma",
        "B. meningioma",
        "C. abscess",
        "D. infarct",
        "Cannot tell",
    ]
    assert data["image"].startswith("/data/local-files/?d=medrcube/pictures/")
    name = data["image"].rpartition("/")[2]
    assert (tmp_path / "out/pictures" / name).read_bytes().startswith(b"\x89PNG")


def test_a_task_is_the_same_whatever_the_key_is(bench, take_in, tmp_path):
    bench.add("a")
    take_in()
    export_labelstudio_tasks(tmp_path / "one")
    bench.change("a", key=2)
    take_in()
    export_labelstudio_tasks(tmp_path / "two")
    first, second = (
        json.loads((tmp_path / at / "tasks.json").read_text()) for at in ("one", "two")
    )
    assert (first[0]["data"].pop("version"), second[0]["data"].pop("version")) == (1, 2)
    assert first == second


def test_no_byte_of_the_folder_tells_provenance_or_digest(three, tasks, tmp_path):
    version = ItemVersion.objects.get(item_id="a")
    data = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    for secret in (
        version.content_sha256,
        version.provenance["fingerprint"],
        version.picture.sha256,
    ):
        assert secret.encode() not in data
    for secret in (b"provenance", b"case-a", b"predefined", b"gold", b'"key"'):
        assert secret not in data


def test_a_question_about_a_mark_shows_the_mark_and_no_other_does(bench, take_in, tmp_path):
    marked = bench.picture("marked", artefact="outline", case="k")
    bench.add("a", case="k")
    bench.add("b")
    bench.change("b", sample=marked.id)
    take_in()
    export_labelstudio_tasks(tmp_path / "out")
    images_by_item = {
        task["data"]["item"]: task["data"]["image"]
        for task in json.loads((tmp_path / "out/tasks.json").read_text())
    }
    values = {name: ItemVersion.objects.get(item_id=name) for name in "ab"}
    assert str(values["a"].picture_id) in images_by_item["a"]
    assert str(values["b"].overlay_id) in images_by_item["b"]


def test_gold_items_and_settled_ones_stay_here(three, take_in, review, person, tmp_path):
    review()
    three.add("0123456789abcdef")
    take_in()
    change = Edit(question="Which diagnosis fits this MRI image?", options=WORDS, key=2, note="n")
    make_gold("0123456789abcdef", 1, person("manager"), defect="KEY_WRONG", change=change)
    assert export_labelstudio_tasks(tmp_path / "out").tasks == 1
    (task,) = json.loads((tmp_path / "out/tasks.json").read_text())
    assert task["data"]["item"] == "0123456789abcdef"


def test_a_limit_takes_the_first_of_the_queue(three, tmp_path):
    assert export_labelstudio_tasks(tmp_path / "out", limit=2).tasks == 2


def test_the_interface_asks_for_all_that_an_import_reads():
    view = ET.fromstring(labelling_config())  # noqa: S314  (our own)
    named = {part.get("name"): part for part in view.iter() if part.get("name")}
    lines = {line.name for line in CHECKLIST} - {"key_correct"}
    controls = {*FINE, "reasons", "comment", *lines}
    assert set(named) == {"image", "question", *controls}
    assert {named[name].get("toName") for name in controls} == {"image"}
    assert (named["answer"].get("value"), named["image"].get("value")) == ("$options", "$image")
    assert {part.get("required") for name, part in named.items() if name in FINE} == {"true"}


def test_annotations_become_reviews_and_settle_the_item(tasks, send, reviewers):
    values = {"stem_clear": ["no"], "harmless": ["cannot tell"], "comment": ["well", "made"]}
    report = send(tasks["a"], annotation(1, **values), annotation({"id": 2, "email": "x@y.z"}))
    assert (report.reviews, report.refused) == (2, ())
    assert Item.objects.get(pk="a").state == "accepted"
    review = Review.objects.get(claim__user=reviewers[0])
    assert (review.decision, review.comment, review.seconds) == ("accept", "well\nmade", 12)
    assert review.checklist == {"stem_clear": False, "harmless": None}
    blind = review.claim.blind
    assert (blind.option, blind.confidence, blind.milliseconds) == (0, 3, 12_500)
    assert not verify_chain().fault


def test_a_person_may_be_named_by_address(tasks, send, reviewers):
    by = {"id": 3, "email": "anna@example.org"}
    assert (
        send(tasks["a"], annotation(by), **{"anna@example.org": reviewers[0].pseudonym}).reviews
        == 1
    )


def test_a_wrong_answer_leads_to_adjudication(tasks, send):
    send(tasks["a"], annotation(1), annotation(2, answer=["B. meningioma"]))
    assert Item.objects.get(pk="a").state == "adjudication"


def test_cannot_tell_is_an_answer(tasks, send):
    assert send(tasks["a"], annotation(1, answer=["Cannot tell"])).reviews == 1
    assert BlindAnswer.objects.get().option is None


def test_reasons_are_taken_over(tasks, send):
    codes = ["AMBIGUOUS_STEM", "TRIVIAL"]
    send(tasks["a"], annotation(1, decision=["reject"], reasons=codes))
    stored_codes = Review.objects.get().reasons.values_list("code", flat=True)
    assert sorted(stored_codes) == codes


def test_the_same_file_again_changes_nothing(tasks, send):
    send(tasks["a"], annotation(1))
    before = verify_chain().head
    assert "has reviewed this version" in why(send(tasks["a"], annotation(1)))
    assert verify_chain().head == before


REFUSED = {
    "skipped": ({**annotation(), "was_cancelled": True}, "skipped"),
    "nobody": (annotation(9), "9, who has no pseudonym"),
    "no person": (annotation(None), "no pseudonym"),
    "no result": ({"completed_by": 1}, "no result"),
    "no answer": (annotation(answer=None), "answer: 0 answers"),
    "two answers": (annotation(answer=["A. glioma", "B. meningioma"]), "answer: 2 answers"),
    "foreign answer": (annotation(answer=["E. other"]), "none of the options"),
    "no decision": (annotation(decision=None), "decision: 0 answers"),
    "odd decision": (annotation(decision=["maybe"]), "accept, revise or reject"),
    "no reason": (annotation(decision=["reject"]), "at least one reason"),
    "odd reason": (annotation(decision=["reject"], reasons=["UGLY"]), "not a reason code"),
    "no comment": (annotation(decision=["reject"], reasons=["OTHER"]), "needs a comment"),
    "odd confidence": (annotation(confidence=["4"]), "confidence: '4'"),
    "odd need": (annotation(needs_image=["maybe"]), "needs the image"),
    "odd line": (annotation(stem_clear=["perhaps"]), "stem_clear: 'perhaps'"),
    "long comment": (annotation(comment=["x" * 10_001]), "at most 10000"),
    "twice": (
        {"completed_by": 1, "result": [result("answer", ["A. glioma"])] * 2},
        "has two answers",
    ),
    "odd result": ({"completed_by": 1, "result": ["x"]}, "no from_name"),
    "odd value": (
        {"completed_by": 1, "result": [{"from_name": "answer", "value": {"choices": 3}}]},
        "expected choices or text",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_unfit_annotation_is_refused_and_leaves_nothing(tasks, send, name):
    bad_annotation, reason = REFUSED[name]
    assert reason in why(send(tasks["a"], bad_annotation))
    assert (Claim.objects.count(), BlindAnswer.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    "data",
    [
        {"item": "nowhere", "version": 1},
        {"item": "a", "version": 2},
        {"item": "a", "version": 10**30},
        {"item": "a", "version": "1"},
        {"item": None, "version": 1},
        {},
    ],
)
def test_an_annotation_of_an_unknown_version_is_refused(tasks, send, data):
    assert send({"data": data}, annotation()).reviews == 0


def test_an_annotation_of_an_old_version_is_refused(tasks, send, person):
    change = Edit(question="Which diagnosis fits this MRI image?", options=WORDS, key=0, note="n")
    edit("a", 1, person("manager"), change)
    assert "no longer waits for reviews of version 1" in why(send(tasks["a"], annotation()))


def test_nobody_reviews_their_own_wording(three, tasks, send, reviewers):
    change = Edit(question="Which diagnosis fits this MRI image?", options=WORDS, key=0, note="n")
    edit("a", 1, reviewers[0], change)
    task = {"data": {"item": "a", "version": 2}}
    assert "wrote version 2" in why(send(task, annotation()))


def test_no_item_gets_more_reviewers_than_it_wants(tasks, send, person):
    third = person()
    send(tasks["a"], annotation(1, decision=["accept"]))
    claim = claims.claim_next(third)
    assert claim.version.item_id == "a"
    assert "has its 2 reviewers" in why(send(tasks["a"], annotation(2)))


def test_who_holds_another_item_or_has_seen_the_key_is_refused(tasks, send, reviewers):
    claim = claims.claim_next(reviewers[0])
    item_id = claim.version.item_id
    other = next(name for name in "abc" if name != item_id)
    assert "holds another item" in why(send(tasks[other], annotation()))
    answer = submissions.BlindSubmission(
        option=0, confidence=1, needs_image="yes", image_adequate=True
    )
    steps.answer_blind(claim.token, reviewers[0], answer)
    claims.give_back(claim.token, reviewers[0], not_my_field=False)
    assert "seen its key" in why(send(tasks[item_id], annotation()))


def test_a_paused_reviewer_is_refused(tasks, send, reviewers):
    reviewers[0].paused = True
    reviewers[0].save()
    assert "is paused" in why(send(tasks["a"], annotation()))


def test_one_bad_annotation_does_not_stop_the_others(tasks, send):
    report = send(tasks["a"], annotation(9), annotation(1))
    assert (report.reviews, len(report.refused)) == (1, 1)
    assert report.refused[0].annotation == "task 1, annotation 7"


@pytest.mark.parametrize(
    "text",
    ["", "{}", "3", "[3]", '[{"data": {}}]', "[" * 100_000, '[{"image": "x", "choice": "y"}]'],
)
def test_a_file_that_is_no_export_is_named(reviewers, tmp_path, text):
    path = tmp_path / "export.json"
    path.write_text(text)
    with pytest.raises(WorkspaceError, match=r"export\.json"):
        import_labelstudio_annotations(path, {"1": reviewers[0].pseudonym})


def test_a_pseudonym_must_be_of_somebody_who_reviews(three, person, tmp_path):
    path = tmp_path / "export.json"
    path.write_text("[]")
    with pytest.raises(InvalidAnswerError, match="not a pseudonym"):
        import_labelstudio_annotations(path, {"1": person("manager").pseudonym})


@pytest.mark.thorough
def test_annotations_become_reviews_on_postgresql(postgresql, bench, tmp_path):
    bench.add("a")
    import_workspace(bench.write(), Reporter(quiet=True))
    reviewer = User.objects.create(email="a@example.org", role="reviewer")
    export_labelstudio_tasks(tmp_path / "out")
    (task,) = json.loads((tmp_path / "out/tasks.json").read_text())
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{**task, "annotations": [annotation(), annotation()]}]))
    report = import_labelstudio_annotations(path, {"1": reviewer.pseudonym})
    assert (report.reviews, len(report.refused)) == (1, 1)
    assert not verify_chain().fault


@pytest.fixture
def siblings(three):
    """Of three items of one case, the question of the first holds the key of the second."""
    Disclosure.objects.create(by_id="a", told_id="b", at_sight=True)
    Disclosure.objects.create(by_id="a", told_id="c", at_sight=False)


@pytest.mark.parametrize("first", ["a", "b"])
def test_of_tasks_that_tell_each_other_the_first_is_written(siblings, tmp_path, first):
    Item.objects.filter(pk=first).update(priority=9)
    export = export_labelstudio_tasks(tmp_path / "out")
    written_tasks = json.loads((tmp_path / "out/tasks.json").read_text())
    assert {task["data"]["item"] for task in written_tasks} == {first, "c"}
    assert (export.tasks, export.disclosing, export.pictures) == (2, 1, 2)


def test_a_limit_counts_what_is_written(siblings, tmp_path):
    Item.objects.filter(pk="a").update(priority=9)
    Item.objects.filter(pk="b").update(priority=8)
    export = export_labelstudio_tasks(tmp_path / "out", limit=2)
    assert (export.tasks, export.disclosing) == (2, 1)

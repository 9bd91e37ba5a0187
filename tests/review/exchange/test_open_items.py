"""Open items: into the queue, judged there, and back into a release."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from medrcube.review.audit_trail.replay import verify_trail
from medrcube.review.exchange.export_decisions import write_verdicts
from medrcube.review.exchange.freeze_release import freeze_release
from medrcube.review.models import BlindAnswer, Item, ItemVersion
from medrcube.review.reviewing import claims, steps
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.reviewing.open_answers import OTHER, RIGHT, option_of, read_target
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission

OPTIONS = {"form": "option", "ask": '{"options": ["Yes", "No"]}', "truth": '{"key": 1}'}


@pytest.fixture
def queue(bench, take_in):
    """A queue of an item of the cube, an open one and one of the form option."""
    bench.add("a")
    bench.add_open("length")
    bench.add_open("there", task="Presence", question="Does this MRI image show it?", **OPTIONS)
    assert take_in().added == 3
    return bench


@pytest.fixture
def judge(queue, person):
    """Two reviewers answer everything, a length as told, and decide."""

    def run(lengths, decision="accept"):
        for length in lengths:
            user = person("reviewer")
            while (claim := claims.claim_next(user)) is not None:
                version = ItemVersion.objects.get(pk=claim.version_id)
                value = None if version.target is None else length
                option = version.key
                if value is not None:
                    option = option_of(read_target(version.target), value)
                values = {"confidence": 2, "needs_image": "yes", "image_adequate": True}
                steps.answer_blind(
                    claim.token, user, BlindSubmission(option=option, value=value, **values)
                )
                reasons = () if decision == "accept" else (("AMBIGUOUS_STEM", None),)
                steps.submit_review(
                    claim.token, user, ReviewSubmission(decision=decision, reasons=reasons)
                )

    return run


def rows(report):
    return {row["id"]: row for row in json.loads((report.out / "TOY/open.json").read_text())}


def test_an_open_item_is_taken_in_with_what_is_right_and_another_answer(queue, take_in):
    version = ItemVersion.objects.get(item="length")
    assert [option["text"] for option in version.options] == ["23 mm", "another answer"]
    assert version.target["truth"] == {"value": 23.0, "low": 19.0, "high": 27.0}
    assert version.item.stratum == "MRI | Longest Diameter | number"
    other = ItemVersion.objects.get(item="there")
    assert (other.target, other.key) == (None, 1)
    assert [option["text"] for option in other.options] == ["Yes", "No"]
    again = take_in()
    assert (again.unchanged, again.added, again.changed) == (3, 0, 0)
    assert not verify_trail().fault


def test_another_bar_makes_a_new_version(queue, take_in):
    truth = {"value": 23.0, "low": 20.0, "high": 27.0}
    queue.open["length"] = replace(queue.open["length"], truth=json.dumps(truth))
    assert take_in().changed == 1
    assert ItemVersion.objects.get(item="length", number=2).target["truth"] == truth


def test_a_row_that_cannot_be_read_is_refused_and_the_others_are_taken(bench, take_in):
    bench.add("a")
    bench.add_open("length")
    bench.add_open("broken", truth='{"value": -1}')
    result = take_in()
    assert result.added == 2
    assert [row.item for row in result.refused] == ["broken"]


def test_reviewers_agree_by_the_bar_of_the_form(judge):
    judge([20.0, 26.5])
    answers = BlindAnswer.objects.filter(claim__version__item="length")
    assert list(answers.values_list("option", "value").order_by("pk")) == [
        (RIGHT, 20.0),
        (RIGHT, 26.5),
    ]
    assert Item.objects.get(pk="length").state == "accepted"
    assert not verify_trail().fault


def test_an_answer_that_does_not_pass_is_the_other_option(judge):
    judge([20.0, 60.0])
    answers = BlindAnswer.objects.filter(claim__version__item="length").order_by("pk")
    assert list(answers.values_list("option", flat=True)) == [RIGHT, OTHER]
    assert Item.objects.get(pk="length").state != "accepted"


def test_accepted_open_items_are_released_and_put_on_record(judge, queue, write_release, person):
    question_text = "How many mm long is the glioma in this MRI image?"
    texts = ("23 mm", "another answer")
    edit(
        "length", 1, person("manager"), Edit(question=question_text, options=texts, key=0, note="n")
    )
    judge([20.0, 26.5])
    write_verdicts(queue.workspace.root)
    report = write_release()
    assert rows(report)["length"]["question"] == question_text
    assert rows(report)["there"]["truth"] == {"key": 1}
    proof = pd.read_parquet(report.out / "open_items.parquet").set_index("id")
    assert proof.loc["length", ["version", "state", "reviewers"]].tolist() == [2, "accepted", 2]
    assert freeze_release(report.out).items == report.items + 2
    assert set(Item.objects.values_list("state", flat=True)) == {"released"}


def test_rejected_open_items_are_left_out(judge, queue, write_release):
    judge([20.0, 26.5], "reject")
    write_verdicts(queue.workspace.root)
    queue.add("fresh")
    queue.write()
    report = write_release(allow_unreviewed=True)
    assert not (report.out / "TOY/open.json").exists()


def test_open_items_that_nobody_judged_need_permission(queue, write_release):
    report = write_release(allow_unreviewed=True)
    assert {row["id"] for row in rows(report).values()} == {"length", "there"}
    proof = pd.read_parquet(report.out / "open_items.parquet")
    assert set(proof["version"]) == {0}

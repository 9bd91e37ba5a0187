"""From the queue's verdicts to a release, and from the release back into the queue's records."""

import json
import subprocess
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

from medrcube.build.release.editions.private_edition import RESTRICTED_SUMS, mark_private
from medrcube.cli.app import app
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.files.atomic import sha256_of
from medrcube.review.audit_trail.event_chain import chain_head, verify_chain
from medrcube.review.errors import IllegalTransitionError, ReviewError
from medrcube.review.exchange.export_decisions import write_verdicts
from medrcube.review.exchange.freeze_release import freeze_release
from medrcube.review.models import AgreementSnapshot, Event, Item, ReleaseRecord
from medrcube.review.quality import gold_items
from medrcube.review.reviewing import claims, steps
from medrcube.review.reviewing.decisions import decide_quarantine
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission
from medrcube.review.visibility import privacy_incidents
from medrcube.workspace import CONFIG

WORDS = ("glioma", "meningioma", "brain abscess", "infarct")
EDIT = Edit(question="Which diagnosis fits this MRI image best?", options=WORDS, key=0, note="n")


def published(report):
    return {item["id"]: item for item in json.loads((report.out / "TOY" / "test.json").read_text())}


def columns(report):
    frame = pd.read_parquet(report.out / "items.parquet").set_index("id")
    return frame[["version", "state", "reviewers"]].to_dict("index")


def review_of(report):
    return json.loads((report.out / "audit.json").read_text())["review"]


@pytest.fixture
def back(three):
    return lambda: write_verdicts(three.workspace.root)


def test_only_accepted_items_are_released_in_their_edited_wording(
    three, review, back, person, write_release
):
    edit("a", 1, person("manager"), EDIT)
    review({"b": "reject", "c": "revise"})
    back()
    report = write_release()
    assert (report.items, report.unreviewed, report.held) == (1, 0, 1)
    result = published(report)["a"]
    assert result["question"] == EDIT.question
    assert [result[f"option_{letter}"] for letter in "ABCD"] == list(WORDS)
    assert columns(report) == {"a": {"version": 2, "state": "accepted", "reviewers": 2}}


def test_without_a_queue_nothing_is_accepted(three, write_release):
    with pytest.raises(ReleaseError, match="none of 3 items has been accepted"):
        write_release()


def test_a_state_in_the_table_of_items_is_not_believed(three, write_release):
    for name in "abc":
        three.change(name, state="accepted")
    three.write()
    with pytest.raises(ReleaseError, match="accepted by clinicians"):
        write_release()
    report = write_release(allow_unreviewed=True)
    assert (report.items, report.unreviewed) == (3, 3)


def test_unreviewed_items_are_said_loudly(three, reviewers, back, write_release):
    back()
    report = write_release(allow_unreviewed=True)
    card = (report.out / "README.md").read_text()
    title, first = card.split("\n# ", 1)[1].split("\n\n")[:2]
    assert title.startswith("v1")
    assert "**Not reviewed: 3 of 3 items" in first
    assert "3 are not reviewed" in card
    assert review_of(report)["unreviewed"] == 3
    assert set(pd.read_parquet(report.out / "items.parquet")["state"]) == {"queued"}


def test_the_release_carries_head_and_coverage(three, review, back, write_release):
    review()
    back()
    report = write_release()
    result = review_of(report)
    assert result["head"] == {"number": chain_head().number, "sha256": chain_head().sha256}
    assert result["coverage"]["states"] == {"accepted": 3}
    assert result["agreement"]["all"]["estimates"]["raw"]["value"] == 1.0
    card = (report.out / "README.md").read_text()
    assert chain_head().sha256 in card
    assert "| accepted | 3 |" in card
    assert "Not reviewed" not in card


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (True, {"below the policy": False, "too few reviews": False}),
        (False, {"below the policy": True, "too few reviews": False}),
        (None, {"below the policy": False, "too few reviews": True}),
    ],
)
def test_the_card_names_where_reviewers_do_not_agree(
    three, review, back, write_release, passed, words
):
    review()
    back()
    summary = three.workspace.root / "review.json"
    told_by_queue = json.loads(summary.read_text())
    (part,) = told_by_queue["agreement"]["strata"]
    part["may_be_released"] = passed
    summary.write_text(json.dumps(told_by_queue))
    card = (write_release().out / "README.md").read_text()
    assert {word: word in card for word in words} == words
    assert (f"in 1 of\n> 1 strata: {part['stratum']}." in card) is (passed is False)


@pytest.mark.few(1)
@pytest.mark.parametrize("decision", ["reject", "revise"])
def test_what_a_clinician_has_spoken_against_is_never_released(
    three, review, person, back, write_release, decision
):
    review({"a": decision})
    if decision == "revise":
        from medrcube.review.reviewing.decisions import adjudicate  # noqa: PLC0415

        adjudicate("a", 1, person("adjudicator"), outcome="revise", rationale="no")
    back()
    report = write_release(allow_unreviewed=True)
    assert set(published(report)) == {"b", "c"}
    assert report.held == 1


def test_a_picture_that_may_show_a_name_takes_all_its_items_with_it(
    three, take_in, review, person, back, write_release
):
    three.add("d", case="case-a")
    take_in()
    review()
    privacy_incidents.report_incident("a", person("manager"))
    back()
    assert set(published(write_release())) == {"b", "c"}
    decide_quarantine("a", 1, person("manager"), clear=False, note="it is one")
    back()
    assert set(published(write_release("v2", allow_unreviewed=True))) == {"b", "c"}


def test_a_name_seen_on_a_gold_item_counts_for_its_original(
    three, take_in, review, person, back, write_release
):
    name = "0123456789abcdef"
    three.add(name)
    take_in()
    change = Edit(question=EDIT.question, options=WORDS, key=2, note="n")
    copy = gold_items.make_gold(name, 1, person("manager"), defect="KEY_WRONG", change=change)
    privacy_incidents.report_incident(copy.pk, person("manager"))
    review()
    back()
    assert set(published(write_release())) == {"a", "b", "c"}


def test_what_a_manager_has_cleared_is_free_again(three, review, person, back, write_release):
    privacy_incidents.report_incident("a", person("manager"))
    decide_quarantine("a", 1, person("manager"), clear=True, note="the scale")
    review()
    back()
    assert set(published(write_release())) == {"a", "b", "c"}


def test_a_release_says_which_strata_fail_the_agreement_gate(three, review, back, write_release):
    review()
    back()
    (failing,) = write_release().failing_strata
    assert failing.items == 3
    assert "Agreement on rejects: not known" in str(failing)


def test_strata_without_a_review_are_counted_and_not_listed(
    three, back, write_release, tmp_path, toy_source
):
    back()
    (failing,) = write_release(allow_unreviewed=True).failing_strata
    assert (failing.reasons, str(failing).partition(": ")[2]) == ((), "no valid reviews")
    (three.workspace.root / CONFIG).write_text("")
    toy = toy_source().parent
    words = ["release", str(three.workspace.root), str(tmp_path / "out"), "--name", "v2"]
    ran = CliRunner().invoke(app, [*words, "--allow-unreviewed", "--source-path", str(toy)])
    assert "NOT AGREED 1 stratum without a valid review" in ran.output


def test_the_agreement_gate_can_be_made_binding(three, review, back, write_release, tmp_path):
    review()
    back()
    with pytest.raises(ReleaseError, match=r"agreement is too low in 1 strata, .* 3 of 3"):
        write_release("v2", require_agreement=True)
    assert not (tmp_path / "release-v2").exists()


def test_who_agrees_is_released_where_that_is_required(three, review, back, write_release):
    review()
    back()
    path = three.workspace.root / "review.json"
    data = json.loads(path.read_text())
    for stratum in data["agreement"]["strata"]:
        stratum["may_be_released"] = True
    path.write_text(json.dumps(data))
    assert write_release(require_agreement=True).failing_strata == ()


def test_a_verdict_does_not_hold_for_an_item_that_was_built_anew(
    three, review, back, write_release
):
    review()
    back()
    three.change("a", question="Which diagnosis fits this MRI image best?")
    three.write()
    report = write_release()
    assert (set(published(report)), report.changed) == ({"b", "c"}, 1)
    with_all = write_release("v2", allow_unreviewed=True)
    assert (with_all.items, with_all.unreviewed) == (3, 1)
    assert columns(with_all)["a"] == {"version": 0, "state": "unreviewed", "reviewers": 0}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "damage",
    [
        lambda root: (root / "accepted.jsonl").unlink(),
        lambda root: (root / "review.json").unlink(),
        lambda root: (root / "review.json").write_text("{}"),
        lambda root: (root / "review.json").write_text("[]"),
        lambda root: (root / "accepted.jsonl").write_bytes(b"\xff"),
        lambda root: _swap(root / "accepted.jsonl", '"rejected"', '"accepted"'),
    ],
)
def test_files_that_do_not_belong_together_are_refused(three, review, back, write_release, damage):
    review({"a": "reject"})
    back()
    damage(three.workspace.root)
    with pytest.raises(WorkspaceError, match="medrcube review export"):
        write_release(allow_unreviewed=True)


def _swap(path, old, new):
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.thorough
def test_a_release_needs_nothing_of_the_queue():
    code = (
        "import sys, medrcube.build.release.write\n"
        "bad = {n for n in sys.modules if f'{n}.'.startswith(('django.', 'medrcube.review.'))}\n"
        "sys.exit(str(bad) if bad else 0)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr


def test_a_frozen_release_is_on_record(three, review, back, write_release, states):
    review({"b": "reject"})
    back()
    frozen = freeze_release(write_release().out)
    assert (frozen.name, frozen.items, frozen.unreviewed, frozen.already_recorded) == (
        "v1",
        2,
        0,
        False,
    )
    assert states() == {"a": "released", "b": "rejected", "c": "released"}
    record = ReleaseRecord.objects.get()
    assert record.items.count() == 2
    assert {
        (row.stratum, row.value)
        for row in AgreementSnapshot.objects.filter(release=record, metric="raw")
    } == {("", 1.0), ("MRI | Disease Diagnosis | predefined", 1.0)}
    assert Event.objects.filter(kind="release.frozen").count() == 1
    assert not verify_chain().fault


def test_freezing_again_does_nothing(three, review, back, write_release):
    review()
    back()
    report = write_release()
    freeze_release(report.out)
    before = chain_head()
    assert freeze_release(report.out).already_recorded
    assert chain_head() == before


def test_the_next_release_holds_what_was_released_before(
    three, take_in, review, back, write_release, states
):
    review()
    back()
    freeze_release(write_release().out)
    three.add("d")
    take_in()
    review()
    back()
    report = write_release("v2")
    assert set(published(report)) == set("abcd")
    assert freeze_release(report.out).items == 4
    assert set(states().values()) == {"released"}
    assert ReleaseRecord.objects.get(name="v2").items.count() == 4


def test_unreviewed_items_are_not_put_on_record(three, review, back, write_release, take_in):
    review()
    three.add("d")
    take_in()
    back()
    frozen = freeze_release(write_release(allow_unreviewed=True).out)
    assert (frozen.items, frozen.unreviewed) == (3, 1)


def test_a_release_that_holds_a_quarantined_item_is_not_recorded(
    three, review, person, back, write_release
):
    review()
    back()
    report = write_release()
    privacy_incidents.report_incident("a", person("manager"))
    with pytest.raises(IllegalTransitionError):
        freeze_release(report.out)
    assert not ReleaseRecord.objects.exists()
    assert Item.objects.get(pk="b").state == "accepted"


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["items.parquet", "audit.json", "TOY/test.json"])
def test_a_release_that_was_changed_is_not_recorded(three, review, back, write_release, name):
    review()
    back()
    report = write_release()
    with (report.out / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(ReleaseError, match="was changed"):
        freeze_release(report.out)


def test_a_private_release_whose_restricted_picture_was_changed_is_not_recorded(
    three, review, back, write_release
):
    review()
    back()
    report = write_release()
    picture = report.out / "TOY/pictures/secret.png"
    picture.write_bytes(b"rendered")
    mark_private(report.out)
    sums = f"{sha256_of(picture)}  TOY/pictures/secret.png\n"
    (report.out / RESTRICTED_SUMS).write_text(sums)
    picture.write_bytes(b"something else")
    with pytest.raises(ReleaseError, match=r"secret\.png: was changed"):
        freeze_release(report.out)


def test_a_release_of_another_queue_is_not_recorded(three, review, back, write_release):
    review()
    back()
    summary = three.workspace.root / "review.json"
    _swap(summary, chain_head().sha256, "0" * 64)
    report = write_release()
    with pytest.raises(ReviewError, match="not made from the present state of this queue"):
        freeze_release(report.out)


def test_a_release_without_reviews_is_not_recorded(three, write_release):
    report = write_release(allow_unreviewed=True)
    with pytest.raises(ReviewError, match="nothing to record"):
        freeze_release(report.out)


def test_a_folder_that_is_no_release_is_named(tmp_path, database):
    with pytest.raises(ReleaseError, match="SHA256SUMS"):
        freeze_release(tmp_path)


def test_an_item_that_waits_for_its_second_reviewer_is_not_accepted(
    three, reviewers, back, write_release
):
    claim = claims.claim_next(reviewers[0])
    answer = BlindSubmission(
        option=claim.version.key, confidence=3, needs_image="yes", image_adequate=True
    )
    steps.answer_blind(claim.token, reviewers[0], answer)
    steps.submit_review(claim.token, reviewers[0], ReviewSubmission(decision="accept"))
    back()
    with pytest.raises(ReleaseError, match="none of 3"):
        write_release()

"""Blind answers of reviewers become a run beside those of models, and say what they are."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.stored_scores import read_results
from medrcube.review.errors import ReviewError
from medrcube.review.exchange.export_decisions import write_verdicts
from medrcube.review.exchange.human_run import write_human_run
from medrcube.review.models import BlindAnswer, Claim, ItemVersion


@pytest.fixture
def release(three, write_release):
    """A release of the three unreviewed items a, b and c, whose keys are the first option."""
    return write_release(allow_unreviewed=True).out


@pytest.fixture
def answer(person):
    """Store a blind answer: ``answer("a", reviewer, 0)``; the queue itself is tried elsewhere."""
    reviewers = {}

    def give(item, reviewer, option, *, blinded=True, outcome=""):
        user = reviewers.setdefault(reviewer, None) or person(email=f"{reviewer}@example.org")
        reviewers[reviewer] = user
        version = ItemVersion.objects.get(item_id=item, number=1)
        now = timezone.now()
        claim = Claim.objects.create(
            version=version,
            user=user,
            slot=Claim.objects.filter(version=version).count(),
            claimed_at=now,
            expires_at=now + timedelta(hours=1),
            submitted_at=now,
            blinded=blinded,
            outcome=outcome,
            released_at=now if outcome else None,
        )
        BlindAnswer.objects.create(
            claim=claim,
            option=option,
            confidence=2,
            needs_image="yes",
            image_adequate=True,
            answered_at=now,
        )
        return user

    return give


def run(release, out, **options):
    options.setdefault("group", "radiologists")
    return write_human_run(load_benchmark(release), out, **options)


def outcomes(out):
    return {result.item.id: result.outcome.value for result in read_results(out)}


def test_answers_become_a_run_of_a_group(release, answer, tmp_path):
    for reviewer in "xy":
        answer("a", reviewer, 0)
        answer("b", reviewer, 1)
        answer("c", reviewer, None)
    result = run(release, tmp_path / "run")
    assert result.run.model == "human/radiologists"
    assert outcomes(tmp_path / "run") == {"a": "correct", "b": "wrong", "c": "unparsed"}
    assert (
        result.reviewers["reviewers"],
        result.reviewers["answers"],
        result.reviewers["items"],
    ) == (
        2,
        6,
        3,
    )
    assert result.reviewers["agreement"]["raw"]["value"] == 1
    assert result.reviewers["let_in_by_these_answers"] == 0


def test_an_answer_that_was_not_blind_or_was_voided_does_not_count(release, answer, tmp_path):
    answer("a", "x", 0)
    answer("b", "y", 0)
    answer("a", "y", 1, blinded=False)
    answer("c", "y", 1, outcome="voided")
    result = run(release, tmp_path / "run")
    assert outcomes(tmp_path / "run") == {"a": "correct", "b": "correct"}
    assert result.reviewers["answers"] == 2


def test_an_answer_that_a_reviewer_brings_along_counts_once(release, answer, tmp_path):
    answer("a", "x", 0, outcome="expired")
    answer("a", "x", 0)
    answer("b", "y", 1)
    assert run(release, tmp_path / "run").reviewers["answers"] == 2


def test_one_answer_of_an_item_is_drawn_whatever_the_order_of_arrival(release, answer, tmp_path):
    answer("a", "x", 0)
    answer("a", "y", 1)
    answer("a", "z", 1)
    result = run(release, tmp_path / "run")
    assert outcomes(tmp_path / "run")["a"] in {"correct", "wrong"}
    assert result.reviewers["majority"]["value"] == 0
    assert result.reviewers["agreement"]["raw"]["value"] == pytest.approx(1 / 3)


def test_items_that_nobody_read_are_no_part_of_the_run(release, answer, tmp_path):
    answer("a", "x", 0)
    answer("b", "y", 0)
    result = run(release, tmp_path / "run")
    assert result.run.metrics["global"]["n"] == 2
    assert json.loads((tmp_path / "run/manifest.json").read_text())["selection"]["items"] == 2


def test_one_reviewer_alone_is_no_group(release, answer, tmp_path):
    answer("a", "x", 0)
    with pytest.raises(ReviewError, match="accuracy of one reviewer is that person's own"):
        run(release, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("group", ["Jane Doe", "a@b.org", "x", "", "jane"])
def test_the_name_is_of_a_group_and_of_nobody(release, answer, tmp_path, group):
    answer("a", "jane", 0)
    with pytest.raises(ReviewError, match="--group"):
        run(release, tmp_path / "run", group=group)


def test_nothing_of_a_person_is_in_the_folder(release, answer, tmp_path):
    users = [answer("a", "jane.roe", 0), answer("b", "joe.doe", 0)]
    run(release, tmp_path / "run")
    text = "".join(path.read_text() for path in (tmp_path / "run").iterdir())
    for user in users:
        assert user.email not in text
        assert user.pseudonym not in text


def test_a_release_that_these_answers_chose_is_told_as_an_upper_bound(
    three, review, write_release, tmp_path
):
    review(dict.fromkeys("abc", "accept"))
    write_verdicts(three.workspace.root)
    release = write_release().out
    result = run(release, tmp_path / "run")
    assert result.reviewers["let_in_by_these_answers"] == len(load_benchmark(release).items)
    write_report([tmp_path / "run"], tmp_path / "r.html", release)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.index("the figure is an upper bound") < page.index("Accuracy of all questions")


def test_a_run_is_never_written_over(release, answer, tmp_path):
    answer("a", "x", 0)
    answer("b", "y", 0)
    run(release, tmp_path / "run")
    with pytest.raises(WorkspaceError, match="holds a run"):
        run(release, tmp_path / "run")

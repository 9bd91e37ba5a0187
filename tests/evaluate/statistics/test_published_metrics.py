"""Figures in the format of the published evaluator, and the account of the replies."""

from __future__ import annotations

from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.statistics.credibility import upstream_credibility
from medrcube.evaluate.statistics.metrics import replies_account, upstream_metrics
from medrcube.taxonomy import Anatomy, Task

RIGHT, WRONG = True, False
FAILED, MISSING = AnswerOutcome.FAILED, AnswerOutcome.MISSING_IMAGE
DIAGNOSIS, VIEW, MODALITY = (
    Task(name) for name in ("Disease Diagnosis", "View Recognition", "Modality Recognition")
)


def some(result, *extra):
    rows = [result(f"q{i}", i % 4 == 0) for i in range(40)]
    rows += [result(f"v{i}", RIGHT, task=VIEW, parts=Anatomy("Brain")) for i in range(10)]
    return [*rows, *extra]


def test_a_failed_reply_counts_as_wrong_and_an_absent_image_does_not_count(result):
    metrics = upstream_metrics(
        some(result, result("f", outcome=FAILED), result("m", outcome=MISSING, dataset="BETA"))
    )
    assert metrics["global"] == {"n": 51, "correct": 20, "acc": 20 / 51}
    slices = metrics["slice_results"]
    assert slices["by_task"] == {
        f"task={DIAGNOSIS.release_name}": {"n": 41, "correct": 10, "acc": 10 / 41},
        f"task={VIEW.release_name}": {"n": 10, "correct": 10, "acc": 1},
    }
    assert list(slices) == ["by_task", "by_modality", "by_parts", "by_dataset"]
    assert list(slices["by_modality"]) == ["modality=CT"]
    assert list(slices["by_parts"]) == ["parts=Lungs", "parts=Brain"]
    assert list(slices["by_dataset"]) == ["dataset=ALPHA"]
    voxels = metrics["voxel_results"]["by_task_modality_parts"]
    assert {name: row["n"] for name, row in voxels.items()} == {
        f"task={DIAGNOSIS.release_name}|modality=CT|parts=Lungs": 41,
        f"task={VIEW.release_name}|modality=CT|parts=Brain": 10,
    }


def test_a_run_that_lacks_replies_has_bounds_over_all_items(result):
    metrics = upstream_metrics(some(result, *[result(f"f{i}", outcome=FAILED) for i in range(10)]))
    assert metrics["global"] == {"n": 60, "correct": 20, "acc": None, "bounds": [20 / 60, 30 / 60]}
    views = metrics["slice_results"]["by_task"][f"task={VIEW.release_name}"]
    assert views == {"n": 10, "correct": 10, "acc": None, "bounds": [1, 1]}


def test_no_item_has_the_accuracy_nought_as_upstream_prints_it():
    assert upstream_metrics([])["global"] == {"n": 0, "correct": 0, "acc": 0.0}


def test_the_account_of_replies_adds_tokens_and_names_each_model_once():
    replies = [
        {"usage": {"out": 1, "in": 10}, "model": "b"},
        {"usage": {"in": 5}, "model": "a"},
        {"usage": {}, "model": "b"},
    ]
    outcome = replies_account(replies)
    assert outcome == {"n": 3, "usage": {"in": 15, "out": 1}, "models": ["a", "b"]}
    assert list(outcome["usage"]) == ["in", "out"]
    assert replies_account([]) == {"n": 0, "usage": {}, "models": []}


def on_picture(result, picture, high, low, **more):
    return [
        result(f"h{picture}", high, task=DIAGNOSIS, picture=picture),
        result(f"l{picture}", low, task=MODALITY, picture=picture, **more),
    ]


def test_upstreams_credibility_counts_the_four_groups(result):
    kinds = [(RIGHT, RIGHT)] * 4 + [(WRONG, RIGHT)] * 3 + [(WRONG, WRONG)] * 2 + [(RIGHT, WRONG)]
    rows = [r for i, kind in enumerate(kinds) for r in on_picture(result, f"p{i}", *kind)]
    credibility = upstream_credibility(rows)
    assert credibility.groups == (4, 3, 2, 1)
    assert (credibility.luck_rate, credibility.shortcut_probability) == (1 / 5, 1 / 3)
    assert credibility.rationality == 4 / 5


def test_upstreams_credibility_takes_no_letter_for_wrong_and_drops_an_absent_image(result):
    rows = on_picture(result, "p0", RIGHT, None)
    rows += on_picture(result, "p1", RIGHT, None, outcome=FAILED)
    rows += on_picture(result, "p2", RIGHT, None, outcome=MISSING)
    rows += on_picture(result, "p3", RIGHT, None, outcome=AnswerOutcome.NOT_ASKED)
    assert upstream_credibility(rows).groups == (0, 0, 0, 2)


def test_in_upstreams_credibility_the_last_item_of_an_id_counts_for_all(result):
    rows = [
        *on_picture(result, "p0", RIGHT, WRONG),
        result("lp0", RIGHT, task=MODALITY, picture="p1", dataset="BETA"),
    ]
    assert upstream_credibility(rows).groups == (1, 0, 0, 0)


def test_items_without_an_image_are_in_no_pair(result):
    rows = [result("h", task=DIAGNOSIS, picture=None), result("l", task=MODALITY, picture=None)]
    credibility = upstream_credibility(rows)
    assert credibility.groups == (0, 0, 0, 0)
    assert (
        credibility.luck_rate is credibility.shortcut_probability is credibility.rationality is None
    )

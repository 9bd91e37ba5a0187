"""The same facts in another edition: paired by fact, on the same picture, kept with the run."""

from __future__ import annotations

import json

import pytest
from begun import begin_run

import medrcube
from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.exports.inspect_run import export_inspect
from medrcube.evaluate.imports.import_run import import_run
from medrcube.evaluate.models.protocol import Reply
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.reworded import reworded_items
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.runner.run_folder import read_asked
from medrcube.evaluate.stored_scores import read_results
from medrcube.release_format.item_facts import ItemFacts, write_item_facts

BOTH = (Condition.FULL, Condition.REWORDED)


class Parrot:
    """Knows by heart what is right in one edition, word for word, and else says the first."""

    def __init__(self, items):
        self.name = "test/parrot"
        self.identity = {"adapter": "test/1"}
        self._keys = {(item.question, item.options): item.key for item in items}

    async def answer(self, request):
        question = next(line for line in request.prompt.splitlines() if "picture" in line)
        learnt = {q: key for (q, options), key in self._keys.items() if options == request.options}
        text = next((key for q, key in learnt.items() if q in question), "A")
        return Reply(text=text, finish_reason="stop", usage={}, model="p", latency=0.0)

    async def close(self):
        pass


def facts_of(name, fact):
    digest = f"{fact:016x}"
    return ItemFacts(
        dataset="ALPHA", id=name, visible="yes", block="", unit=f"case-{digest}", fact=digest
    )


@pytest.fixture
def editions(tmp_path, row, write_release):
    """24 facts; the second edition has other ids, words and orders, and asks all but the last."""
    first = write_release(tmp_path / "first", [row(n) for n in range(24)])
    write_item_facts(first, [facts_of(f"q{n:03}", n) for n in range(24)])
    second = []
    for n in range(23):
        outcome = row(n, id=f"z{n:03}", question=f"Which of these is in picture {n}, please?")
        texts = [outcome[f"option_{letter}"] for letter in "BCDA"]
        outcome.update(
            {f"option_{letter}": text for letter, text in zip("ABCD", texts, strict=True)}
        )
        second.append({**outcome, "correct_index": texts.index(outcome["gt_answer"])})
    write_release(tmp_path / "second", second)
    write_item_facts(tmp_path / "second", [facts_of(f"z{n:03}", n) for n in range(23)])
    return load_benchmark(first), load_benchmark(tmp_path / "second")


def test_the_interface_asks_the_wordings_of_another_edition(editions, tmp_path):
    first, second = (medrcube.load_release(edition.root) for edition in editions)
    ways = {"conditions": ["full", "reworded"]}
    run = first.evaluate("baseline/first", tmp_path / "run", edition=second, **ways)
    assert run.metrics["contrasts"]["reworded"]["global"]["n"] == 23
    again = first.evaluate("baseline/first", tmp_path / "by path", edition=second.path, **ways)
    assert again.metrics["contrasts"] == run.metrics["contrasts"]
    with pytest.raises(WorkspaceError, match="in Python edition="):
        first.evaluate("baseline/first", tmp_path / "none", **ways)


def test_items_are_paired_by_fact_and_keep_name_picture_and_unit(editions):
    first, second = editions
    results = reworded_items(first.items, second)
    assert len(results) == 23
    for item in first.items[:23]:
        other = results[item.name]
        assert (other.image, other.unit, other.fact) == (item.image, item.unit, item.fact)
        assert other.question != item.question
        assert dict(other.options)[other.key] == dict(item.options)[item.key]


def test_a_fact_in_the_very_same_words_is_no_second_form(editions):
    first, _ = editions
    with pytest.raises(WorkspaceError, match="has no fact of the release in other words"):
        reworded_items(first.items, first)


def test_an_edition_that_tells_no_facts_is_refused(editions, tmp_path, row, write_release):
    bare = load_benchmark(write_release(tmp_path / "bare", [row(0)]))
    for pair in ((editions[0].items, bare), (bare.items, editions[1])):
        with pytest.raises(WorkspaceError, match="has no facts"):
            reworded_items(*pair)


def test_what_a_run_asks_is_read_back_with_its_second_forms(editions, tmp_path):
    first, second = editions
    questions = begin_run(
        tmp_path / "run", first, Parrot(first.items), conditions=BOTH, edition=second
    )
    assert len(questions) == 24 + 23
    assert read_asked(tmp_path / "run") == questions
    assert len({question.key for question in questions}) == len(questions)


def test_learning_by_heart_shows_as_a_drop_with_its_interval(editions, tmp_path):
    first, second = editions
    out = tmp_path / "run"
    run_evaluation(first, Parrot(first.items), out, conditions=BOTH, edition=second)
    contrast = json.loads((out / "metrics.json").read_text())["contrasts"]["reworded"]
    row = contrast["global"]
    assert (row["n"], row["units"], row["first"]) == (23, 23, 1)
    assert row["second"] < 0.5
    assert row["interval"][0] > 0
    assert row["mcnemar_p"] < 0.001
    assert contrast["left_out"] == {"lost": 0, "not_asked": 1}


def test_a_run_goes_on_without_naming_the_edition_again_and_with_no_other(editions, tmp_path):
    first, second = editions
    out, model = tmp_path / "run", Parrot(first.items)
    questions = begin_run(out, first, model, conditions=BOTH, edition=second)
    assert begin_run(out, first, model) == questions
    with pytest.raises(WorkspaceError, match="used the edition"):
        begin_run(out, first, model, conditions=BOTH, edition=first)


def test_the_condition_asks_for_an_edition(editions, tmp_path):
    first, _ = editions
    with pytest.raises(WorkspaceError, match="--edition RELEASE"):
        begin_run(tmp_path / "run", first, Parrot(first.items), conditions=BOTH)


def test_a_log_of_reworded_items_comes_back_with_its_edition_alone(editions, tmp_path):
    first, second = editions
    parrot = Parrot(second.items)
    run_evaluation(first, parrot, tmp_path / "run", conditions=BOTH, edition=second)
    log = tmp_path / "log.eval"
    export_inspect(tmp_path / "run", log, Condition.REWORDED)
    with pytest.raises(WorkspaceError, match="--edition RELEASE"):
        import_run(log, first, tmp_path / "back")
    summary = import_run(log, first, tmp_path / "back", edition=second)
    assert (summary.replies, summary.unanswered) == (23, ())

    def content_of(run):
        return [
            (entry.item.name, entry.item.question, entry.outcome, entry.answer)
            for entry in read_results(run)
            if entry.question.presentation.condition is Condition.REWORDED
        ]

    assert content_of(tmp_path / "back") == content_of(tmp_path / "run")


def test_a_log_of_another_edition_is_refused(editions, tmp_path, row, write_release):
    first, second = editions
    run_evaluation(first, Parrot(()), tmp_path / "run", conditions=BOTH, edition=second)
    export_inspect(tmp_path / "run", tmp_path / "log.eval", Condition.REWORDED)
    third = [row(n, id=f"z{n:03}", question=f"And picture {n}?") for n in range(23)]
    write_release(tmp_path / "third", third)
    write_item_facts(tmp_path / "third", [facts_of(f"z{n:03}", n) for n in range(23)])
    with pytest.raises(WorkspaceError, match="the edition that was asked"):
        import_run(
            tmp_path / "log.eval",
            first,
            tmp_path / "back",
            edition=load_benchmark(tmp_path / "third"),
        )

"""Chains are asked as conversations, kept, resumed, and broken off honestly."""

from __future__ import annotations

import json

import pytest
from chain_items import chain_rows

from medrcube.errors import ModelError, WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.exports.inspect_run import export_inspect
from medrcube.evaluate.models.protocol import RejectedError, Reply
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.degradation import Degradation
from medrcube.evaluate.questions.few_shot import FewShotSettings
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.runner.batches.polling import Polling
from medrcube.evaluate.runner.completeness import list_problems
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.stored_scores import read_metrics, read_results

CHAIN = (Condition.CHAIN,)
BOTH = (Condition.FULL, Condition.CHAIN)


class Talker:
    """Remembers every request; answers what its script says, which may be a whole reply."""

    name = "talker/1"
    takes_history = True

    def __init__(self, script=lambda _request: "A"):
        self.script = script
        self.identity = {"adapter": "talker/1"}
        self.requests = []

    async def answer(self, request):
        self.requests.append(request)
        answer = self.script(request)
        if isinstance(answer, Reply):
            return answer
        return reply(answer)

    async def close(self):
        """Nothing to close."""


def reply(text, reason="stop", **usage):
    return Reply(text=text, finish_reason=reason, usage=usage, model="t", latency=0.0)


def stage(request):
    return request.item.rpartition("-")[2]


def outcomes(run):
    return {
        r.item.id: r.outcome.value
        for r in read_results(run)
        if r.question.presentation.condition is Condition.CHAIN
    }


@pytest.fixture
def staged(load, row):
    return load(*chain_rows(row, "p1", "p2"))


def test_a_later_step_comes_after_the_models_own_replies(staged, tmp_path):
    values = {"view": "B", "roi": "The answer is C", "disease": "A"}
    model = Talker(lambda request: values[stage(request)])
    run_evaluation(staged, model, tmp_path / "run", conditions=CHAIN)
    last = [request for request in model.requests if stage(request) == "disease"]
    assert [[turn.reply for turn in request.history] for request in last] == [
        ["B", "The answer is C"]
    ] * 2
    assert [turn.prompt.splitlines()[0] for turn in last[0].history] == [
        "Question: Which plane is shown?",
        "Question: Which numbered box holds the lesion?",
    ]


def test_an_image_is_sent_once_in_a_conversation(staged, tmp_path):
    model = Talker()
    run_evaluation(staged, model, tmp_path / "run", conditions=CHAIN)
    for request in model.requests:
        pictures = [turn.picture for turn in request.history] + [request.picture]
        assert sum(picture is not None for picture in pictures) == 1
        assert pictures[0] is not None


def test_another_image_of_the_conversation_is_sent_with_its_own_question(
    row, write_release, tmp_path
):
    rows = chain_rows(row, "p1", tasks=("View Recognition",))
    rows += chain_rows(row, "boxes", tasks=("ROI Grounding",))
    root = write_release(tmp_path / "r", rows)
    recipes = [
        {"image": f"ALPHA/pictures/{name}.png", "source": "a", "case": "c", "images": [1]}
        for name in ("p1", "boxes")
    ]
    (root / "recipes.jsonl").write_text("".join(json.dumps(each) + "\n" for each in recipes))
    model = Talker()
    run_evaluation(load_benchmark(root), model, tmp_path / "run", conditions=CHAIN)
    request = model.requests[-1]
    assert stage(request) == "roi"
    assert None not in (request.history[0].picture, request.picture)
    assert request.history[0].picture.sha256 != request.picture.sha256


def test_the_first_step_is_the_question_alone_and_asked_once(staged, tmp_path):
    model = Talker()
    summary = run_evaluation(staged, model, tmp_path / "run", conditions=BOTH)
    assert (len(model.requests), summary.shared) == (6 + 4, 2)
    alone = Talker()
    run_evaluation(staged, alone, tmp_path / "old")
    grown = Talker()
    summary = run_evaluation(staged, grown, tmp_path / "old", conditions=BOTH)
    assert (summary.reused, len(grown.requests)) == (6, 4)


def test_a_run_without_chains_has_the_keys_it_had(staged, tmp_path):
    run_evaluation(staged, Talker(), tmp_path / "a")
    run_evaluation(staged, Talker(), tmp_path / "b", conditions=BOTH)

    def keys(run):
        rows = [json.loads(line) for line in (run / "asked.jsonl").read_text().splitlines()]
        return [row["key_sha256"] for row in rows if row["condition"] == "full"]

    assert keys(tmp_path / "a") == keys(tmp_path / "b")


def test_a_stopped_run_goes_on_with_the_stored_replies(staged, tmp_path):
    def stopping(request):
        if stage(request) == "roi":
            raise ModelError("gone")
        return "B"

    with pytest.raises(ModelError, match="gone"):
        run_evaluation(staged, Talker(stopping), tmp_path / "run", conditions=CHAIN)
    model = Talker(lambda _request: "C")
    run_evaluation(staged, model, tmp_path / "run", conditions=CHAIN)
    assert {stage(request) for request in model.requests} == {"roi", "disease"}
    last = next(request for request in model.requests if stage(request) == "disease")
    assert [turn.reply for turn in last.history] == ["B", "C"]
    again = Talker()
    run_evaluation(staged, again, tmp_path / "run", conditions=CHAIN)
    assert again.requests == []


def test_a_failed_step_leaves_the_later_ones_not_reached_and_not_wrong(staged, tmp_path, fast):
    def failing(request):
        if request.item == "ALPHA/p1-roi":
            raise RejectedError("no", code="400")
        return "A"

    run = tmp_path / "run"
    summary = run_evaluation(staged, Talker(failing), run, conditions=CHAIN, retry=fast)
    results = outcomes(run)
    assert (results["p1-view"], results["p1-roi"], results["p1-disease"]) == (
        "correct",
        "failed",
        "not-reached",
    )
    assert (summary.failed, summary.unreached, summary.left, summary.stopped) == (1, 1, 0, None)
    model = Talker()
    run_evaluation(staged, model, run, conditions=CHAIN)
    assert sorted(map(stage, model.requests)) == ["disease", "roi"]
    assert set(outcomes(run).values()) == {"correct"}


@pytest.mark.parametrize(
    ("expected", "outcome", "later"),
    [
        (reply("", "content_filter"), "refused", "not-reached"),
        (reply("<think>is it B or", "length"), "cut", "not-reached"),
        (reply("I am sorry, I cannot help with medical images."), "refused", "correct"),
        (reply("It is hard to say."), "unparsed", "correct"),
        (reply("<think>no</think>The answer is C."), "wrong", "correct"),
    ],
)
def test_a_reply_that_says_nothing_ends_the_conversation(
    staged, tmp_path, expected, outcome, later
):
    model = Talker(lambda request: expected if request.item == "ALPHA/p1-view" else "A")
    summary = run_evaluation(staged, model, tmp_path / "run", conditions=CHAIN)
    results = outcomes(tmp_path / "run")
    assert (results["p1-view"], results["p1-roi"], results["p1-disease"]) == (outcome, later, later)
    assert summary.stopped is None
    assert summary.unreached == 2 * (later == "not-reached")


def test_reasoning_stays_out_of_the_conversation(staged, tmp_path):
    model = Talker(lambda _request: "<think>maybe B</think>The answer is A.")
    run_evaluation(staged, model, tmp_path / "run", conditions=CHAIN)
    turns = [turn.reply for request in model.requests for turn in request.history]
    assert set(turns) == {"The answer is A."}


def test_a_step_asked_again_asks_what_came_after_it_again(staged, tmp_path):
    run = tmp_path / "run"
    cut = Talker(lambda r: reply("Well, I", "length") if r.item == "ALPHA/p1-view" else "A")
    run_evaluation(staged, cut, run, conditions=CHAIN)
    assert outcomes(run)["p1-disease"] == "correct"
    model = Talker(lambda _request: "B")
    run_evaluation(staged, model, run, conditions=CHAIN, again=[AnswerOutcome.CUT])
    assert sorted(request.item for request in model.requests) == [
        "ALPHA/p1-disease",
        "ALPHA/p1-roi",
        "ALPHA/p1-view",
    ]
    results = outcomes(run)
    assert (results["p1-view"], results["p1-disease"], results["p2-disease"]) == (
        "wrong",
        "wrong",
        "correct",
    )


def test_a_reply_after_another_history_does_not_count(staged, tmp_path):
    run = tmp_path / "run"
    run_evaluation(staged, Talker(), run, conditions=CHAIN)
    log = run / "attempts.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    first = next(line for line in lines if line["item"] == "ALPHA/p1-view")
    with log.open("a") as file:
        file.write(json.dumps({**first, "text": "C"}) + "\n")
    model = Talker(lambda _request: "B")
    run_evaluation(staged, model, run, conditions=CHAIN)
    assert sorted(request.item for request in model.requests) == [
        "ALPHA/p1-disease",
        "ALPHA/p1-roi",
    ]


def test_a_missing_image_ends_the_chain_before_it(row, write_release, tmp_path):
    rows = chain_rows(row, "p1", tasks=("View Recognition", "Disease Diagnosis"))
    rows += chain_rows(row, "boxes", tasks=("ROI Grounding",))
    root = write_release(tmp_path / "r", rows)
    recipes = [
        {"image": f"ALPHA/pictures/{name}.png", "source": "a", "case": "c", "images": [1]}
        for name in ("p1", "boxes")
    ]
    (root / "recipes.jsonl").write_text("".join(json.dumps(each) + "\n" for each in recipes))
    (root / "ALPHA/pictures/boxes.png").unlink()
    summary = run_evaluation(load_benchmark(root), Talker(), tmp_path / "run", conditions=CHAIN)
    assert outcomes(tmp_path / "run") == {
        "p1-view": "correct",
        "boxes-roi": "missing-image",
        "p1-disease": "not-reached",
    }
    assert (summary.missing, summary.unreached) == (1, 1)


def test_the_order_of_asking_is_the_same_each_time(staged, tmp_path):
    orders = []
    for name in ("a", "b"):
        model = Talker()
        run_evaluation(staged, model, tmp_path / name, conditions=CHAIN, max_connections=1)
        orders.append([request.item for request in model.requests])
    assert orders[0] == orders[1]
    assert [name.rpartition("-")[2] for name in orders[0]] == ["view"] * 2 + ["roi"] * 2 + [
        "disease"
    ] * 2


def test_each_epoch_is_a_conversation_of_its_own(staged, tmp_path):
    model = Talker(lambda _request: "A")
    run_evaluation(staged, model, tmp_path / "run", conditions=CHAIN, epochs=2)
    assert len(model.requests) == 12
    assert read_metrics(tmp_path / "run")["chains"]["n"] == 2


def test_a_model_that_takes_no_history_is_refused(staged, tmp_path, scripted_model):
    with pytest.raises(ModelError, match="does not support several turns"):
        run_evaluation(staged, scripted_model(), tmp_path / "run", conditions=CHAIN)
    assert not (tmp_path / "run").exists()


def test_batches_and_examples_are_refused(staged, tmp_path):
    settings = ModelSettings(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ModelError, match=r"condition chain: .* --batch"):
        run_evaluation(
            staged,
            open_model("openai/x", settings),
            tmp_path / "run",
            conditions=CHAIN,
            batches=Polling(),
        )
    model = Talker()
    model.takes_shots = True
    with pytest.raises(ModelError, match="cannot be combined with --shots"):
        run_evaluation(
            staged,
            model,
            tmp_path / "run",
            conditions=CHAIN,
            asking=QuestionSetup(shots=FewShotSettings(count=1)),
        )


def test_a_release_without_chains_says_why(benchmark, tmp_path):
    with pytest.raises(WorkspaceError, match=r"none of 8 items is in a chain \("):
        run_evaluation(benchmark, Talker(), tmp_path / "run", conditions=CHAIN)


def test_the_first_items_of_a_draw_bring_no_half_chains(staged, tmp_path):
    summary = run_evaluation(staged, Talker(), tmp_path / "run", conditions=CHAIN, first=2)
    assert summary.stopped
    assert summary.left == 6 - summary.answered
    results = outcomes(tmp_path / "run")
    assert "not-reached" not in results.values()


def test_a_removed_step_is_noticed(staged, tmp_path):
    run = tmp_path / "run"
    run_evaluation(staged, Talker(), run, conditions=BOTH)
    assert list_problems(run) == []
    rows = (run / "asked.jsonl").read_text().splitlines(keepends=True)
    (run / "asked.jsonl").write_text("".join(rows[:-1]))
    assert any("5 steps of chains; expected 6" in problem for problem in list_problems(run))
    other = json.loads(rows[-1])
    other["item"] = "ALPHA/p1-disease"
    (run / "asked.jsonl").write_text("".join([*rows[:-1], json.dumps(other) + "\n"]))
    assert any("its chains do not match" in problem for problem in list_problems(run))


def test_a_withdrawn_step_ends_its_chain(staged, tmp_path):
    run = tmp_path / "run"
    run_evaluation(staged, Talker(), run, conditions=CHAIN)
    errata = "dataset,id,by,on,why,reference\nALPHA,p1-roi,A Reader,2026-01-01,another box,\n"
    (staged.root / "errata.csv").write_text(errata)
    model = Talker()
    run_evaluation(load_benchmark(staged.root), model, run, conditions=CHAIN)
    assert model.requests == []
    chains = read_metrics(run)["chains"]
    assert (chains["n"], chains["items"]) == (1, 3)


def test_a_server_that_drops_the_history_is_noticed(staged, tmp_path, server, completion):
    def counting(body, messages):
        answer = completion("A")
        answer.body["usage"]["prompt_tokens"] = 10 * len(json.dumps(messages))
        return answer

    model = open_model("openai/stub", ModelSettings(base_url=server.url))
    server.behave = lambda _n, body: counting(body, body["messages"])
    run_evaluation(staged, model, tmp_path / "whole", conditions=BOTH)
    whole = read_metrics(tmp_path / "whole")["chains"]["history"]
    assert whole == {"checked": 4, "dropped": 0}
    server.behave = lambda _n, body: counting(body, body["messages"][-1:])
    run_evaluation(staged, model, tmp_path / "dropped", conditions=BOTH)
    dropped = read_metrics(tmp_path / "dropped")["chains"]["history"]
    assert dropped == {"checked": 4, "dropped": 4}


@pytest.mark.parametrize("condition", [Condition.CHAIN, Condition.DEGRADED])
def test_what_a_log_cannot_hold_is_not_exported(staged, tmp_path, condition):
    run = tmp_path / "run"
    asking = QuestionSetup(degradation=Degradation("blur", 1))
    conditions = (*BOTH, Condition.DEGRADED)
    run_evaluation(staged, Talker(), run, conditions=conditions, asking=asking)
    with pytest.raises(WorkspaceError, match=f"so {condition.value} cannot be exported"):
        export_inspect(run, tmp_path / "log.json", condition)

"""Asked in batches, a run has the replies of one that was asked one by one, each paid for once."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from medrcube.errors import ModelError, WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.batch_api.protocol import BatchLimits
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.questions.data_agreements import withhold_agreement_sources
from medrcube.evaluate.questions.selection import ItemFilter
from medrcube.evaluate.runner import run as runner
from medrcube.evaluate.runner.attempt_log import read_attempts
from medrcube.evaluate.runner.batches.ledger import FILE, open_batches
from medrcube.evaluate.runner.run import Polling, Prices, run_evaluation
from medrcube.evaluate.stored_scores import read_results

KEY = "sk-canary-0123456789abcdef"
PRICES = Prices(tokens_in=1e5, tokens_out=0.0)  # a dollar a reply


def outcomes(out):
    return {result.item.name: (result.outcome, result.answer) for result in read_results(out)}


def replies(out):
    return [r for r in read_attempts(out / "attempts.jsonl") if r["status"] == "reply"]


def api_error(status, message):
    return status, {"error": {"type": "api_error", "message": message}}


def unfinished(provider):
    if provider.kind == "openai":
        error = {"code": "batch_expired", "message": "not executed before the completion window"}
        return {"response": None, "error": error}
    return {"result": {"type": "expired"}}


def refused(provider, status, kind, message):
    if provider.kind == "openai":
        body = {"error": {"message": message, "type": kind}}
        return {"response": {"status_code": status, "body": body}, "error": None}
    error = {"type": "error", "error": {"type": kind, "message": message}}
    return {"result": {"type": "errored", "error": error}}


def test_a_run_in_batches_ends_as_one_that_is_asked_one_by_one(provider, run, tmp_path):
    summary = run()
    single = run(out=tmp_path / "single", batches=None)
    assert outcomes(tmp_path / "run") == outcomes(tmp_path / "single")
    assert (summary.answered, summary.failed, summary.exit_code) == (12, 0, 0)
    assert summary.ends == single.ends
    # The first question alone, the others in one batch.
    assert [len(batch.asks) for batch in provider.batches] == [11]
    assert set(provider.paid.values()) == {2}


def test_what_is_asked_in_a_batch_is_what_is_asked_alone(provider, run, tmp_path):
    run()
    bodies = [body for batch in provider.batches for _, body in batch.asks]
    run(out=tmp_path / "single", batches=None)
    alone = [json.dumps(body, sort_keys=True) for body in provider.singles]
    assert {json.dumps(body, sort_keys=True) for body in bodies} < set(alone)


def test_replies_are_kept_with_their_tokens_and_the_time_of_their_batch(provider, run, tmp_path):
    run()
    records = [record for record in replies(tmp_path / "run") if "batch" in record]
    assert len(records) == 11
    assert {record["usage"]["total_tokens"] for record in records} == {11}
    assert {record["latency"] for record in records} == {60.0}
    names = {"openai": "gpt-4.1-2025-04-14", "anthropic": "claude-sonnet-4-5-20250929"}
    assert {record["model"] for record in records} == {names[provider.kind]}


@pytest.mark.few(2)
@pytest.mark.parametrize("limits", [{"questions": 4, "size": 10**8}, {"questions": 99, "size": 0}])
def test_more_than_a_batch_holds_goes_into_several(provider, run, tmp_path, monkeypatch, limits):
    if not limits["size"]:
        run(count=2)  # to know how large a question is
        body = json.dumps(provider.batches[0].asks[0][1])
        limits = {**limits, "size": 4 * len(body) + 600}
        provider.batches.clear()
        provider.deleted.clear()
    kind = {"openai": "OpenAIBatches", "anthropic": "AnthropicBatches"}[provider.kind]
    module = f"medrcube.evaluate.models.{provider.kind}_api.batches"
    monkeypatch.setattr(f"{module}.{kind}.limits", BatchLimits(**limits))
    summary = run(out=tmp_path / "several")
    sizes = [len(batch.asks) for batch in provider.batches]
    assert sum(sizes) == 11
    assert len(sizes) >= 3
    assert max(sizes) <= 4
    assert summary.answered == 12


def test_a_question_that_no_batch_holds_fails_alone(provider, run, tmp_path, monkeypatch):
    kind = {"openai": "OpenAIBatches", "anthropic": "AnthropicBatches"}[provider.kind]
    module = f"medrcube.evaluate.models.{provider.kind}_api.batches"
    monkeypatch.setattr(f"{module}.{kind}.limits", BatchLimits(questions=9, size=300))
    summary = run(count=3)
    assert (summary.answered, summary.failed) == (1, 2)
    codes = {r.get("code") for r in read_attempts(tmp_path / "run/attempts.jsonl")}
    assert "too-large" in codes


def test_a_question_without_a_line_is_asked_again(provider, run):
    provider.lose = lambda body, times: times == 1 and "picture 5" in str(body)
    summary = run()
    assert (summary.answered, summary.failed) == (12, 0)
    assert [len(batch.asks) for batch in provider.batches] == [11, 1]
    assert Counter(provider.paid.values()) == {1: 11, 2: 1}


def test_a_question_that_never_has_a_line_fails_after_all_tries(provider, run, tmp_path):
    provider.lose = lambda body, _times: "picture 5" in str(body)
    summary = run()
    assert (summary.answered, summary.failed, summary.ends["failed"]) == (11, 1, 1)
    codes = [r["code"] for r in read_attempts(tmp_path / "run/attempts.jsonl") if "code" in r]
    assert codes == ["no-line"] * 3


def test_questions_that_expired_are_asked_again(provider, run):
    provider.instead = lambda body, times: (
        unfinished(provider) if times == 1 and "picture 7" in str(body) else None
    )
    if provider.kind == "openai":
        provider.ends = lambda number: None if number else "expired"
    summary = run()
    assert (summary.answered, summary.failed) == (12, 0)
    assert [len(batch.asks) for batch in provider.batches] == [11, 1]


def test_what_was_done_before_a_batch_was_cancelled_is_kept(provider, run):
    provider.instead = lambda body, times: (
        unfinished(provider) if times == 1 and "picture 1" in str(body) else None
    )
    if provider.kind == "openai":
        provider.ends = lambda number: None if number else "cancelled"
    summary = run()
    again = [body for batch in provider.batches[1:] for _, body in batch.asks]
    assert summary.answered == 12
    assert all("picture 1" in str(body) for body in again)


def test_a_question_that_is_refused_fails_alone_with_the_words_of_the_provider(
    provider, run, tmp_path
):
    problem = refused(provider, 400, "invalid_request_error", f"image exceeds 5 MB {KEY}")
    provider.instead = lambda body, _times: problem if "picture 5" in str(body) else None
    summary = run()
    assert (summary.answered, summary.failed) == (11, 1)
    assert [len(batch.asks) for batch in provider.batches] == [11]
    errors = [r["error"] for r in read_attempts(tmp_path / "run/attempts.jsonl") if "error" in r]
    assert errors == ["400: image exceeds 5 MB [key]"]


def test_a_busy_server_within_a_batch_is_asked_again(provider, run):
    problem = refused(provider, 529, "overloaded_error", "Overloaded")
    provider.instead = lambda body, times: problem if times == 1 and "ture 5" in str(body) else None
    assert run().answered == 12


def test_a_batch_in_which_every_question_is_refused_ends_the_run(provider, run, tmp_path):
    problem = refused(provider, 400, "invalid_request_error", "no pictures here")
    provider.instead = lambda _body, _times: problem
    with pytest.raises(ModelError, match="no pictures here"):
        run()
    assert not open_batches(tmp_path / "run")


@pytest.mark.few(6)
@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("step", ["upload", "create", "state", "results"])
def test_a_server_that_is_busy_is_waited_for_and_nothing_is_paid_twice(provider, run, status, step):
    shapes = {
        "openai": {
            "upload": ("POST", "files"),
            "create": ("POST", "batches"),
            "state": ("GET", "batches/*"),
            "results": ("GET", "files/*/content"),
        },
        "anthropic": {
            "upload": ("POST", "messages/batches"),
            "create": ("POST", "messages/batches"),
            "state": ("GET", "messages/batches/*"),
            "results": ("GET", "messages/batches/*/results"),
        },
    }
    where = shapes[provider.kind][step]
    provider.refuse = lambda method, path, number: (
        api_error(status, "busy") if (method, path) == where and number == 1 else None
    )
    summary = run()
    assert (summary.answered, summary.failed) == (12, 0)
    assert set(provider.paid.values()) == {1}


def test_a_batch_that_was_taken_although_the_server_failed_is_found(provider, run):
    ordinary = provider._create

    def taken_but_not_told(asks, **more):
        ordinary(asks, **more)
        if len(provider.batches) == 1:
            raise ConnectionResetError
        return provider.batches[-1]

    provider._create = taken_but_not_told
    summary = run()
    assert (summary.answered, summary.failed) == (12, 0)
    assert len(provider.batches) == 1
    assert set(provider.paid.values()) == {1}


def test_a_wrong_key_ends_the_run_at_its_first_question(provider, run, tmp_path):
    provider.refuse = lambda _method, _path, _number: api_error(401, f"wrong key {KEY}")
    with pytest.raises(ModelError, match=r"wrong key \[key\]"):
        run()
    assert not provider.batches
    assert not (tmp_path / "run" / FILE).read_bytes()


def test_batches_that_are_refused_are_never_taken_for_under_way(provider, run, tmp_path):
    where = {"openai": "batches", "anthropic": "messages/batches"}[provider.kind]
    provider.refuse = lambda _method, path, _number: (
        api_error(400, "no batches for this model") if path == where else None
    )
    with pytest.raises(ModelError, match="no batches for this model"):
        run()
    assert not open_batches(tmp_path / "run")


@pytest.mark.parametrize("provider", ["openai"], indirect=True)
def test_a_batch_that_fails_as_a_whole_ends_the_run_with_the_reason(provider, run, tmp_path):
    provider.ends = lambda _number: "failed"
    create = provider._create

    def failing(asks, metadata, **more):
        error = {"code": "invalid_json_line", "message": f"line 3 is wrong {KEY}"}
        return create(asks, metadata={**metadata, "error": error}, **more)

    provider._create = failing
    with pytest.raises(ModelError, match=r"line 3 is wrong \[key\]"):
        run()
    assert not open_batches(tmp_path / "run")


@pytest.mark.thorough
@pytest.mark.parametrize("provider", ["openai"], indirect=True)
def test_an_account_with_too_much_under_way_gets_smaller_batches_later(provider, run):
    provider.ends = lambda number: "failed" if number < 2 else None
    create = provider._create

    def failing(asks, metadata, **more):
        error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}
        return create(asks, metadata={**metadata, "error": error}, **more)

    provider._create = failing
    summary = run(count=30)
    sizes = [len(batch.asks) for batch in provider.batches]
    assert sizes[:2] == [29, 14]
    assert max(sizes[1:]) == 14
    assert summary.answered == 30
    assert set(provider.paid.values()) == {1}


def test_pictures_do_not_stay_at_the_provider(provider, run, tmp_path):
    run()
    assert not provider.files
    assert len(provider.deleted) == {"openai": 2, "anthropic": 1}[provider.kind]
    assert not list((tmp_path / "run").glob("*.partial"))


def test_a_provider_that_deletes_nothing_spoils_nothing(provider, run):
    provider.refuse = lambda method, _path, _number: (
        api_error(500, "cannot delete") if method == "DELETE" else None
    )
    notes = []
    summary = run(on_progress=lambda progress: notes.append(progress.note))
    assert (summary.answered, summary.exit_code) == (12, 0)
    assert any("could not be deleted at the provider" in note for note in notes)


def test_the_key_is_in_no_file_of_the_run(provider, run, tmp_path):
    provider.reply = lambda _body: f"B, says {KEY}"
    run()
    for path in (tmp_path / "run").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
    name = {"openai": "authorization", "anthropic": "x-api-key"}[provider.kind]
    header_sets = [
        {n.lower(): value for n, value in headers.items()} for headers in provider.headers
    ]
    assert all(KEY in headers[name] for headers in header_sets)


@pytest.mark.few(1)
def test_a_largest_cost_is_kept(provider, run):
    summary = run(count=60, prices=PRICES, max_cost=40.0)
    assert summary.cost == pytest.approx(40.0)
    assert summary.stopped
    assert summary.left == 20
    assert sum(provider.paid.values()) == 40
    more = run(count=60, prices=PRICES, max_cost=1000.0)
    assert (more.reused, more.answered, more.cost) == (40, 20, pytest.approx(60.0))


@pytest.mark.few(1)
def test_a_cost_that_is_nearly_reached_sends_small_batches_first(provider, run):
    run(count=200, prices=PRICES, max_cost=201.0)
    sizes = [len(batch.asks) for batch in provider.batches]
    assert sizes[0] < 199
    assert sum(sizes) == 199


def test_questions_in_batches_are_not_asked_one_by_one(provider, run, tmp_path):
    state = {"openai": "batches/*", "anthropic": "messages/batches/*"}[provider.kind]
    provider.refuse = lambda _method, path, _number: (
        api_error(500, "gone") if path == state else None
    )
    with pytest.raises(ModelError, match="no response about batches"):
        run(batches=Polling(first=0.01, longest=0.02, unreachable=0.2, settled=0.1))
    assert len(open_batches(tmp_path / "run")) == 1
    with pytest.raises(WorkspaceError, match=r"11 questions in batches.*--batch"):
        run(batches=None)
    provider.refuse = lambda _method, _path, _number: None
    assert run().answered == 11
    assert run(batches=None).reused == 12
    assert set(provider.paid.values()) == {1}


def test_a_run_that_was_begun_one_by_one_goes_on_in_batches(provider, run):
    run(count=12, limit=5, batches=None)
    summary = run(count=12)
    assert (summary.reused, summary.answered) == (5, 7)
    assert [len(batch.asks) for batch in provider.batches] == [7]
    assert set(provider.paid.values()) == {1}


def test_what_is_withheld_by_a_contract_is_in_no_batch(provider, run, monkeypatch):
    withheld = ItemFilter(ids=frozenset({f"q{n:03}" for n in range(4)}))
    names = []

    def watched(choice, items, model, may_send):
        names.append(model.name)
        return withheld

    assert withhold_agreement_sources  # the runner asks it for batches as for single questions
    monkeypatch.setattr(runner, "withhold_agreement_sources", watched)
    run()
    bodies = [body for batch in provider.batches for _, body in batch.asks] + provider.singles
    assert names == [provider.model]
    assert len(bodies) == 4


def test_only_the_first_look_and_changes_are_told(provider, run):
    provider.looks = 12
    told_of = []
    run(on_progress=told_of.append)
    notes = {progress.note for progress in told_of}
    assert notes == {""}
    words = list(dict.fromkeys(progress.waiting for progress in told_of if progress.waiting))
    assert len(words) <= 12 + 1
    assert words[-1] == "fetching the results of a batch"
    assert words[0].startswith("1 batch under way, 11 questions; next check at ")
    counts = {"openai": "0 of 11 questions done", "anthropic": "11 questions"}
    assert words[1].startswith(f"1 batch under way, {counts[provider.kind]}; next check at ")


@pytest.mark.parametrize("spec", ["baseline/random", "litellm/claude", "scripted"])
def test_a_model_without_batches_says_so_before_anything_is_written(
    spec, tmp_path, release, scripted_model, soon
):
    model = scripted_model() if spec == "scripted" else open_model(spec, ModelSettings())
    with pytest.raises(ModelError, match=r"--batch: .* has no batch interface"):
        run_evaluation(load_benchmark(release), model, tmp_path / "run", batches=soon)
    assert not (tmp_path / "run").exists()


def test_an_endpoint_without_batches_says_so(provider, run):
    provider.refuse = lambda _method, path, _number: (
        None if path in {"chat/completions", "messages"} else api_error(404, "Not Found")
    )
    with pytest.raises(ModelError, match="the endpoint has batches"):
        run()

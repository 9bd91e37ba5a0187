import json
import os

import pytest

from medrcube.errors import WorkspaceError
from medrcube.ontologies.llm.proposal_log import open_proposal_log, request_key


def record(key, outcome="reply", reply="r"):
    return {"key": key, "outcome": outcome, "reply": reply}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "proposals.jsonl"


def keep(path, *records):
    with open_proposal_log(path) as store:
        for entry in records:
            store.keep(entry)


def read(path):
    with open_proposal_log(path) as store:
        return dict(store.answers)


def test_what_is_kept_is_read_again(path):
    keep(path, record("a"), record("b", "refusal"))
    assert set(read(path)) == {"a", "b"}


def test_the_first_answer_stays(path):
    keep(path, record("a", reply="first"))
    keep(path, record("a", reply="second"))
    assert read(path)["a"]["reply"] == "first"
    assert len(path.read_text().splitlines()) == 2


def test_a_failure_is_kept_but_is_no_answer(path):
    keep(path, record("a", "timeout"), record("b", "rate-limited"), record("c", "rejected"))
    assert read(path) == {}
    assert len(path.read_text().splitlines()) == 3


def test_what_a_key_took_is_summed_over_its_records(path):
    failed = {**record("a", "timeout"), "requests": 4}
    good = {**record("a"), "requests": 2, "usage": {"prompt_tokens": 7}}
    keep(path, failed, good)
    with open_proposal_log(path) as store:
        assert store.spent == {"a": {"requests": 6, "prompt_tokens": 7}}


def test_a_torn_last_line_is_cut_off(path):
    keep(path, record("a"))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"key": "b", "outco')
    assert set(read(path)) == {"a"}
    keep(path, record("c"))
    assert set(read(path)) == {"a", "c"}
    assert path.read_bytes().startswith(whole)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"key": 1}',
        '{"key": "a", "outcome": "reply"}',
        '{"key": "a", "outcome": "reply", "reply": "r", "usage": 3}',
        '{"key": "a", "outcome": "reply", "reply": "r", "usage": {"prompt_tokens": "many"}}',
        '{"key": "a", "outcome": "reply", "reply": "r", "requests": null}',
    ],
)
def test_a_damaged_line_is_named(path, line):
    path.write_text(json.dumps(record("a")) + "\n" + line + "\n")
    with pytest.raises(WorkspaceError, match=r"proposals.jsonl:2 is not a record"):
        read(path)


def test_a_folder_that_is_not_there_is_an_error_of_the_workspace(tmp_path):
    with pytest.raises(WorkspaceError, match="No such file"):
        read(tmp_path / "no" / "proposals.jsonl")


def test_half_of_a_surrogate_pair_is_kept(path):
    keep(path, record("a", reply="\ud83d"))
    assert set(read(path)) == {"a"}


@pytest.mark.parametrize("index", range(4))
def test_the_key_depends_on_everything_that_may_change_the_reply(index):
    arguments = ["m", "http://h/v1", "p", {"max_tokens": 1}]
    other = ["n", "http://g/v1", "q", {"max_tokens": 2}]
    variant = [*arguments[:index], other[index], *arguments[index + 1 :]]
    assert request_key(*arguments) == request_key(*arguments)
    assert request_key(*arguments) != request_key(*variant)


def test_the_store_is_for_its_owner_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        with open_proposal_log(tmp_path / "proposals.jsonl"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "proposals.jsonl").stat().st_mode & 0o777 == 0o600

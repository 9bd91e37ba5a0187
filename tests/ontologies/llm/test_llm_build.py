"""``medrcube build`` with an ``[llm]`` table, on the generated raw data of one source."""

import json
import sys

import pandas as pd
import pytest

from medrcube.cli import app

SECRET = "sk-test-0123456789"  # noqa: S105 -- opens nothing

UNEVEN = 1
"""A proposal is the key of no question, so the build is made and its audit fails."""


@pytest.fixture
def run(monkeypatch, capsys):
    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["medrcube", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            app.main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return run_command


@pytest.fixture
def bench(tmp_path, run, endpoint, compiled, concept, monkeypatch):
    """A workspace whose only diagnosis has one wrong option, and an invented index."""
    monkeypatch.setenv("TEST_KEY", SECRET)
    raw, root = tmp_path / "raw", tmp_path / "bench"
    assert run("sources", "fixture", "montgomery-tb", raw)[0] == 0
    root.mkdir()
    index = compiled(
        hpo=[
            concept("HP:0000118", "phenotypes"),
            concept("HP:0032262", "consumption", "HP:0000118"),
            concept("HP:0002097", "airy lung", "HP:0000118"),
        ]
    )

    def write(*, evidence="C", llm=True, index=index.path):
        text = f'[build]\neven_keys = false\nevidence = "{evidence}"\n'
        text += f'[sources]\nmontgomery-tb = "{raw}"\n'
        text += f'[ontologies]\nindex = "{index}"\n' if index else ""
        text += (
            f'[llm]\nmodel = "m"\nbase_url = "{endpoint.url}"\napi_key_env = "TEST_KEY"\n'
            if llm
            else ""
        )
        (root / "medrcube.toml").write_text(text)
        return root

    endpoint.behave = lambda *_: endpoint.names("airy lung", "consumption", "moon fever")
    return write


def items(root):
    table = pd.read_parquet(root / "items.parquet")
    return table[table["task"] == "Disease Diagnosis"]


def test_a_build_asks_stores_uses_and_reports(run, bench, endpoint):
    root = bench()
    status, out, err = run("build", root)
    assert status == UNEVEN, err
    assert any("llm" in strategy for strategy in items(root)["strategy"])
    llm = json.loads((root / "audit.json").read_text())["llm"]
    assert (llm["requests"], llm["accepted"]) == (len(endpoint.requests), 1)
    assert llm["dropped"] == {"identity": 1, "not-in-index": 1}
    assert llm["options"] > 0
    assert "m: 1 requests sent, in all 1 with 15 tokens" in out
    assert len((root / "proposals.jsonl").read_text().splitlines()) == 1


@pytest.mark.thorough
def test_the_same_build_again_asks_nothing_and_changes_nothing(run, bench, endpoint, monkeypatch):
    root = bench()
    run("build", root)
    tables = ("items.parquet", "audit.json", "proposals.jsonl")
    before = [(root / name).read_bytes() for name in tables]
    monkeypatch.delenv("TEST_KEY")
    endpoint.close()
    status, out, _ = run("build", root)
    assert status == UNEVEN
    assert "m: 0 requests sent" in out
    assert [(root / name).read_bytes() for name in tables] == before


@pytest.mark.thorough
def test_silence_is_no_evidence_by_default(run, bench):
    root = bench(evidence="B")
    assert run("build", root)[0] == UNEVEN
    assert not any("llm" in strategy for strategy in items(root)["strategy"])
    llm = json.loads((root / "audit.json").read_text())["llm"]
    assert llm["dropped"]["evidence-C"] == 1


@pytest.mark.thorough
def test_without_the_table_nothing_is_asked_or_told(run, bench, endpoint):
    root = bench(llm=False)
    assert run("build", root)[0] == UNEVEN
    assert endpoint.requests == []
    assert "llm" not in json.loads((root / "audit.json").read_text())
    assert not (root / "proposals.jsonl").exists()


@pytest.mark.thorough
def test_a_refused_key_stops_the_build_before_a_table_is_written(run, bench, endpoint):
    endpoint.behave = lambda *_: endpoint.problem(401, f"wrong key {SECRET}")
    root = bench()
    status, out, err = run("build", root)
    assert status == 2
    assert "check the key in TEST_KEY" in err
    assert not (root / "items.parquet").exists()
    content = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert SECRET not in out + err
    assert SECRET.encode() not in content


@pytest.mark.thorough
def test_a_server_that_is_down_costs_the_proposals_alone(run, bench, endpoint):
    endpoint.behave = lambda *_: endpoint.problem(400, "down")
    root = bench()
    status, out, _ = run("build", root)
    assert status == UNEVEN
    assert len(items(root)) > 0
    assert "1 keys left without an answer" in out


def test_a_model_without_an_index_is_refused_before_anything_is_built(run, bench, endpoint):
    root = bench(index=None)
    status, _, err = run("build", root)
    assert status == 2
    assert "every proposed option is looked up" in err
    assert endpoint.requests == []
    assert not (root / "images").exists()

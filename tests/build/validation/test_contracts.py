"""The contracts: each rule bites, two engines agree, and no value is put on record."""

import importlib.metadata
import json
import subprocess
import sys

import pandas as pd
import pytest

from medrcube.build.validation.contract_rules import CONTRACT_RULES, RuleKind
from medrcube.build.validation.contracts import contracts_record, require_contracts, run_contracts
from medrcube.build.validation.great_expectations import TooOldError, run_expectations
from medrcube.build.validation.table_views import item_view, record_view, sample_view
from medrcube.errors import MissingExtraError, ReleaseError
from medrcube.release_format.rows import read_row

SAMPLE = {
    "id": "0" * 16,
    "source": "toy",
    "case": "a",
    "artefact": "clean",
    "field": "",
    "marked": "",
    "image": "images/toy/a.png",
    "pixel_sha256": "a" * 64,
    "perceptual_hash": "c" * 16,
    "width": 10,
    "height": 10,
    "anatomy": "Brain",
    "modality": "MRI",
    "scope": "image",
    "licence": "CC0-1.0",
    "redistribute": True,
    "frames": "0",
    "recipe": "1" * 16,
    "area": 0.0,
}
ITEM = {
    "id": "0" * 16,
    "sample": "1" * 16,
    "source": "toy",
    "task": "Disease Diagnosis",
    "anatomy": "Brain",
    "modality": "MRI",
    "question": "What does the picture show?",
    "options": ["Glioma", "Meningioma"],
    "key": 0,
    "state": "unreviewed",
    "grade": "A",
    "details": json.dumps([{"strategy": "key", "grade": ""}, {"strategy": "x", "grade": "A"}]),
}
ROW = {
    "id": "q1",
    "dataset": "TOY",
    "image_path": "pictures/a.png",
    "question": "What does the picture show?",
    "option_A": "Glioma",
    "option_B": "Meningioma",
    "gt_answer": "Glioma",
    "correct_index": 0,
    "task": "Disease Diagnosis",
    "modality": "MRI",
    "parts": "Brain",
    "original_task": "x",
    "restricted": False,
}
OTHER_SAMPLE = {"id": "2" * 16, "case": "b", "image": "images/toy/b.png"}
BOTH_KEYS = json.dumps([{"strategy": "key", "grade": ""}] * 2)
UNGRADED = json.dumps([{"strategy": "key", "grade": ""}, {"strategy": "x", "grade": "?"}])
MAKE = {
    "samples": lambda rows: sample_view(pd.DataFrame(rows)),
    "items": lambda rows: item_view(pd.DataFrame(rows)),
    "records": lambda rows: record_view((read_row(row), row) for row in rows),
}
GOOD = {
    "samples": [SAMPLE, {**SAMPLE, **OTHER_SAMPLE}],
    "items": [ITEM, {**ITEM, "id": "2" * 16, "sample": "3" * 16}],
    "records": [ROW, {**ROW, "id": "q2", "image_path": "pictures/b.png"}],
}
BROKEN = [
    ("samples", {"id": "0" * 16}, {"unique-id"}),
    ("samples", {"id": "2" * 16 + "\n"}, {"id"}),
    ("samples", {"id": None}, {"has-id"}),
    ("samples", {"case": "a"}, {"unique-picture"}),
    ("samples", {"image": "images/toy/a.png"}, {"unique-image"}),
    ("samples", {"image": "/etc/b.png"}, {"image-name"}),
    ("samples", {"artefact": "heatmap"}, {"artefact"}),
    ("samples", {"pixel_sha256": "B" * 64}, {"pixel-hash"}),
    ("samples", {"perceptual_hash": "c" * 15}, {"perceptual-hash"}),
    ("samples", {"perceptual_hash": ""}, set()),
    ("samples", {"width": 0}, {"width-of-picture"}),
    ("samples", {"height": 70_000}, {"height-of-picture"}),
    ("samples", {"height": "tall"}, {"height-of-picture"}),
    ("samples", {"anatomy": "Foot"}, {"known-anatomy"}),
    ("samples", {"modality": None}, {"has-modality"}),
    ("samples", {"scope": "IMAGE"}, {"scope"}),
    ("samples", {"licence": ""}, {"licence-named"}),
    ("samples", {"redistribute": None}, {"has-redistribute"}),
    ("samples", {"recipe": "none"}, {"recipe"}),
    ("samples", {"area": 1.5}, {"area"}),
    ("items", {"id": "0" * 16}, {"unique-id"}),
    ("items", {"task": "Report Generation"}, {"known-task"}),
    ("items", {"question": "What?"}, {"question-text"}),
    ("items", {"options": ["Glioma"]}, {"two-to-four-options", "one-key"}),
    ("items", {"options": ["Glioma", "glioma "]}, {"options-differ"}),
    ("items", {"options": ["Glioma", ""]}, {"options-differ"}),
    ("items", {"key": 2}, {"key-is-an-option", "one-key"}),
    ("items", {"key": -1}, {"key-counts-from-0", "one-key"}),
    ("items", {"details": BOTH_KEYS}, {"one-key"}),
    ("items", {"details": UNGRADED}, {"graded"}),
    ("items", {"grade": "D"}, {"grade"}),
    ("items", {"sample": "1" * 16}, {"asked-once"}),
    ("records", {"id": "q1"}, {"unique-id"}),
    ("records", {"correct_index": None}, {"has-correct-index"}),
    ("records", {"image_path": None}, {"has-image-path"}),
    ("records", {"image_path": "pictures/a.png"}, {"asked-once"}),
]
UNREADABLE = {"details": "no JSON"}
COUNTS = {"options", "distinct-options", "marked-keys", "ungraded-options"}


def broken_rules(verdicts):
    return {verdict.rule.id for verdict in verdicts if not verdict.holds}


def changed(table, changes):
    first, second = GOOD[table]
    return MAKE[table]([first, {**second, **changes}])


def opinion(table, frame):
    pytest.importorskip("great_expectations", reason="needs the extra 'validate'")
    return run_expectations(table, frame)


@pytest.mark.thorough
@pytest.mark.parametrize("table", CONTRACT_RULES)
def test_good_tables_keep_every_rule_in_both_engines(table):
    frame = MAKE[table](GOOD[table])
    assert broken_rules(run_contracts(table, frame)) == set()
    assert all(opinion(table, frame).values())


@pytest.mark.parametrize(("table", "changes", "expected"), BROKEN)
def test_a_broken_row_breaks_exactly_its_rules(table, changes, expected):
    assert broken_rules(run_contracts(table, changed(table, changes))) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("table", CONTRACT_RULES)
def test_both_engines_say_the_same_of_broken_tables(table):
    for name, changes, _ in BROKEN:
        if name == table:
            frame = changed(table, changes)
            ours = {verdict.rule.id: verdict.holds for verdict in run_contracts(table, frame)}
            assert opinion(table, frame) == ours, changes


@pytest.mark.thorough
@pytest.mark.parametrize("table", CONTRACT_RULES)
@pytest.mark.parametrize("change", ["no rows", "no columns", "nothing in them"])
def test_both_engines_say_the_same_of_tables_that_lack_nearly_all(table, change):
    frame = MAKE[table](GOOD[table])
    if change == "no rows":
        frame = frame.iloc[:0]
    elif change == "no columns":
        frame = frame[["id"]]
    else:
        frame = frame.assign(**dict.fromkeys(frame.columns.drop("id")))
    ours = {verdict.rule.id: verdict.holds for verdict in run_contracts(table, frame)}
    assert opinion(table, frame) == ours
    assert not all(ours.values())


def test_every_rule_is_broken_by_some_table():
    presence = {
        (table, rule.id)
        for table in CONTRACT_RULES
        for rule in CONTRACT_RULES[table]
        if rule.kind is RuleKind.PRESENT
    }
    every = {(table, rule.id) for table in CONTRACT_RULES for rule in CONTRACT_RULES[table]}
    bitten = {(table, rule) for table, _, rules in BROKEN for rule in rules}
    axes = {("samples", "known-modality"), ("items", "known-modality"), ("items", "known-anatomy")}
    rest = {("items", "id"), ("samples", "redistribute"), ("records", "question-text")}
    empty = {(table, "not-empty") for table in CONTRACT_RULES}
    assert every - presence - bitten - axes - empty == rest


def test_details_that_cannot_be_read_leave_the_counts_empty():
    found = broken_rules(run_contracts("items", changed("items", UNREADABLE)))
    assert found == {"key-is-an-option", *(f"has-{name}" for name in COUNTS)}


def test_the_record_names_rows_by_id_and_holds_no_value():
    rows = [{**ITEM, "id": f"{n:016x}", "sample": f"{n:016x}", "task": "Jane Doe"} for n in (2, 1)]
    text = json.dumps(contracts_record(run_contracts("items", item_view(pd.DataFrame(rows)))))
    assert "Jane" not in text
    found = {row["rule"]: row for row in json.loads(text)["tables"]["items"]}["known-task"]
    assert found == {
        "rule": "known-task",
        "level": "error",
        "holds": False,
        "failing": 2,
        "ids": [f"{1:016x}", f"{2:016x}"],
    }


def test_the_record_is_the_same_for_any_order_of_rows():
    rows = [{**ITEM, "id": f"{n:016x}", "grade": "?"} for n in range(5)]
    one, two = (
        contracts_record(run_contracts("items", item_view(pd.DataFrame(it))))
        for it in (rows, rows[::-1])
    )
    assert one == two


def test_an_error_stops_a_release_and_a_warning_does_not():
    require_contracts(run_contracts("items", changed("items", {"sample": "1" * 16})))
    with pytest.raises(ReleaseError, match=r"rule grade: 1 row.* such as 2222222222222222"):
        require_contracts(run_contracts("items", changed("items", {"grade": "?"})))


def test_a_release_holds_the_record(public):
    found = json.loads((public / "contracts.json").read_text())
    assert set(found["tables"]) == {"items", "samples"}
    assert all(rule["holds"] for rules in found["tables"].values() for rule in rules)


def test_a_broken_contract_stops_the_release(released, workspace):
    samples = pd.read_parquet(workspace.samples)
    samples["licence"] = ""
    samples.to_parquet(workspace.samples, index=False)
    with pytest.raises(ReleaseError, match=r"licence-named: .* name it in the card"):
        released("second")


@pytest.mark.parametrize("found", ["1.6.4", "0.18.22"])
def test_versions_that_report_home_are_refused(found, monkeypatch):
    monkeypatch.setattr("medrcube.build.validation.great_expectations.version", lambda _name: found)
    with pytest.raises(TooOldError, match=r"expected 1\.7 or newer"):
        run_expectations("items", MAKE["items"](GOOD["items"]))


def test_an_absent_package_says_what_to_install(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("medrcube.build.validation.great_expectations.version", absent)
    with pytest.raises(MissingExtraError, match=r"medrcube\[validate\]"):
        run_expectations("items", MAKE["items"](GOOD["items"]))


@pytest.mark.thorough
def test_a_package_that_is_not_asked_for_is_not_loaded():
    code = (
        "import sys, medrcube.cli.app, medrcube.build.validation.validate; "
        "sys.exit('great_expectations' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


SILENT = """
import os, socket, sys
import pandas as pd

def refuse(*_args, **_options):
    os._exit(7)

socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refuse
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refuse
from medrcube.build.validation.great_expectations import run_expectations
frame = pd.DataFrame({"id": ["a"], "question": ["Jane Doe"]}).astype(object)
assert not all(run_expectations("records", frame).values())
assert os.environ["GX_ANALYTICS_ENABLED"] == "false"
"""


@pytest.mark.thorough
def test_great_expectations_is_silent_on_the_network_the_screen_and_the_disk(tmp_path):
    pytest.importorskip("great_expectations", reason="needs the extra 'validate'")
    done = subprocess.run(
        [sys.executable, "-c", SILENT],
        check=False,
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.rglob("*")) == []

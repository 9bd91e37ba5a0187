"""A profile in a whole build: what the workspace holds afterwards and what people see."""

import json
import sys
from collections import Counter
from dataclasses import asdict, replace

import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.profile.full_size import full_size_of
from medrcube.build.profile.profile import ProfileError, load_profile
from medrcube.cli import app
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import cube_tasks

ONE = LocalEngine(1)
PROFILE = """\
name = "small"
[margins.task]
"Disease Diagnosis" = 3
"ROI Grounding" = 3
[margins.modality]
MRI = 6
"""


@pytest.fixture
def profile(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(PROFILE)
    return file


@pytest.fixture
def run(toy, quiet, workspace, profile):
    def run_build(name=None, **changes):
        settings = replace(workspace.settings, profile=str(name or profile), **changes)
        report = build(
            replace(workspace, settings=settings), {**find_sources(), "toy": toy}, ONE, quiet
        )
        return report, json.loads(workspace.audit.read_text())

    return run_build


def test_a_build_makes_what_the_margins_ask_for_and_says_so(run):
    report, audit = run()
    assert audit["by_task"] == {"Disease Diagnosis": 3, "ROI Grounding": 3}
    profile_report = audit["profile"]
    assert (
        profile_report["name"],
        profile_report["wanted"],
        profile_report["made"],
        profile_report["distance"],
    ) == (
        "small",
        6,
        6,
        0,
    )
    assert profile_report["distances"] == {"task": 0, "modality": 0}
    assert profile_report["mix"] == {"task": 0, "modality": 0}
    assert profile_report["closers"] == []
    assert report.profile.lines()[0] == (
        "profile small: 6 of 6 items; 0.0 % missing; mix off by task 0 %, modality 0 %"
    )


@pytest.mark.thorough
def test_each_margin_stands_beside_what_all_sources_would_give_in_text_and_in_json(
    run, profile, toy
):
    report, audit = run()
    cards = [*(source.card for source in find_sources().values()), toy.card]
    whole, margins = full_size_of(cards, load_profile(str(profile)))
    profile_report = audit["profile"]
    assert {
        (row["axis"], row["value"]): row["expected"] for row in profile_report["margins"]
    } == margins
    assert margins["modality", "MRI"] > 6
    assert profile_report["full_size"] == asdict(whole)
    assert profile_report["full_size"]["items"] == 6
    assert "unknown counts are taken as zero" in profile_report["full_size"]["basis"]
    heads, rows = report.profile.table()
    assert heads == ("", "wanted", "made", "missing", "all sources")
    assert rows[-1] == ("MRI", 6, 6, 0, margins["modality", "MRI"])
    assert report.profile.lines()[1] == whole.describe(6)


@pytest.mark.thorough
def test_keys_that_stay_on_one_source_are_named(run, profile):
    profile.write_text(f"{PROFILE}[items]\nsources_per_key = 2\n")
    report, audit = run()
    profile_report = audit["profile"]
    assert profile_report["sources_per_key"] == 2
    assert profile_report["keys"] == len(profile_report["few_sources"]) > 0
    assert {tuple(entry["sources"]) for entry in profile_report["few_sources"]} == {("toy",)}
    assert not any(entry["others"] for entry in profile_report["few_sources"])
    assert any("keys have items of fewer than 2 sources" in line for line in report.profile.lines())


def test_every_question_has_an_item_or_a_reason(run):
    _, audit = run()
    cube = [f"{task}: " for task in cube_tasks()]
    dropped = {key: n for key, n in audit["dropped"].items() if key.startswith(tuple(cube))}
    beyond = Counter()
    for reason in audit["dropped"].keys() - dropped.keys():
        beyond[reason.partition(": ")[0]] += audit["dropped"][reason]
    disease = {
        key: n for key, n in audit["dropped"].items() if key.startswith("Disease Diagnosis: ")
    }
    assert sum(disease.values()) == 3
    assert audit["dropped"]["Modality Recognition: quota"] == 6
    # Six pictures, each asked in three tasks of the cube.
    assert audit["items"] + sum(dropped.values()) == 18
    # Beyond it, each for a point on its region, for its box, and for each of the three classes.
    assert beyond == {"Point Grounding": 6, "Box Grounding": 6, "Presence": 18}


@pytest.mark.thorough
def test_what_is_missing_is_named_with_the_sources_that_hold_it(run, profile):
    profile.write_text(PROFILE.replace("MRI = 6", "MRI = 5\nCT = 1"))
    report, audit = run()
    profile_report = audit["profile"]
    assert (profile_report["made"], profile_report["wanted"]) == (5, 6)
    ct = next(row for row in profile_report["margins"] if row["value"] == "CT")
    assert (ct["wanted"], ct["made"]) == (1, 0)
    names = [name for name, _ in ct["sources"]]
    assert "lidc-idri" in names
    assert "busi" not in names
    assert all(closer["adds"] == 1 for closer in profile_report["closers"])
    assert {closer["source"] for closer in profile_report["closers"]} == set(names)
    access = [closer["access"] for closer in profile_report["closers"]]
    assert access == sorted(access, key=["open", "form", "account", "credentialed"].index)
    assert len(profile_report["way"]) == 1
    heads, rows = report.profile.table()
    assert heads[-1] == "would add most"
    assert rows[-1][:4] == ("CT", 1, 0, 1)
    listed_names = rows[-1][5].split(", ")
    assert listed_names[:-1] == names[: len(listed_names) - 1]
    assert listed_names[-1] == f"{len(names) - len(listed_names) + 1} more"


@pytest.mark.thorough
def test_a_source_of_the_workspace_is_not_offered(run, profile):
    profile.write_text('name = "m"\n[margins.task]\nDD = 99\n[margins.modality]\nMRI = 99\n')
    _, audit = run()
    offered = {closer["source"] for closer in audit["profile"]["closers"]}
    assert "brats2021" in offered
    assert "toy" not in offered
    assert "busi" not in offered  # ultrasound


@pytest.mark.thorough
def test_a_source_that_is_off_gives_no_item_until_it_is_switched_on(run, profile):
    profile.write_text(PROFILE + '[sources]\noff = ["toy", "brats2021"]\n')
    report, audit = run()
    assert audit["items"] == 0
    assert audit["profile"]["off"] == ["toy"]
    assert audit["dropped"] == {
        "Disease Diagnosis: switched-off": 6,
        "Modality Recognition: switched-off": 6,
        "ROI Grounding: switched-off": 6,
        "Box Grounding: beyond the profile": 6,
        "Point Grounding: beyond the profile": 6,
        "Presence: beyond the profile": 6,
        "Presence: other-class": 12,
    }
    assert "brats2021" not in {closer["source"] for closer in audit["profile"]["closers"]}
    assert "switched off by the profile: toy (--switch-on ID)" in report.profile.lines()
    assert run(switched_on=("toy",))[1]["items"] == 6


@pytest.mark.thorough
def test_the_same_build_again_has_nothing_to_do_until_the_profile_changes(run, profile, workspace):
    first, _ = run()
    before = workspace.audit.stat().st_mtime_ns
    second, _ = run()
    assert workspace.audit.stat().st_mtime_ns == before
    assert second.profile == first.profile
    profile.write_text(PROFILE.replace('Grounding" = 3', 'Grounding" = 2').replace("= 6", "= 5"))
    assert run()[1]["items"] == 5


@pytest.mark.thorough
def test_a_build_without_a_profile_says_nothing_of_one(run, toy, quiet, workspace):
    run()
    report = build(workspace, {"toy": toy}, ONE, quiet)
    assert report.profile is None
    assert "profile" not in json.loads(workspace.audit.read_text())


def test_the_profile_decides_over_the_number_of_options(run, profile):
    profile.write_text(PROFILE + "[items]\noptions = 2\n")
    _, audit = run(two_option_share=1.0)
    # Boxes are as many as were drawn; what is chosen from concepts has two.
    assert audit["by_options"]["2"] >= 3


def test_switching_on_needs_a_profile(toy, quiet, workspace):
    settings = replace(workspace.settings, switched_on=("camus",))
    with pytest.raises(ProfileError, match="--switch-on camus needs  --profile"):
        build(replace(workspace, settings=settings), {"toy": toy}, ONE, quiet)


def test_a_wrong_profile_stops_the_build_before_anything_is_read(run, profile, workspace):
    profile.write_text(PROFILE.replace("MRI = 6", "MRI = 8"))
    with pytest.raises(ProfileError, match=r"task 6, margins\.modality 8"):
        run()
    assert not workspace.audit.exists()


@pytest.mark.thorough
def test_the_command_line_shows_one_table(tmp_path, monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["medrcube", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            app.main()
        return stopped.value.code or 0, *capsys.readouterr()

    assert call("sources", "fixture", "busi", tmp_path / "raw")[0] == 0
    base = ("build", tmp_path / "w", "--source", f"busi={tmp_path / 'raw'}", "--workers", "1")
    status, out, err = call(*base, "--profile", "medrcub")
    assert (status, out) == (2, "")
    assert "did you mean 'medrcube'" in err
    status, out, _ = call(*base, "--profile", "medrcube")
    assert status == 0
    assert out.count("wanted") == 1
    assert "Disease Diagnosis" in out
    assert "of 7,626 items" in out
    assert "all sources at full size (49, without those switched off): 7,193 of 7,626" in out
    status, out, _ = call(*base, "--profile", "medrcube", "--json")
    profile_report = json.loads(out)["profile"]
    assert (profile_report["wanted"], profile_report["full_size"]["items"]) == (7626, 7193)
    heart = next(row for row in profile_report["margins"] if row["value"] == "Heart")
    assert (heart["wanted"], heart["expected"], heart["made"]) == (420, 9491, 0)

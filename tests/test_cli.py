import json
import os
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer.main
from PIL import Image
from typer._completion_shared import Shells
from typer.main import get_command

from medrcube.cli import app
from medrcube.cli.endings import Interrupted
from medrcube.cli.examples import EXAMPLES
from medrcube.sources._synthetic.any_format import write_example


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process: ``run("build", ...)`` -> (status, out, err)."""

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["medrcube", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            app.main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return run_command


@pytest.fixture
def busi(run, tmp_path):
    """A raw tree of BUSI's layout."""
    root = tmp_path / "raw"
    assert run("sources", "fixture", "busi", root)[0] == 0
    return root


def test_help_names_every_command(run):
    status, out, _ = run("--help")
    assert status == 0
    for name in ("demo", "init", "build", "release", "sources", "evaluate", "report"):
        assert name in out


def test_help_needs_no_heavy_package():
    """Only the standard library and Typer are imported for help: that keeps it instant."""
    code = (
        "import sys; sys.argv = ['medrcube', '--help']\n"
        "from medrcube.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pandas', 'pydicom', 'openai', 'rich.progress', 'jinja2', 'asyncio'}\n"
        "sys.exit(str(sorted(heavy & set(sys.modules))) if heavy & set(sys.modules) else 0)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_a_command_is_made_without_the_options_of_the_others(run, monkeypatch):
    names, read = [], typer.main.get_params_from_function
    monkeypatch.setattr(
        typer.main,
        "get_params_from_function",
        lambda function: names.append(getattr(function, "__name__", "")) or read(function),
    )
    app._part.cache_clear()
    assert "init [OPTIONS] [DIR]" in run("--quiet", "init", "--help")[1]
    assert "init" in names
    assert "build" not in names


def test_a_command_that_is_misspelt_is_told_the_one_that_is_meant(run):
    status, _, err = run("buidl")
    assert (status, "'build'" in err) == (2, True)


def test_the_version_is_that_of_the_package(run):
    assert run("--version") == (0, f"medrcube {metadata.version('medrcube')}\n", "")


def test_every_command_says_in_one_short_line_what_it_does():
    def commands(group, *names):
        for name, command in group.commands.items():
            yield (*names, name), command
            if hasattr(command, "commands"):
                yield from commands(command, *names, name)

    for names, command in commands(get_command(app.app)):
        line = command.get_short_help_str(limit=200)
        assert 0 < len(line) <= 45, (names, line)
        assert line.endswith("."), (names, line)
        bare = [param.name for param in command.params if not param.help]
        assert not bare, (names, bare)


def test_every_example_of_the_help_parses_and_stands_in_the_help_of_its_command():
    for name, lines in EXAMPLES.items():
        for line in lines:
            command, words = get_command(app.app), shlex.split(line)[1:]
            for part in name.split():
                command, words = command.commands[part], words[1:]
            command.make_context(name, words)
            assert line in command.epilog
            assert len(line) <= 76, line  # indented by four, in 80 columns


def test_the_reference_of_commands_is_current():
    options = ("--name", "medrcube", "--title", "Commands")
    command = [sys.executable, "-m", "typer", "medrcube.cli.app", "utils", "docs", *options]
    page = subprocess.check_output(command, text=True, encoding="utf-8")
    current = Path(__file__).parents[1] / "docs/reference/commands.md"
    assert current.read_text("utf-8") == page.replace("\b", ""), "run  make reference"


@pytest.mark.thorough
def test_quiet_keeps_results_alone_and_verbose_adds_times(run, busi, tmp_path):
    build = ("build", "--source", f"busi={busi}", "--workers", 1)
    _, out, err = run("-q", *build, tmp_path / "q")
    assert ("cases rendered" in out, err) == (True, "")
    _, out, err = run("-v", *build, tmp_path / "v")
    assert re.search(r"^render: \d+\.\d s$", err, re.MULTILINE)
    status, _, err = run("-q", "-v", "sources", "list")
    assert (status, "mutually exclusive" in err) == (2, True)


@pytest.mark.thorough
def test_a_shell_completes_commands_and_ids_of_sources():
    def completed(*words):
        environment = {
            **os.environ,
            "_MEDRCUBE_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("medrcube", *words)),
            "COMP_CWORD": str(len(words)),
        }
        command = [Path(sys.executable).with_name("medrcube")]
        process = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        return process.stdout.split()

    assert completed("sou") == ["sources"]
    assert "busi" in completed("sources", "show", "bu")


def test_help_and_tutorial_name_the_shells_that_have_completion(run):
    shells = [shell.value for shell in Shells]
    assert f"- shells: {', '.join(shells)}\n" in run("--help")[1]
    tutorial = (Path(__file__).parents[1] / "docs/tutorial/index.md").read_text("utf-8")
    named = " ".join(
        tutorial.partition("`medrcube --install-completion`")[2].partition("\n\n")[0].split()
    )
    assert all(shell in named for shell in shells)


def test_sources_are_listed_by_region_modality_task_and_access(run):
    def ids(*filters):
        return {entry["id"] for entry in json.loads(run("sources", "list", *filters, "--json")[1])}

    chest, films = ids("--anatomy", "chest"), ids("--modality", "x-ray", "--access", "open")
    assert films & chest
    assert ids("--anatomy", "Chest", "--modality", "X-ray", "--access", "open") == films & chest
    assert ids("--anatomy", "Chest", "--anatomy", "Heart") == chest | ids("--anatomy", "Heart")
    assert "acdc" in ids("--task", "Disease Diagnosis", "--anatomy", "Heart")
    assert ids("--task", "Head Circumference") == {"hc18"}
    assert "mmwhs" in ids("--modality", "MRI", "--anatomy", "Heart")  # most of its images are CT
    lungs = ("--anatomy", "Lungs", "--modality", "CT")
    assert "totalsegmentator" in ids(*lungs, "--task", "Organ Recognition")
    assert "totalsegmentator" not in ids(*lungs, "--task", "ROI Grounding")  # asked of its chests
    status, out, _ = run("sources", "list", "--anatomy", "Breast", "--modality", "CT")
    assert (status, "no source matches" in out) == (0, True)


@pytest.mark.parametrize(
    ("option", "text", "near"),
    [
        ("--anatomy", "Brian", "Brain"),
        ("--modality", "ultrasond", "Ultrasound"),
        ("--task", "Disease Diagnsis", "Disease Diagnosis"),
        ("--access", "opne", "open"),
    ],
)
def test_a_misspelt_filter_is_refused_with_the_nearest_name(run, option, text, near):
    status, out, err = run("sources", "list", option, text)
    assert (status, out, f"did you mean {near!r}?" in err) == (2, "", True)


def test_sources_are_listed_for_people_and_programs(run):
    status, out, _ = run("sources", "list")
    assert status == 0
    assert "busi" in out
    status, out, _ = run("sources", "list", "--json")
    entries = {entry["id"]: entry for entry in json.loads(out)}
    assert entries["vindr-cxr"]["access"] == "credentialed"


def test_a_task_is_shown_with_the_text_of_its_wordings(run):
    status, out, _ = run("tasks", "show", "LD")
    assert status == 0
    assert "  what: The scale bar below {{ shown }} is {{ bar }} long. What is the longest" in out


def test_a_source_says_how_to_get_it(run):
    status, out, _ = run("sources", "show", "vindr-cxr")
    assert status == 0
    assert "How to get it" in out
    assert "@article" in out


def test_known_issues_of_a_source_are_shown_in_words(run):
    _, out, _ = run("sources", "show", "brain-tumor-classification")
    issues = out.partition("Known issues\n")[2].partition("\nCitation")[0].splitlines()
    assert issues
    assert all(line.startswith("  ") and line[2].isupper() for line in issues if line)


def test_validate_tells_the_layout_and_its_status_says_whether_it_fits(run, busi, tmp_path):
    status, out, _ = run("sources", "validate", "busi", busi)
    assert (status, "partial copy" in out) == (0, True)
    (tmp_path / "empty").mkdir()
    status, out, _ = run("sources", "validate", "busi", tmp_path / "empty", "--json")
    assert (status, json.loads(out)["fits"]) == (1, False)


def test_validate_reads_the_tables_and_says_when_no_case_has_its_files(run, tmp_path):
    root = tmp_path / "raw"
    run("sources", "fixture", "bus-bra", root)
    status, out, _ = run("sources", "validate", "bus-bra", root)
    assert (status, "cases with all files" in out) == (0, True)
    for path in root.rglob("bus_*.png"):
        path.rename(path.with_name("bus_9999-x.png"))
    status, out, _ = run("sources", "validate", "bus-bra", root)
    assert (status, "\n0 cases with all files" in out) == (1, True)
    assert "unclaimed: no case of layout" in out
    _, out, _ = run("sources", "validate", "bus-bra", root, "--json")
    assert any(" unclaimed: no case of layout" in line for line in json.loads(out)["reasons"])


def test_a_build_that_sets_most_aside_shows_the_reasons(run, busi, tmp_path):
    for number in range(40):
        (busi / "benign" / f"copy {number}.png").write_bytes(b"")
    _, out, _ = run("build", tmp_path / "w", "--source", f"busi={busi}", "--workers", 1)
    assert "busi: set aside or failed: " in out


def test_validate_says_which_folder_it_took(run, busi):
    status, out, _ = run("sources", "validate", "busi", busi / "benign")
    assert status == 0
    assert f"read from {busi}, above the folder given" in out.replace("\n", " ")


@pytest.mark.few(1)
@pytest.mark.parametrize("wrong", ["bus={raw}", "busi={raw}-gone"])
def test_a_misspelt_name_or_root_leaves_no_workspace_behind(run, busi, tmp_path, wrong):
    status, _, err = run("build", tmp_path / "w", "--source", wrong.format(raw=busi))
    assert (status, (tmp_path / "w").exists()) == (2, False)
    assert "no source is called 'bus'" in err or "does not exist" in err
    assert run("build", tmp_path / "w", "--source", f"busi={busi}", "--workers", 1)[0] == 0


def test_build_release_evaluate_and_report_from_the_command_line(run, tmp_path):
    raw, workspace, out = tmp_path / "raw", tmp_path / "workspace", tmp_path / "release"
    assert run("sources", "fixture", "bus-bra", raw)[0] == 0  # its pictures may be redistributed
    status, text, _ = run("build", workspace, "--source", f"bus-bra={raw}", "--workers", 1)
    assert (status, "cases rendered" in text) == (0, True)
    status, text, _ = run("build", workspace, "--workers", 1, "--json", "--seed", 3)
    assert json.loads(text)["rendered"] == 0
    status, text, _ = run("release", workspace, out, "--allow-unreviewed")
    assert (status, "of them open; " in text, "of the others unreviewed" in text) == (0, True, True)
    arguments = ("evaluate", out, "--model", "baseline/first", "--out", tmp_path / "run")
    status, text, _ = run(*arguments)
    assert status == 0
    status, text, _ = run(*arguments, "--json")
    assert json.loads(text)["reused"] > 0
    metrics = tmp_path / "run" / "metrics.json"
    before = metrics.read_bytes()
    metrics.unlink()
    assert run("score", tmp_path / "run")[0] == 0
    assert metrics.read_bytes() == before
    page = tmp_path / "report.html"
    status, _, _ = run("report", tmp_path / "run", "--out", page, "--release", out)
    assert status == 0
    assert page.read_text().lower().startswith("<!doctype html>")


def test_a_failing_build_exits_with_one(run, busi, tmp_path):
    for path in busi.rglob("*).png"):
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(path)
    status, out, _ = run("build", tmp_path / "w", "--source", f"busi={busi}", "--workers", 1)
    assert status == 1
    assert "FAILED busi" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("build", "nowhere"), "is not a workspace"),
        (("build", "w", "--source", "busi"), "expected ID=ROOT"),
        (("build", "w", "--source", "a=b", "--source", "a=c"), "was given twice"),
        (("build", "w", "--scheduler", "tcp://x:1"), "--engine dask"),
        (("sources", "show", "bussi"), "did you mean 'busi'"),
        (("sources", "fixture", "busi", "f", "--layout", "x"), "has no layout 'x'"),
        (("release", "nowhere", "out"), "is not a workspace"),
        (("evaluate", "nowhere", "--model", "baseline/first", "--out", "run"), "nowhere"),
        (("report", "nowhere", "--out", "x.html"), "nowhere"),
    ],
)
def test_wrong_use_exits_with_two_and_one_line(run, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    status, _, err = run(*arguments)
    assert status == 2
    assert says in err
    assert "Traceback" not in err
    assert err.count("\n") == 1


def test_a_fixture_is_never_written_over_something(run, tmp_path):
    (tmp_path / "mine.txt").touch()
    status, _, err = run("sources", "fixture", "busi", tmp_path)
    assert (status, "is not empty" in err) == (2, True)
    status, _, err = run("sources", "fixture", "busi", tmp_path / "mine.txt")
    assert (status, "mine.txt is a file" in err) == (2, True)


def test_errata_are_listed_of_a_release_only(run, tmp_path):
    status, out, err = run("errata", "list", tmp_path / "nothing")
    assert (status, out, "expected the folder of a release" in err) == (2, "", True)
    status, out, err = run("errata", "list", tmp_path)
    assert (status, out, "no <SOURCE>/test.json" in err) == (2, "", True)


def test_a_folder_that_may_not_be_entered_is_named_without_a_traceback(run, monkeypatch, tmp_path):
    def closed(_self):
        raise PermissionError(13, "Permission denied", str(tmp_path / "closed/w"))

    monkeypatch.setattr(Path, "exists", closed)
    status, out, err = run("init", tmp_path / "closed/w")
    assert (status, out) == (2, "")
    assert err.startswith(f"medrcube: {tmp_path / 'closed/w'}: Permission denied; check the perm")


def test_init_makes_a_workspace_once(run, tmp_path):
    assert run("init", tmp_path / "w")[0] == 0
    status, _, err = run("init", tmp_path / "w")
    assert (status, "already exists" in err) == (2, True)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("command", "missing", "extra"),
    [
        (("build", "."), "pandas", "build"),
        (("evaluate", "release", "--model", "openai/x", "--out", "run"), "openai", "evaluate"),
        (("evaluate", "release", "--model", "baseline/first", "--out", "run"), "numpy", "evaluate"),
    ],
)
def test_a_missing_extra_gives_one_line_that_says_what_to_install(
    tmp_path, busi, run, command, missing, extra
):
    if command[0] == "evaluate":
        assert run("build", tmp_path / "bench", "--source", f"busi={busi}", "--workers", 1)[0] == 0
        release = ("release", tmp_path / "bench", tmp_path / "release", "--name", "t")
        assert run(*release, "--allow-unreviewed")[0] == 0
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        f"sys.argv = {['medrcube', *command]!r}\n"
        "from medrcube.cli.app import main; main()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert result.returncode == 2
    assert f"pip install 'medrcube[{extra}]'" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.thorough
def test_validate_with_the_extra_of_evaluate_alone_works(tmp_path, busi, run):
    assert run("build", tmp_path / "bench", "--source", f"busi={busi}", "--workers", 1)[0] == 0
    release = ("release", tmp_path / "bench", tmp_path / "release", "--name", "t")
    assert run(*release, "--allow-unreviewed")[0] == 0
    assert run("reconstruct", tmp_path / "release", "--source", f"busi={busi}")[0] == 0
    code = (
        "import sys\n"
        "for name in 'av deflate h5py isal nibabel pydicom pylibjpeg SimpleITK xlrd'.split():\n"
        "    sys.modules[name] = None\n"
        "sys.argv = ['medrcube', 'validate', 'release']\n"
        "from medrcube.cli.app import main; main()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search(r"\b[1-9]\d* valid items, 5 images", result.stdout)
    assert "VALID" in result.stdout


def test_an_interrupt_says_that_the_command_can_be_repeated(run, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "_part", lambda _: interrupted)
    status, _, err = run()
    assert (status, "run the same command again to resume" in err) == (130, True)


def test_an_interrupt_tells_programs_what_was_done_before_it(run, monkeypatch):
    def stopped():
        try:
            raise Interrupted({"model": "openai/a", "ends": {"answered": 5}})
        except KeyboardInterrupt as error:
            raise SystemExit(130) from error

    monkeypatch.setattr(app, "_part", lambda _: stopped)
    status, out, _ = run("evaluate", "--json")
    assert status == 130
    values = {"interrupted": True, "model": "openai/a", "ends": {"answered": 5}}
    assert json.loads(out) == values
    assert run("evaluate")[1] == ""


def test_an_error_is_an_object_for_programs_too(run, tmp_path):
    status, out, err = run("validate", tmp_path / "nothing", "--json")
    assert status == 2
    assert f"medrcube: {json.loads(out)['error']}\n" == err
    assert run("validate", tmp_path / "nothing")[1] == ""


def test_the_command_is_installed():
    command = Path(sys.executable).with_name("medrcube")
    result = subprocess.run([command, "--help"], capture_output=True, check=False, env=os.environ)
    assert result.returncode == 0


def test_a_workspace_is_made_only_of_roots_that_fit(run, busi, tmp_path):
    status, _, err = run("build", tmp_path / "w", "--source", f"bus-bra={busi}", "--workers", 1)
    assert (status, "fits no layout" in err) == (2, True)
    assert not (tmp_path / "w").exists()


@pytest.mark.thorough
def test_a_source_that_fits_no_layout_fails_alone(run, busi, tmp_path):
    pairs = ("--source", f"busi={busi}", "--source", f"acdc={busi}")
    status, out, _ = run("build", tmp_path / "w", *pairs, "--workers", 1)
    assert (status, "FAILED acdc: " in out) == (1, True)
    assert set(pd.read_parquet(tmp_path / "w" / "items.parquet")["source"]) == {"busi"}
    assert "acdc" not in (tmp_path / "w" / "medrcube.toml").read_text().split("[sources]")[1]
    assert run("build", tmp_path / "w", "--workers", 1)[0] == 0


def test_failures_of_a_check_that_differ_in_numbers_alone_are_told_once(run, tmp_path):
    for number in range(2):
        write_example(tmp_path / f"raw/film{number}.png", seed=number)
    run("sources", "new", "films", "--from", tmp_path / "raw", "--into", tmp_path / "mine")
    adapter = tmp_path / "mine/films/adapter.py"
    text = adapter.read_text()
    assert "for path in files:" in text
    adapter.write_text(text.replace("for path in files:", "for path in files[:1]:"))
    code, out, _ = run("sources", "check", "films", "--source-path", tmp_path / "mine")
    assert code == 1
    lines = [
        line for line in out.splitlines() if "no case of layout 'files' uses this file" in line
    ]
    assert len(lines) == 1
    assert re.search(r"\(\d+ more differ only in numbers\)$", lines[0])

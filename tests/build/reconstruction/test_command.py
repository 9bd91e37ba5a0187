"""``medrcube reconstruct``: statuses, reports, and a kill at any moment."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from medrcube.build.reconstruction.outcomes import (
    PictureOutcome,
    Reconstruction,
    SourceOutcome,
    Status,
)
from medrcube.cli import app, reconstruct
from medrcube.console.progress import Reporter


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


@pytest.fixture(scope="module")
def editions_of_two(tmp_path_factory):
    """Both editions of a release of CAMUS, which is restricted, and of BUS-BRA."""
    root = tmp_path_factory.mktemp("editions")

    def run(*arguments):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["medrcube", *map(str, arguments)])
            with pytest.raises(SystemExit) as stopped:
                app.main()
        assert not stopped.value.code

    named = []
    for name in ("camus", "bus-bra"):
        run("sources", "fixture", name, root / name)
        named += ["--source", f"{name}={root / name}"]
    run("build", root / "w", "--workers", 1, *named)
    for edition in ((), ("--private",)):
        out = root / ("private" if edition else "public")
        run("release", root / "w", out, "--allow-unreviewed", *edition)
    return root


@pytest.fixture
def public(editions_of_two, tmp_path):
    """The public edition, which a test may change, beside the private one and the raw trees."""
    shutil.copytree(editions_of_two, tmp_path, dirs_exist_ok=True)
    return tmp_path / "public"


@pytest.mark.thorough
def test_status_0_says_that_all_pictures_are_there(run, public, tmp_path):
    status, out, _ = run("reconstruct", public, "--source", f"camus={tmp_path / 'camus'}")
    assert status == 0
    assert "rebuilt" in out
    assert _files(public) == _files(tmp_path / "private")


def test_a_copy_of_another_source_is_named_as_not_used(run, public, tmp_path):
    (tmp_path / "films").mkdir()
    arguments = ("reconstruct", public, "--source", f"vindr-cxr={tmp_path / 'films'}")
    _, out, _ = run(*arguments)
    assert "not used: --source vindr-cxr: the release has no image of it" in out
    assert json.loads(run(*arguments, "--json")[1])["unused"] == ["vindr-cxr"]


@pytest.mark.thorough
def test_a_damaged_table_is_named_as_the_cause(run, public, tmp_path):
    for table in (tmp_path / "camus").rglob("Info_4CH.cfg"):
        table.write_text("garbage\n")
    _, out, _ = run("reconstruct", public, "--source", f"camus={tmp_path / 'camus'}")
    assert "Info_4CH.cfg: " in out
    assert "(bad-row)" in out


def test_status_1_says_what_is_short_and_how_to_get_it(run, public):
    before = _files(public)
    status, out, _ = run("reconstruct", public)
    assert status == 1
    assert "source-not-given" in out
    assert "1. Open https://humanheart-project.creatis.insa-lyon.fr/database/" in out
    assert _files(public) == before


def test_whoever_has_one_source_of_many_sees_what_became_of_that_one(monkeypatch, capsys):
    def outcome(source, status):
        picture = PictureOutcome(image=f"{source}.png", status=status, detail=f"why {source}")
        return SourceOutcome(source=source, pictures=(picture,), notes=(f"how to get {source}",))

    others = [outcome(name, Status.SOURCE_NOT_GIVEN) for name in "abcdef"]
    mine = outcome("mine", Status.RAW_FILE_DIFFERS)
    monkeypatch.setenv("COLUMNS", "200")
    for sources, text in ((others, "6 images of 6 sources"), (others[:1], "--source a=ROOT")):
        reconstruct._show(Reconstruction(sources=(*sources, mine)), Reporter())
        out = capsys.readouterr().out
        assert text in out
        assert "raw-file-differs  mine.png: why mine" in out
        assert "how to get mine" in out
        assert ("how to get a" in out) == (len(sources) == 1)
        assert "why a" not in out


def test_status_2_says_what_is_wrong(run, public, tmp_path):
    for arguments, text in (
        ((tmp_path / "nowhere",), "nowhere"),
        ((public, "--source", "camus"), "expected ID=ROOT"),
        ((public, "--source", "camsu=x"), "did you mean 'camus'"),
        ((public, "--source", f"camus={tmp_path / 'none'}"), "does not exist"),
        ((public, "--by-name"), "--adopt"),
        ((public, "--adopt"), "leave out --adopt"),
        ((public, "--report", public / "report.json"), "is inside the release"),
    ):
        status, _, err = run("reconstruct", *arguments)
        assert (status, text in err) == (2, True), err


def test_programs_get_one_object_with_every_picture(run, public, tmp_path):
    report = tmp_path / "report.json"
    status, out, _ = run("reconstruct", public, "--json", "--report", report)
    assert status == 1
    data = json.loads(out)
    assert data == json.loads(report.read_text())
    camus = data["sources"]["camus"]
    assert camus["counts"] == {"source-not-given": data["short"]}
    assert len(camus["pictures"]) == data["short"]
    assert set(camus["pictures"][0]) == {"image", "status", "case", "detail"}
    assert set(data["sources"]["bus-bra"]["counts"]) == {"already-there"}


def test_the_list_of_one_source_is_printed_bare(run, public, tmp_path):
    status, out, _ = run("reconstruct", public, "--needed")
    assert status == 0
    listed = out.splitlines()
    assert listed
    assert all((tmp_path / "camus" / name).is_file() for name in listed)


def test_lists_are_written_by_source_and_stated_with_sizes_and_digests(run, public, tmp_path):
    status, out, _ = run("reconstruct", public, "--needed", "--out", tmp_path / "lists", "--json")
    assert status == 0
    (entry,) = json.loads(out)["sources"].values()
    assert (tmp_path / "lists/camus.txt").read_text().splitlines() == [
        file["path"] for file in entry["files"]
    ]
    raw = tmp_path / "camus"
    assert entry["bytes"] == sum((raw / file["path"]).stat().st_size for file in entry["files"])
    assert {file["use"] for file in entry["files"]} == {"picture", "facts"}


def test_nothing_is_needed_of_a_source_whose_pictures_are_there(run, public, tmp_path):
    assert (
        "bus-bra" not in json.loads(run("reconstruct", public, "--needed", "--json")[1])["sources"]
    )
    private = tmp_path / "private"
    assert json.loads(run("reconstruct", private, "--needed", "--json")[1])["sources"] == {}


def test_a_release_of_an_older_version_gives_its_recipes_files_and_says_what_lacks(run, public):
    (public / "raw_files.jsonl").unlink()
    status, out, err = run("reconstruct", public, "--needed")
    assert status == 0
    assert all(name.endswith(".nii.gz") for name in out.splitlines())
    assert "lists no tables" in err


@pytest.mark.few(1)
@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../b", "a\u001b[2J"])
def test_a_raw_file_that_leads_elsewhere_is_refused(run, public, path):
    table = public / "raw_files.jsonl"
    row = {**json.loads(table.read_text().splitlines()[-1]), "path": path}
    table.write_text(json.dumps(row) + "\n")
    status, _, err = run("reconstruct", public, "--needed")
    assert status == 2
    assert "row 1 is" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--needed", "--source", "camus=x"), "reads only the release"),
        (("--out", "lists"), "require --needed"),
        (("--needed", "--only", "camsu"), "did you mean 'camus'"),
    ],
)
def test_options_that_do_not_go_together_are_told(run, public, options, message):
    status, _, err = run("reconstruct", public, *options)
    assert (status, message in err) == (2, True), err


# Children are forked off a process that has loaded everything: a kill lands in the work. A child
# kills itself at a step of its own, a call or a return, so that no clock has a say in it. The
# first four count their steps from the first picture that they put, and leave the tree partway.
NURSERY = """
import itertools, os, random, shutil, signal, sys
from pathlib import Path

from medrcube.build.execution.local import LocalEngine
from medrcube.build.reconstruction.safe_writes import place_picture
from medrcube.build.reconstruction.reconstruct import reconstruct
from medrcube.console.progress import Reporter
from medrcube.sources.registry import find_sources
import medrcube.build.readers.nifti

tree, raw, kills = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
sources = find_sources()
moments = random.Random(7)


def start(tree, last=None, *, from_put=False):
    child = os.fork()
    if child == 0:
        steps = itertools.count(1)
        counting = not from_put
        places = []

        def step(frame, event, _):
            nonlocal counting
            placed = event == "return" and frame.f_code is place_picture.__code__
            counting = counting or placed
            if counting:
                now = next(steps)
                if placed:
                    places.append(now)
                if now == last:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.setprofile(step)
            reconstruct(tree, {"camus": raw}, sources, LocalEngine(1), Reporter(quiet=True))
            sys.setprofile(None)
            told = f"{next(steps)} {places[-1] - places[0]} {len(places)}"
            Path(os.environ["TMPDIR"], "steps").write_text(told)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


copy = Path(os.environ["TMPDIR"], "copy")
os.waitpid(start(shutil.copytree(tree, copy)), 0)
whole, placing, count = map(int, copy.with_name("steps").read_text().split())
partway = 0
pictures = tree / "CAMUS" / "pictures"
for number in range(kills):
    before = len(list(pictures.glob("*/*.png")))
    if number < 4:  # each puts an eighth of the pictures at most, so that some are left
        child = start(tree, moments.randint(1, placing // 8), from_put=True)
    else:
        child = start(tree, moments.randint(1, whole))
    _, status = os.waitpid(child, 0)
    partway += os.WIFSIGNALED(status) and before < len(list(pictures.glob("*/*.png"))) < count
_, status = os.waitpid(start(tree), 0)
print(partway)
sys.exit(status)
"""


@pytest.mark.thorough
@pytest.mark.untraced
def test_a_kill_at_any_moment_costs_only_what_was_in_flight(public, tmp_path):
    script = tmp_path / "nursery.py"
    script.write_text(NURSERY)
    arguments = [sys.executable, script, public, tmp_path / "camus", "9"]
    environment = {**os.environ, "TMPDIR": str(_folder(tmp_path / "temporary"))}
    process = subprocess.run(
        arguments, capture_output=True, text=True, timeout=600, check=False, env=environment
    )
    assert process.returncode == 0, process.stderr
    assert int(process.stdout) >= 4
    assert _files(public) == _files(tmp_path / "private")
    shutil.rmtree(tmp_path / "temporary")


def _folder(path):
    path.mkdir()
    return path


def _files(tree):
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in tree.rglob("*")
        if path.is_file()
    }

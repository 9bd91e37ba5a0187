import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from medrcube.build.execution.local import LocalEngine
from medrcube.build.incremental.cache_database import BuildCache
from medrcube.build.pipeline import build
from medrcube.build.stages.rendering import render
from medrcube.build.stages.scan import hash_patient
from medrcube.errors import MedrcubeError, SourceError, WorkspaceError
from medrcube.sources._framework.contract import load_source

ONE = LocalEngine(1)


@pytest.fixture
def run(toy, quiet):
    def run_build(workspace, engine=ONE):
        return build(workspace, {"toy": toy}, engine, quiet)

    return run_build


def _files(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "cache" not in path.parts
    }


def _quarantine(workspace):
    table = pd.read_parquet(workspace.quarantine)
    return dict(zip(table["case"], table["code"], strict=True))


def test_a_build_makes_pictures_items_and_no_failure(run, workspace):
    report = run(workspace)
    (source,) = report.sources
    assert (source.cases, source.failed, source.pictures) == (6, 0, 12)
    assert source.items > 0
    assert report.failures == ()
    samples = pd.read_parquet(workspace.samples)
    assert all((workspace.root / image).is_file() for image in samples["image"])


def test_a_second_build_renders_nothing_and_changes_no_byte(run, workspace):
    run(workspace)
    before = _files(workspace.root)
    report = run(workspace)
    assert (report.rendered, report.reused) == (0, 6)
    assert _files(workspace.root) == before


def test_a_changed_raw_file_is_rendered_again_and_no_other(run, workspace, raw, write_case):
    run(workspace)
    write_case(raw, "g (0)", seed=99)
    assert run(workspace).rendered == 1


def test_a_touched_raw_file_of_equal_bytes_gives_equal_outputs(run, workspace, raw):
    run(workspace)
    before = _files(workspace.root)
    os.utime(raw / "g (0).png", (1, 1))
    run(workspace)
    assert _files(workspace.root) == before


def test_a_lost_picture_is_made_again(run, workspace):
    run(workspace)
    before = _files(workspace.root)
    victim = next(workspace.images.rglob("*.png"))
    victim.unlink()
    assert run(workspace).rendered == 1
    assert _files(workspace.root) == before


def test_the_place_of_the_raw_tree_does_not_matter(run, workspace, raw, tmp_path):
    run(workspace)
    before = _files(workspace.root)
    moved = tmp_path / "elsewhere"
    shutil.move(raw, moved)
    other = replace(workspace, root=tmp_path / "second", sources={"toy": moved})
    (other.root / "cache").mkdir(parents=True)
    shutil.copy(workspace.root / "cache" / "patient.key", other.root / "cache" / "patient.key")
    run(other)
    assert _files(other.root) == before


def test_several_workers_give_the_bytes_of_one(run, workspace, tmp_path):
    run(workspace)
    other = replace(workspace, root=tmp_path / "second")
    (other.root / "cache").mkdir(parents=True)
    shutil.copy(workspace.root / "cache" / "patient.key", other.root / "cache" / "patient.key")
    run(other, LocalEngine(3))
    assert _files(other.root) == _files(workspace.root)


def test_what_a_build_writes_is_for_its_owner_alone_whatever_the_umask(run, workspace):
    shutil.rmtree(workspace.cache.parent)
    before = os.umask(0)
    try:
        run(workspace)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in workspace.root.iterdir()}
    folders = {path.name for path in workspace.root.iterdir() if path.is_dir()}
    paths = {"samples.parquet", "items.parquet", "quarantine.parquet", "absent.csv", "audit.json"}
    paths |= {"geometry.parquet", "recipes.jsonl", "raw_files.jsonl", "images", "cache"}
    assert paths <= set(modes)
    assert {name: oct(modes[name]) for name in paths} == {
        name: oct(0o700 if name in folders else 0o600) for name in paths
    }


def test_patients_are_keyed_hashes(run, workspace):
    run(workspace)
    patients = pd.read_parquet(workspace.samples)["patient"]
    assert patients.str.fullmatch("[0-9a-f]{16}").all()
    for path in workspace.root.rglob("*"):
        assert path.is_dir() or b"CANARY" not in path.read_bytes(), path.name
    assert hash_patient("a", "p", b"k") != hash_patient("a", "p", b"l")
    assert hash_patient("a", "p", b"k") != hash_patient("b", "p", b"k")
    assert hash_patient("a", None, b"k") is None


def _truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _blank(path):
    Image.fromarray(np.zeros((96, 112), np.uint8)).save(path)


def _other_size(path):
    Image.fromarray(np.full((10, 10), 255, np.uint8)).save(path)


def _text(path):
    path.write_text("not a picture")


@pytest.mark.parametrize(
    ("file", "harm", "code"),
    [
        ("g (0).png", _truncate, "truncated"),
        ("g (0).png", _blank, "blank"),
        ("g (0).png", _text, "unsupported-format"),
        ("g (0)_mask.png", _blank, "empty-mask"),
    ],
)
def test_a_bad_file_costs_its_own_case_and_says_why(run, workspace, raw, file, harm, code):
    harm(raw / file)
    report = run(workspace)
    assert _quarantine(workspace) == {"g (0)": code}
    assert report.sources[0].failed == 1
    assert report.sources[0].pictures == 10


def test_a_mask_of_another_size_costs_its_picture_the_place_alone(run, workspace, raw):
    _other_size(raw / "g (0)_mask.png")
    report = run(workspace)
    assert _quarantine(workspace) == {"g (0)": "mask-size"}
    assert report.sources[0].failed == 0
    samples = pd.read_parquet(workspace.samples)
    assert list(samples[samples["case"] == "g (0)"]["artefact"]) == ["clean"]


HOOK = """

def read(image):
    from medrcube.build import readers
    from medrcube.errors import RefusedError
    if "(0)" in image.paths[0].name:
        raise RefusedError("an odd size", code="odd-size")
    return readers.read(image)
"""


def test_a_picture_refused_by_rule_is_set_aside_and_is_no_failure(run, workspace, toy):
    adapter = toy.folder / "adapter.py"
    adapter.write_text(adapter.read_text() + HOOK)
    report = run(workspace)
    assert _quarantine(workspace) == {"g (0)": "odd-size"}
    assert (report.sources[0].failed, report.failures) == (0, ())
    assert report.sources[0].set_aside == 1
    again = run(workspace)
    assert (again.rendered, again.sources[0].set_aside) == (0, 1)


def test_an_optional_region_may_mark_nothing(run, workspace, toy, raw):
    _blank(raw / "g (0)_mask.png")
    adapter = toy.folder / "adapter.py"
    adapter.write_text(adapter.read_text().replace('evidence="m")', 'evidence="m", optional=True)'))
    run(workspace)
    assert _quarantine(workspace) == {}
    samples = pd.read_parquet(workspace.samples)
    assert list(samples[samples["case"] == "g (0)"]["artefact"]) == ["clean"]


def test_more_failures_than_the_gate_fail_the_build(run, workspace, raw):
    _truncate(raw / "g (0).png")
    (failure,) = run(workspace).failures
    assert "1 of 6 cases could not be rendered" in failure
    assert "the most frequent reason: g (0).png" in failure
    settings = replace(workspace.settings, quarantine_gate=0.5)
    assert run(replace(workspace, settings=settings)).failures == ()


def test_a_card_may_state_its_gate_and_the_workspace_goes_before_it(quiet, toy, workspace, raw):
    _truncate(raw / "g (0).png")
    card = toy.folder / "card.toml"
    gate = '[gate]\nshare = 0.1\nreason = "files are lost"\nevidence = "none"\n'
    card.write_text(f"{card.read_text()}\n{gate}")
    failure = build(workspace, {"toy": load_source(toy.folder)}, ONE, quiet).failures[0]
    assert "more than [gate] share = 0.1 of its card (files are lost;" in failure
    card.write_text(card.read_text().replace("share = 0.1", "share = 0.5"))
    lenient = {"toy": load_source(toy.folder)}
    assert build(workspace, lenient, ONE, quiet).failures == ()
    own = replace(workspace, settings=replace(workspace.settings, quarantine_gate=0.01))
    assert "quarantine_gate = 0.01 in medrcube.toml" in build(own, lenient, ONE, quiet).failures[0]


def test_a_mended_file_leaves_the_quarantine(run, workspace, raw, write_case):
    _truncate(raw / "g (0).png")
    run(workspace)
    write_case(raw, "g (0)", seed=0)
    assert run(workspace).failures == ()
    assert _quarantine(workspace) == {}


def test_a_case_with_an_unmapped_label_is_set_aside_and_the_others_are_built(
    run, workspace, raw, write_case
):
    write_case(raw, "q (1)")
    gate = replace(workspace.settings, quarantine_gate=0.5)
    report = run(replace(workspace, settings=gate))
    assert (report.sources[0].pictures, report.failures) == (12, ())
    assert _quarantine(workspace) == {"q (1)": "bad-row"}


def test_more_unmapped_labels_than_the_gate_fail_the_build_and_show_the_first(
    run, workspace, raw, write_case
):
    write_case(raw, "q (1)")
    (failure,) = run(workspace).failures
    assert failure.startswith(
        "toy: 1 of 7 cases have a row that cannot be used, more than quarantine_gate = 0.05"
    )
    assert "value 'q' of field 'tumour' is not in the card" in failure


def test_absent_images_are_named_in_a_table_and_are_no_quarantine(run, workspace, toy):
    text = (toy.folder / "adapter.py").read_text()
    gone = "".join(
        f'    yield Case(key="gone {n}", images=(ImageRef(paths=(root / "a, {n}.png",)),))\n'
        for n in range(5)
    )
    (toy.folder / "adapter.py").write_text(f"{text}\n{gone}")
    (source,) = run(workspace).sources
    assert source.absent == 5
    assert source.absent_first == ("a, 0.png", "a, 1.png", "a, 2.png")
    table = pd.read_csv(workspace.absent)
    assert list(table["case"]) == [f"gone {n}" for n in range(5)]
    assert list(table["file"]) == [f"a, {n}.png" for n in range(5)]
    assert not {entry for entry in _quarantine(workspace) if entry.startswith("gone")}


def test_a_source_that_gives_no_picture_fails_the_build_and_says_why(run, workspace, raw):
    for path in raw.glob("*.png"):
        path.write_bytes(b"no picture")
    gate = replace(workspace.settings, quarantine_gate=1.0)
    failures = run(replace(workspace, settings=gate)).failures
    (line,) = (line for line in failures if line.startswith("toy: no image was made"))
    assert line.startswith("toy: no image was made (6 unsupported-format); 6 unsupported-format: ")


def test_a_root_that_is_a_file_stops_the_build(run, workspace, tmp_path):
    (tmp_path / "archive.zip").touch()
    with pytest.raises(SourceError, match="is a file"):
        run(workspace.with_sources({"toy": tmp_path / "archive.zip"}))


def test_a_workspace_without_sources_says_how_to_name_one(run, workspace):
    with pytest.raises(MedrcubeError, match="--source ID=ROOT"):
        run(replace(workspace, sources={}))


def test_an_output_that_cannot_be_written_is_an_error(run, workspace):
    (workspace.root / "images").write_text("a file where a folder belongs")
    with pytest.raises(WorkspaceError, match="images: cannot be made private"):
        run(workspace)


def test_a_cache_that_is_no_database_is_renamed_and_said(run, workspace):
    workspace.cache.parent.mkdir(parents=True, exist_ok=True)
    workspace.cache.write_bytes(b"no database")
    report = run(workspace)
    assert report.damaged
    assert workspace.cache.with_name("build.sqlite3.damaged").read_bytes() == b"no database"
    assert report.rendered == 6
    assert run(workspace).damaged == ""


def test_what_a_dead_worker_left_half_written_is_removed(run, workspace):
    class Leaves:
        """The local engine, one of whose workers dies while it writes."""

        def run(self, jobs, images):
            yield from ONE.run(jobs, images)
            (images / "toy" / ".abc.partial").write_bytes(b"half")

    run(workspace, Leaves())
    assert not list(workspace.images.rglob(".*"))


def test_two_builds_of_one_workspace_do_not_mix(run, workspace):
    with BuildCache(workspace.cache), pytest.raises(WorkspaceError, match="another build"):
        run(workspace)
    assert run(workspace).failures == ()


def test_a_cache_that_cannot_be_had_is_left_closed(workspace, monkeypatch):
    opened = []
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3,
        "connect",
        lambda *args, **more: opened.append(connect(*args, **more)) or opened[-1],
    )
    with BuildCache(workspace.cache), pytest.raises(WorkspaceError, match="another build"):
        BuildCache(workspace.cache)
    assert len(opened) == 2
    for database in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            database.execute("SELECT 1")


def test_recipes_name_inputs_by_digest_and_relative_path(run, workspace, raw):
    run(workspace)
    recipes = [json.loads(line) for line in workspace.recipes.read_text().splitlines()]
    assert len(recipes) == 12
    assert recipes[0]["files"].keys() == {"g (0).png", "g (0)_mask.png"}
    assert str(raw) not in workspace.recipes.read_text()


# Kills itself and its workers when so many cases are done, while others are under way.
KILLED = """
import os, signal, sys
from pathlib import Path
from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.console.progress import Reporter
from medrcube.sources._framework.contract import load_source
from medrcube.workspace import WorkspaceFolder


class Killed(LocalEngine):
    def run(self, jobs, images):
        for number, done in enumerate(super().run(jobs, images), 1):
            if number == int(sys.argv[4]):
                os.killpg(0, signal.SIGKILL)
            yield done


if __name__ == "__main__":
    root, raw, source = map(Path, sys.argv[1:4])
    build(WorkspaceFolder(root=root, sources={"toy": raw}), {"toy": load_source(source)},
          Killed(2), Reporter(quiet=True))
"""


@pytest.mark.thorough
@pytest.mark.untraced
@pytest.mark.parametrize("cases", [1, 9])
def test_a_build_that_is_killed_goes_on_to_the_bytes_of_a_clean_one(
    run, workspace, toy, raw, write_case, tmp_path, cases
):
    for number in range(10, 40):
        write_case(raw, f"m ({number})", seed=number, size=(200, 240))
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    arguments = [sys.executable, script, workspace.root, raw, toy.folder, str(cases)]
    process = subprocess.run(arguments, start_new_session=True, check=False)
    assert process.returncode == -signal.SIGKILL
    assert list(workspace.images.rglob("*.png"))
    assert not workspace.items.exists()
    run(workspace)
    clean = replace(workspace, root=tmp_path / "clean")
    (clean.root / "cache").mkdir(parents=True)
    shutil.copy(workspace.root / "cache" / "patient.key", clean.root / "cache" / "patient.key")
    run(clean)
    assert _files(workspace.root) == _files(clean.root)


def test_raw_file_that_changes_while_it_is_read_is_a_problem_and_has_no_recipe(
    run, workspace, raw, monkeypatch
):
    open_images = render.open_case_images

    def meddle(job):
        if job.case.key == "g (0)":
            Image.fromarray(255 - np.array(Image.open(raw / "g (0).png"))).save(raw / "g (0).png")
        return open_images(job)

    monkeypatch.setattr(render, "open_case_images", meddle)
    run(workspace)
    assert _quarantine(workspace) == {"g (0)": "changed"}
    recipes = [json.loads(line) for line in workspace.recipes.read_text().splitlines()]
    assert "g (0)" not in {recipe["case"] for recipe in recipes}
    monkeypatch.undo()
    run(workspace)
    assert _quarantine(workspace) == {}

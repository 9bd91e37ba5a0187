"""Which raw files a release names: those of its own pictures, and no folder of somebody's own."""

import json
import shutil

import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.release.raw_files_table import SourceUse, read_raw_files, write_raw_files
from medrcube.build.release.write import release
from medrcube.build.stages.raw_files import FACTS, LAYOUT, PICTURE, ListedFile, RawFileRecord
from medrcube.build_settings import BuildSettings
from medrcube.errors import WorkspaceError
from medrcube.facts import Grade
from medrcube.sources.registry import find_sources
from medrcube.workspace import WorkspaceFolder

CANARY = "JANE-DOE"


@pytest.mark.thorough
def test_a_folder_of_which_no_picture_is_made_leaves_with_no_release(tmp_path, quiet):
    source = find_sources()["acdc"]
    raw = tmp_path / "raw"
    source.build_fixture(raw, "database")
    training = raw / "database" / "training"
    unused = training / f"patient777{CANARY}"
    unused.mkdir()
    shutil.copy(training / "patient001" / "Info.cfg", unused / "Info.cfg")
    smallest = raw / "database" / CANARY / "patient888" / "patient888_frame01.nii.gz"
    smallest.parent.mkdir(parents=True)
    smallest.write_bytes(b"x")
    workspace = WorkspaceFolder(
        root=tmp_path / "w",
        settings=BuildSettings(evidence=Grade.C, items_per_cell=2, even_keys=False),
        sources={"acdc": raw},
    )
    build(workspace, {"acdc": source}, LocalEngine(1), quiet)
    audit = json.loads(workspace.audit.read_text())
    workspace.audit.write_text(json.dumps({**audit, "failures": []}))
    release(workspace, {"acdc": source}, tmp_path / "r", name="x", allow_unreviewed=True)
    holding = [path for path in (tmp_path / "r").rglob("*") if path.is_file()]
    assert [entry for entry in holding if CANARY.encode() in entry.read_bytes()] == []
    listed = {file.path for file in read_raw_files(tmp_path / "r")}
    recipes = (tmp_path / "r" / "recipes.jsonl").read_text().splitlines()
    used = {name for line in recipes for name in json.loads(line)["files"]}
    patients = {name.rpartition("/")[0] for name in used}
    assert listed == used | {f"{folder}/Info.cfg" for folder in patients}


def _listed(path, use=FACTS, *, glob="**/*.csv", cases=None, unnamed=(), size=1):
    file = RawFileRecord(source="toy", path=path, bytes=size, sha256="0" * 64, use=use)
    return ListedFile(file=file, glob=glob, cases=cases, unnamed=tuple(unnamed))


@pytest.fixture
def released_files(tmp_path):
    """Paths and uses that a release names of a table: ``released_files(rows, *files)``."""

    def write(rows, *files, cases=("a",)):
        (tmp_path / "made.jsonl").write_text("".join(row.line() for row in rows))
        used = {"toy": SourceUse(files=frozenset(files), cases=frozenset(cases))}
        write_raw_files(tmp_path, tmp_path / "made.jsonl", used)
        return [(file.path, file.use) for file in read_raw_files(tmp_path)]

    return write


def test_a_table_loses_the_folders_that_neither_the_card_nor_a_picture_names(released_files):
    rows = [_listed(f"{CANARY}/tables/a.csv", unnamed=[CANARY])]
    assert released_files(rows) == [("tables/a.csv", FACTS)]
    assert released_files(rows, f"{CANARY}/x.png") == [(f"{CANARY}/tables/a.csv", FACTS)]


def test_a_table_whose_glob_asks_for_a_folder_that_nothing_names_is_left_out(released_files):
    assert released_files([_listed(f"{CANARY}/a.csv", glob="*/a.csv", unnamed=[CANARY])]) == []


def test_a_sidecar_goes_with_the_cases_of_the_release(released_files):
    rows = [_listed("1/a.csv", cases=("a",)), _listed("2/a.csv", cases=("b", "c"))]
    assert released_files(rows) == [("1/a.csv", FACTS)]
    assert released_files(rows, cases=("c",)) == [("2/a.csv", FACTS)]


def test_what_shows_the_layout_is_a_file_of_the_release_where_one_does(released_files):
    rows = [
        _listed("p/1.png", PICTURE, glob="", size=5),
        _listed("p/2.png", PICTURE, glob="", size=3),
        _listed("q/0.png", LAYOUT, glob="**/*.png", unnamed=["q"]),
    ]
    assert released_files(rows, "p/1.png") == [("p/1.png", PICTURE), ("p/1.png", LAYOUT)]
    assert released_files(rows) == [("0.png", LAYOUT)]


def test_a_table_of_an_older_version_asks_for_a_new_build(tmp_path):
    row = {"source": "toy", "path": "a", "bytes": 1, "sha256": "0" * 64, "use": FACTS}
    (tmp_path / "made.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(WorkspaceError, match="build again"):
        write_raw_files(tmp_path, tmp_path / "made.jsonl", {})

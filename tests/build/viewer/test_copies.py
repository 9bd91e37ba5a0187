"""Viewer copies of a build: made once, for the owner alone, and never released."""

import os
import shutil
import stat
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from pydicom import dcmread

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.release.write import release
from medrcube.build.viewer.case_copies import plane_path
from medrcube.build.viewer.table import read_copies
from medrcube.sources._synthetic.images import CANARY
from medrcube.sources.registry import find_sources
from medrcube.workspace import WorkspaceFolder

SOURCE = "msd-lung"


@pytest.fixture(scope="module")
def sources():
    return find_sources()


@pytest.fixture(scope="module")
def first_build(tmp_path_factory, sources, quiet):
    """A workspace of CT volumes, built while nothing was masked, and the report."""
    root = tmp_path_factory.mktemp("viewer")
    source = sources[SOURCE]
    source.build_fixture(root / "raw", source.card.layouts[0].name)
    workspace = WorkspaceFolder(root=root / "bench", sources={SOURCE: root / "raw"})
    settings = replace(workspace.settings, two_option_share=1.0)
    workspace = replace(workspace, settings=settings)
    before = os.umask(0)
    try:
        return workspace, build(workspace, sources, LocalEngine(1), quiet)
    finally:
        os.umask(before)


@pytest.fixture
def again(first_build, tmp_path, sources, quiet):
    """Build a copy of that workspace once more: gives it and the report."""
    first, _ = first_build
    root = shutil.copytree(first.root, tmp_path / "bench")

    def run(**settings):
        workspace = replace(first, root=root, settings=replace(first.settings, **settings))
        return workspace, build(workspace, sources, LocalEngine(1), quiet)

    run.root = root
    return run


def digests(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in [*root.glob("images/**/*.png"), root / "items.parquet", root / "recipes.jsonl"]
    }


@pytest.mark.few(1)
def test_pictures_of_items_have_copies(first_build):
    workspace, report = first_build
    assert report.viewer.failed == ()
    assert (
        report.viewer.made == report.viewer.pictures == len(read_copies(workspace.viewer).rows) > 0
    )


def test_a_copy_is_the_stored_slice_and_its_neighbours(first_build):
    workspace, _ = first_build
    row = max(read_copies(workspace.viewer).rows.values(), key=lambda entry: len(entry["slices"]))
    planes = [
        np.asarray(Image.open(plane_path(workspace.viewer, entry))) for entry in row["slices"]
    ]
    assert len(planes) > 1
    assert planes[0].dtype == np.uint16
    assert row["unit"] == "HU"
    axes = {tuple(entry["spacing"]) for entry in read_copies(workspace.viewer).rows.values()}
    assert axes == {(2.0, 2.0), (3.0, 2.0)}  # axial slices, and those across them


def test_everything_is_for_the_owner_alone_whatever_the_umask(first_build):
    workspace, _ = first_build
    modes = {
        path: stat.S_IMODE(path.stat().st_mode)
        for path in (workspace.viewer, *workspace.viewer.rglob("*"))
    }
    assert {mode & 0o077 for mode in modes.values()} == {0}


def test_no_patient_and_no_case_is_named(first_build):
    workspace, _ = first_build
    for path in workspace.viewer.rglob("*"):
        data = b"" if path.is_dir() else path.read_bytes()
        assert CANARY.encode() not in data
        assert b"lung_" not in data
        assert b"tEXt" not in data


def test_pictures_and_items_are_the_same_without_copies(first_build, tmp_path, sources, quiet):
    workspace, _ = first_build
    settings = replace(workspace.settings, viewer=False)
    (tmp_path / "bench" / "cache").mkdir(parents=True)
    shutil.copy(workspace.root / "cache" / "patient.key", tmp_path / "bench" / "cache")
    other = replace(workspace, root=tmp_path / "bench", settings=settings)
    assert build(other, sources, LocalEngine(1), quiet).viewer is None
    assert not other.viewer.exists()
    assert digests(other.root) == digests(workspace.root)


def test_a_second_build_makes_none(again):
    _, report = again()
    assert report.viewer.made == 0
    assert report.viewer.pictures > 0


def test_copies_that_are_missing_are_made_without_rendering(again):
    shutil.rmtree(again.root / "viewer")
    workspace, report = again()
    assert report.rendered == 0
    assert (
        report.viewer.made == report.viewer.pictures == len(read_copies(workspace.viewer).rows) > 0
    )


def test_one_slice_that_is_missing_is_made_again(again):
    gone = next((again.root / "viewer").glob("??/*.png"))
    gone.unlink()
    again()
    assert gone.is_file()


def test_what_no_item_shows_is_removed(again):
    stray = again.root / "viewer" / "ab" / f"ab{'0' * 62}.png"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"x")
    again()
    assert not stray.exists()


def test_switched_off_nothing_is_left(again):
    workspace, _ = again(viewer=False)
    assert not workspace.viewer.exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("private", [False, True])
def test_no_edition_of_a_release_holds_one(first_build, tmp_path, sources, private):
    workspace, _ = first_build
    out = tmp_path / "release"
    release(workspace, sources, out, name="v1", allow_unreviewed=True, private=private)
    copies = {path.read_bytes() for path in workspace.viewer.rglob("*.png")}
    names = {path.stem.encode() for path in workspace.viewer.rglob("*.png")}
    for path in out.rglob("*"):
        data = b"" if path.is_dir() else path.read_bytes()
        assert data not in copies
        assert "viewer" not in path.name
        assert not any(name in data for name in names)


def test_a_file_that_cannot_be_read_any_more_costs_its_copy_alone(again, first_build, monkeypatch):
    shutil.rmtree(again.root / "viewer")
    monkeypatch.setattr(
        "medrcube.build.viewer.case_copies.open_volume",
        lambda *_: (_ for _ in ()).throw(ZeroDivisionError),
    )
    _, report = again()
    assert report.viewer.pictures == 0
    assert all(
        "no viewer copy: unexpected ZeroDivisionError" in entry for entry in report.viewer.failed
    )
    assert report.failures == first_build[1].failures


@pytest.mark.thorough
def test_volumes_that_are_stored_by_columns_have_copies(tmp_path, sources, quiet):
    source = sources["ixi"]
    source.build_fixture(tmp_path / "raw", source.card.layouts[0].name)
    workspace = WorkspaceFolder(root=tmp_path / "bench", sources={source.card.id: tmp_path / "raw"})
    report = build(workspace, sources, LocalEngine(1), quiet)
    assert report.viewer.failed == ()
    assert report.viewer.pictures > 0


@pytest.mark.thorough
def test_a_slice_read_alone_has_the_other_files_of_its_series_beside_it(tmp_path, sources, quiet):
    source = sources["lidc-idri"]
    source.build_fixture(tmp_path / "raw", source.card.layouts[0].name)
    workspace = WorkspaceFolder(root=tmp_path / "bench", sources={source.card.id: tmp_path / "raw"})
    settings = replace(workspace.settings, two_option_share=1.0)
    workspace = replace(workspace, settings=settings)
    report = build(workspace, sources, LocalEngine(1), quiet)
    assert report.viewer.failed == ()
    rows = read_copies(workspace.viewer).rows.values()
    copies = {}
    for path in (tmp_path / "raw").rglob("*.dcm"):
        header = dcmread(path)
        if header.get("Modality") == "CT":
            place = float(header.ImagePositionPatient[2])
            copies.setdefault(header.SeriesInstanceUID, []).append((place, header.pixel_array))
    stacks = [
        [plane - plane.min() for _, plane in sorted(series, key=lambda entry: entry[0])]
        for series in copies.values()
    ]
    whole = [0, 0, *stacks[0][0].shape[::-1]]
    deep = [row for row in rows if len(row["slices"]) > 1 and row["place"] == whole]
    assert deep
    for row in deep:
        planes = [
            np.asarray(Image.open(plane_path(workspace.viewer, entry))).astype(int)
            for entry in row["slices"]
        ]
        assert any(
            all(same_but_for_zero(a, b) for a, b in zip(planes, stack[start:], strict=False))
            for stack in stacks
            for start in range(len(stack) - len(planes) + 1)
        )


def same_but_for_zero(first, second):
    """Whether two slices are equal but for their lowest value."""
    return np.array_equal(first - first.min(), second.astype(int) - second.min())

"""The edition for a private repository of the hub: all pictures, marked, and never public."""

from __future__ import annotations

import shutil

import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard
from typer.testing import CliRunner

from medrcube.build.release.editions.hugging_face_private import write_private_hub
from medrcube.cli.app import app
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.release_format.errata import Erratum, add_errata


def rows_of(tree):
    files = sorted((tree / "data").rglob("*.parquet"))
    return [row for path in files for row in pq.read_table(path).to_pylist()]


@pytest.fixture
def private(edition):
    return edition("private", private=True)


@pytest.fixture
def hub(private, tmp_path):
    return write_private_hub(private, tmp_path / "hub").out


def test_every_row_holds_the_picture_of_its_file(private, hub):
    rows = rows_of(hub)
    assert {row["restricted"] for row in rows} == {True, False}
    for row in rows:
        place = private / row["dataset"] / row["image_path"]
        assert row["image"] == {"bytes": place.read_bytes(), "path": place.name}
    bare = [{**row, "image": None} for row in rows]
    assert bare == [{**row, "image": None} for row in rows_of(private)]


def test_withdrawn_items_are_left_out_and_the_release_keeps_them(private, tmp_path, faults):
    private = shutil.copytree(private, tmp_path / "tree")
    before = rows_of(private)
    gone = before[0]
    erratum = Erratum(
        dataset=gone["dataset"], id=gone["id"], by="maintainer", on="2026-02-01", why="No key."
    )
    add_errata(private, [erratum], {erratum.name})
    edition = write_private_hub(private, tmp_path / "out")
    names = {(row["dataset"], row["id"]) for row in rows_of(edition.out)}
    assert edition.withdrawn == 1
    assert len(names) == len(before) - 1
    assert (gone["dataset"], gone["id"]) not in names
    assert rows_of(private) == before
    assert (faults(edition.out), faults(private)) == (set(), set())


def test_it_is_marked_says_so_in_its_card_and_is_valid(hub, check, faults):
    assert (hub / "PRIVATE.md").is_file()
    card = DatasetCard.load(hub / "README.md")
    assert card.text.lstrip().startswith("> **PRIVATE.")
    assert card.data.configs
    assert (check(hub).private, faults(hub)) == (True, set())


def test_without_its_mark_it_is_refused(hub, check):
    (hub / "PRIVATE.md").unlink()
    shutil.rmtree(hub / "TOY/pictures")
    findings = {
        finding.check: finding for finding in check(hub).findings if finding.level == "error"
    }
    assert any(
        example.startswith("data/toy/") for example in findings["restricted-picture"].examples
    )


def test_a_picture_that_is_not_the_items_is_found(hub, faults):
    path = next((hub / "data").rglob("*.parquet"))
    table = pq.read_table(path)
    rows = table.to_pylist()
    restricted_row = next(row for row in rows if row["restricted"])
    restricted_row["image"] = {"bytes": b"another", "path": "x.png"}
    pq.write_table(type(table).from_pylist(rows, table.schema), path)
    assert "edition-differs" in faults(hub)


def test_a_tree_without_restricted_pictures_is_its_own_edition(edition, tmp_path):
    with pytest.raises(ReleaseError, match="has no restricted image"):
        write_private_hub(edition("public"), tmp_path / "hub")
    assert not (tmp_path / "hub").exists()


def test_a_picture_with_other_pixels_stops_it_and_nothing_is_left(private, tmp_path):
    row = next(row for row in rows_of(private) if row["restricted"])
    other = next(row for row in rows_of(private) if not row["restricted"])
    folder = private / "TOY"
    shutil.copyfile(folder / other["image_path"], folder / row["image_path"])
    with pytest.raises(ReleaseError, match="its pixels differ"):
        write_private_hub(private, tmp_path / "hub")
    assert not (tmp_path / "hub").exists()


def test_the_command_asks_for_private_and_overwrites_nothing(private, tmp_path):
    texts = ["export", str(private), "--to", "hub", "--out", str(tmp_path / "hub")]
    ran = CliRunner().invoke(app, texts)
    assert isinstance(ran.exception, WorkspaceError)
    assert "--private" in str(ran.exception)
    ran = CliRunner().invoke(app, [*texts, "--private"])
    assert (ran.exit_code, "never share it" in ran.output) == (0, True), ran.output
    ran = CliRunner().invoke(app, [*texts, "--private"])
    assert "already exists" in str(ran.exception)

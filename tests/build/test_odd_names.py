"""File names that are no UTF-8 travel through build, release, needed files and reconstruction."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.reconstruction.needed_files import needed_files
from medrcube.build.reconstruction.reconstruct import reconstruct
from medrcube.build.release.write import release
from medrcube.build_settings import BuildSettings
from medrcube.facts import Grade, Visibility
from medrcube.names import text_to_name
from medrcube.sources._framework.contract import Source
from medrcube.sources.registry import find_sources
from medrcube.workspace import WorkspaceFolder

pytestmark = pytest.mark.untraced

ONE = LocalEngine(1)
SETTINGS = BuildSettings(
    evidence=Grade.C, items_per_cell=0, least_visible=Visibility.NO, even_keys=False
)


def at(path, name):
    """A path in a folder, by its name in bytes."""
    return path / os.fsdecode(name)


def rename(raw, glob):
    """Put a byte that is not valid UTF-8 into the names of files or folders."""
    for path in sorted(raw.rglob(glob)) if glob else ():
        path.rename(at(path.parent, b"\xe9" + path.name.encode()))


def stray(raw):
    """A picture that no case uses, in a folder that has an odd name, too."""
    folder = at(raw, b"caf\xe9")
    folder.mkdir()
    Image.fromarray(np.eye(9, dtype=np.uint8)).save(folder / "stray.png")


def without_redistribution(source):
    access = replace(source.card.access, redistribute=False)
    return Source(source.folder, replace(source.card, access=access))


def only_needed(raw, public, copy, quiet):
    (file_list,) = needed_files(public, find_sources(), quiet)
    for line in text_to_name(file_list.text()).splitlines():
        target = copy / line
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(raw / line, target)
    return copy


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "renamed"),
    [
        ("nsclc-radiomics", "*.dcm"),
        ("lidc-idri", "LIDC-IDRI-????/*"),
        ("busi", ""),
        ("acdc", ""),
    ],
)
def test_odd_names_of_a_source_travel_from_raw_tree_to_reconstruction(
    tmp_path, quiet, name, renamed
):
    source = without_redistribution(find_sources()[name])
    raw = tmp_path / "raw"
    source.build_fixture(raw, source.card.layouts[0].name)
    rename(raw, renamed)
    stray(raw)
    workspace = WorkspaceFolder(root=tmp_path / "w", settings=SETTINGS, sources={name: raw})
    report = build(workspace, {name: source}, ONE, quiet)
    assert report.sources[0].pictures > 0
    assert report.sources[0].failed == 0
    problems = pd.read_parquet(workspace.quarantine)
    stray_names = [
        case for case in problems["case"] if case.endswith("/(like xxxxx, no. 1 of 1).png")
    ]
    assert len(stray_names) == 1
    assert stray_names[0].startswith("(like xxx?, no. ")
    assert build(workspace, {name: source}, ONE, quiet).rendered == 0
    audit = json.loads(workspace.audit.read_text())
    workspace.audit.write_text(json.dumps({**audit, "failures": []}))
    trees = {}
    for edition in ("public", "private"):
        private = edition == "private"
        release(
            workspace, {name: source}, tmp_path / edition, name="x", allow_unreviewed=True,
            private=private,
        )  # fmt: skip
        trees[edition] = tmp_path / edition
    recipes = [
        json.loads(line) for line in (trees["public"] / "recipes.jsonl").read_text().splitlines()
    ]
    odd = [file for recipe in recipes for file in recipe["files"] if "\\xe9" in file]
    assert bool(odd) == bool(renamed)
    for file in odd:
        assert (raw / text_to_name(file)).is_file()
    copy = only_needed(raw, trees["public"], tmp_path / "copy", quiet)
    reconstruction = reconstruct(trees["public"], {name: copy}, {name: source}, ONE, quiet)
    assert reconstruction.short == 0, list(reconstruction.reasons(3))
    pictures = [path.relative_to(trees["private"]) for path in trees["private"].rglob("*.png")]
    assert pictures
    for path in pictures:
        assert (trees["public"] / path).read_bytes() == (trees["private"] / path).read_bytes()


def test_case_whose_key_is_an_odd_name_is_built_and_named_in_text(toy, workspace, raw, quiet):
    for path in sorted(raw.glob("g (0)*.png")):
        path.rename(at(raw, path.name.encode().replace(b"0", b"\xe9")))
    at(raw, b"m (\xe8).png").write_bytes(b"\x89PNG\r\n\x1a\nno picture")
    shutil.copy(raw / "m (2)_mask.png", at(raw, b"m (\xe8)_mask.png"))
    build(workspace, {"toy": toy}, ONE, quiet)
    samples = pd.read_parquet(workspace.samples)
    assert "g (\\xe9)" in set(samples["case"])
    problems = pd.read_parquet(workspace.quarantine).set_index("case")
    assert problems.loc["m (\\xe8)", "code"] in {"unreadable", "truncated"}
    assert "m (\\xe8).png" in problems.loc["m (\\xe8)", "message"]

"""The list of raw files for pictures that a release lacks, as programs and people read it."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.reconstruction.needed_files import (
    NeededFile,
    NeededFiles,
    _needed,
    needed_files,
)
from medrcube.build.reconstruction.recipes import Recipe, is_below
from medrcube.build.reconstruction.safe_writes import place_picture
from medrcube.build.stages.plan import Artefact
from medrcube.build.stages.raw_files import RawFileRecord
from medrcube.sources._framework.contract import load_source

SIZES = st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=6)


def listed(path, use, size=5):
    return RawFileRecord(source="toy", path=path, bytes=size, sha256=f"digest of {path}", use=use)


def recipe(*paths, **record):
    return Recipe(
        sample="0" * 16,
        source="toy",
        case="g",
        image="TOY/pictures/g.png",
        pixel_sha256="f" * 64,
        restricted=True,
        artefact=Artefact(kind="clean"),
        frames=(0,),
        files={path: f"digest of {path}" for path in paths},
        first=paths[0],
        record=record,
    )


@given(sizes=SIZES)
def test_the_size_of_all_files_is_known_if_that_of_each_is(sizes):
    files = tuple(
        NeededFile(path=str(n), bytes=size, sha256="", use="picture")
        for n, size in enumerate(sizes)
    )
    needed = NeededFiles(source="toy", pictures=1, files=files, whole=True)
    assert needed.bytes == (None if None in sizes else sum(sizes))
    assert needed.as_dict()["bytes"] == needed.bytes
    assert [file["path"] for file in needed.as_dict()["files"]] == [file.path for file in files]


def test_a_path_that_rsync_would_take_for_a_comment_gets_a_dot():
    files = tuple(
        NeededFile(path=path, bytes=1, sha256="", use="picture") for path in ("#a", ";b", "c#", "d")
    )
    text = NeededFiles(source="toy", pictures=1, files=files, whole=True).text()
    assert text == "./#a\n./;b\nc#\nd\n"


def test_files_of_pictures_and_facts_are_listed_once_in_order_with_their_sizes():
    others = [listed("b", "picture"), listed("a", "facts", 7), listed("c", "facts", 0)]
    needed = _needed("toy", [recipe("c", "b"), recipe("d", "b")], others, None)
    assert [(file.path, file.bytes, file.use) for file in needed.files] == [
        ("a", 7, "facts"),
        ("b", 5, "picture"),
        ("c", 0, "picture"),
        ("d", None, "picture"),
    ]
    assert all(file.sha256 == f"digest of {file.path}" for file in needed.files)
    assert (needed.pictures, needed.whole, needed.bytes) == (2, True, None)
    assert not _needed("toy", [recipe("a")], [], None).whole


def test_a_picture_that_is_not_short_adds_no_file_of_the_list():
    others = [listed("a", "picture"), listed("z", "picture")]
    assert [file.path for file in _needed("toy", [recipe("a")], others, None).files] == ["a"]


def test_of_a_layout_only_files_of_globs_that_nothing_fits_are_needed(toy):
    source = load_source(toy.folder)
    layout = source.card.layouts[0]
    card = replace(source.card, layouts=(replace(layout, expect=("images/*.png", "*.csv")),))
    source = replace(source, card=card)
    others = [listed("images/z.png", "layout"), listed("t.csv", "layout"), listed("x", "layout")]

    def paths(*recipes, facts=()):
        return [file.path for file in _needed("toy", recipes, [*others, *facts], source).files]

    record = {"origin": {"layout": layout.name}}
    assert paths(recipe("images/a.png", **record)) == ["images/a.png", "t.csv"]
    assert paths(recipe("a.png", **record)) == ["a.png", "images/z.png", "t.csv"]
    facts = [listed("u.csv", "facts")]
    assert paths(recipe("images/a.png", **record), facts=facts) == ["images/a.png", "u.csv"]
    assert paths(recipe("images/a.png")) == ["images/a.png"]


@pytest.mark.parametrize("origin", [{"layout": "unknown"}, {"layout": "unknown", "card": "x"}])
def test_of_a_layout_that_is_not_known_here_all_files_are_needed(toy, origin):
    others = [listed("z", "layout"), listed("y", "layout")]
    needed = _needed("toy", [recipe("a", origin=origin)], others, load_source(toy.folder))
    assert [file.path for file in needed.files] == ["a", "y", "z"]


@pytest.mark.parametrize(
    ("name", "below"),
    [
        ("a", True),
        ("a/b.png", True),
        ("a..b", True),
        ("...", True),
        ("", False),
        ("/a", False),
        ("..", False),
        ("a/../b", False),
        ("a/..", False),
        ("a\nb", False),
        ("a\x7fb", False),
        ("a\x9f", False),
        ("a\xa0", True),
        ("a ", True),
        ("a\x1f", False),
        ("\ud800", False),
        ("\ue000", True),
    ],
)
def test_a_name_of_a_raw_file_leads_below_the_root_and_can_be_shown(name, below):
    assert is_below(name) is below


def test_only_files_of_pictures_that_are_not_in_the_release_are_needed(
    toy, pressed, tmp_path, quiet
):
    card = toy.folder / "card.toml"
    card.write_text(card.read_text().replace("redistribute = true", "redistribute = false"))
    source = load_source(toy.folder)
    tree = shutil.copytree(pressed(source) / "public", tmp_path / "tree")
    private = pressed(source) / "private"
    (all_of_them,) = needed_files(tree, {"toy": source}, quiet)
    pictures = sorted((private / "TOY/pictures").glob("*/*.png"))
    assert all_of_them.pictures == len(pictures)
    assert all_of_them.whole
    assert all_of_them.bytes is not None
    mine = [path for path in pictures if path.name.startswith("g_0")]
    for path in mine:
        place_picture(tree, path.relative_to(private).as_posix(), path.read_bytes())
    (others,) = needed_files(tree, {"toy": source}, quiet)
    assert others.pictures == len(pictures) - len(mine)
    gone = {file.path for file in all_of_them.files} - {file.path for file in others.files}
    assert gone == {"g (0).png", "g (0)_mask.png"}
    for path in pictures:
        place_picture(tree, path.relative_to(private).as_posix(), path.read_bytes())
    assert needed_files(tree, {"toy": source}, quiet) == ()

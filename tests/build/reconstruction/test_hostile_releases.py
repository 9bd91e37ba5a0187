"""Release trees that a stranger has made: a clear error, and nothing is written outside them."""

import json
import os
import shutil

import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.reconstruction.reconstruct import reconstruct
from medrcube.errors import ReleaseError
from medrcube.sources._framework.contract import load_source

PICTURE = "TOY/pictures/0a/g_0.png"
ESCAPE = "\x1b[2J"


@pytest.fixture
def released(toy, pressed, tmp_path):
    """A public release of a source whose pictures may not be redistributed."""
    card = toy.folder / "card.toml"
    card.write_text(card.read_text().replace("redistribute = true", "redistribute = false"))
    public = pressed(load_source(toy.folder)) / "public"
    tree = shutil.copytree(public, tmp_path / "release")
    (tree / PICTURE).parent.mkdir()
    return tree


@pytest.fixture
def attack(released, toy, raw, tmp_path, quiet):
    """Reconstruct, and hold everything that is not in the tree against what it was before."""

    def run():
        before = _outside(tmp_path, released)
        try:
            return reconstruct(
                released, {"toy": raw}, {"toy": load_source(toy.folder)}, LocalEngine(1), quiet
            )
        finally:
            assert _outside(tmp_path, released) == before

    return run


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("image", "../../victim.png", "expected TOY/pictures/HH/NAME.png"),
        ("image", "TOY/pictures/../../../victim.png", "expected TOY/pictures/HH/NAME.png"),
        ("image", "/victim.png", "expected TOY/pictures/HH/NAME.png"),
        ("image", "TOY/test.json", "expected TOY/pictures/HH/NAME.png"),
        ("image", "TOY/pictures/sub/a.png", "expected TOY/pictures/HH/NAME.png"),
        ("image", "TOY/pictures/0a/0a/a.png", "expected TOY/pictures/HH/NAME.png"),
        ("image", "TOY/pictures/.png", "expected TOY/pictures/HH/NAME.png"),
        ("image", "TOY/pictures/a\\b.png", "expected TOY/pictures/HH/NAME.png"),
        ("image", "TOY/pictures/a\0.png", "image is"),
        ("image", "OTHER/pictures/g_0.png", "expected TOY/pictures/HH/NAME.png"),
        ("image", 7, "image is 7"),
        ("source", "../toy", "source is"),
        ("source", "", "source is"),
        ("sample", "../../x", "sample is"),
        ("case", f"g{ESCAPE}", "case is"),
        ("case", "\ud800", "case is"),
        ("pixel_sha256", "0", "pixel_sha256 is"),
        ("restricted", "no", "expected true or false"),
        ("files", {}, "expected names and digests"),
        ("files", {"../secret": "0" * 64}, "names no file below the raw root"),
        ("files", {"/etc/passwd": "0" * 64}, "names no file below the raw root"),
        ("files", {"a/../../b": "0" * 64}, "names no file below the raw root"),
        ("files", {f"a{ESCAPE}": "0" * 64}, "names no file below the raw root"),
        ("files", {"a": "0" * 63}, "has no SHA-256"),
        ("files", ["a"], "expected names and digests"),
        ("images", [], "expected a list"),
        ("images", [{"files": ["b"], "frame": 0}], "expected names out of files"),
        ("images", [{"files": [["g (0).png"]], "frame": 0}], "expected names out of files"),
        ("images", [{"files": ["g (0).png"], "frame": True}], "expected a number"),
        ("images", [{"files": {"g (0).png": 0}, "frame": 0}], "expected names out of files"),
        ("images", ["a"], "expected names out of files"),
        ("mark", {"kind": "exec"}, "expected a kind out of"),
        ("mark", {"kind": ["clean"]}, "expected a kind out of"),
        ("mark", {"kind": "boxes", "field": 1, "concept": ""}, "expected a field"),
        ("mark", {"kind": "boxes", "field": "", "concept": ESCAPE}, "expected a field"),
    ],
)
def test_a_recipe_that_is_not_ours_stops_everything(attack, released, field, value, message):
    _change(released, **{field: value})
    with pytest.raises(ReleaseError, match="recipe 1: ") as stopped:
        attack()
    assert message in str(stopped.value)
    assert ESCAPE not in str(stopped.value)
    assert not list(released.rglob("*.png"))


@pytest.mark.parametrize("field", ["sample", "image"])
def test_two_recipes_about_one_picture_are_refused(attack, released, field):
    lines = (released / "recipes.jsonl").read_text().splitlines()
    twin = {**json.loads(lines[1]), field: json.loads(lines[0])[field]}
    (released / "recipes.jsonl").write_text("\n".join([lines[0], json.dumps(twin)]))
    with pytest.raises(ReleaseError, match=r"recipe 2: .* belongs to recipe 1 already"):
        attack()


def test_two_pictures_that_differ_in_case_alone_are_refused(attack, released):
    lines = (released / "recipes.jsonl").read_text().splitlines()
    image = json.loads(lines[0])["image"].replace("g_0", "G_0")
    twin = {**json.loads(lines[1]), "image": image}
    (released / "recipes.jsonl").write_text("\n".join([lines[0], json.dumps(twin)]))
    with pytest.raises(ReleaseError, match="recipe 2: "):
        attack()


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b"{" * 1000 + b"\n",
        b'"' + b"x" * (17 << 20) + b'"',
        b"[1, 2]",
        b"null",
        b"\xff\xfe{}",
        b'{"case": NaN}',
        b'{"a": ' + b"9" * 10_000 + b"}",
    ],
    ids=["deep", "open", "huge", "list", "null", "bytes", "nan", "number"],
)
def test_a_line_that_is_no_recipe_is_refused(attack, released, line):
    (released / "recipes.jsonl").write_bytes(line)
    with pytest.raises(ReleaseError, match=r"recipes\.jsonl"):
        attack()


def test_an_item_whose_path_leads_out_is_refused(attack, released):
    items = json.loads((released / "TOY/test.json").read_text())
    items[0]["image_path"] = "../../victim.png"
    (released / "TOY/test.json").write_text(json.dumps(items))
    with pytest.raises(ReleaseError, match="image_path"):
        attack()


def test_a_folder_of_pictures_that_is_a_link_is_refused(attack, released, tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/.old.partial").write_bytes(b"mine")
    shutil.rmtree(released / "TOY/pictures")
    (released / "TOY/pictures").symlink_to(tmp_path / "victim")
    with pytest.raises(ReleaseError, match="is a link"):
        attack()


def test_a_folder_of_a_source_that_is_a_link_is_refused(attack, released, tmp_path):
    (released / "TOY").rename(tmp_path / "victim")
    (released / "TOY").symlink_to(tmp_path / "victim")
    with pytest.raises(ReleaseError):
        attack()


def test_a_picture_that_is_a_link_to_outside_is_refused(attack, released, tmp_path):
    (tmp_path / "victim").write_bytes(b"mine")
    (released / PICTURE).symlink_to(tmp_path / "victim")
    with pytest.raises(ReleaseError, match="leads out of the release"):
        attack()


def test_a_picture_that_is_a_link_in_the_tree_is_replaced_and_not_followed(attack, released):
    card = (released / "README.md").read_bytes()
    (released / PICTURE).symlink_to(released / "README.md")
    assert attack().short == 0
    assert not (released / PICTURE).is_symlink()
    assert (released / "README.md").read_bytes() == card


def test_a_private_mark_that_is_a_link_is_replaced_and_not_followed(attack, released, tmp_path):
    (tmp_path / "victim").write_bytes(b"mine")
    (released / "PRIVATE.md").symlink_to(tmp_path / "victim")
    assert attack().short == 0
    assert "do not share" in (released / "PRIVATE.md").read_text()


def test_a_pipe_in_place_of_a_picture_is_refused_and_never_read(attack, released):
    os.mkfifo(released / PICTURE)
    with pytest.raises(ReleaseError, match="named pipe"):
        attack()


def test_a_pipe_in_place_of_the_recipes_is_refused(attack, released):
    (released / "recipes.jsonl").unlink()
    os.mkfifo(released / "recipes.jsonl")
    with pytest.raises(ReleaseError, match=r"recipes\.jsonl"):
        attack()


def test_a_folder_in_place_of_a_picture_is_refused(attack, released):
    (released / PICTURE).mkdir()
    with pytest.raises(ReleaseError, match="is a folder"):
        attack()


def test_a_file_in_place_of_the_folder_of_pictures_is_refused(attack, released):
    shutil.rmtree(released / "TOY/pictures")
    (released / "TOY/pictures").write_bytes(b"")
    with pytest.raises(ReleaseError, match="is a file"):
        attack()


def test_a_release_without_recipes_says_how_to_adopt_it(attack, released):
    (released / "recipes.jsonl").unlink()
    with pytest.raises(ReleaseError, match="--adopt"):
        attack()


def test_a_picture_as_large_as_a_bomb_is_made_again(attack, released):
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0\1\0\0" * 2 + b"\x08\0\0\0\0" + b"\0" * 4
    (released / PICTURE).write_bytes(header)
    assert attack().short == 0


def _change(tree, **fields):
    first, *rest = (tree / "recipes.jsonl").read_text().splitlines()
    line = json.dumps({**json.loads(first), **fields})
    (tree / "recipes.jsonl").write_text("\n".join([line, *rest]) + "\n")


def _outside(folder, tree):
    """Every file but those in the tree and the compiled adapter of the source."""
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_relative_to(tree) and path.suffix != ".pyc"
    }

"""A release with shards: what a release with loose images holds, in tar files of a stated size."""

import csv
import hashlib
import json
import os
import subprocess
import sys
import tarfile
from itertools import pairwise

import pytest

from medrcube.build.release import image_writers
from medrcube.build.release.image_writers import parse_shard_size
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.release_format.images import FolderImages, open_images
from medrcube.release_format.shards import SHARDS, read_members, read_shards

SIZE = 15_000

LOAD = """
import json, sys
from datasets import load_dataset
rows = load_dataset("webdataset", data_files={"test": sys.argv[1:]}, split="test")
print(json.dumps([[row["__key__"], row["png"].size] for row in rows]))
"""

READ = """
import json, sys
import mlcroissant
dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
assert not dataset.metadata.ctx.issues.errors
print(json.dumps([row["pictures/content"].size for row in dataset.records("pictures")]))
"""


@pytest.fixture
def trees(edition, sharded):
    """Private editions of one workspace: with loose images, and with shards."""
    return edition("loose", private=True), sharded("shards", SIZE, private=True)


def _files(tree):
    return {p.relative_to(tree).as_posix(): p.read_bytes() for p in tree.rglob("*") if p.is_file()}


def _run(code, home, *arguments):
    """What a stranger's program prints, offline and with caches of its own."""
    places = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home), "HOME": str(home)}
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments], env={**os.environ, **places},
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    return json.loads(process.stdout.splitlines()[-1])


def _recipes(tree):
    return [json.loads(line) for line in (tree / "recipes.jsonl").read_text().splitlines()]


def test_it_has_the_images_of_the_release_with_loose_images(trees):
    loose, sharded = FolderImages(trees[0]), open_images(trees[1])
    images = [recipe["image"] for recipe in _recipes(trees[0])]
    assert len(images) > 6
    assert {image: sharded.read(image) for image in images} == {
        image: loose.read(image) for image in images
    }
    assert not list(trees[1].rglob("*.png"))


def test_all_other_files_are_those_of_the_release_with_loose_images(trees):
    loose, sharded = map(_files, trees)
    described = {"audit.json", "croissant.json", "README.md", "SHA256SUMS", "SHA256SUMS.restricted"}
    shared = loose.keys() & sharded.keys() - described
    assert {name for name in loose if not name.endswith(".png")} - described == shared
    assert {name: loose[name] for name in shared} == {name: sharded[name] for name in shared}
    added = sharded.keys() - loose.keys()
    assert {name.rpartition(".")[2] for name in added} == {"tar", "csv"}


def test_no_shard_is_larger_than_its_size_and_none_could_be_joined_with_the_next(trees):
    shards = read_shards(trees[1])
    assert len(shards) > 3
    for shard in shards:
        size = (trees[1] / shard.name).stat().st_size
        assert size == shard.size
        assert size <= SIZE or shard.images == 1
    for result, second in pairwise(shards):
        if result.restricted == second.restricted:
            first = next(read_members(trees[1], second))
            assert result.size + first.offset + first.size > SIZE


def test_every_shard_and_image_has_its_digest(trees):
    for shard in read_shards(trees[1]):
        data = (trees[1] / shard.name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == shard.sha256
        for member in read_members(trees[1], shard):
            part = data[member.offset : member.offset + member.size]
            assert hashlib.sha256(part).hexdigest() == member.sha256


def test_tar_unpacks_the_loose_images(trees, tmp_path):
    out = tmp_path / "TOY"
    out.mkdir()
    for shard in read_shards(trees[1]):
        with tarfile.open(trees[1] / shard.name) as file:
            for member in file:
                member.name = member.name.replace("+", ".")
                file.extract(member, out, filter="data")
    assert _files(out / "pictures") == _files(trees[0] / "TOY/pictures")


@pytest.mark.thorough
def test_datasets_reads_the_shards_as_webdataset(trees, tmp_path):
    shards = [str(trees[1] / shard.name) for shard in read_shards(trees[1])]
    rows = _run(LOAD, tmp_path, *shards)
    images = {recipe["image"].removeprefix("TOY/") for recipe in _recipes(trees[1])}
    assert len(rows) == len(images)
    assert {f"{key.replace('+', '.')}.png" for key, _ in rows} == images


def test_the_same_release_twice_is_the_same_byte_for_byte(released, sharded):
    assert _files(released("one", shard_size=SIZE)) == _files(sharded("other", SIZE))


def test_editions_differ_in_restricted_shards_and_their_mark_alone(sharded):
    public, private = (
        _files(sharded(str(private), SIZE, private=private)) for private in (False, True)
    )
    assert {name: private[name] for name in public} == public
    extra = private.keys() - public.keys()
    assert extra - {"PRIVATE.md"}
    assert all(name.startswith("TOY/shards/restricted-") for name in extra - {"PRIVATE.md"})
    with_tables = {name for name in public if "/restricted-" in name}
    assert {f"{name[:-4]}.tar" for name in with_tables} == extra - {"PRIVATE.md"}


def test_an_interrupted_release_leaves_nothing(released, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(image_writers, "write_members", interrupted)
    before = set(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        released("half", shard_size=SIZE)
    assert set(tmp_path.iterdir()) - before <= {tmp_path / "workspace"}


@pytest.mark.thorough
def test_croissant_reads_images_out_of_the_shards(sharded, tmp_path):
    tree = sharded("public", SIZE)
    results = _run(READ, tmp_path, str(tree / "croissant.json"))
    public = [shard for shard in read_shards(tree) if not shard.restricted]
    assert len(results) == sum(shard.images for shard in public) > 0


def test_the_card_names_the_shards_and_no_folder_of_images(sharded):
    text = (sharded("release", SIZE) / "README.md").read_text()
    assert "shards.csv" in text
    assert "<SOURCE>/pictures/" not in text


def test_a_long_name_is_stored_too(released, tmp_path):
    name = f"TOY/pictures/{'k' * 200}.s0001.png"
    file = tmp_path / "a.png"
    file.write_bytes(b"data")
    tree = tmp_path / "tree"
    image_writers.ShardWriter(SIZE).write(tree, {name: file}, set(), private=False)
    assert open_images(tree).read(name) == b"data"
    with tarfile.open(tree / "TOY/shards/images-00000.tar") as tar:
        assert tar.getnames() == [f"pictures/{'k' * 200}+s0001.png"]


@pytest.mark.parametrize(
    ("text", "size"), [("512MB", 512_000_000), ("1 gib", 2**30), ("1.5GB", 1_500_000_000)]
)
def test_a_size_has_a_number_and_a_unit(text, size):
    assert parse_shard_size(text) == size


@pytest.mark.parametrize("text", ["512", "MB", "0MB", "900KB", "-1GB", "1e3MB", ""])
def test_another_size_is_refused_with_an_example(text):
    with pytest.raises(WorkspaceError, match="512MB"):
        parse_shard_size(text)


def test_a_missing_list_of_shards_is_named(trees):
    (trees[1] / SHARDS).unlink()
    with pytest.raises(ReleaseError, match=r"shards\.csv: is missing"):
        open_images(trees[1])


@pytest.mark.parametrize(
    ("column", "value"),
    [(0, "pictures/../../x.png"), (0, "pictures/a+b.png"), (1, "513"), (2, "-1"), (3, "00")],
)
def test_a_table_with_a_wrong_row_is_refused_with_its_line(trees, column, value):
    shard = read_shards(trees[1])[0]
    path = trees[1] / shard.index
    rows = list(csv.reader(path.read_text().splitlines()))
    rows[1][column] = value
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    with pytest.raises(ReleaseError, match=r"images-00000\.csv line 2"):
        list(read_members(trees[1], shard))

"""Validation of a release with shards: damage is named, and costs the images that it touches."""

import csv
import hashlib
import shutil

import pytest

from medrcube.build.validation import shard_check
from medrcube.build.validation.shard_check import check_shard
from medrcube.release_format.shards import SHARDS, read_members, read_shards
from medrcube.release_format.tar_members import END

SIZE = 30_000


@pytest.fixture(params=[False, True], ids=["public", "private"])
def edition(sharded, request):
    """A sound release with shards, and whether it is private."""
    return sharded("release", SIZE, private=request.param), request.param


@pytest.fixture
def tree(sharded):
    """A sound public release with shards."""
    return sharded("release", SIZE)


@pytest.fixture
def shard(tree):
    """Its first shard of two images or more."""
    return next(
        candidate
        for candidate in read_shards(tree)
        if not candidate.restricted and candidate.images > 1
    )


def _change(path, at, data):
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)


def _found(check, tree):
    return {finding.check: finding for finding in check(tree).findings}


def test_a_sound_release_has_no_finding_and_all_its_images(edition, check):
    tree, private = edition
    validation = check(tree)
    assert not validation.findings
    assert not validation.unchecked
    assert validation.release_format == 6
    assert validation.pictures == sum(
        shard.images for shard in read_shards(tree) if private or not shard.restricted
    )
    assert validation.without_picture == (0 if private else validation.restricted)


def test_two_processes_find_what_one_finds(tree, shard, check):
    _change(tree / shard.name, 700, b"damage")
    assert check(tree, workers=2).findings == check(tree).findings


def test_a_changed_image_is_named_with_its_shard(tree, shard, check):
    members = list(read_members(tree, shard))
    _change(tree / shard.name, members[1].offset + 60, b"\xff\x00\xff\x00")
    result = _found(check, tree)
    assert result["shard"].examples == [
        f"{shard.name}: the bytes of {members[1].image} differ from its index"
    ]
    assert result["shard"].count == 1
    assert result["digest"].examples == [shard.name]


@pytest.mark.parametrize("where", ["header", "padding", "end"])
def test_bytes_outside_images_are_checked_too(tree, shard, check, where):
    first, second = list(read_members(tree, shard))[:2]
    at = {
        "header": second.offset - 100,
        "padding": first.offset + first.size,
        "end": shard.size - 1,
    }[where]
    _change(tree / shard.name, at, b"x")
    (fault,) = check_shard(tree, shard)[0].faults
    said = {"header": "the header of", "padding": "bytes follow", "end": "continues after"}
    assert fault[0] == "shard"
    assert fault[1].startswith(f"{shard.name}: {said[where]}")


def test_a_truncated_shard_costs_only_the_images_behind_the_cut(tree, shard, check):
    members = list(read_members(tree, shard))
    data = (tree / shard.name).read_bytes()
    (tree / shard.name).write_bytes(data[: members[-1].offset + 10])
    sound = check(tree)
    findings = {finding.check: finding for finding in sound.findings}
    assert f"after {len(members) - 1} of {len(members)} images" in findings["shard"].examples[0]
    missing = findings["picture-missing"]
    assert all(members[-1].image in example for example in missing.examples)


def test_a_missing_shard_costs_its_images_alone(tree, shard, check):
    lost = {member.image for member in read_members(tree, shard)}
    (tree / shard.name).unlink()
    faults = _found(check, tree)
    assert faults["file-missing"].examples == [shard.name]
    assert {example.rpartition(" ")[2] for example in faults["picture-missing"].examples} <= lost
    assert set(faults) == {"file-missing", "picture-missing", "edition-differs"}


def test_an_image_in_the_place_of_another_is_found_even_with_new_digests(tree, shard, check):
    first, second = list(read_members(tree, shard))[:2]
    data = bytearray((tree / shard.name).read_bytes())
    chunk = bytes(data[first.offset + first.size - 12 : first.offset + first.size])
    _change(tree / shard.name, second.offset + second.size - 12, chunk[:-1] + b"\x00")
    data = (tree / shard.name).read_bytes()
    part = data[second.offset : second.offset + second.size]
    _replace(tree / shard.index, second.sha256, hashlib.sha256(part).hexdigest())
    _replace(tree / SHARDS, shard.sha256, hashlib.sha256(data).hexdigest())
    for name in (shard.name, shard.index, SHARDS):
        _relist(tree, name)
    assert set(_found(check, tree)) == {"picture-damaged", "edition-differs"}


def test_a_restricted_shard_in_a_public_tree_is_an_error(sharded, check):
    public = sharded("public", SIZE)
    private = sharded("private", SIZE, private=True)
    closed = next(shard for shard in read_shards(private) if shard.restricted)
    shutil.copy(private / closed.name, public / closed.name)
    faults = _found(check, public)
    assert faults["restricted-picture"].count == closed.images
    assert set(faults) == {"restricted-picture"}


def test_a_private_tree_without_a_restricted_shard_counts_its_images(sharded, check):
    tree = sharded("private", SIZE, private=True)
    closed = next(shard for shard in read_shards(tree) if shard.restricted)
    (tree / closed.name).unlink()
    faults = _found(check, tree)
    assert set(faults) == {"restricted-missing"}
    assert faults["restricted-missing"].count == closed.images


def test_a_table_that_cannot_be_read_is_named(tree, shard, check):
    (tree / shard.index).write_text("image_path,offset\n")
    result = _found(check, tree)
    assert shard.index in result["shard-table"].examples[0]


def test_a_release_without_its_list_of_shards_is_not_valid(tree, faults):
    (tree / SHARDS).unlink()
    assert {"proof-missing", "file-missing", "picture-missing"} <= faults(tree)


def test_a_shard_that_repeats_an_image_of_another_is_refused(tree, check):
    shards = [shard for shard in read_shards(tree) if not shard.restricted]
    name = shards[0].name.replace("00000", "00099")
    shutil.copy(tree / shards[0].name, tree / name)
    shutil.copy(tree / shards[0].index, tree / name.replace(".tar", ".csv"))
    rows = list(csv.reader((tree / SHARDS).read_text().splitlines()))
    rows.append([name, *rows[1][1:]])
    (tree / SHARDS).write_text("".join(",".join(row) + "\n" for row in rows))
    assert "occurs twice in the tree" in _found(check, tree)["shard-table"].examples[0]


def test_memory_is_that_of_one_image(tree, shard, monkeypatch):
    largest = max(member.size for member in read_members(tree, shard))
    sizes = []

    class Told:
        def __init__(self, file):
            self._file = file

        def read(self, count):
            sizes.append(count)
            return self._file.read(count)

        def __getattr__(self, name):
            return getattr(self._file, name)

    reader = shard_check._Reader
    monkeypatch.setattr(shard_check, "_Reader", lambda entry, file: reader(entry, Told(file)))
    check_shard(tree, shard)
    assert max(count for count in sizes if count != shard_check._CHUNK) <= max(largest, len(END))


def _replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def _relist(tree, name):
    """Put the present digest of a file into SHA256SUMS."""
    digest = hashlib.sha256((tree / name).read_bytes()).hexdigest()
    lines = (tree / "SHA256SUMS").read_text().splitlines()
    lines = [f"{digest}  {name}" if line.endswith(f"  {name}") else line for line in lines]
    (tree / "SHA256SUMS").write_text("\n".join(lines) + "\n")

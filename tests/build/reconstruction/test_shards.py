"""Reconstruction of a release with shards ends in the private edition, byte for byte."""

import io

import pytest
from PIL import Image

from medrcube.build.execution.local import LocalEngine
from medrcube.build.reconstruction import complete_shards
from medrcube.build.reconstruction.outcomes import Status
from medrcube.build.reconstruction.reconstruct import reconstruct
from medrcube.errors import ReleaseError
from medrcube.release_format.images import open_images
from medrcube.release_format.shards import read_members, read_shards

SIZE = 30_000


@pytest.fixture
def trees(sharded):
    """Both editions of a release with shards: ``(public, private)``."""
    return sharded("public", SIZE), sharded("private", SIZE, private=True)


@pytest.fixture
def again(trees, barred, raw, quiet):
    """Reconstruct the public edition."""
    return lambda tree=None: reconstruct(
        tree or trees[0], {"toy": raw}, {"toy": barred}, LocalEngine(1), quiet
    )


def _files(tree):
    return {p.relative_to(tree).as_posix(): p.read_bytes() for p in tree.rglob("*") if p.is_file()}


def _closed(tree):
    return [shard for shard in read_shards(tree) if shard.restricted]


def test_all_restricted_images_make_the_private_edition(again, trees):
    reconstruction = again()
    assert reconstruction.short == 0
    assert (reconstruction.shards.written, reconstruction.shards.loose) == (
        len(_closed(trees[0])),
        0,
    )
    assert _files(trees[0]) == _files(trees[1])
    assert not (trees[0] / "TOY/pictures").exists()


def test_a_second_run_finds_everything_there(again, trees):
    again()
    reconstruction = again()
    assert {status for source in reconstruction.sources for status in source.counts} == {
        Status.ALREADY_THERE
    }
    assert (reconstruction.shards.written, reconstruction.shards.loose) == (0, 0)


def test_images_of_an_incomplete_shard_stay_loose_and_can_be_read(again, trees, raw, check):
    last = list(read_members(trees[0], _closed(trees[0])[-1]))[-1]
    case = next(path for path in raw.glob("m (*).png") if path.stem[-2] in last.image)
    content = case.read_bytes()
    case.unlink()
    reconstruction = again()
    loose = [path.relative_to(trees[0]).as_posix() for path in trees[0].rglob("*.png")]
    assert reconstruction.short > 0
    assert reconstruction.shards.loose == len(loose) > 0
    assert open_images(trees[0]).read(loose[0]) == open_images(trees[1]).read(loose[0])
    assert {finding.check for finding in check(trees[0]).findings} == {"restricted-missing"}
    case.write_bytes(content)
    assert again().short == 0
    assert _files(trees[0]) == _files(trees[1])


def test_images_with_other_bytes_stay_loose(again, trees):
    again()
    shard = _closed(trees[0])[0]
    (trees[0] / shard.name).unlink()
    for member in read_members(trees[0], shard):
        data = _with_another_deflate(open_images(trees[1]).read(member.image))
        (trees[0] / member.image).parent.mkdir(parents=True, exist_ok=True)
        (trees[0] / member.image).write_bytes(data)
    reconstruction = again()
    assert (reconstruction.short, reconstruction.shards.written) == (0, 0)
    assert reconstruction.shards.loose == shard.images
    assert not (trees[0] / shard.name).exists()


def test_an_interruption_between_shard_and_deletion_is_made_good(again, trees, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(complete_shards, "_delete", interrupted)
        with pytest.raises(KeyboardInterrupt):
            again()
    assert list(trees[0].rglob("*.png"))
    again()
    assert _files(trees[0]) == _files(trees[1])


def test_a_damaged_shard_is_named_with_what_to_do(again, trees):
    again()
    shard = trees[0] / _closed(trees[0])[0].name
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(ReleaseError, match=r"restricted-00000\.tar: has .* delete it and run"):
        again()
    shard.unlink()
    assert again().short == 0
    assert _files(trees[0]) == _files(trees[1])


def _with_another_deflate(data):
    """The same pixels in other bytes."""
    with Image.open(io.BytesIO(data)) as image:
        out = io.BytesIO()
        image.save(out, "PNG", compress_level=9)
    return out.getvalue()

"""A release with shards is the benchmark of the release with loose images, read in place."""

import os
import shutil

import pytest

from medrcube.api.release import load_release
from medrcube.build.release.image_writers import ShardWriter
from medrcube.errors import ReleaseError
from medrcube.evaluate import dataset
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.exports.selection import select_exportable
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.release_format.images import DamagedShardError
from medrcube.release_format.shards import read_members, read_shards


@pytest.fixture
def sharded(release, tmp_path):
    """The release with its images in shards of one to three images."""
    out = tmp_path / "sharded"
    shutil.copytree(release, out, ignore=shutil.ignore_patterns("pictures"))
    files = {path.relative_to(release).as_posix(): path for path in release.glob("*/pictures/*")}
    ShardWriter(4000).write(out, files, set(), private=False)
    return out


def test_both_are_one_benchmark(release, sharded):
    assert load_benchmark(sharded).digest == load_benchmark(release).digest


def test_all_images_are_present_and_the_same(release, sharded):
    first, second = load_release(release), load_release(sharded)
    names = first.items()["item"]
    assert second.items()["present"].all()
    assert [second.image(name).tobytes() for name in names] == [
        first.image(name).tobytes() for name in names
    ]
    assert second._repr_html_().count("data:image/jpeg") == first._repr_html_().count("data:image")


def test_a_run_asks_every_question_with_its_image(sharded, release, scripted_model, tmp_path):
    runs = {}
    for tree in (release, sharded):
        model = scripted_model()
        run_evaluation(load_benchmark(tree), model, tmp_path / f"run-{tree.name}")
        runs[tree] = {r.item: r.picture.sha256 for r in model.requests}
    assert runs[sharded] == runs[release]


def test_an_export_has_the_images(release, sharded):
    selections = [
        select_exportable(load_benchmark(tree), private=True) for tree in (release, sharded)
    ]
    first, second = ([picture.data for _, picture in item.with_pictures()] for item in selections)
    assert first == second


def test_images_of_a_shard_that_was_not_downloaded_are_absent(sharded):
    shard = read_shards(sharded)[0]
    lost = {member.image for member in read_members(sharded, shard)}
    (sharded / shard.name).unlink()
    items = load_release(sharded).items()
    assert set(items.loc[~items["present"], "image"]) == lost


def test_a_truncated_shard_is_refused_in_one_line(sharded):
    path = sharded / read_shards(sharded)[0].name
    path.write_bytes(path.read_bytes()[:-600])
    with pytest.raises(
        ReleaseError, match=r"images-00000\.tar: has .* download this shard again"
    ) as excinfo:
        load_benchmark(sharded)
    assert "\n" not in str(excinfo.value)


def test_a_changed_image_is_not_taken_for_a_missing_one(sharded):
    shard = read_shards(sharded)[0]
    member = next(read_members(sharded, shard))
    data = bytearray((sharded / shard.name).read_bytes())
    data[member.offset + member.size - 5] ^= 1
    (sharded / shard.name).write_bytes(data)
    benchmark = load_benchmark(sharded)
    with pytest.raises(DamagedShardError, match=member.image):
        _ = benchmark.image_digests


def test_known_digests_hold_until_the_shard_changes(sharded, monkeypatch):
    for shard in read_shards(sharded):
        os.utime(sharded / shard.name, (10**9, 10**9))
    digests = load_benchmark(sharded).pictures
    images_read = []
    digest = dataset.digest_image
    monkeypatch.setattr(
        dataset,
        "digest_image",
        lambda images, image: images_read.append(image) or digest(images, image),
    )
    assert load_benchmark(sharded).knowing(digests).pictures == digests
    assert not images_read
    shard = read_shards(sharded)[0]
    os.utime(sharded / shard.name, (10**9, 10**9 + 5))
    _ = load_benchmark(sharded).knowing(digests).pictures
    assert len(images_read) == shard.images

"""Which pictures of a tree are taken for ours, and which paths lie in it."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.reconstruction.safe_writes import (
    lock_tree,
    place_picture,
    safe_path,
    stored_hash,
)
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.release_format.images import FolderImages

PIXELS = np.arange(5 * 7 * 4, dtype=np.uint8).reshape(5, 7, 4)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_grey_and_coloured_pictures_of_8_bit_are_ours(tmp_path, channels):
    pixels = PIXELS[..., :3].copy() if channels else PIXELS[..., 0].copy()
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert stored_hash(FolderImages(tmp_path), "a.png") == pixel_hash(pixels)


@pytest.mark.parametrize("mode", ["1", "P", "LA", "RGBA", "I;16"])
def test_pictures_of_another_form_are_not(tmp_path, mode):
    path = tmp_path / "a.png"
    if mode == "I;16":
        Image.fromarray(PIXELS[..., 0].astype(np.uint16)).save(path)
    else:
        Image.fromarray(PIXELS).convert(mode).save(path)
    assert stored_hash(FolderImages(path.parent), path.name) is None


def test_what_is_no_whole_picture_is_not(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(PIXELS[..., 0].copy()).save(path)
    whole = path.read_bytes()
    for data in (b"", whole[:25], whole[:26], whole[:-30], b"\x88" + whole[1:], whole[::-1]):
        path.write_bytes(data)
        assert stored_hash(FolderImages(path.parent), path.name) is None
    path.unlink()
    assert stored_hash(FolderImages(path.parent), path.name) is None
    path.mkdir()
    assert stored_hash(FolderImages(path.parent), path.name) is None


def test_a_picture_whose_checksum_is_wrong_is_not(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(PIXELS[..., 0].copy()).save(path)
    data = bytearray(path.read_bytes())
    data[29] ^= 1  # of the first chunk
    path.write_bytes(data)
    assert stored_hash(FolderImages(path.parent), path.name) is None


def test_a_header_that_claims_more_pixels_than_there_may_be_is_enough(tmp_path):
    body = struct.pack(">IIBBBBB", 9_460, 9_460, 8, 0, 0, 0, 0)
    head = struct.pack(">I4s", len(body), b"IHDR") + body
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + struct.pack(">I", zlib.crc32(head[4:])))
    assert stored_hash(FolderImages(path.parent), path.name) is None


@pytest.mark.parametrize("image", ["a.png", "../a.png", "T/../../a.png", "/T/a.png", "T/..", ""])
def test_a_path_that_leads_out_or_names_no_folder_is_refused(tmp_path, image):
    with pytest.raises(ReleaseError):
        safe_path(tmp_path, image)
    with pytest.raises(ReleaseError):
        place_picture(tmp_path, image, b"data")
    assert not list(tmp_path.iterdir())


def test_an_image_lies_in_a_folder_at_any_depth(tmp_path):
    for image in ("T/a.png", "T/pictures/a.png", "T/pictures/deep/a.png"):
        assert safe_path(tmp_path, image) == tmp_path / image


@pytest.mark.parametrize("existing", ["", "T", "T/pictures", "T/pictures/a.png"])
def test_a_picture_is_placed_whatever_of_its_path_is_there(tmp_path, existing):
    if existing.endswith(".png"):
        (tmp_path / existing).parent.mkdir(parents=True)
        (tmp_path / existing).write_bytes(b"old")
    else:
        (tmp_path / existing).mkdir(parents=True, exist_ok=True)
    place_picture(tmp_path, "T/pictures/a.png", b"new")
    assert safe_path(tmp_path, "T/pictures/a.png").read_bytes() == b"new"
    assert [path.name for path in (tmp_path / "T/pictures").iterdir()] == ["a.png"]


@pytest.mark.parametrize("link", ["T", "T/pictures"])
@pytest.mark.parametrize("inside", [False, True])
def test_nothing_is_written_by_way_of_a_link(tmp_path, link, inside):
    tree, other = tmp_path / "tree", tmp_path / ("tree/other" if inside else "other")
    tree.mkdir()
    other.mkdir()
    (tree / link).parent.mkdir(exist_ok=True)
    (tree / link).symlink_to(other, target_is_directory=True)
    with pytest.raises(ReleaseError, match="is a link"):
        place_picture(tree, "T/pictures/a.png", b"data")
    assert not list(other.iterdir())


def test_a_lock_keeps_others_out_until_it_is_given_back(tmp_path):
    with (
        lock_tree(tmp_path),
        pytest.raises(WorkspaceError, match="another process"),
        lock_tree(tmp_path),
    ):
        pass
    with lock_tree(tmp_path):
        pass


def test_a_lock_sweeps_half_written_files_of_the_tree_and_nothing_by_way_of_a_link(tmp_path):
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    (tree / "A/pictures/0a").mkdir(parents=True)
    (tree / "B").mkdir()
    (outside / "pictures").mkdir(parents=True)
    (tree / "A/pictures/0b").symlink_to(outside / "pictures", target_is_directory=True)
    (tree / "C").symlink_to(outside, target_is_directory=True)
    (tree / "B/pictures").symlink_to(outside / "pictures", target_is_directory=True)
    (tree / "file").write_bytes(b"")
    pictures = tree / "A/pictures"
    swept = [tree / ".a.partial", pictures / ".a.partial", pictures / "0a/.a.partial"]
    other_files = [
        outside / "pictures/.a.partial",
        tree / "A/pictures/a.partial",
        tree / "A/pictures/.a.png",
        tree / "A/.a.partial",
    ]
    for path in (*swept, *other_files):
        path.write_bytes(b"half")
    with lock_tree(tree):
        pass
    assert not any(path.exists() for path in swept)
    assert all(path.exists() for path in other_files)

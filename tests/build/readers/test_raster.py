from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from medrcube.build.pixels.volume import stack_slices
from medrcube.build.readers import read
from medrcube.errors import ReadError
from medrcube.facts import ImageRef

RNG = np.random.default_rng(11)
GREY = RNG.integers(0, 256, (20, 30), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (20, 30, 3), dtype=np.uint8)


def load(path, frame=None):
    return read(ImageRef(paths=(path,), frame=frame))


def refused(path, frame=None):
    with pytest.raises(ReadError) as excinfo:
        stack_slices(load(path, frame).slices)
    assert path.name in str(excinfo.value)
    assert str(path.parent) not in str(excinfo.value)
    return excinfo.value.code


@pytest.mark.parametrize("suffix", ["png", "bmp", "gif"])
def test_grey_pictures_keep_their_values(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(GREY).save(path)
    volume = load(path)
    assert volume.slices.shape == (1, 20, 30)
    assert np.array_equal(volume.slices[0], GREY)


@pytest.mark.parametrize("suffix", ["png", "bmp"])
def test_coloured_pictures_stay_rgb(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(COLOUR).save(path)
    volume = load(path)
    assert volume.colour
    assert np.array_equal(volume.slices[0], COLOUR)


def test_three_equal_channels_become_grey(tmp_path):
    Image.fromarray(np.stack([GREY] * 3, axis=-1)).save(tmp_path / "a.png")
    assert np.array_equal(load(tmp_path / "a.png").slices[0], GREY)


def test_content_counts_and_not_the_suffix(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "a.jpg", format="PNG")
    assert np.array_equal(load(tmp_path / "a.jpg").slices[0], GREY)


def test_sixteen_bits_stay_sixteen_bits(tmp_path):
    deep = GREY.astype(np.uint16) * 251
    Image.fromarray(deep).save(tmp_path / "a.png")
    volume = load(tmp_path / "a.png")
    assert volume.slices.dtype == np.uint16
    assert np.array_equal(volume.slices[0], deep)


def test_one_bit_becomes_black_and_white(tmp_path):
    Image.fromarray(GREY > 127).save(tmp_path / "a.png")
    assert np.array_equal(load(tmp_path / "a.png").slices[0], (GREY > 127) * 255)


def test_palette_becomes_its_colours(tmp_path):
    image = Image.fromarray(GREY % 3).convert("L")
    image.putpalette([9, 8, 7, 200, 0, 0, 0, 0, 90])
    image.save(tmp_path / "a.png")
    palette = np.array([[9, 8, 7], [200, 0, 0], [0, 0, 90]])
    assert np.array_equal(load(tmp_path / "a.png").slices[0], palette[GREY % 3])


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_opaque_alpha_is_dropped(tmp_path, mode):
    Image.fromarray(GREY).convert(mode).save(tmp_path / "a.png")
    assert np.array_equal(load(tmp_path / "a.png").slices[0], GREY)


def test_transparency_is_flattened_on_black(tmp_path):
    pixels = np.full((4, 4, 4), 200, np.uint8)
    pixels[0, :, 3] = 0
    pixels[1, :, 3] = 51
    pixels[2:, :, 3] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert load(tmp_path / "a.png").slices[0][:, 0].tolist() == [0, 40, 200, 200]


def test_exif_rotation_is_applied(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(GREY).save(tmp_path / "a.png", exif=exif)
    assert np.array_equal(load(tmp_path / "a.png").slices[0], np.rot90(GREY, -1))


def save_gif(path, frames):
    images = [Image.fromarray(frame) for frame in frames]
    images[0].save(path, save_all=True, append_images=images[1:], duration=50)


def test_frames_of_an_animation_are_slices(tmp_path):
    frames = [np.roll(GREY, k, axis=0) for k in range(4)]
    save_gif(tmp_path / "a.gif", frames)
    volume = load(tmp_path / "a.gif")
    assert volume.slices.shape == (4, 20, 30)
    for k in (2, 0, 3, 3):
        assert np.array_equal(volume.slices[k], frames[k])
    assert np.array_equal(load(tmp_path / "a.gif", frame=2).slices[0], frames[2])
    with pytest.raises(IndexError):
        volume.slices[4]


def test_one_coloured_frame_makes_the_animation_coloured(tmp_path):
    frames = [np.stack([np.full((8, 8), 40 * k, np.uint8)] * 3, axis=-1) for k in range(3)]
    frames[1][..., 0] = 255
    save_gif(tmp_path / "a.gif", frames)
    volume = load(tmp_path / "a.gif")
    assert volume.slices.shape == (3, 8, 8, 3)
    assert volume.slices[1][0, 0].tolist() == [255, 40, 40]


def test_a_picture_has_only_frame_0(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "a.png")
    assert np.array_equal(load(tmp_path / "a.png", frame=0).slices[0], GREY)
    assert refused(tmp_path / "a.png", frame=1) == "missing-frame"


@pytest.mark.parametrize("suffix", ["png", "jpg", "gif", "bmp"])
@pytest.mark.parametrize("share", [0.4, 0.8])
def test_picture_that_ends_early_is_refused(tmp_path, suffix, share):
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(RNG.integers(0, 256, (200, 300), dtype=np.uint8)).save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert refused(path) == "truncated"


def test_picture_beyond_the_size_limit_is_refused(tmp_path, monkeypatch):
    Image.fromarray(GREY).save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert refused(tmp_path / "a.png") == "too-large"


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_sixteen_bit_colour_is_refused_and_not_cut_to_eight(tmp_path):
    header = struct.pack(">IIBBBBB", 2, 2, 16, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(12) for _ in range(2)))
    content = chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + content)
    assert refused(tmp_path / "a.png") == "unsupported-format"


def test_damaged_picture_is_refused(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"nonsense" * 20)
    assert refused(tmp_path / "a.png") == "unreadable"

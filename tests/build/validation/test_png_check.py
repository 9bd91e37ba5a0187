"""What a picture file is made of, told without believing it."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.pixels.png_encoder import encode_png
from medrcube.build.validation.png_check import check_file

GREY = np.arange(60, dtype=np.uint8).reshape(6, 10)
COLOUR = np.arange(180, dtype=np.uint8).reshape(6, 10, 3)


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(body, *, size=(10, 6), bits=8, colour=0, extra=b""):
    header = struct.pack(">IIBBBBB", *size, bits, colour, 0, 0, 0)
    parts = (chunk(b"IHDR", header), extra, chunk(b"IDAT", body), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


LINES = zlib.compress(bytes(66))


@pytest.fixture
def look(tmp_path):
    def run(data):
        (tmp_path / "p.png").write_bytes(data)
        return check_file(tmp_path, "p.png", picture=True)

    return run


def faults(report):
    return {check for check, _ in report.faults}


@pytest.mark.parametrize("pixels", [GREY, COLOUR, np.zeros((1, 1), np.uint8)])
def test_what_we_write_is_sound_and_known_by_its_pixels(pixels, look):
    report = look(encode_png(pixels))
    assert (report.faults, report.pixel_sha256) == ((), pixel_hash(pixels))


@pytest.mark.parametrize("shape", [(3000, 2100), (1500, 1900, 3)])
def test_a_large_picture_is_known_by_its_pixels_block_by_block(shape, look):
    pixels = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    assert look(encode_png(pixels)).pixel_sha256 == pixel_hash(pixels)


@pytest.mark.parametrize("pixels", [GREY, COLOUR])
def test_rows_that_others_filter_give_the_same_pixels(pixels, look, tmp_path):
    Image.fromarray(pixels).save(tmp_path / "other.png", optimize=True)
    assert look((tmp_path / "other.png").read_bytes()).pixel_sha256 == pixel_hash(pixels)


@pytest.mark.parametrize("mode", ["P", "LA", "RGBA", "I;16", "1"])
def test_other_forms_than_8_bit_grey_or_colour_are_named(mode, look, tmp_path):
    Image.new(mode, (8, 8)).save(tmp_path / "other.png")
    report = look((tmp_path / "other.png").read_bytes())
    assert "picture-format" in faults(report)
    assert report.pixel_sha256 is None


def test_exif_is_found(look, tmp_path):
    exif = Image.Exif()
    exif[0x010E] = "Jane Doe"
    Image.fromarray(GREY).save(tmp_path / "other.png", exif=exif)
    assert faults(look((tmp_path / "other.png").read_bytes())) == {"picture-text"}


@pytest.mark.parametrize("kind", [False, True])
def test_text_is_found_and_not_repeated(kind, look, tmp_path):
    info = PngImagePlugin.PngInfo()
    info.add_text("Patient", "Jane Doe", zip=kind)
    Image.fromarray(GREY).save(tmp_path / "other.png", pnginfo=info)
    report = look((tmp_path / "other.png").read_bytes())
    assert faults(report) == {"picture-text"}
    assert "Jane" not in str(report)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (png(LINES, extra=chunk(b"prVt", b"x")), "picture-extras"),
        (png(LINES) + b"hidden", "picture-extras"),
        (png(LINES + b"hidden"), "picture-extras"),
        (png(LINES) + bytes(70_000), "picture-extras"),
        (png(zlib.compress(bytes(67))), "picture-damaged"),
        (png(zlib.compress(bytes(65))), "picture-damaged"),
        (png(zlib.compress(bytes(2**27))), "picture-extras"),
        (png(zlib.compress(bytes(2**23))), "picture-damaged"),
        (png(b"no deflate"), "picture-damaged"),
        (png(LINES)[:-20], "picture-damaged"),
        (png(LINES)[:20], "picture-damaged"),
        (png(LINES)[:-30] + b"\0" * 30, "picture-damaged"),
        (png(LINES, size=(0, 6)), "picture-damaged"),
        (png(LINES, colour=5), "picture-damaged"),
        (png(LINES, size=(2**31 - 1, 2**31 - 1)), "picture-size"),
        (png(LINES, size=(100_000, 100_000)), "picture-size"),
        (b"\xff\xd8\xff\xe0 JPEG", "picture-format"),
        (b"", "picture-format"),
    ],
)
def test_a_file_that_is_no_sound_picture_is_named(data, expected, look):
    report = look(data)
    assert expected in faults(report)
    assert report.pixel_sha256 is None or expected == "picture-extras"


@pytest.mark.thorough
def test_a_bomb_is_not_inflated(look):
    bomb = png(zlib.compress(bytes(2**28)), size=(1000, 1000))
    tracemalloc.start()
    report = look(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.faults == (("picture-damaged", "p.png: contains more than its pixels"),)
    assert peak < 32 * 2**20


def test_every_file_has_its_digest(look, tmp_path):
    report = look(b"no picture")
    assert report.sha256 is not None
    assert check_file(tmp_path, "p.png", picture=False).sha256 == report.sha256


def test_a_file_that_has_vanished_is_a_fault_and_no_crash(tmp_path):
    assert faults(check_file(tmp_path, "gone.png", picture=True)) == {"special"}


@pytest.mark.thorough
def test_processes_and_this_one_find_the_same(edition, check, monkeypatch):
    monkeypatch.setattr("medrcube.build.validation.checksums._FEW", 1)
    monkeypatch.setattr("medrcube.build.validation.checksums._BATCH", 3)
    tree = edition(private=True)
    (tree / "TOY/pictures/0a/g_0.png").write_bytes(png(LINES))
    alone, together = check(tree), check(tree, workers=2)
    assert alone.findings == together.findings
    assert "pixel-hash" in {finding.check for finding in alone.findings}

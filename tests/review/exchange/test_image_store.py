"""Taking pictures in, and giving out only what was taken in."""

import io
import os
import shutil
import struct
import zlib

import numpy as np
import pytest
from django.conf import settings
from PIL import Image, PngImagePlugin

from medrcube.review.errors import ReviewError
from medrcube.review.exchange import image_store
from medrcube.review.models import Asset

SIZE = (40, 30)


def saved(image, kind="PNG", **how):
    buffer = io.BytesIO()
    image.save(buffer, kind, **how)
    return buffer.getvalue()


def noise(mode="L"):
    values = np.random.default_rng(0).integers(0, 256, (*SIZE[::-1], 3), dtype=np.uint8)
    return Image.fromarray(values).convert(mode)


def chunks(data):
    place = 8
    while place < len(data):
        (length,) = struct.unpack_from(">I", data, place)
        yield data[place + 4 : place + 8]
        place += 12 + length


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)))


@pytest.mark.parametrize("mode", ["L", "RGB", "1", "P"])
def test_a_png_keeps_every_pixel(database, mode):
    image = noise(mode)
    row = image_store.store_image(saved(image))
    stored_mode = "RGB" if mode in ("RGB", "P") else "L"
    assert np.array_equal(
        pixels(image_store.load_image(row)), np.asarray(image.convert(stored_mode))
    )
    assert (row.width, row.height) == SIZE


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_other_kinds_become_png(database, kind):
    row = image_store.store_image(saved(noise("RGB"), kind))
    assert image_store.load_image(row).startswith(b"\x89PNG")


def test_nothing_but_pixels_is_kept(database):
    text = PngImagePlugin.PngInfo()
    text.add_text("PatientName", "Doe^Jane")
    exif = Image.Exif()
    exif[0x010F] = "Maker"
    how = {"pnginfo": text, "exif": exif, "icc_profile": b"profile", "dpi": (72, 72)}
    data = saved(noise(), **how) + b"<script>alert(1)</script>"
    image = image_store.load_image(image_store.store_image(data))
    assert list(chunks(image)) == [b"IHDR", *[b"IDAT"] * (len(list(chunks(image))) - 2), b"IEND"]
    assert b"Doe" not in image
    assert image.endswith(b"IEND\xaeB`\x82")


def test_a_picture_is_turned_as_its_tag_says(database):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    row = image_store.store_image(saved(noise("RGB"), "JPEG", exif=exif))
    assert (row.width, row.height) == SIZE[::-1]


def test_the_same_pixels_twice_are_one_picture(database, tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(saved(noise(), compress_level=9))
    assert image_store.store_image(saved(noise())) == image_store.store_image(path)
    assert Asset.objects.count() == 1
    assert len(list((database.folder / "assets").rglob("*.*"))) == 1


def see_through():
    image = noise("RGB").convert("RGBA")
    image.putpixel((3, 3), (1, 2, 3, 4))
    return saved(image)


def deep_colour():
    header = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(bytes(7))), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + body


REFUSED = {
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    "html": b"<!doctype html><script>alert(1)</script>",
    "empty": b"",
    "gif": saved(noise(), "GIF"),
    "bmp": saved(noise(), "BMP"),
    "tiff": saved(noise(), "TIFF"),
    "postscript": saved(noise(), "EPS"),
    "cut short": saved(noise("RGB"))[:900],
    "moving": saved(noise("RGB"), save_all=True, append_images=[noise("L").convert("RGB")]),
    "transparent": see_through(),
    "deep colour": deep_colour(),
    "cmyk": saved(noise("CMYK"), "JPEG"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_anything_else_is_refused(database, name):
    with pytest.raises(ReviewError):
        image_store.store_image(REFUSED[name])
    assert not Asset.objects.exists()
    assert not (database.folder / "assets").exists()


def test_too_many_pixels_are_refused_before_they_are_decoded(database):
    size = struct.pack(">II", 60_000, 60_000)
    header = b"IHDR" + size + b"\x08\x00\x00\x00\x00"
    data = b"\x89PNG\r\n\x1a\n\0\0\0\x0d" + header + struct.pack(">I", zlib.crc32(header))
    with pytest.raises(ReviewError):
        image_store.store_image(data + b"\0\0\0\0IDAT5\xaf\x06\x1e\0\0\0\0IEND\xaeB`\x82")


def test_limits_hold(database, monkeypatch, tmp_path):
    monkeypatch.setattr(image_store, "MOST_PIXELS", 1199)
    with pytest.raises(ReviewError, match="40 x 30"):
        image_store.store_image(saved(noise()))
    monkeypatch.setattr(image_store, "MOST_BYTES", 100)
    path = tmp_path / "a.png"
    path.write_bytes(saved(noise()))
    with pytest.raises(ReviewError, match="more than 100 bytes"):
        image_store.store_image(path)


@pytest.mark.parametrize(
    "digest",
    [
        "",
        "../../secret.key",
        "..%2f" * 12,
        "A" * 64,
        "0" * 63,
        "0" * 65,
        "0" * 63 + "\n",
        "0" * 64 + "\n",
        "/" + "0" * 63,
        "\0" * 64,
        "con".ljust(64, "0"),
    ],
)
def test_only_a_digest_names_a_file(database, digest):
    with pytest.raises(ReviewError):
        image_store.image_path(digest)


@pytest.fixture
def image(database):
    return image_store.store_image(saved(noise()))


def test_a_link_in_place_of_a_picture_is_refused(database, image, tmp_path):
    path = image_store.image_path(image.sha256)
    elsewhere = tmp_path / "same.png"
    shutil.move(path, elsewhere)  # the very same bytes, so only the link is wrong
    path.symlink_to(elsewhere)
    with pytest.raises(ReviewError, match="is reached through a link"):
        image_store.load_image(image)


def test_a_link_in_place_of_a_folder_is_refused(database, image, tmp_path):
    folder = image_store.image_path(image.sha256).parent
    shutil.move(folder, tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    with pytest.raises(ReviewError, match="is reached through a link"):
        image_store.load_image(image)


def test_a_link_to_another_folder_of_pictures_is_refused(image):
    folder = image_store.image_path(image.sha256).parent
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(folder.with_name("moved"))
    with pytest.raises(ReviewError, match="is reached through a link"):
        image_store.load_image(image)


def test_a_changed_file_is_refused(image):
    path = image_store.image_path(image.sha256)
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(ReviewError, match="changed"):
        image_store.load_image(image)


def test_a_missing_file_is_named(image):
    image_store.image_path(image.sha256).unlink()
    with pytest.raises(ReviewError, match="import it again"):
        image_store.load_image(image)


def test_nobody_but_the_owner_enters_the_pictures_whatever_the_umask(database):
    before = os.umask(0)
    try:
        image_store.store_image(saved(noise()))
    finally:
        os.umask(before)
    pictures = settings.FOLDER / "assets"
    paths = [pictures, *pictures.rglob("*")]
    assert len(paths) > 2
    assert [path for path in paths if path.stat().st_mode & 0o077] == []

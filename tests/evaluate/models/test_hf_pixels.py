"""Every kind of picture file becomes 8-bit RGB, and nothing is clipped on the way."""

from __future__ import annotations

import hashlib
import io

import pytest

pytest.importorskip("PIL")

from PIL import Image

from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.hf.images import decode_picture, picture_size
from medrcube.evaluate.models.protocol import RejectedError


def picture(image, **options):
    buffer = io.BytesIO()
    image.save(buffer, options.pop("format", "PNG"), **options)
    data = buffer.getvalue()
    return ImageFile(data=data, media_type="image/png", sha256=hashlib.sha256(data).hexdigest())


def test_grey_stays_what_it_is():
    ramp = Image.linear_gradient("L")
    pixels = decode_picture(picture(ramp))
    assert pixels.mode == "RGB"
    assert pixels.getchannel(0).tobytes() == ramp.tobytes()


def test_a_deep_grey_picture_keeps_its_whole_range():
    deep = Image.new("I;16", (64, 1))
    for x in range(64):
        deep.putpixel((x, 0), x * 65)
    values = list(decode_picture(picture(deep)).getchannel(0).tobytes())
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0, 255)
    assert len(set(values)) == 64


def test_what_is_transparent_lies_on_white():
    clear = Image.new("RGBA", (2, 1), (10, 20, 30, 0))
    clear.putpixel((1, 0), (10, 20, 30, 255))
    pixels = decode_picture(picture(clear))
    assert [pixels.getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), (10, 20, 30)]


def test_a_palette_becomes_its_colours():
    red = Image.new("P", (1, 1))
    red.putpalette([200, 10, 20] * 256)
    assert decode_picture(picture(red)).getpixel((0, 0)) == (200, 10, 20)


def test_a_turned_photograph_stands_upright():
    exif = Image.Exif()
    exif[0x0112] = 6
    pixels = decode_picture(picture(Image.new("RGB", (40, 20)), format="JPEG", exif=exif))
    assert pixels.size == (20, 40)


def test_the_size_is_read_from_the_header():
    whole = picture(Image.new("L", (300, 200)))
    head = ImageFile(data=whole.data[:60], media_type="image/png", sha256="head")
    assert picture_size(head) == (200, 300)


def test_a_cut_file_is_an_error():
    whole = picture(Image.effect_noise((64, 64), 50))
    cut = ImageFile(data=whole.data[:500], media_type="image/png", sha256="cut")
    with pytest.raises((OSError, RejectedError)):
        decode_picture(cut)

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.pixels.png_encoder import blank_canvas, encode_png


def is_grey(shape):
    return len(shape) == 2


SHAPES = st.one_of(
    st.tuples(st.integers(1, 20), st.integers(1, 20)),
    st.tuples(st.integers(1, 20), st.integers(1, 20), st.just(3)),
)


PICTURES = arrays.arrays(np.uint8, SHAPES) | arrays.arrays(np.uint16, SHAPES.filter(is_grey))
ORDERS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every other": lambda pixels: np.repeat(pixels, 2, axis=1)[:, ::2],
    "backwards": lambda pixels: pixels[::-1].copy()[::-1],
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@given(pixels=PICTURES)
def test_another_decoder_reads_the_same_pixels_in_any_order_of_memory(order, pixels):
    with Image.open(io.BytesIO(encode_png(order(pixels)))) as image:
        assert np.array_equal(np.asarray(image), pixels)


@pytest.mark.parametrize("height", [1, 2, 64, 65, 200])
def test_a_picture_that_is_spent_gives_the_same_bytes(height):
    pixels = np.random.default_rng(height).integers(0, 255, (height, 7, 3)).astype(np.uint8)
    canvas = blank_canvas(height, 7)
    canvas[...] = pixels
    assert encode_png(canvas) == encode_png(pixels)
    assert np.array_equal(canvas, pixels)
    assert encode_png(canvas, spend=True) == encode_png(pixels, spend=True) == encode_png(pixels)


def test_a_picture_holds_pixel_chunks_only():
    data = encode_png(np.zeros((4, 5), np.uint8))
    names = []
    position = 8
    while position < len(data):
        length = int.from_bytes(data[position : position + 4])
        names.append(data[position + 4 : position + 8])
        position += 12 + length
    assert names == [b"IHDR", b"IDAT", b"IEND"]


def test_identity_is_shape_and_pixels_not_memory_order():
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert pixel_hash(pixels) == pixel_hash(np.asfortranarray(pixels))
    assert pixel_hash(pixels) != pixel_hash(pixels.reshape(4, 3))


@pytest.mark.parametrize("change", [(0, 0), (2, 3)])
def test_one_grey_level_changes_the_identity(change):
    pixels = np.zeros((3, 4), np.uint8)
    other = pixels.copy()
    other[change] = 1
    assert pixel_hash(pixels) != pixel_hash(other)

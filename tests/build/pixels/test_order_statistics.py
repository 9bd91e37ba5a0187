from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from medrcube.build.pixels.windowing.order_statistics import row_blocks, values_at_ranks

TYPES = ["f2", "f4", "f8", ">f4", "i4", "u4", ">i4", "i8", "u8", "i2", "u2", "i1", "u1", "?"]


def values_of(kind):
    plain = np.dtype(kind).kind == "f"
    limits = {"allow_nan": False, "allow_infinity": False} if plain else {}
    shape = st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5))
    return arrays.arrays(kind, shape, elements=arrays.from_dtype(np.dtype(kind), **limits))


@pytest.mark.few(5)
@pytest.mark.parametrize("kind", TYPES)
def test_every_place_holds_what_sorting_puts_there(kind):
    @given(values=values_of(kind))
    def check(values):
        places = [0, values.size // 3, values.size // 2, values.size - 1]
        result = values_at_ranks(values, places)
        assert np.array_equal(result, np.sort(values, axis=None)[places].astype(result.dtype))

    check()


@pytest.mark.parametrize("kind", [*TYPES, "g"])
def test_values_of_every_type_come_back_at_every_place(kind):
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        ends = np.finfo(dtype).max if dtype.itemsize <= 8 else np.finfo(np.float64).max
        numbers = [-ends, -1.5, -0.25, 0, 0.25, 1.5, 2, ends]
    elif dtype.kind == "b":
        numbers = [True, False, True]
    else:
        limits = np.iinfo(dtype)
        numbers = [limits.max, limits.min, 0, 1, 2, 100, limits.max - 1, limits.min + 1]
    values = np.array(numbers[::-1] + numbers[::2], dtype).reshape(1, 1, -1)
    result = values_at_ranks(values, range(values.size))
    assert result.tolist() == np.sort(values, axis=None).tolist()


@pytest.mark.parametrize("shape", [(1, 1), (3, 1 << 16), (5, 1 << 17), (2, 1 << 18), (400, 1000)])
def test_blocks_of_rows_hold_every_row_once_and_in_order(shape):
    picture = np.arange(shape[0], dtype=np.int32)[:, None].repeat(shape[1], axis=1)
    blocks = list(row_blocks(picture))
    assert np.array_equal(np.concatenate(blocks), picture)
    assert all(len(block) == 1 or block.size <= 1 << 17 for block in blocks)


@pytest.mark.parametrize("least", [1e-45, 1e-42, 1e-39, 1.5])
def test_negative_zeros_are_zeros_among_the_smallest_values(least):
    values = np.array([[[-0.0, 0.0, least, -least, -0.0, 2 * least, -2 * least]]], np.float32)
    result = values_at_ranks(values, range(values.size))
    assert result.tolist() == np.sort(values, axis=None).tolist()


def test_values_with_one_exponent_are_told_apart():
    rng = np.random.default_rng(5)
    values = np.concatenate((rng.normal(1, 1e-4, 700), rng.normal(-1, 1e-4, 700)))
    stack = values.astype(np.float32).reshape(2, 7, 100)
    places = [0, 13, 699, 700, 701, 1386, 1399]
    assert values_at_ranks(stack, places).tolist() == np.sort(stack, axis=None)[places].tolist()


def test_zero_has_no_sign():
    values = values_at_ranks(np.array([[[-0.0, 0.0, -0.0]]], np.float32), [0, 1, 2])
    assert not np.signbit(values).any()


def test_slices_are_taken_one_at_a_time():
    class Slices:
        shape, dtype = (3, 2, 2), np.dtype(np.float32)

        def __getitem__(self, k):
            return np.full((2, 2), 2 - k, np.float32)

    assert values_at_ranks(Slices(), [0, 4, 11]).tolist() == [0, 1, 2]

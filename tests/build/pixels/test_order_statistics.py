from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from medrcube.build.pixels.order_statistics import values_at_ranks

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
        found = values_at_ranks(values, places)
        assert np.array_equal(found, np.sort(values, axis=None)[places].astype(found.dtype))

    check()


def test_zero_has_no_sign():
    found = values_at_ranks(np.array([[[-0.0, 0.0, -0.0]]], np.float32), [0, 1, 2])
    assert not np.signbit(found).any()


def test_slices_are_taken_one_at_a_time():
    class Slices:
        shape, dtype = (3, 2, 2), np.dtype(np.float32)

        def __getitem__(self, k):
            return np.full((2, 2), 2 - k, np.float32)

    assert values_at_ranks(Slices(), [0, 4, 11]).tolist() == [0, 1, 2]

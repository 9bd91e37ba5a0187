"""The look of a picture: equal on every machine, whatever the picture's size, colour or place."""

import numpy as np
import pytest
from PIL import Image

from medrcube.perceptual_hash import SIDE, dct_hashes, perceptual_hash, thumbnail


def ramps(rows=96, columns=160):
    """A picture with structure in both directions."""
    y, x = np.mgrid[0 : 1 : rows * 1j, 0 : 1 : columns * 1j]
    waves = np.cos(3 * np.pi * x) + np.cos(2 * np.pi * y * x) + np.sin(5 * y)
    return np.clip(waves * 30 + 120, 0, 255).astype(np.uint8)


def reference(small):
    """The hash as its definition reads, in whole numbers throughout."""
    waves = [
        [round(np.cos(np.pi * row * (2 * at + 1) / (2 * SIDE)) * 4096) for at in range(SIDE)]
        for row in range(1, 9)
    ]
    grey = small.astype(int).tolist()
    half = [[sum(wave[i] * grey[i][j] for i in range(SIDE)) for j in range(SIDE)] for wave in waves]
    low = [sum(row[j] * wave[j] for j in range(SIDE)) for row in half for wave in waves]
    ranked = sorted(low)
    return sum(1 << bit for bit, value in enumerate(low) if 2 * value > ranked[31] + ranked[32])


@pytest.mark.parametrize("seed", range(5))
def test_the_hash_is_exact(seed):
    small = np.random.default_rng(seed).integers(0, 256, (SIDE, SIDE), dtype=np.uint8)
    assert int(dct_hashes(small[None])[0]) == reference(small)


def test_the_hash_is_exact_where_rounding_would_decide():
    """Half of the coefficients of a symmetric picture are 0, and so may be the median."""
    half = np.random.default_rng(0).integers(0, 256, (SIDE // 2, SIDE // 2), dtype=np.uint8)
    small = np.block([[half, half[:, ::-1]], [half[::-1], half[::-1, ::-1]]])
    assert int(dct_hashes(small[None])[0]) == reference(small)


def test_a_look_is_the_hash_in_sixteen_digits():
    grey = ramps()
    assert perceptual_hash(grey) == f"{reference(thumbnail(Image.fromarray(grey))):016x}"
    assert perceptual_hash(np.zeros((4, 4), np.uint8)) == "0" * 16


@pytest.mark.parametrize(
    ("rows", "columns"), [*((n, n) for n in (1, 2, 3, 4, 6, 8, 16, 64)), (4, 2), (2, 4), (16, 3)]
)
def test_a_thumbnail_is_that_of_box_averages(rows, columns):
    """A faster function of Pillow makes it where both give equal pixels, and nowhere else."""
    rng = np.random.default_rng(rows * columns)
    pixels = rng.integers(0, 256, (SIDE * rows, SIDE * columns), np.uint8)
    pixels[: SIDE * rows // 2] = rng.integers(0, 2, pixels[: SIDE * rows // 2].shape)
    grey = Image.fromarray(pixels)
    averages = np.asarray(grey.resize((SIDE, SIDE), Image.Resampling.BOX))
    assert np.array_equal(thumbnail(grey), averages)


def test_a_grey_picture_in_colour_looks_the_same():
    grey = ramps()
    assert perceptual_hash(np.stack([grey] * 3, axis=2)) == perceptual_hash(grey)


def test_many_pictures_are_hashed_as_one_is():
    small = np.random.default_rng(1).integers(0, 256, (2001, SIDE, SIDE), dtype=np.uint8)
    hashes = dct_hashes(small)
    for place in (0, 999, 1000, 2000):
        assert hashes[place] == dct_hashes(small[place][None])[0]

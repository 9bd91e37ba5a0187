from __future__ import annotations

import numpy as np
import pytest

from medrcube.build.pixels.known_faults import repair_known_fault
from medrcube.build.pixels.volume import PixelSemantics, Volume, stack_slices
from medrcube.build.pixels.windowing.policy import display_transform
from medrcube.build.pixels.windowing.transform import modality_values

HU = np.array([[[-1000, -5, 0, 40, 80, 1000, 3095]]])


def wrapped():
    """HU as those files store them: 12 bits, no offset, negatives at the top of the range."""
    pixels = (HU % 4096).astype(np.uint16)
    return Volume(slices=pixels, greys=PixelSemantics(bits=12, intercept=0.0, padding=(0, 0)))


def test_wrapped_values_come_back_to_their_units():
    mended = repair_known_fault(wrapped(), "wrap-12-bit")
    assert mended.slices.dtype == np.uint16
    values = np.stack([modality_values(mended.greys, mended.slices[k]) for k in range(1)])
    assert np.array_equal(values, HU)
    assert mended.greys.padding is None


def test_numbers_of_the_picture_name_the_repair():
    mended = repair_known_fault(wrapped(), "wrap-12-bit")
    scale = display_transform(mended, "ct:brain")
    assert scale.numbers["repair"] == "wrap-12-bit"
    assert scale.numbers["intercept"] == -1000
    sound = Volume(
        slices=(HU + 1024).astype(np.uint16), greys=PixelSemantics(bits=12, intercept=-1024.0)
    )
    expected = display_transform(sound, "ct:brain")
    assert np.array_equal(scale.apply(mended.slices[0]), expected.apply(sound.slices[0]))
    assert "repair" not in expected.numbers


@pytest.mark.parametrize(
    "volume",
    [
        Volume(
            slices=np.zeros((1, 2, 2), np.uint16), greys=PixelSemantics(bits=12, intercept=-1024.0)
        ),
        Volume(
            slices=np.zeros((1, 2, 2), np.uint16), greys=PixelSemantics(bits=12, intercept=-100.0)
        ),
        Volume(slices=np.zeros((1, 2, 2), np.uint16), greys=PixelSemantics(bits=16)),
        Volume(slices=np.zeros((1, 2, 2), np.int16), greys=PixelSemantics(bits=12)),
        Volume(slices=np.zeros((1, 2, 2, 3), np.uint8), greys=PixelSemantics(bits=12)),
    ],
)
def test_sound_values_stay_as_they_are(volume):
    assert repair_known_fault(volume, "wrap-12-bit") is volume


def test_nothing_is_repaired_without_order():
    volume = wrapped()
    assert repair_known_fault(volume, "none") is volume
    assert np.array_equal(stack_slices(volume.slices), HU % 4096)
    with pytest.raises(ValueError, match="rotate"):
        repair_known_fault(volume, "rotate")

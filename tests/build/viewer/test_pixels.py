"""What a viewer copy holds: stored values, slices beside them, and the way to the picture."""

import numpy as np
import pytest

from medrcube.build.pixels.geometry import reorient
from medrcube.build.pixels.volume import PixelSemantics, Volume
from medrcube.build.pixels.windowing.policy import display_transform
from medrcube.build.viewer.pixels import NEIGHBOURS, viewer_copy

NUMBERS = {"window": "percentile", "low": 0.0, "high": 100.0}


def phantom(count=20, size=(6, 8), dtype=np.int16):
    """Slices of which each has its own number for a value."""
    return np.broadcast_to(np.arange(count, dtype=dtype)[:, None, None], (count, *size)).copy()


def copy(volume, index, numbers=NUMBERS, *, part=None, hounsfield=False):
    return viewer_copy(
        volume, index, numbers, size=volume.slices.shape[1:3], part=part, hounsfield=hounsfield
    )


def values(result):
    return [plane * result.facts["slope"] + result.facts["intercept"] for plane in result.planes]


def under_window(result):
    low, high = result.facts["window"]
    shade = (np.clip(values(result)[result.facts["own"]], low, high) - low) * 255 / (high - low)
    return 255 - np.ceil(shade - 0.5) if result.facts["inverted"] else np.floor(shade + 0.5)


@pytest.mark.parametrize("policy", ["ct:lung", "ct:brain", "percentile:1-99", "header", "bits"])
@pytest.mark.parametrize("inverted", [False, True])
def test_its_own_slice_under_its_window_is_the_picture(policy, inverted):
    pixels = np.linspace(0, 4000, 6 * 40).astype(np.int16).reshape(1, 6, 40)
    greys = PixelSemantics(
        slope=1.0, intercept=-1024.0, inverted=inverted, windows=((40.0, 400.0),)
    )
    volume = Volume(slices=pixels, greys=greys)
    scale = display_transform(volume, policy)
    result = copy(volume, 0, scale.numbers)
    picture = scale.apply(pixels[0])
    assert np.abs(under_window(result) - picture).max() <= 1


def test_neighbours_come_in_the_order_in_which_the_body_is_shown():
    result = copy(Volume(slices=phantom(), solid=True), 9)
    assert result.facts["own"] == NEIGHBOURS
    assert [int(plane[0, 0]) for plane in values(result)] == list(range(4, 15))


def test_neighbours_are_turned_as_the_picture_is():
    pixels = phantom(12)
    pixels[:, 0, 0] += 100
    affine = np.array([[0, 0, 1.0, 0], [0, 1.0, 0, 0], [-3.0, 0, 0, 0], [0, 0, 0, 1]])
    view = reorient(Volume(slices=pixels, affine=affine, solid=True), "axial")
    result = copy(view, 2)
    middle = [int(np.median(plane)) for plane in values(result)]
    assert middle == [int(np.median(view.slices[k])) for k in range(8)]
    assert middle[0] == 11  # stored from the head down
    assert all(plane.argmax() == np.argmax(view.slices[0]) for plane in values(result))


@pytest.mark.parametrize(("index", "own", "count"), [(0, 0, 6), (19, 5, 6), (2, 2, 8)])
def test_at_the_ends_of_a_body_there_are_fewer(index, own, count):
    result = copy(Volume(slices=phantom(), solid=True), index)
    assert (result.facts["own"], len(result.planes)) == (own, count)


def test_moments_of_a_film_are_no_neighbours():
    assert len(copy(Volume(slices=phantom()), 9).planes) == 1


def test_large_slices_have_fewer_neighbours(monkeypatch):
    monkeypatch.setattr("medrcube.build.viewer.pixels._MOST_PIXELS", 3 * 48)
    assert len(copy(Volume(slices=phantom(), solid=True), 9).planes) == 3


def test_what_has_no_integers_is_kept_in_65536_steps():
    pixels = np.linspace(-1, 1, 48, dtype=np.float32).reshape(1, 6, 8)
    result = copy(Volume(slices=pixels), 0)
    assert not result.facts["exact"]
    assert np.abs(values(result)[0] - pixels[0]).max() <= 1.01 / 65535


def test_the_spacing_is_that_of_the_shown_axes():
    volume = Volume(slices=phantom(), spacing=(5.0, 0.7, 0.4), solid=True)
    assert copy(volume, 3).facts["spacing"] == [0.7, 0.4]


@pytest.mark.parametrize(
    "how", [{"spacing": None}, {"spacing": (1.0, 1.2, 1.0), "measured": False}]
)
def test_a_ratio_of_pixels_is_no_distance(how):
    assert copy(Volume(slices=phantom(), **how), 3).facts["spacing"] is None


def test_a_part_of_a_picture_keeps_nothing_beyond_it():
    pixels = np.arange(48, dtype=np.int16).reshape(1, 6, 8)
    result = copy(Volume(slices=pixels), 0, part=(2, 1, 7, 5))
    assert np.array_equal(values(result)[0], pixels[0, 1:5, 2:7])
    assert result.facts["place"] == [0, 0, 5, 4]


def test_windows_of_a_ct_are_in_hounsfield_units_and_others_are_shares():
    volume = Volume(slices=phantom())
    windows = {
        name: (low, high) for name, low, high in copy(volume, 0, hounsfield=True).facts["presets"]
    }
    assert windows["Brain"] == (0.0, 79.0)  # centre 40, width 80: DICOM PS3.3 C.11.2.1.2.1
    assert {"Lung", "Bone", "Liver", "Mediastinum, soft tissue"} < set(windows)
    assert copy(volume, 0).facts["presets"][0][0] == "Full range"

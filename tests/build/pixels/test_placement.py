"""Which volumes say that they lie nowhere, or at too great a slant."""

import numpy as np
import pytest

from medrcube.build.pixels.placement import check_placed, check_tilt
from medrcube.build.pixels.volume import Volume
from medrcube.errors import ReadError, RefusedError
from medrcube.facts import ImageRef
from medrcube.sources._framework.card_parts.pixels import PixelPolicy


def policy(orient="affine"):
    return PixelPolicy(
        window="header",
        slice="middle",
        plane="axial",
        orient=orient,
        spacing="header",
        colour="keep",
    )


@pytest.fixture
def image(tmp_path):
    return ImageRef(paths=(tmp_path / "a.nii",))


def body(affine, *, count=4, solid=True):
    return Volume(slices=np.zeros((count, 5, 6), np.int16), affine=affine, solid=solid)


def moved(axis, distance):
    affine = np.eye(4)
    affine[axis, 3] = distance
    return affine


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("distance", [1e6, -1e6, 1e6 + 0.5, np.nan, np.inf])
def test_a_body_a_kilometre_off_lies_nowhere(image, axis, distance):
    with pytest.raises(ReadError, match="its affine is not one of a scan") as excinfo:
        check_placed(body(moved(axis, distance)), image, policy())
    assert excinfo.value.code == "singular-affine"
    check_placed(body(moved(axis, 1e6 - 1)), image, policy())


@pytest.mark.parametrize("axis", range(3))
def test_voxels_are_longer_than_a_nanometre(image, axis):
    for step, placed in ((0.0, False), (1e-6, False), (1.5e-6, True)):
        affine = np.eye(4)
        affine[axis, axis] = step
        if placed:
            check_placed(body(affine), image, policy())
        else:
            with pytest.raises(ReadError, match="its affine is not one of a scan"):
                check_placed(body(affine), image, policy())


def test_an_axis_without_length_lies_nowhere_though_the_others_span_all_directions(image):
    affine = np.eye(4)
    affine[:3, 1], affine[:3, 2] = (0, 1, 1), 0
    with pytest.raises(ReadError, match="its affine is not one of a scan"):
        check_placed(body(affine), image, policy())


@pytest.mark.parametrize(("orient", "least"), [("affine", 2), ("in-plane", 1), ("stored", None)])
def test_a_body_without_affine_is_placed_up_to_a_number_of_slices(image, orient, least):
    for count in (1, 2, 3):
        volume = body(None, count=count)
        if least is None or count < least:
            check_placed(volume, image, policy(orient))
        else:
            with pytest.raises(ReadError, match=f"its {count} slice") as excinfo:
                check_placed(volume, image, policy(orient))
            assert excinfo.value.code == "no-orientation"
    check_placed(body(None, solid=False), image, policy(orient))


def tilted(cosine, sine):
    """Slices whose normal leans from the long axis of the body towards the front."""
    affine = np.eye(4)
    affine[:3, 0] = (0, sine, cosine)
    affine[:3, 1] = (0, -cosine, sine)
    affine[:3, 2] = (-1, 0, 0)
    return affine


def test_a_tilt_of_which_the_cosine_is_four_fifths_is_the_greatest(image):
    check_tilt(body(tilted(0.8, 0.6)), image, policy())
    with pytest.raises(RefusedError, match="tilted by 38 degrees") as excinfo:
        check_tilt(body(tilted(0.79, np.sqrt(1 - 0.79**2))), image, policy())
    assert excinfo.value.code == "oblique"


def test_a_film_and_slices_shown_in_their_own_plane_may_be_tilted(image):
    half = np.sqrt(0.5)
    check_tilt(body(tilted(half, half), solid=False), image, policy())
    check_tilt(body(None), image, policy())
    for orient in ("in-plane", "stored"):
        check_tilt(body(tilted(half, half)), image, policy(orient))

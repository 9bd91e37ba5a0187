import numpy as np
import pytest

from medrcube.errors import RefusedError
from medrcube.sources._formats.brain_directions import find_brain_directions


def brain():
    """Axes to the right, front and top: an ellipsoid without the quarter below its forehead."""
    x, y, z = np.meshgrid(*(np.linspace(-1, 1, n) for n in (36, 50, 40)), indexing="ij")
    return (x**2 + y**2 + z**2 < 1) & ~((y > 0) & (z < -0.2))


@pytest.mark.parametrize("front", [1, -1])
@pytest.mark.parametrize("top", [1, -1])
def test_front_and_top_are_found(front, top):
    assert find_brain_directions(brain()[:, ::front, ::top]) == (front, top)


@pytest.mark.parametrize(
    ("voxels", "says"),
    [
        (np.zeros((5, 5, 5), bool), "is empty"),
        (brain().transpose(2, 1, 0), "another order"),
        (brain() & brain()[:, ::-1], "cannot be distinguished"),
    ],
    ids=["empty", "turned", "same front and back"],
)
def test_shape_that_is_not_certain_is_refused(voxels, says):
    with pytest.raises(RefusedError, match=says) as excinfo:
        find_brain_directions(voxels)
    assert excinfo.value.code == "wrong-directions"

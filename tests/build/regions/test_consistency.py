import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.pixels.volume import Volume
from medrcube.build.regions.consistency import check_enclosed, check_side
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import RefusedError
from medrcube.sources._framework.card_parts.self_checks import Enclosed, Side
from medrcube.sources._synthetic import images

RULE = Enclosed(part="LV", by="MYO", share=0.5, reason="r", evidence="e")
SIDE = Side(fact="side", left="L", right="R", reason="r", evidence="e")
SHAPE = (3, 60, 70)


def mask(picture):
    return Mask.of(SHAPE, [(1, picture), (2, picture)])


def heart(seed, scale):
    labels = images.chambers(*SHAPE[1:], seed=seed, scale=scale)
    return {value: mask(labels == value) for value in (1, 2, 3)}


@given(seed=st.integers(0, 10_000), scale=st.floats(0.6, 1.2))
def test_labels_in_the_order_of_another_set_are_refused(seed, scale):
    left, wall, right = heart(seed, scale).values()
    check_enclosed(RULE, {"LV": [left], "MYO": [wall], "RV": [right]})
    for swapped in ({"LV": [right], "MYO": [wall]}, {"LV": [wall], "MYO": [left]}):
        with pytest.raises(RefusedError, match=r"MYO lies at \d+ % of the edge of LV") as excinfo:
            check_enclosed(RULE, swapped)
        assert excinfo.value.code == "label-order"


def test_nothing_is_known_where_a_part_is_not_marked():
    left, wall, _ = heart(1, 1.0).values()
    for masks in ({}, {"LV": [left]}, {"MYO": [wall]}):
        check_enclosed(RULE, masks)


def body(sign):
    """A stack of slices with columns to the patient's left (1) or right (-1)."""
    affine = np.array([[0, 0, -sign, 40.0 * sign], [0, -1, 0, 0], [2, 0, 0, 0], [0, 0, 0, 1]])
    return Volume(slices=np.zeros(SHAPE, np.uint8), affine=affine)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("column", [5, 30, 40, 60])
def test_the_side_follows_the_directions_and_not_the_columns(sign, column):
    picture = np.zeros(SHAPE[1:], np.bool_)
    picture[20:24, column : column + 3] = True
    lies_left = (column + 1 > (SHAPE[2] - 1) / 2) == (sign > 0)
    agreeing, other = ("L", "R") if lies_left else ("R", "L")
    check_side(SIDE, {"side": agreeing}, [mask(picture)], body(sign))
    with pytest.raises(RefusedError, match=f"side is '{other}'") as excinfo:
        check_side(SIDE, {"side": other}, [mask(picture)], body(sign))
    assert excinfo.value.code == "wrong-side"
    for unknown in ({}, {"side": "NC"}):
        check_side(SIDE, unknown, [mask(picture)], body(sign))

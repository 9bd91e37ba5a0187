"""Which image shows a part largest: confirmed by a clear margin, or in doubt with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.regions.sizes import size_contradiction
from medrcube.sources._framework.card_parts.fields import Larger

LARGER = Larger(panel="full", part="LV", by=0.05, reason="test", evidence="test")
PANELS = ("full", "empty")
sizes = st.floats(1, 1e6)


@given(first=sizes, second=sizes)
def test_of_two_orders_of_the_same_sizes_at_most_one_is_confirmed(first, second):
    doubts = [
        size_contradiction(LARGER, PANELS, pair) for pair in ((first, second), (second, first))
    ]
    assert any(doubts)


@given(size=sizes, factor=st.floats(1.06, 10))
def test_a_clear_margin_confirms_whatever_the_unit_and_the_order_of_the_images(size, factor):
    assert size_contradiction(LARGER, PANELS, (size * factor, size)) == ""
    assert size_contradiction(LARGER, PANELS[::-1], (size, size * factor)) == ""


@pytest.mark.parametrize(("here", "named"), [(104, "1.04 times"), (100, "1.00"), (60, "0.60")])
def test_a_margin_that_is_not_clear_is_named(here, named):
    assert named in size_contradiction(LARGER, PANELS, (here, 100))


@pytest.mark.parametrize("marked", [(0, 0), (100, 0), (0, 100)])
def test_a_part_that_is_not_marked_on_every_image_confirms_nothing(marked):
    assert "not marked on every image" in size_contradiction(LARGER, PANELS, marked)


def test_every_other_image_must_be_smaller():
    panels = ("full", "empty", "between")
    assert size_contradiction(LARGER, panels, (110, 50, 100)) == ""
    assert size_contradiction(LARGER, panels, (110, 50, 108))

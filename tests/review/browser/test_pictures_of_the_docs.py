"""The pictures that tests/review/shots.py makes."""

from pathlib import Path

import pytest
from PIL import Image

IMAGES = Path(__file__).parents[3] / "docs" / "images"


@pytest.mark.parametrize("name", ["review.png", "review-dashboard.png"])
def test_pictures_of_the_docs_are_wide_enough_to_read_and_small_enough_to_load(name):
    assert (IMAGES / name).stat().st_size < 400_000
    with Image.open(IMAGES / name) as picture:
        assert picture.width == 1440
        assert picture.info == {}

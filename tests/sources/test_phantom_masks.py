"""What a phantom marks lies on what its picture shows."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from medrcube.sources.inbreast import fixture as inbreast

OBLIQUE = [(seed, row[0]) for seed, row in enumerate(inbreast.ROWS) if row[1] == "MLO"]


@pytest.mark.parametrize(("seed", "side"), OBLIQUE)
def test_the_pectoral_muscle_is_tissue_throughout_and_ends_at_its_line(seed, side):
    film = inbreast._breast(seed, side, "MLO", ()) / 16383
    line = [tuple(map(float, point.strip("()").split(","))) for point in inbreast._muscle(side)]
    corner = (0, 0) if side == "L" else (inbreast.WIDTH - 1, 0)
    canvas = Image.new("1", (inbreast.WIDTH, inbreast.HEIGHT))
    ImageDraw.Draw(canvas).polygon([corner, *line], fill=1)
    marked = np.asarray(canvas)
    assert (film[marked] > 0.2).mean() > 0.96
    assert (film[~marked] > 0.6).mean() < 0.05

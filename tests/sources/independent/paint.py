"""Pictures without any symmetry, so that a flip, a turn or another slice is seen at once."""

import numpy as np


def scene(height, width, seed):
    """A dim ramp with a bright L at the top left and blocks that differ with the seed."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:height, 0:width]
    picture = 30.0 + 60.0 * rows / height + 25.0 * columns / width
    picture[height // 12 : height // 2, width // 10 : width // 6] = 220
    picture[height // 2 - height // 12 : height // 2, width // 10 : width // 3] = 220
    for _ in range(5):
        y, x = rng.integers(0, height - height // 5), rng.integers(width // 3, width - width // 6)
        picture[y : y + height // 6, x : x + width // 8] = rng.integers(120, 200)
    return picture


def boxed(shape, box):
    """A mask that is true in ``(x0, y0, x1, y1)``, ends excluded."""
    mask = np.zeros(shape, bool)
    x0, y0, x1, y1 = box
    mask[y0:y1, x0:x1] = True
    return mask

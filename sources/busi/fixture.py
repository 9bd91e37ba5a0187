"""A few synthetic images named and coded as in BUSI."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.breast import breast_ultrasound
from medrcube.sources._synthetic.images import lesion, write_picture

_MASKS = {
    "benign (1)": 1,
    "benign (4)": 2,
    "benign (277)": 1,
    "benign (433)": 1,
    "malignant (1)": 1,
    "malignant (53)": 2,
    "malignant (145)": 1,
    "normal (2)": 0,
    "normal (10)": 0,
    "normal (34)": 0,
}
_COLOURED = ("benign (277)",)


def build(root: Path, layout: str) -> None:
    """Write the tree: coloured and grey RGB images, 1-bit masks, RGBA masks, black masks."""
    del layout
    height, width = 150, 180
    for seed, (key, count) in enumerate(_MASKS.items()):
        folder = root / key.split()[0]
        masks = [lesion(height, width, seed=seed, which=which) for which in range(count)]
        lesions = np.logical_or.reduce(masks) if masks else None
        malign = key.startswith("malignant")
        grey = breast_ultrasound(height, width, seed=seed, lesion=lesions, shadow=malign)
        rgb = np.repeat(grey[:, :, None], 3, axis=2)
        if key in _COLOURED:
            rgb[40:60, 90:120] = (200, 40, 30)
        write_picture(folder / f"{key}.png", rgb)
        if not count:
            write_picture(folder / f"{key}_mask.png", np.zeros_like(rgb))
        for which, mask in enumerate(masks):
            if which:  # the second masks of the release are RGBA, opaque everywhere
                grey = np.where(mask, 255, 0)[:, :, None]
                opaque = np.full_like(grey, 255)
                rgba = np.concatenate([grey, grey, grey, opaque], axis=2)
                write_picture(folder / f"{key}_mask_{which}.png", rgba)
            else:
                write_picture(folder / f"{key}_mask.png", mask)

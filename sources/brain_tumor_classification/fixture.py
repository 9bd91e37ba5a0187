"""A few synthetic images under official names, the two spellings of ``no_tumor`` among them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.head import brain_mr
from medrcube.sources._synthetic.images import lesion, write_picture

_FILES = (
    "Training/glioma_tumor/gg (1).jpg",
    "Training/glioma_tumor/gg (826).jpg",
    "Training/meningioma_tumor/m (1).jpg",
    "Training/meningioma_tumor/m1(1).jpg",
    "Training/meningioma_tumor/m2 (1).jpg",
    "Training/meningioma_tumor/m3 (1).jpg",
    "Training/meningioma_tumor/m1(123).jpg",
    "Training/no_tumor/1.jpg",
    "Training/no_tumor/image.jpg",
    "Training/no_tumor/image (42).jpg",
    "Training/no_tumor/image(42).jpg",
    "Training/pituitary_tumor/p (1).jpg",
    "Training/pituitary_tumor/p (564).jpg",
    "Testing/glioma_tumor/image(1).jpg",
    "Testing/glioma_tumor/image(2).jpg",
    "Testing/meningioma_tumor/image(1).jpg",
    "Testing/no_tumor/image(1).jpg",
    "Testing/pituitary_tumor/image.jpg",
    "Testing/pituitary_tumor/image(1).jpg",
    "Testing/pituitary_tumor/image(77).jpg",
    "Testing/pituitary_tumor/image(85).jpg",
)


def build(root: Path, layout: str) -> None:
    """Write grey images as RGB JPEG of different sizes."""
    del layout
    for seed, name in enumerate(_FILES):
        size = (120 + seed, 130)
        tumour = None if "no_tumor" in name else lesion(*size, seed=seed)
        grey = brain_mr(*size, seed=seed, lesion=tumour)
        write_picture(root / name, np.repeat(grey[:, :, None], 3, axis=2))

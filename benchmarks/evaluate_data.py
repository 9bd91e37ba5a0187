"""A release whose pictures have the sizes of the published one, and at least its 335 kB each."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

_SIDES = (512,) * 6 + (1024,) * 3 + (2048,)
_LEVELS = 4
"""Grey values of the noise; decides how far a picture can be compressed."""


def make_release(root: Path, items: int, pictures: int) -> None:
    """Write ``items`` questions on so many pictures, those of one picture one after another."""
    rng = np.random.default_rng(1)
    folder = root / "BENCH"
    (folder / "images").mkdir(parents=True)
    for number in range(pictures):
        # 2048 x 2048 only where few pictures are asked often; thousands of them fill a disk.
        side = _SIDES[number % len(_SIDES)] if pictures <= 100 else 256
        noise = rng.integers(0, _LEVELS, (side, side), dtype=np.uint8)
        Image.fromarray(noise + 100).save(folder / "images" / f"{number}.png", compress_level=1)
    rows = [_row(number, f"images/{number * pictures // items}.png") for number in range(items)]
    (folder / "test.json").write_text(json.dumps(rows), encoding="utf-8")


def _row(number: int, image: str) -> dict[str, object]:
    options = ("Normal", "Mass", "Edema", "Fracture")
    return {
        "id": f"q{number}",
        "dataset": "BENCH",
        "image_path": image,
        "question": f"What does the picture show, in question number {number}?",
        **{f"option_{letter}": text for letter, text in zip("ABCD", options, strict=True)},
        "gt_answer": options[number % 4],
        "correct_index": number % 4,
        "task": "Disease Diagnosis",
        "modality": "X-ray",
        "parts": "Chest",
        "original_task": "classification",
        "restricted": False,
    }

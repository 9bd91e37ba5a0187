"""Made-up releases: one with images as large as the published ones, one with many items.

Images of the first have the sizes of the published release, and at least its 335 kB each. Those
of the second are tiny; its tables beside ``test.json`` are written by the release's own writers.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from PIL import Image

from medrcube.release_format.item_facts import ItemFacts, write_item_facts
from medrcube.release_format.rows import LETTERS

_SIDES = (512,) * 6 + (1024,) * 3 + (2048,)
_LEVELS = 4
"""Grey values of the noise; decides how far an image can be compressed."""

_SOURCES = (
    ("CHEST", "X-ray", "Chest", ("Atelectasis", "Cardiomegaly", "Edema", "Consolidation")),
    ("HEAD", "MRI", "Brain", ("Glioma", "Meningioma", "Pituitary tumour", "No tumour")),
    ("BREAST", "Ultrasound", "Breast", ("Cyst", "Fibroadenoma", "Carcinoma")),
    ("LUNGS", "CT", "Lungs", ("Nodule", "No nodule")),
)
_TASKS = ("Disease Diagnosis", "Abnormality Diagnosis", "Organ Recognition")
_OF_PICTURE, _OF_PATIENT = 5, 10
"""Items about one image, and about one patient."""


def make_release(root: Path, items: int, pictures: int) -> None:
    """Write ``items`` questions on so many images, those of one image one after another."""
    rng = np.random.default_rng(1)
    folder = root / "BENCH"
    (folder / "images").mkdir(parents=True)
    for number in range(pictures):
        # 2048 x 2048 only where few images are asked often; thousands of them fill a disk.
        side = _SIDES[number % len(_SIDES)] if pictures <= 100 else 256
        noise = rng.integers(0, _LEVELS, (side, side), dtype=np.uint8)
        Image.fromarray(noise + 100).save(folder / "images" / f"{number}.png", compress_level=1)
    rows = [_row(number, f"images/{number * pictures // items}.png") for number in range(items)]
    (folder / "test.json").write_text(json.dumps(rows), encoding="utf-8")


def _row(
    number: int,
    image: str,
    options: tuple[str, ...] = ("Normal", "Mass", "Edema", "Fracture"),
) -> dict[str, object]:
    key = number % len(options)
    return {
        "id": f"q{number}",
        "dataset": "BENCH",
        "image_path": image,
        "question": f"What does the picture show, in question number {number}?",
        **{f"option_{letter}": text for letter, text in zip(LETTERS, options, strict=False)},
        "gt_answer": options[key],
        "correct_index": key,
        "task": "Disease Diagnosis",
        "modality": "X-ray",
        "parts": "Chest",
        "original_task": "classification",
        "restricted": False,
    }


def make_large_release(root: Path, items: int) -> None:
    """Write ``items`` questions of four sources, each with a patient and a fact of its own."""
    facts = []
    for place, (dataset, modality, parts, options) in enumerate(_SOURCES):
        folder = root / dataset
        (folder / "images").mkdir(parents=True)
        rows = []
        for number in range(place, items, len(_SOURCES)):
            at = number // len(_SOURCES)
            image = f"images/{dataset.lower()}_{at // _OF_PICTURE:06}.png"
            if at % _OF_PICTURE == 0:
                _write_tiny(folder / image, number)
            name = _digest("item", number)
            task = _TASKS[at % _OF_PICTURE % len(_TASKS)]
            axes = {"task": task, "modality": modality, "parts": parts}
            rows.append({**_row(number, image, options), "id": name, "dataset": dataset, **axes})
            facts.append(
                ItemFacts(
                    dataset=dataset,
                    id=name,
                    visible="yes",
                    block=f"block-{_digest('block', number // 100)}",
                    unit=f"patient-{_digest(dataset, at // _OF_PATIENT)}",
                    fact=_digest("fact", number),
                )
            )
        (folder / "test.json").write_text(json.dumps(rows, indent=2), encoding="utf-8")
    write_item_facts(root, facts)


def _write_tiny(path: Path, number: int) -> None:
    grey = np.frombuffer(hashlib.sha512(str(number).encode()).digest(), np.uint8).reshape(8, 8)
    Image.fromarray(grey).save(path)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

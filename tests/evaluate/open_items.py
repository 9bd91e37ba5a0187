"""A release with one item of each answer form beside items with options, made by hand."""

from __future__ import annotations

import json

MASK = {"size": [8, 8], "counts": [18, 2, 6, 2, 36]}
"""Columns 2 and 3, rows 2 and 3 of an image of 8 x 8 pixels."""

FORMS = {
    "number": {"ask": {"unit": "mm"}, "truth": {"value": 23.0, "low": 19.0, "high": 27.0}},
    "point": {
        "ask": {},
        "truth": {"size": [8, 8], "region": {"mask": MASK}, "margin": 0.5},
    },
    "box": {"ask": {}, "truth": {"size": [8, 8], "box": [2, 2, 4, 4], "iou": 0.5}},
    "order": {
        "ask": {"labels": ["Panel A", "Panel B", "Panel C"]},
        "truth": {"order": ["Panel B", "Panel A", "Panel C"]},
    },
    "pair": {
        "ask": {"statements": ["There is a nodule.", "There is an effusion."]},
        "truth": {"answers": [True, False]},
    },
}
"""``ask`` and ``truth`` of each form."""

CHANCE = {"number": 0.3, "point": 0.1, "box": 0.05, "order": 1 / 6, "pair": 0.25}

RIGHT = {
    "number": "The bar is 20 mm, so the nodule is larger.\n\nAnswer: 2.3 cm",
    "point": "(375, 375)",
    "box": "[250, 250, 500, 500]",
    "order": "1. Panel B\n2. Panel A\n3. Panel C",
    "pair": "1. Yes, 2. No",
}
WRONG = {
    "number": "2.3 mm",
    "point": "(0.375, 0.375)",
    "box": "[2, 2, 4, 4]",
    "order": "Panel C, Panel A, Panel B",
    "pair": "no, yes",
}
"""Replies that are right, and such as another convention would make right."""


def open_row(form, number=0, **changes):
    """A row of ``open.json``."""
    return {
        "id": f"{form}-{number}",
        "dataset": "ALPHA",
        "image_path": f"pictures/p{number}.png",
        "question": f"Which {form} answers question {number}?",
        "form": form,
        **FORMS[form],
        "chance": CHANCE[form],
        "task": "Disease Diagnosis",
        "modality": "X-ray",
        "parts": "Chest",
        "original_task": None,
        "restricted": False,
        **changes,
    }


def write_open(release, rows, folder="ALPHA"):
    """Put rows beside the ``test.json`` of a source."""
    (release / folder / "open.json").write_text(json.dumps(rows), encoding="utf-8")
    return release

"""Figures behind the audit page: patients, the cube, scores with their bounds."""

import pytest

from medrcube.build.audit.charts import cube_cells, score_bands
from medrcube.build.audit.release_audit import patient_overlap
from medrcube.taxonomy import Anatomy, Modality, Task


def test_patients_are_counted_within_their_source():
    def sample(name, source, patient):
        fields = {"id": name, "source": source, "patient": patient}
        return type("Picture", (), fields)()

    pictures = {
        entry.id: entry
        for entry in (sample("a", "x", "p"), sample("b", "x", "q"), sample("c", "y", "p"))
    } | {"d": sample("d", "y", "")}
    items = [type("Question", (), {"sample": name})() for name in "aaabcd"]
    assert patient_overlap(items, pictures) == {
        "items": 5,
        "unknown": 1,
        "patients": 3,
        "most": 3,
        "spread": {"1": 2, "3": 1},
        "sources": {
            "x": {"patients": 2, "most": 3, "share": 0.75},
            "y": {"patients": 1, "most": 1, "share": 0.5},
        },
    }


def test_cells_are_shaded_by_their_number_and_planned_ones_without_items_are_shown():
    profile = {"cells": {"Brain / CT / Organ Recognition": {"planned": 7}}}
    panels = dict(cube_cells({"Brain / MRI / ROI Grounding": 30}, profile))
    place = list(Anatomy).index(Anatomy("Brain"))
    cell = dict(panels[Modality("MRI")])[Task("ROI Grounding")][place]
    assert (cell.items, cell.planned, cell.shade) == (30, 0, 4)
    empty = dict(panels[Modality("CT")])[Task("Organ Recognition")][place]
    assert (empty.items, empty.planned, empty.shade) == (0, 7, 0)
    assert dict(panels[Modality("X-ray")])[Task("Organ Recognition")][place] is None


def test_a_score_stays_on_its_scale_and_a_missing_one_has_no_place():
    row = {"task": "t", "n": 3, "accuracy": 0.9, "se": 0.2, "chance": 0.5, "threshold": 1.1}
    (band,) = score_bands([{**row, "within": True}])
    assert (band.low, band.high, band.most) == (pytest.approx(0.5), 1.0, 1.0)
    none = dict.fromkeys(("accuracy", "se", "threshold", "within"))
    assert score_bands([{**row, **none}])[0].score is None
    assert score_bands([{"p": 0.5, "within": True}]) == []

"""Numbers of the measurement tasks against raw files, measured by nibabel, Pillow and scipy."""

import csv
from itertools import product

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.ndimage import label
from scipy.spatial.distance import pdist

from medrcube.build.open_items.question import CaseView
from medrcube.build.open_items.rule_files import open_questions
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.stages.geometry_table import GEOMETRY, Geometry
from medrcube.build.stages.samples import samples_from_frame
from medrcube.forms import form_of
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
AXES = {"sagittal": 0, "coronal": 1, "axial": 2}


@pytest.fixture(scope="module")
def ask_fixture(built_layout):
    """What a task asks of a fixture, with its cases: ``ask_fixture(task, source)``."""

    def ask(task, name):
        source = find_sources()[name]
        layout = source.card.layouts[0].name
        workspace = built_layout(name, layout)
        root = workspace.sources[name]
        samples = samples_from_frame(pd.read_parquet(workspace.samples))
        table = pd.read_parquet(workspace.geometry)[list(GEOMETRY.file_schema.names)].to_dict(
            "records"
        )
        rows = [
            Geometry(**{**row, "mm_per_pixel": row["mm_per_pixel"] if row["scale"] else None})
            for row in table
        ]
        terms, entries = load_terms(), []
        for case in source.scan(root, layout):
            if not hasattr(case, "images"):
                continue
            view = CaseView(
                task=Task(task),
                card=source.card,
                case=case,
                facts=facts_of_case(source.card, case, terms),
                samples=tuple(sample for sample in samples if sample.case == case.key),
                geometry=tuple(row for row in rows if row.case == case.key),
                terms=terms,
                relations=load_relations(),
            )
            entries += [
                (case, question) for question in open_questions(view) if not question.bar_reason
            ]
        return root, entries

    return ask


def slice_in_mm(path, values, plane, frame):
    """Corners in mm of every marked pixel of a slice, and whether the marks are in one piece.

    Slices of a volume are counted in its closest canonical form, from the patient's left, back and
    feet; a sagittal or coronal picture counts from the other side.
    """
    volume = nib.as_closest_canonical(nib.load(path))
    marked = np.isin(np.rint(np.asarray(volume.dataobj)), values or range(1, 256))
    axis = AXES[plane]
    at = frame if plane == "axial" else marked.shape[axis] - 1 - frame
    flat = marked.take(at, axis=axis)
    sides = [float(size) for n, size in enumerate(volume.header.get_zooms()[:3]) if n != axis]
    middles = [(0, 0.5), (1, 0.5), (0.5, 0), (0.5, 1)]
    points = np.argwhere(flat)[:, None] + np.array(middles)
    pieces = label(flat, np.ones((3, 3)))[1]
    return points.reshape(-1, 2) * sides, pieces, max(sides)


@pytest.mark.parametrize("name", ["msd-lung", "isles2022", "brats2021"])
def test_diameters_are_those_of_the_raw_masks(ask_fixture, name):
    _, questions = ask_fixture("Longest Diameter", name)
    checked = 0
    for case, question in questions:
        [region] = [
            region
            for region in case.regions
            if find_sources()[name].card.fields[region.field].concept(region.value)
            == question.concept
        ]
        plane = case.plane or find_sources()[name].card.pixels.plane
        shape = region.shape
        if shape.drawn_on is not None:
            continue
        points, pieces, side = slice_in_mm(
            shape.paths[0], shape.values, plane, int(question.sample.frames)
        )
        assert pieces == 1
        longest, target = pdist(points).max(), question.target
        assert target.value == pytest.approx(longest, abs=side)
        score = form_of(target).score
        assert score(longest, target).passed
        assert not score(longest * 1.5, target).passed
        assert not score(longest / 1.5, target).passed
        assert not score(longest * 10, target).passed
        checked += 1
    assert checked


def test_cardiothoracic_ratios_are_those_of_the_raw_masks(ask_fixture):
    root, questions = ask_fixture("Cardiothoracic Ratio", "jsrt")
    assert questions
    for case, question in questions:
        extents = {}
        for part, fold in product(("heart", "left lung", "right lung"), ("fold1", "fold2")):
            for path in root.rglob(f"{fold}/masks/{part}/{case.key}.gif"):
                with Image.open(path) as mask:
                    columns = np.flatnonzero(np.asarray(mask.convert("L")).any(axis=0))
                extents[part] = (columns[0], columns[-1] + 1)
        heart = extents["heart"][1] - extents["heart"][0]
        lungs = [extents["left lung"], extents["right lung"]]
        chest = max(right for _, right in lungs) - min(left for left, _ in lungs)
        assert question.target.value == pytest.approx(heart / chest, abs=0.0006)
        assert not form_of(question.target).score(0.05 + heart / chest, question.target).passed


@pytest.mark.parametrize(
    ("task", "name", "table", "key", "column"),
    [
        ("Ejection Fraction", "echonet-dynamic", "FileList.csv", "FileName", "EF"),
        (
            "Head Circumference",
            "hc18",
            "training_set_pixel_size_and_HC.csv",
            "filename",
            "head circumference (mm)",
        ),
    ],
)
def test_stated_numbers_are_those_of_the_raw_table(ask_fixture, task, name, table, key, column):
    root, questions = ask_fixture(task, name)
    [path] = root.rglob(table)
    with path.open(newline="") as file:
        stated = {row[key].partition(".")[0]: float(row[column]) for row in csv.DictReader(file)}
    assert questions
    for case, question in questions:
        of_case = stated[case.key.rpartition("/")[2].removesuffix("-ED-ES")]
        assert question.target.value == pytest.approx(of_case, abs=0.006)
        assert question.target.low < of_case < question.target.high

"""Keys of the tasks of sides and of compared images, against raw volumes read by nibabel alone.

In the closest canonical form (RAS+) the first axis runs from the patient's left to the right; in an
axial or coronal picture it runs from the right edge to the left one.
"""

from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from medrcube.build.execution.local import LocalEngine
from medrcube.build.open_items.question import CaseView, OpenQuestion
from medrcube.build.open_items.rule_files import open_questions
from medrcube.build.pipeline import build
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.stages.geometry_table import Geometry
from medrcube.build.stages.samples import samples_from_frame
from medrcube.build.stages.scan import scan
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task
from medrcube.workspace import WorkspaceFolder

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
HEART = {"LV": 500, "RV (structure)": 600, "LA": 420, "RA": 550, "MYO": 205, "AO": 820}
HEART |= {"PA (structure)": 850}
TUMOR = {"NCR": (1,), "ED": (2,), "ET": (4,), "TC": (1, 4), "WT": (1, 2, 4)}
SEQUENCES = {"T1": "t1", "T1c": "t1ce", "T2": "t2", "FLAIR": "flair"}
GAP = 8
PANEL = 224


@dataclass(frozen=True)
class ImageQuestion:
    """One question, and the image that it is asked of."""

    question: OpenQuestion
    case: str
    frames: str
    artefact: str
    image: Path

    @property
    def concept(self):
        return self.question.concept

    @property
    def answer(self):
        """Text of the right option."""
        return dict(self.question.target.options)[self.question.target.key]


@pytest.fixture(scope="module")
def side_questions(tmp_path_factory):
    """Raw root, and what each task asks of two sources: ``questions_on("Patient Side")``."""
    root = tmp_path_factory.mktemp("sides")
    sources = {name: find_sources()[name] for name in ("mmwhs", "brats2021")}
    roots = {name: root / "raw" / name for name in sources}
    for name, source in sources.items():
        source.build_fixture(roots[name], source.card.layouts[0].name)
    workspace = WorkspaceFolder(
        root=root / "workspace", sources=roots, settings=BuildSettings(viewer=False)
    )
    (workspace.root / "cache").mkdir(parents=True)
    build(workspace, sources, LocalEngine(1), Reporter(quiet=True))
    samples = samples_from_frame(pd.read_parquet(workspace.samples))
    table = pd.read_parquet(workspace.geometry).to_dict("records")
    rows = [Geometry(**row) for row in table]

    def questions_on(task):
        for name, source in sources.items():
            for case in scan(source, roots[name], bytes(32)).cases:
                own_samples = (s for s in samples if (s.source, s.case) == (name, case.key))
                view = CaseView(
                    task=Task(task),
                    card=source.card,
                    case=case,
                    facts=facts_of_case(source.card, case, load_terms()),
                    samples=tuple(sorted(own_samples, key=lambda sample: sample.id)),
                    geometry=tuple(r for r in rows if (r.source, r.case) == (name, case.key)),
                    terms=load_terms(),
                    relations=load_relations(),
                )
                for question in open_questions(view):
                    sample = question.sample
                    if not question.bar_reason:
                        yield ImageQuestion(
                            question=question,
                            case=case.key,
                            frames=sample.frames,
                            artefact=sample.artefact,
                            image=workspace.root / sample.image,
                        )

    return root / "raw", questions_on


def of_task(side_questions, task):
    raw, questions_of = side_questions
    items = list(questions_of(task))
    assert items
    return raw, items


def slice_of(path, plane, frame):
    """A slice as displayed, rows from the top and columns from the left."""
    values = np.asarray(nib.as_closest_canonical(nib.load(path)).dataobj)
    if plane == "axial":
        return values[::-1, ::-1, frame].T
    return values[::-1, values.shape[1] - 1 - frame, ::-1].T


def one_file(root, pattern):
    return min(root.rglob(pattern))  # a copy of a file holds the same


def test_what_lies_to_the_left_has_the_smaller_mean_column_in_the_raw_labels(side_questions):
    raw, items = of_task(side_questions, "Relative Position")
    combinations = set()
    for item in items:
        key, _, plane = item.case.rpartition("-")
        if plane == "sagittal":
            continue
        labels = slice_of(one_file(raw / "mmwhs", f"{key}_label.nii*"), plane, int(item.frames))
        target, other = item.concept, item.question.stratum[-1]
        here, there = (np.nonzero(labels == HEART[name])[1].mean() for name in (target, other))
        is_left = (here < there) != (item.artefact == "mirrored")
        assert item.answer == f"To the {'left' if is_left else 'right'} in the image"
        combinations.add((plane, item.artefact, is_left))
    assert len(combinations) >= 6


def test_a_mirrored_image_is_the_clean_one_turned_about(side_questions):
    _, items = of_task(side_questions, "Relative Position")
    images = {
        (item.case, item.frames, item.artefact): np.asarray(Image.open(item.image))
        for item in items
    }
    mirrored = [place for place in images if place[2] == "mirrored"]
    assert mirrored
    for case, frames, artefact in mirrored:
        clean = images[case, frames, "clean"]
        image = images[case, frames, artefact]
        height, width = image.shape[:2]
        rows, columns = np.nonzero((image != clean[:, ::-1]).reshape(height, width, -1).any(axis=2))
        in_corner = (np.minimum(rows, height - 1 - rows) < height / 4) & (
            np.minimum(columns, width - 1 - columns) < width / 4
        )
        assert in_corner.all()  # a mark in the air of a corner stays where it is
        assert np.array_equal(image[rows, columns], clean[rows, columns])


def test_what_lies_on_a_side_lies_there_as_a_whole_in_the_raw_volume(side_questions):
    raw, items = of_task(side_questions, "Patient Side")
    assert {item.answer for item in items} == {
        "The patient's left side",
        "The patient's right side",
    }
    for item in items:
        patient, _, plane = item.case.split("-")
        head, labels = (
            slice_of(one_file(raw / "brats2021", f"{patient}_{name}.nii*"), plane, int(item.frames))
            for name in ("flair", "seg")
        )
        columns = np.flatnonzero((head > 0).any(axis=0))
        middle = (columns[0] + columns[-1]) / 2
        marked = np.nonzero(np.isin(labels, TUMOR[item.concept]))[1]
        assert (marked < middle).all() or (marked > middle).all()
        side = "right" if marked.mean() < middle else "left"  # the viewer faces the patient
        assert item.answer == f"The patient's {side} side"


def test_the_image_asked_for_is_the_slice_of_its_sequence(side_questions):
    raw, items = of_task(side_questions, "Which Image")
    for item in items:
        patient = item.case.partition("-")[0]
        picture = np.asarray(Image.open(item.image).convert("L")).astype(float)
        number = int(item.answer.removeprefix("Image "))
        frame = int(item.frames.split("+")[0])
        likeness = {}
        for concept, name in SEQUENCES.items():
            pixels = slice_of(one_file(raw / "brats2021", f"{patient}_{name}.nii*"), "axial", frame)
            times = -(-PANEL // min(pixels.shape))  # each pixel is shown so many times
            pixels = pixels.repeat(times, axis=0).repeat(times, axis=1)
            height, width = pixels.shape
            columns = (picture.shape[1] + GAP) // (width + GAP)
            row, column = divmod(number - 1, columns)
            rows = picture.shape[0] // height
            bottom = (picture.shape[0] + GAP) // rows * (row + 1) - GAP
            left = column * (width + GAP)
            panel = picture[bottom - height : bottom, left : left + width]
            likeness[concept] = np.corrcoef(panel.ravel(), pixels.ravel())[0, 1]
        assert max(likeness, key=likeness.get) == item.concept


def test_a_constant_answer_is_right_half_of_the_time_and_never_in_a_set(side_questions):
    """So the longest option, the textbook and any reader of words alone score 0 in sets."""
    _, items = of_task(side_questions, "Relative Position")
    answers = {}
    for item in items:
        answers.setdefault(item.question.stratum, []).append(item.answer)
    assert {len(own) for own in answers.values()} == {2}
    assert all(first != second for first, second in answers.values())

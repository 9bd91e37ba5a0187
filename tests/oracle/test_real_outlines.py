"""Diameters and sides of real outlines: readings of LIDC-IDRI over slices drawn for them.

The samples hold the readings of real scans without their images, so that a body is drawn under each
outline, in the frame of 512 pixels in which readers drew. What the readings say is read here from
the XML alone.
"""

import shutil
import xml.etree.ElementTree as ET
from itertools import count

import numpy as np
import pandas as pd
import pydicom
import pytest
from scipy.spatial.distance import pdist

from medrcube.build.execution.local import LocalEngine
from medrcube.build.open_items.question import CaseView
from medrcube.build.open_items.rule_files import open_questions
from medrcube.build.pipeline import build
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.stages.geometry_table import GEOMETRY, Geometry
from medrcube.build.stages.samples import samples_from_frame
from medrcube.console.progress import Reporter
from medrcube.forms import form_of
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources._synthetic.images import write_dicom
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task
from medrcube.workspace import BuildSettings, WorkspaceFolder

pytestmark = [pytest.mark.thorough, pytest.mark.untraced, pytest.mark.real]
SIDE, MM = 512, 0.7
SPREAD = 3 * MM
"""By how much the outermost points of an outline may lie off the pixels inside of it."""
TASKS = ("Longest Diameter", "Patient Side")


def outlines_of(path):
    """Series of a reading of CT and, of each slice, its height and the points of each outline."""
    tree = ET.parse(path).getroot()  # noqa: S314 - readings that were looked through
    name = tree.tag.partition("}")[0] + "}"
    if not tree.tag.endswith("LidcReadMessage"):
        return "", {}
    slices = {}
    for roi in tree.iter(f"{name}roi"):
        height = roi.findtext(f"{name}imageZposition")
        uid = roi.findtext(f"{name}imageSOP_UID")
        points = [
            (int(edge.findtext(f"{name}xCoord")), int(edge.findtext(f"{name}yCoord")))
            for edge in roi.iter(f"{name}edgeMap")
        ]
        if len(points) > 2:
            slices.setdefault(uid.strip(), (float(height), []))[1].append(np.array(points))
    return tree.findtext(f".//{name}SeriesInstanceUid").strip(), slices


def body():
    """Hounsfield units of a trunk with two lungs."""
    y, x = (np.mgrid[:SIDE, :SIDE] - SIDE / 2) / SIDE
    units = np.where((x / 0.46) ** 2 + (y / 0.36) ** 2 < 1, 40, -1000)
    for side in (-0.2, 0.2):
        units[((x - side) / 0.17) ** 2 + (y / 0.27) ** 2 < 1] = -850
    return units.astype(np.int16)


def write_scan(folder, uid, slices):
    """One file for each slice with an outline, at its height."""
    heights = sorted({height for height, _ in slices.values()})
    steps = np.diff(heights)
    for number, (slice_uid, (height, lines)) in zip(count(1), slices.items(), strict=False):
        units = body()
        for line in lines:
            (left, top), (right, bottom) = line.min(axis=0), line.max(axis=0)
            units[top : bottom + 1, left : right + 1] = 30
        write_dicom(
            folder / f"{number:06}.dcm",
            units,
            Modality="CT",
            SeriesInstanceUID=uid,
            SOPInstanceUID=slice_uid,
            PixelRepresentation=1,
            RescaleSlope=1,
            RescaleIntercept=0,
            PixelSpacing=[MM, MM],
            SliceThickness=float(steps.min()) if len(steps) else 2.5,
            ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
            ImagePositionPatient=[-SIDE * MM / 2, -SIDE * MM / 2, height],
        )


@pytest.fixture(scope="module")
def outline_questions(real_raw, tmp_path_factory):
    """Task -> questions that may be asked, each with the outlines on its slice."""
    paths = sorted((real_raw / "LIDC-IDRI").rglob("*.xml"))
    if not paths:
        pytest.skip(f"no readings of LIDC-IDRI below {real_raw}")
    root, lines = tmp_path_factory.mktemp("lidc"), {}
    for number, path in enumerate(paths, 1):
        uid, slices = outlines_of(path)
        if slices:
            patient = root / "raw/LIDC-IDRI" / f"LIDC-IDRI-{number:04}"
            folder = patient / "study" / uid
            write_scan(folder, uid, slices)
            shutil.copyfile(path, folder / path.name)
            lines |= {uid: points for uid, (_, points) in slices.items()}
    source = find_sources()["lidc-idri"]
    workspace = WorkspaceFolder(
        root=root / "workspace",
        sources={"lidc-idri": root / "raw"},
        settings=BuildSettings(even_keys=False, viewer=False),
    )
    (workspace.root / "cache").mkdir(parents=True)
    build(workspace, {"lidc-idri": source}, LocalEngine(1), Reporter(quiet=True))
    samples = samples_from_frame(pd.read_parquet(workspace.samples))
    table = pd.read_parquet(workspace.geometry)[list(GEOMETRY.file_schema.names)].to_dict("records")
    rows = [Geometry(**row) for row in table]
    entries = {task: [] for task in TASKS}
    for case in source.scan(root / "raw", "classic"):
        if not hasattr(case, "images"):
            continue
        own = tuple(row for row in rows if row.case == case.key)
        uid = pydicom.dcmread(case.images[0].paths[0], stop_before_pixels=True).SOPInstanceUID
        for task in TASKS:
            view = CaseView(
                task=Task(task),
                card=source.card,
                case=case,
                facts=facts_of_case(source.card, case, load_terms()),
                samples=tuple(sample for sample in samples if sample.case == case.key),
                geometry=own,
                terms=load_terms(),
                relations=load_relations(),
            )
            for question in open_questions(view):
                if not question.bar_reason:
                    place = (own[0].centroid_x, own[0].centroid_y)
                    around = [line for line in lines[uid] if _is_around(line, place)]
                    entries[task].append((question, around))
    return entries


def _is_around(line, place):
    return (line.min(axis=0) <= place).all() and (place <= line.max(axis=0)).all()


def test_a_diameter_lies_between_those_of_the_readers_and_its_band_holds_them_all(
    outline_questions,
):
    checked = outline_questions["Longest Diameter"]
    assert len(checked) >= 5
    for question, lines in checked:
        target = question.target
        lengths = [pdist(line).max() * MM for line in lines]
        assert len(lengths) >= 3
        assert min(lengths) - SPREAD <= target.value <= max(lengths) + SPREAD
        assert target.low <= min(lengths)
        assert max(lengths) - SPREAD <= target.high
        score = form_of(target).score
        assert not score(2 * max(lengths), target).passed
        assert not score(min(lengths) / 2, target).passed


def test_the_side_is_that_on_which_every_reader_drew(outline_questions):
    checked = outline_questions["Patient Side"]
    assert len(checked) >= 5
    for question, lines in checked:
        # Columns run from the patient's right to the left.
        sides = {"right" if line[:, 0].max() < SIDE / 2 else "left" for line in lines}
        assert sides == {question.role}
        assert dict(question.target.options)[question.target.key].endswith(f"{question.role} side")
    assert {question.role for question, _ in checked} == {"left", "right"}

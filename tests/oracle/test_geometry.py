"""``geometry.parquet`` against raw masks, read and measured by nibabel, scipy and SimpleITK alone.

Pictures of a volume are found in its closest canonical form (RAS+), whose axial picture is mirrored
in both axes: rows run from anterior to posterior, columns from the patient's right to the left.
"""

import csv
import math

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
import SimpleITK
from PIL import Image
from scipy.spatial import ConvexHull
from scipy.spatial.distance import pdist

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.pixels.volume import Volume
from medrcube.build.regions.measure import measure
from medrcube.build.regions.rasterize import rasterise
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.facts import MaskFile, Outline, Polygons
from medrcube.sources._formats.annotations.lidc_xml import SeriesReading, read_reading
from medrcube.sources._framework.contract import load_source
from medrcube.sources.registry import find_sources
from medrcube.workspace import WorkspaceFolder

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
EDGES = np.array([(0, 0.5), (1, 0.5), (0.5, 0), (0.5, 1)])

CARD = """\
id = "hippocampus"
title = "Hippocampus of the Medical Segmentation Decathlon"
homepage = "https://example.org/hippocampus"
release = "1.0"
images = 260
citation = "@misc{hippocampus, title={Hippocampus}}"

[access]
mode = "open"
licence = "CC-BY-SA-4.0"
redistribute = true
basis = { says = "CC BY-SA 4.0", place = "https://example.org/hippocampus" }
steps = ["Download it."]

[[layout]]
name = "samples"
expect = { "TrainingSet/*/*.nii.gz" = 520 }

[case]
anatomy = "Brain"
modality = "MRI"
patient = "unknown"
tasks = ["Modality Recognition", "ROI Grounding"]

[pixels]
window = "percentile:1-99"
slice = "largest-mask"
plane = "coronal"

[geometry]
orientation = "proved"
scale = "object"
[geometry.reasons]
orientation = { reason = "a test", evidence = "a test" }
scale = { reason = "a test", evidence = "a test" }

[[field]]
name = "part"
kind = "structure"
absence = "implied"
values = { 1 = "hippocampus", 2 = "temporal lobe" }
"""
ADAPTER = """\
from medrcube.facts import Case, ImageRef, MaskFile, Region

def cases(root, layout):
    for image in sorted(root.glob("TrainingSet/images/*.nii.gz")):
        mask = image.parents[1] / "labels" / image.name
        if mask.exists():
            yield Case(
                key=image.name.partition(".")[0],
                images=(ImageRef(paths=(image,)),),
                regions=tuple(
                    Region(
                        field="part", value=str(value), evidence="label",
                        shape=MaskFile(paths=(mask,), values=(value,)),
                    )
                    for value in (1, 2)
                ),
            )
"""


def build_geometry(source, root, workspace_root):
    """The table of a build, and the cases by key."""
    workspace = WorkspaceFolder(
        root=workspace_root,
        sources={source.id: root},
        settings=BuildSettings(even_keys=False, viewer=False),
    )
    (workspace.root / "cache").mkdir(parents=True)
    build(workspace, {source.id: source}, LocalEngine(1), Reporter(quiet=True))
    samples = pd.read_parquet(workspace.samples).set_index("id")
    table = pd.read_parquet(workspace.geometry)
    return table.join(samples[["frames", "image"]], on="sample")


def canonical_slice(path, values, plane, frame):
    """Marks of a picture, mm of its pixels, and its column -> mm to the patient's right."""
    volume = nib.as_closest_canonical(nib.load(path))
    labels = np.asarray(volume.dataobj)
    marked = np.isin(np.rint(labels), values) if values else labels > 0
    x_mm, y_mm, z_mm = volume.header.get_zooms()[:3]
    if plane == "axial":
        picture, size, middle = marked[::-1, ::-1, frame].T, (y_mm, x_mm), (0, frame)
    else:
        at = marked.shape[1] - 1 - frame
        picture, size, middle = marked[::-1, at, ::-1].T, (z_mm, x_mm), (at, 0)

    def rightwards(column):
        voxel = (marked.shape[0] - column - 0.5, *middle)
        return float(nib.affines.apply_affine(volume.affine, voxel)[0])

    return np.ascontiguousarray(picture), size, rightwards


def check_region(row, picture, size):
    """One row against the marks of its picture."""
    labels = SimpleITK.GetImageFromArray(picture.astype(np.uint8))
    shape = SimpleITK.LabelShapeStatisticsImageFilter()
    shape.ComputeFeretDiameterOn()
    shape.Execute(labels)
    x, y, width, height = shape.GetBoundingBox(1)
    assert (row.x0, row.y0, row.x1, row.y1) == (x, y, x + width, y + height)
    assert row.pixels == shape.GetNumberOfPixels(1)
    centre = np.array(shape.GetCentroid(1)) + 0.5
    assert (row.centroid_x, row.centroid_y) == pytest.approx(centre, abs=1e-3)
    assert picture[row.inside_y, row.inside_x]
    # SimpleITK measures from centre to centre, here it is from edge to edge.
    assert 0 < row.longest - shape.GetFeretDiameter(1) <= math.sqrt(2)
    rows, columns = np.nonzero(picture)
    points = (np.column_stack([columns, rows])[:, None] + EDGES).reshape(-1, 2)
    hull = ConvexHull(points)
    assert row.longest == pytest.approx(pdist(points[hull.vertices]).max(), abs=1e-3)
    assert row.hull == pytest.approx(hull.area, abs=1e-3)
    components = SimpleITK.ConnectedComponentImageFilter()
    components.FullyConnectedOn()
    components.Execute(labels)
    assert row.pieces == components.GetObjectCount()
    if row.scale:
        assert row.mm_per_pixel == pytest.approx(np.mean(size), rel=0.01)


def check_side(row, rightwards):
    """The patient's side of one row against the place of its centroid in space."""
    to_the_right = rightwards(row.centroid_x) - rightwards(row.midline)
    assert row.side == ("right" if to_the_right > 0 else "left" if to_the_right < 0 else "")
    ends = [rightwards(end) - rightwards(row.midline) for end in (row.x0, row.x1)]
    whole = row.side if min(ends) * max(ends) >= 0 else "both"
    assert row.whole_side == whole


@pytest.mark.parametrize("name", ["brats2021", "isles2022", "msd-lung", "mosmed-covid19"])
def test_regions_of_fixtures_are_those_of_their_raw_masks(name, tmp_path):
    source = find_sources()[name]
    layout = source.card.layouts[0].name
    root = tmp_path / "raw"
    source.build_fixture(root, layout)
    cases = {case.key: case for case in source.scan(root, layout) if hasattr(case, "images")}
    table = build_geometry(source, root, tmp_path / "workspace")
    assert (table["orientation"] == "proved").any() == (name in {"brats2021", "isles2022"})
    checked = sides = 0
    for row in table.itertuples():
        case = cases[row.case]
        shape, plane = case.regions[row.region].shape, case.plane or source.card.pixels.plane
        if not isinstance(shape, MaskFile) or len(shape.paths) > 1 or plane == "sagittal":
            continue
        if shape.drawn_on is not None:
            continue
        picture, size, rightwards = canonical_slice(
            shape.paths[0], shape.values, plane, int(row.frames)
        )
        if picture.shape != (row.height, row.width):  # stretched to square pixels
            continue
        check_region(row, picture, size)
        checked += 1
        if row.right_at:
            check_side(row, rightwards)
            sides += 1
    assert checked
    assert bool(sides) == (name in {"brats2021", "isles2022"})


@pytest.mark.real
def test_regions_of_the_hippocampus_are_those_of_its_raw_labels(tmp_path, reasoned, real_raw):
    root = real_raw / "MSD_Task04_Hippocampus"
    if not root.is_dir():
        pytest.skip(f"no hippocampus volumes at {root}")
    folder = tmp_path / "sources" / "hippocampus"
    folder.mkdir(parents=True)
    (folder / "card.toml").write_text(reasoned(CARD))
    (folder / "adapter.py").write_text(ADAPTER)
    table = build_geometry(load_source(folder), root, tmp_path / "workspace")
    assert len(table) >= 6
    for row in table.itertuples():
        path = root / "TrainingSet" / "labels" / f"{row.case}.nii.gz"
        picture, size, rightwards = canonical_slice(
            path, (row.region + 1,), "coronal", int(row.frames)
        )
        check_region(row, picture, size)
        check_side(row, rightwards)
        assert (row.mm_per_pixel, row.scale) == (1, "object")


@pytest.mark.real
def test_the_ellipse_of_a_fetal_head_has_its_stated_circumference(real_raw):
    """The masks hold the line itself, so they are larger by half its width all around."""
    root = real_raw / "HC18"
    if not root.is_dir():
        pytest.skip(f"no fetal heads at {root}")
    with (root / "training_set_pixel_size_and_HC.csv").open(newline="") as file:
        heads = {row["filename"]: row for row in csv.DictReader(file)}
    masks = sorted((root / "derived_filled_annotations").glob("*.png"))
    assert masks
    for path in masks:
        stated = heads[path.name.replace("_Annotation", "")]
        measured = measure(np.asarray(Image.open(path).convert("L")) > 127)
        pixel, head = float(stated["pixel size(mm)"]), float(stated["head circumference (mm)"])
        measured_head = measured.ellipse.circumference * pixel
        assert 0 < measured_head - head < 0.015 * head


@pytest.mark.real
def test_boxes_of_readers_lie_just_inside_the_lines_they_drew(real_raw):
    """A reader draws on the pixels just outside the nodule."""
    paths = sorted((real_raw / "LIDC-IDRI").rglob("*.xml"))
    if not paths:
        pytest.skip("no readings of LIDC-IDRI")
    checked = 0
    for reading in filter(lambda entry: isinstance(entry, SeriesReading), map(read_reading, paths)):
        for mark in reading.marks:
            for contour in mark.contours:
                if len(contour.points) < 8 or contour.hole:
                    continue
                checked += _check_line(contour.points)
    assert checked > 100


def _check_line(points):
    xs, ys = zip(*points, strict=True)
    line = Polygons(outlines=(Outline(points=points, edge=False),))
    mask = rasterise(line, Volume(slices=np.zeros((1, 512, 512), np.uint8)))[0]
    if not mask.any():
        return 0
    measured = measure(mask)
    x0, y0, x1, y1 = measured.box
    assert min(xs) < x0 <= x1 <= max(xs)
    assert min(ys) < y0 <= y1 <= max(ys)
    apart = max(math.dist(a, b) for a in points for b in points)
    assert measured.diameter < apart + math.sqrt(2)
    return 1

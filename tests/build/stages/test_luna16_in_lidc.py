"""LUNA16 and LIDC-IDRI in one build, where both hold the same scan."""

import json

import numpy as np
import pytest
import SimpleITK

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.facts import Grade, Visibility
from medrcube.sources._synthetic.chest_ct import chest, tumour
from medrcube.sources._synthetic.images import write_lines
from medrcube.sources.registry import find_sources
from medrcube.workspace import WorkspaceFolder

pytestmark = pytest.mark.thorough

UID = "1.3.6.1.4.1.14519.5.2.1.6279.6001.100225287222365663678670001"
SPACING = (2.0, 2.0, 3.0)


def _luna(root):
    """The scan of the second patient of the fixture of LIDC-IDRI, as LUNA16 holds it."""
    ball = tumour(seed=2)
    volume = chest(seed=2, tumour=ball)
    image = SimpleITK.GetImageFromArray(np.maximum(volume, -1024))  # as its DICOM files store it
    image.SetSpacing(SPACING)
    origin = (-volume.shape[2], -volume.shape[1], -120.0)
    image.SetOrigin(origin)
    (root / "subset0").mkdir(parents=True)
    SimpleITK.WriteImage(image, str(root / f"subset0/{UID}.mhd"))
    rows, columns = (np.flatnonzero(ball.any(axis=other)) for other in ((0, 2), (0, 1)))
    largest = int(ball.sum(axis=(1, 2)).argmax())  # the slice that the readings lead to
    at = [(columns[0] + columns[-1]) / 2, (rows[0] + rows[-1]) / 2, largest]
    place = [first + step * k for first, step, k in zip(origin, SPACING, at, strict=True)]
    line = ",".join(map(str, (UID, *place, 20.0)))
    head = "seriesuid,coordX,coordY,coordZ,diameter_mm"
    write_lines(root / "CSVFILES/annotations.csv", [head, line])
    marks = root / "evaluationScript/annotations/annotations_excluded.csv"
    write_lines(marks, [head, line])
    write_lines(root / "CSVFILES/seriesuids.csv", [UID])
    write_lines(root / "CSVFILES/candidates_V2.csv", ["seriesuid,coordX,coordY,coordZ,class"])


def test_the_scan_that_both_hold_is_declared_and_its_equal_slice_found(tmp_path):
    sources = {name: find_sources()[name] for name in ("lidc-idri", "luna16")}
    sources["lidc-idri"].build_fixture(tmp_path / "lidc", "classic")
    _luna(tmp_path / "luna")
    roots = {"lidc-idri": tmp_path / "lidc", "luna16": tmp_path / "luna"}
    settings = BuildSettings(
        evidence=Grade.C, items_per_cell=0, least_visible=Visibility.NO, even_keys=False
    )
    workspace = WorkspaceFolder(root=tmp_path / "work", sources=roots, settings=settings)
    workspace.root.mkdir()
    build(workspace, sources, LocalEngine(1), Reporter(quiet=True))
    (shared,) = json.loads(workspace.audit.read_text())["shared_images"]
    assert shared["sources"] == ["lidc-idri", "luna16"]
    assert shared["note"]
    assert shared["equal_pictures"] == 1

"""What a worker takes above an idle one: at most one volume, as stored, and 64 MB."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import deflate
import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from medrcube.build.plan import Artefact, Job
from medrcube.records import Case, ImageRef, MaskFile, Region
from medrcube.sources import phantoms
from medrcube.sources.card import PixelPolicy

MEGABYTE = 1 << 20
SLICES, ROWS, COLUMNS = 200, 512, 512
HEAVY = ("SimpleITK", "av", "h5py", "nibabel", "pandas", "pyarrow", "pydicom", "scipy")
WORKER = """
import pickle, sys
from importlib import import_module
from pathlib import Path
from medrcube.build.render import render_job

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

_, given, out, *readers = sys.argv
job = pickle.loads(Path(given).read_bytes())
for name in readers:
    import_module("medrcube.build.readers." + name)
idle = peak()
rendered = render_job(job, Path(out))
answer = {"taken": peak() - idle, "pictures": len(rendered.pictures), "modules": set(sys.modules)}
sys.stdout.buffer.write(pickle.dumps({**answer, "problems": rendered.problems}))
"""


@pytest.fixture
def worker(toy, tmp_path):
    """Render one image in a fresh process: ``worker(image, shapes, readers, window=..)``."""

    def run(image, shapes=(), readers=(), *, window="ct:lung"):
        regions = tuple(
            Region(field="region", value="g", shape=shape, evidence="a row") for shape in shapes
        )
        kinds = ("outline", "boxes") if shapes else ()
        job = Job(
            source="toy",
            folder=toy.folder,
            root=tmp_path,
            case=Case(key="a", images=(ImageRef(paths=(image,)),), regions=regions),
            concepts=tuple("glioma" for _ in regions),
            policy=PixelPolicy(
                window=window,
                slice="largest-mask" if shapes else "middle",
                plane="axial",
                orient="affine",
                spacing="header",
                colour="keep",
            ),
            plane="axial",
            artefacts=(
                Artefact(kind="clean"),
                *(Artefact(kind=kind, field="region", concept="glioma") for kind in kinds),
            ),
            name="a",
        )
        (tmp_path / "job").write_bytes(pickle.dumps(job))
        command = (sys.executable, "-c", WORKER, tmp_path / "job", tmp_path / "out", *readers)
        done = subprocess.run([str(part) for part in command], capture_output=True, check=True)
        answer = pickle.loads(done.stdout)  # noqa: S301  # written by the lines above
        assert not [problem for problem in answer["problems"] if problem.stage == "render"]
        return answer

    return run


linux = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux says how much a process took"
)


def write_volume(path, array):
    """A ``.nii.gz`` of ``(slices, rows, columns)``."""
    image = nib.Nifti1Image(array.T, np.diag([-0.7, -0.7, 1.25, 1.0]))
    path.write_bytes(bytes(deflate.gzip_compress(image.to_bytes(), 1)))
    return path


def ramp(kind):
    """A volume that is quick to pack."""
    array = np.empty((SLICES, ROWS, COLUMNS), kind)
    array[:] = np.arange(COLUMNS) - 900 + np.arange(SLICES)[:, None, None]
    return array


def lungs(kind):
    marked = np.zeros((SLICES, ROWS, COLUMNS), kind)
    marked[5:-5, 100:400, 60:200] = 1
    marked[5:-5, 100:400, 300:440] = 2
    return marked


@linux
@pytest.mark.parametrize(
    ("stored", "labels", "values", "window"),
    [
        ("i2", "u1", [()], "ct:lung"),
        ("i2", "i2", [(1,), (2,)], "ct:lung"),
        ("i2", "f4", [(), (1,)], "percentile:1-99"),
        ("f4", "u1", [(2,)], "percentile:1-99"),
    ],
)
def test_a_volume_with_masks_takes_one_volume_and_64_mb(
    worker, tmp_path, stored, labels, values, window
):
    image = write_volume(tmp_path / "image.nii.gz", ramp(stored))
    mask = write_volume(tmp_path / "mask.nii.gz", lungs(labels))
    shapes = [MaskFile(paths=(mask,), values=value) for value in values]
    answer = worker(image, shapes, ("nifti",), window=window)
    assert answer["pictures"] >= 2
    volume = SLICES * ROWS * COLUMNS * np.dtype(stored).itemsize
    assert answer["taken"] < volume + 64 * MEGABYTE
    assert answer["taken"] > volume  # or nothing was measured


@linux
@pytest.mark.parametrize("window", ["header", "percentile:1-99"])
def test_a_large_film_with_marks_takes_one_film_and_64_mb(worker, tmp_path, window):
    shape = (4096, 3328)
    film = np.empty(shape, np.uint16)
    film[:] = np.arange(shape[1]) % 4000
    phantoms.write_dicom(tmp_path / "film.dcm", film, BitsStored=12, HighBit=11)
    marked = np.zeros(shape, np.uint8)
    marked[1500:2100, 600:1200] = 255
    Image.fromarray(marked).save(tmp_path / "mask.png")
    shapes = [MaskFile(paths=(tmp_path / "mask.png",))]
    answer = worker(tmp_path / "film.dcm", shapes, ("dicom", "raster"), window=window)
    assert answer["pictures"] == 3
    assert answer["taken"] < film.nbytes + 64 * MEGABYTE


def test_a_picture_loads_no_library_of_another_format(worker, tmp_path):
    picture = phantoms.picture(64, 64, seed=1)
    Image.fromarray(picture.astype(np.uint8)).save(tmp_path / "a.png")
    answer = worker(tmp_path / "a.png", window="none")
    assert answer["pictures"] == 1
    assert not answer["modules"] & set(HEAVY)

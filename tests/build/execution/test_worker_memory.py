"""What a worker of a build takes: one volume, as stored, and little beside an idle worker.

An idle worker has done a small job of the same format, so its libraries are loaded: some 60 MB with
Python 3.11 and 67 MB with 3.13, of which numpy takes a quarter.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import deflate
import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from medrcube.build.stages.plan import Artefact, RenderJob
from medrcube.facts import Case, ImageRef, MaskFile, Region
from medrcube.sources._framework.card_parts.pixels import PixelPolicy
from medrcube.sources._synthetic import images

MEGABYTE = 1 << 20
SLICES, ROWS, COLUMNS = 100, 512, 512
"""So many slices that a second volume, or a mask of one byte a voxel, takes more than 16 MB."""
READERS = {"SimpleITK", "av", "h5py", "nibabel", "pydicom"}
NEEDLESS = {"_gdcm", "pandas", "pyarrow", "requests", "rich", "tqdm", "typer"}

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux says how much a process took"
)


@pytest.fixture
def job_of(toy, tmp_path):
    """A job of one image: ``job_of(paths, shapes, window=..)``."""

    def make(paths, shapes=(), *, window="ct:lung"):
        regions = tuple(
            Region(field="region", value="g", shape=shape, evidence="a row") for shape in shapes
        )
        kinds = ("outline", "boxes") if shapes else ()
        return RenderJob(
            source="toy",
            folder=toy.folder,
            root=tmp_path,
            case=Case(key="a", images=(ImageRef(paths=tuple(paths)),), regions=regions),
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

    return make


CLIENT = """
import multiprocessing, pickle, sys
from pathlib import Path
from medrcube.build.execution.local import LocalEngine
from medrcube.build.stages.rendering.render import render_job

def peak():
    (worker,) = multiprocessing.active_children()
    lines = Path(f"/proc/{worker.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

_, given, out = sys.argv
turns = []
with LocalEngine(1).pool() as pool:
    for job in pickle.loads(Path(given).read_bytes()):
        rendered = pool.submit(render_job, job, Path(out)).result()
        modules = pool.submit(eval, "list(__import__('sys').modules)").result()
        turns.append((rendered, peak(), {name.partition(".")[0] for name in modules}))
sys.stdout.buffer.write(pickle.dumps(turns))
"""


@dataclass
class Turn:
    """After a job: how many pictures it gave, and what its worker has taken and loaded so far."""

    pictures: int
    peak: int
    libraries: set[str]


@pytest.fixture
def work(tmp_path):
    """Render jobs in one worker, as the engine starts it; ``coverage`` would lie in it, too."""

    def run(*jobs):
        (tmp_path / "jobs").write_bytes(pickle.dumps(jobs))
        command = (sys.executable, "-c", CLIENT, tmp_path / "jobs", tmp_path / "out")
        process = subprocess.run(
            [str(part) for part in command],
            env={name: value for name, value in os.environ.items() if "COV" not in name},
            stdout=subprocess.PIPE,
            check=True,
        )
        turns = pickle.loads(process.stdout)  # noqa: S301  # written by the lines above
        for rendered, *_ in turns:
            assert not [problem for problem in rendered.problems if problem.stage == "render"]
        return [Turn(len(rendered.pictures), peak, loaded) for rendered, peak, loaded in turns]

    return run


def write_volume(path, array):
    """A ``.nii.gz`` of ``(slices, rows, columns)``."""
    image = nib.Nifti1Image(array.T, np.diag([-0.7, -0.7, 1.25, 1.0]))
    path.write_bytes(bytes(deflate.gzip_compress(image.to_bytes(), 1)))
    return path


def noise(kind):
    """A volume that gzip makes half as long, as that of a scanner."""
    random = np.random.default_rng(1).integers(-500, 500, (ROWS, COLUMNS))
    array = np.empty((SLICES, ROWS, COLUMNS), kind)
    for k in range(SLICES):
        array[k] = np.roll(random, 7 * k, axis=1) + k
    return array


def lungs(kind):
    marked = np.zeros((SLICES, ROWS, COLUMNS), kind)
    marked[5:-5, 100:400, 60:200] = 1
    marked[5:-5, 100:400, 300:440] = 2
    return marked


def film(path, shape):
    pixels = np.empty(shape, np.uint16)
    pixels[:] = np.arange(shape[1]) % 4000
    images.write_dicom(path, pixels, BitsStored=12, HighBit=11)


@pytest.mark.thorough
def test_an_idle_worker_takes_80_mb(work, job_of, tmp_path):
    film(tmp_path / "film.dcm", (90, 80))
    (idle,) = work(job_of([tmp_path / "film.dcm"], window="header"))
    assert idle.peak < 80 * MEGABYTE


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("dtype", "labels", "values", "window"),
    [
        ("i2", "u1", [()], "ct:lung"),
        ("i2", "i2", [(1,), (2,)], "ct:lung"),
        ("i2", "f4", [(), (1,)], "percentile:1-99"),
        ("f4", "u1", [(2,)], "percentile:1-99"),
    ],
)
def test_a_volume_with_masks_takes_itself_and_16_mb(
    work, job_of, tmp_path, dtype, labels, values, window
):
    def with_masks(name, part):
        image = write_volume(tmp_path / f"{name}.nii.gz", noise(dtype)[part])
        mask = write_volume(tmp_path / f"{name}-mask.nii.gz", lungs(labels)[part])
        shapes = [MaskFile(paths=(mask,), values=value) for value in values]
        return job_of([image], shapes, window=window)

    small = (slice(50, 52), slice(0, 400, 5), slice(0, 440, 5))
    idle, turn = work(with_masks("small", small), with_masks("large", slice(None)))
    assert min(idle.pictures, turn.pictures) >= 2
    volume = SLICES * ROWS * COLUMNS * np.dtype(dtype).itemsize
    assert volume / 2 < turn.peak - idle.peak < volume + 16 * MEGABYTE  # or nothing was measured


@pytest.mark.thorough
def test_a_series_of_files_takes_one_slice_and_16_mb(work, job_of, tmp_path):
    def series(name, size):
        (tmp_path / name).mkdir()
        paths = [tmp_path / name / f"{k}.dcm" for k in range(60)]
        for k, path in enumerate(paths):
            images.write_dicom(
                path,
                np.full((size, size), k, np.uint16) + np.arange(size, dtype=np.uint16),
                SeriesInstanceUID="1.2.3",
                ImagePositionPatient=[0, 0, 2.5 * k],
                ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
                PixelSpacing=[0.7, 0.7],
            )
        return job_of(paths, window="percentile:1-99")

    idle, turn = work(series("small", 64), series("large", ROWS))
    assert turn.peak - idle.peak < 2 * ROWS * COLUMNS + 16 * MEGABYTE


@pytest.mark.thorough
def test_a_film_takes_itself_and_24_mb(work, job_of, tmp_path):
    film(tmp_path / "small.dcm", (90, 80))
    film(tmp_path / "film.dcm", (3328, 2560))
    size = 2 * 3328 * 2560
    idle, turn = work(
        *(job_of([tmp_path / f"{name}.dcm"], window="header") for name in ("small", "film"))
    )
    assert size < turn.peak - idle.peak < size + 24 * MEGABYTE


@pytest.mark.thorough
@pytest.mark.parametrize("window", ["header", "percentile:1-99"])
def test_marks_on_a_large_film_take_72_mb_beside_it(work, job_of, tmp_path, window):
    """A picture in colour has three bytes a pixel, and a film of this size has 14 million."""

    def with_marks(name, shape):
        marked = np.zeros(shape, np.uint8)
        marked[shape[0] // 3 : shape[0] // 2, shape[1] // 5 : shape[1] // 3] = 255
        Image.fromarray(marked).save(tmp_path / f"{name}.png")
        film(tmp_path / f"{name}.dcm", shape)
        shapes = [MaskFile(paths=(tmp_path / f"{name}.png",))]
        return job_of([tmp_path / f"{name}.dcm"], shapes, window=window)

    idle, turn = work(with_marks("small", (90, 80)), with_marks("large", (4096, 3328)))
    size = 2 * 4096 * 3328
    assert idle.pictures == turn.pictures == 3
    assert size < turn.peak - idle.peak < size + 72 * MEGABYTE


@pytest.mark.thorough
def test_a_picture_loads_no_library_of_another_format(work, job_of, tmp_path):
    picture = images.picture(64, 64, seed=1)
    Image.fromarray(picture.astype(np.uint8)).save(tmp_path / "a.png")
    (turn,) = work(job_of([tmp_path / "a.png"], window="none"))
    assert not turn.libraries & (READERS | NEEDLESS)


@pytest.mark.thorough
def test_a_library_is_loaded_without_what_only_happens_to_be_installed(work, job_of, tmp_path):
    write_volume(tmp_path / "a.nii.gz", noise("i2")[:4])
    film(tmp_path / "film.dcm", (90, 80))
    volume, both = work(
        job_of([tmp_path / "a.nii.gz"]), job_of([tmp_path / "film.dcm"], window="header")
    )
    assert volume.libraries & (READERS | NEEDLESS) == {"nibabel"}
    assert both.libraries & (READERS | NEEDLESS) == {"nibabel", "pydicom"}

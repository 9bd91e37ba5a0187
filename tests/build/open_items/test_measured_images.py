"""Millimetres of an item are those of the body, on whatever grid the image is stored and shown."""

import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from medrcube.build.pixels.scale_bar import scale_bar_of
from medrcube.build.stages.plan import Artefact, RenderJob
from medrcube.build.stages.rendering.render import render_job
from medrcube.facts import Case, ImageRef, MaskFile, Region
from medrcube.sources._framework.card_parts.pixels import PixelPolicy

POLICY = PixelPolicy(
    window="percentile:1-99",
    slice="largest-mask",
    plane="axial",
    orient="affine",
    spacing="header",
    colour="keep",
)
LONG_MM, WIDE_MM = 48.0, 24.0


@pytest.fixture
def measure_ellipse(toy, tmp_path):
    """What is measured of an ellipse of one size in mm, and its image: ``measure_ellipse(mm)``."""

    def render(spacing):
        x_mm, y_mm = spacing
        shape = (round(160 / x_mm), round(192 / y_mm), 3)
        x, y = np.meshgrid(*(np.arange(n) for n in shape[:2]), indexing="ij")
        apart = ((x * x_mm - 80) / (WIDE_MM / 2)) ** 2 + ((y * y_mm - 96) / (LONG_MM / 2)) ** 2
        mask = np.zeros(shape, np.uint8)
        mask[..., 1] = apart <= 1
        values = np.random.default_rng(0).integers(0, 90, shape).astype(np.uint8)
        folder = tmp_path / f"{x_mm}x{y_mm}"
        (folder / "images" / "toy").mkdir(parents=True)
        for name, array in (("image", values), ("mask", mask)):
            nib.save(nib.Nifti1Image(array, np.diag([*spacing, 5, 1])), folder / f"{name}.nii.gz")
        shape_of = MaskFile(paths=(folder / "mask.nii.gz",))
        job = RenderJob(
            source="toy",
            folder=toy.folder,
            root=folder,
            case=Case(
                key="a",
                images=(ImageRef(paths=(folder / "image.nii.gz",)),),
                regions=(Region(field="region", value="g", shape=shape_of, evidence="a row"),),
            ),
            concepts=("glioma",),
            policy=POLICY,
            plane="axial",
            artefacts=(Artefact(kind="scale-bar", field="region", concept="glioma"),),
            name="a",
        )
        result = render_job(job, folder / "images")
        [picture], [region] = result.pictures, result.geometry
        return np.asarray(Image.open(folder / "images" / picture.path)), region

    return render


@pytest.mark.parametrize("spacing", [(0.8, 0.8), (0.4, 0.4), (1.6, 0.8), (0.8, 1.6)])
def test_the_diameter_in_mm_is_that_of_the_body(measure_ellipse, spacing):
    _, region = measure_ellipse(spacing)
    coarse = max(spacing)
    assert region.measured.diameter * region.mm_per_pixel == pytest.approx(
        LONG_MM, abs=1.01 * coarse
    )


@pytest.mark.parametrize("spacing", [(0.8, 0.8), (0.4, 0.4), (1.6, 0.8), (0.8, 1.6)])
def test_a_ruler_on_the_image_gives_the_diameter_of_the_body(measure_ellipse, spacing):
    image, region = measure_ellipse(spacing)
    red = (image[..., 0] == 255) & (image[..., 1] == 0)
    rows = np.flatnonzero(red.any(axis=1))
    line = max(1, round(max(region.width, region.height) / 256))
    inside = rows[-1] - rows[0] + 1 - 2 * line
    strip = image[region.height :, :, 0]
    bar_pixels = max(np.flatnonzero(row).size for row in strip)
    bar = scale_bar_of(region.width, region.mm_per_pixel)
    assert bar_pixels == bar.pixels
    assert inside * bar.length_mm / bar_pixels == pytest.approx(LONG_MM, rel=0.05)

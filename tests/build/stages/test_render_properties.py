"""Promises about a picture, kept from the raw file to the bytes of the PNG."""

from __future__ import annotations

import logging
import struct
import warnings

import nibabel as nib
import numpy as np
import pytest
from dicom_stacks import Stack, write_stack
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin
from pydicom import dcmread, dcmwrite
from pydicom.config import disable_value_validation
from pydicom.datadict import DicomDictionary
from pydicom.dataset import Dataset

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.pixels.volume import stack_slices
from medrcube.build.readers import read, read_mask
from medrcube.build.stages.plan import Artefact, RenderJob
from medrcube.build.stages.rendering.render import render_job
from medrcube.facts import Case, ImageRef, MaskFile
from medrcube.sources._framework.card_parts.pixels import PixelPolicy
from medrcube.sources._synthetic import images
from medrcube.sources._synthetic.images import CANARY

few = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = ("AE", "LO", "LT", "PN", "SH", "ST", "UC", "UR", "UT")
WORDS = (b"CANARY", CANARY.encode())


@pytest.fixture
def render(toy, tmp_path):
    """Pictures of some files, as a build makes them: ``render(paths, slice="all")``."""

    def make(paths, *, plane="axial", **policy):
        pixels = {
            "window": "header",
            "slice": "middle",
            "plane": plane,
            "orient": "affine",
            "spacing": "header",
            "colour": "keep",
            **policy,
        }
        job = RenderJob(
            source="toy",
            folder=toy.folder,
            root=tmp_path,
            case=Case(key="a", images=(ImageRef(paths=tuple(paths)),)),
            concepts=(),
            policy=PixelPolicy(**pixels),
            plane=plane,
            artefacts=(Artefact(kind="clean"),),
            name="a",
        )
        result = render_job(job, tmp_path / "images")
        assert result.problems == ()
        return [np.asarray(Image.open(tmp_path / "images" / p.path)) for p in result.pictures]

    return make


def _ball(spacing, side=160.0, radius=55.0):
    """A ball ``(slices, rows, columns)`` with soft edges on a grid of any spacing."""
    axes = [(np.arange(round(side / step)) + 0.5) * step for step in spacing]
    axes = [axis - axis[-1] / 2 - axis[0] / 2 for axis in axes]
    away = np.sqrt(sum(part**2 for part in np.meshgrid(*axes, indexing="ij")))
    return (1000 * np.clip((radius - away) / max(spacing) + 0.5, 0, 1)).astype(np.uint16)


def _write_nifti(folder, pixels, spacing):
    images.write_nifti(folder / "a.nii.gz", pixels, spacing=spacing[::-1])
    return [folder / "a.nii.gz"]


def _write_metaimage(folder, pixels, spacing):
    images.write_metaimage(folder / "a.mhd", pixels, spacing=spacing[::-1])
    return [folder / "a.mhd"]


def _write_series(folder, pixels, spacing):
    return write_stack(folder / "s", pixels, Stack(name="b", count=len(pixels), spacing=spacing))


@pytest.mark.few(5)
@pytest.mark.parametrize("write", [_write_nifti, _write_metaimage, _write_series])
@pytest.mark.parametrize("plane", ["axial", "coronal", "sagittal"])
@pytest.mark.parametrize("spacing", [(3.0, 1.0, 1.6), (1.3, 2.9, 0.9), (2.0, 2.0, 2.015)])
def test_a_ball_is_round_whatever_the_spacing(render, tmp_path, write, plane, spacing):
    (picture,) = render(write(tmp_path, _ball(spacing), spacing), plane=plane)
    rows, columns = np.mgrid[: picture.shape[0], : picture.shape[1]]
    weight = picture / picture.sum(dtype=float)
    tall, wide = (
        np.sqrt((weight * (place - (weight * place).sum()) ** 2).sum()) for place in (rows, columns)
    )
    assert abs(tall / wide - 1) < 0.01


def _grey(values, centre, width, function):
    """Grey in float64, by PS3.3 C.11.2.1.2 and C.11.2.1.3."""
    if function == "SIGMOID":
        return 255 / (1 + np.exp(-4 * (values - centre) / width))
    if function == "LINEAR":
        return 255 * np.clip((values - (centre - 0.5)) / (width - 1) + 0.5, 0, 1)
    return 255 * np.clip((values - centre) / width + 0.5, 0, 1)


@few
@given(
    signed=st.booleans(),
    inverted=st.booleans(),
    bits=st.integers(9, 16),
    slope=st.sampled_from([1.0, 0.5, 2.25]),
    intercept=st.sampled_from([0.0, -1024.0, 7.5]),
    function=st.sampled_from(["LINEAR", "LINEAR_EXACT", "SIGMOID"]),
    share=st.floats(0.1, 1.2),
)
def test_a_window_in_a_file_gives_the_greys_of_the_standard(
    render, tmp_path, signed, inverted, bits, slope, intercept, function, share
):
    low = -(2 ** (bits - 1)) if signed else 0
    pixels = np.linspace(low, low + 2**bits - 1, 40 * 50).round().astype(np.int64).reshape(40, 50)
    # Old scanners leave overlays in the bits above the stored ones.
    dirt = (np.arange(pixels.size).reshape(pixels.shape) % 2) << 15 if bits < 16 else 0
    values = pixels * slope + intercept
    centre, width = float(np.float32(values.mean())), float(np.float32(np.ptp(values) * share))
    images.write_dicom(
        tmp_path / "a.dcm",
        ((pixels & (2**bits - 1)) | dirt).astype(np.uint16),
        PixelRepresentation=int(signed),
        BitsStored=bits,
        HighBit=bits - 1,
        PhotometricInterpretation="MONOCHROME1" if inverted else "MONOCHROME2",
        RescaleSlope=slope,
        RescaleIntercept=intercept,
        WindowCenter=f"{centre:.6g}",
        WindowWidth=f"{width:.6g}",
        VOILUTFunction=function,
    )
    (picture,) = render([tmp_path / "a.dcm"])
    exact = _grey(values, float(f"{centre:.6g}"), float(f"{width:.6g}"), function)
    assert np.abs(picture - (255 - exact if inverted else exact)).max() <= 1


@few
@given(first=st.integers(0, 400), size=st.integers(2, 3000), depth=st.sampled_from([8, 10, 16]))
def test_a_voi_table_in_a_file_gives_the_greys_of_the_table(render, tmp_path, first, size, depth):
    pixels = np.linspace(0, 4095, 40 * 50).round().astype(np.uint16).reshape(40, 50)
    entries = (np.sqrt(np.linspace(0, 1, size)) * (2**depth - 1)).round().astype("<u2")
    table = Dataset()
    table.add_new(0x00283002, "US", [size, first, depth])
    table.add_new(0x00283006, "OW", entries.tobytes())
    images.write_dicom(
        tmp_path / "a.dcm", pixels, BitsStored=12, HighBit=11, VOILUTSequence=[table]
    )
    (picture,) = render([tmp_path / "a.dcm"])
    exact = entries[np.clip(pixels.astype(int) - first, 0, size - 1)] / (2**depth - 1) * 255
    assert np.abs(picture - exact).max() <= 1


@pytest.mark.parametrize("window", ["header", "percentile:2-98", "ct:lung"])
@pytest.mark.parametrize("write", [_write_nifti, _write_metaimage, _write_series])
def test_equal_stored_values_are_equal_greys_in_every_picture_of_a_series(
    render, tmp_path, write, window
):
    # Each slice has a range of its own, which a scale by slice would stretch.
    pixels = np.stack([images.picture(60, 60, seed=k, maximum=200 * (k + 1)) for k in range(5)])
    pictures = render(write(tmp_path, pixels, (2.0, 1.0, 1.0)), slice="all", window=window)
    assert len(pictures) == 5
    # A volume is shown from the foot up, and each slice may be turned: histograms tell it still.
    page_values = [np.unique(page, return_counts=True) for page in pixels]
    tables = [
        _table(entry, picture)
        for entry, picture in zip(page_values, _matched(page_values, pictures), strict=True)
    ]
    shades = {}
    for table in tables:
        for value, shade in table:
            assert shades.setdefault(value, shade) == shade


def _matched(page_values, pictures):
    """Pictures in stored order: brighter slices have the larger range."""
    up = pictures if pictures[0].mean() <= pictures[-1].mean() else pictures[::-1]
    assert len(up) == len(page_values)
    return up


def _table(pixels, picture):
    """Pairs of (stored value, grey), by rank: a grey scale never swaps two values."""
    values = np.repeat(*pixels)
    return set(zip(values.tolist(), np.sort(picture, axis=None).tolist(), strict=True))


@pytest.mark.parametrize("angle", [0.0, 17.0, 45.0])
def test_a_mask_that_is_carried_from_an_oblique_grid_lands_on_what_it_marks(tmp_path, angle):
    turn, centre = np.radians(angle), np.array([14.0, -9.0, 6.0])

    def ball(name, shape, spacing, rotation):
        affine = np.eye(4)
        affine[:3, :3] = rotation @ np.diag(spacing)
        affine[:3, 3] = -affine[:3, :3] @ (np.array(shape) / 2)
        index = np.moveaxis(np.indices(shape), 0, -1)
        away = np.linalg.norm(index @ affine[:3, :3].T + affine[:3, 3] - centre, axis=-1)
        nib.save(nib.Nifti1Image((away < 12).astype(np.uint8), affine), tmp_path / name)

    cosine, sine = np.cos(turn), np.sin(turn)
    oblique = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]]) @ np.diag([-1, 1, 1])
    ball("image.nii.gz", (60, 50, 30), (1.0, 1.2, 2.0), np.eye(3))
    for name in ("mask.nii.gz", "drawn_on.nii.gz"):
        ball(name, (90, 90, 70), (0.9, 0.8, 1.1), oblique)
    volume = read(ImageRef(paths=(tmp_path / "image.nii.gz",)))
    mask = MaskFile(paths=(tmp_path / "mask.nii.gz",), drawn_on=tmp_path / "drawn_on.nii.gz")
    stack = stack_slices(read_mask(mask, volume))
    true = np.asarray(volume.slices) > 0
    assert 2 * (stack & true).sum() / (stack.sum() + true.sum()) > 0.95


def _talkative_dicom(path, pixels):
    """A file with an identifier in every element that can hold text, and in private ones."""
    images.write_dicom(path, pixels)
    data = dcmread(path)
    with disable_value_validation(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Elements that are read, and what pydicom complains about.
        data.ImageType = data.Modality = data.SOPInstanceUID = data.SpecificCharacterSet = CANARY
        for tag, (vr, _, _, retired, _) in DicomDictionary.items():
            if vr in TEXT and not retired and tag >> 16 > 0x0008 and tag not in data:
                data.add_new(tag, vr, CANARY)
        data.StudyDescription = data.ImageComments = data.PatientAddress = CANARY
        item = Dataset()
        item.PatientName = item.StudyDescription = CANARY
        data.ReferencedStudySequence = [item]
        block = data.private_block(0x0099, "CANARY CREATOR", create=True)
        block.add_new(1, "LO", CANARY)
        block.add_new(2, "UN", CANARY.encode())
        data.StudyDate = "CANARY"
        dcmwrite(path, data, enforce_file_format=True)
    assert path.read_bytes().count(CANARY.encode()) > 100


def _talkative_picture(path, pixels):
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", CANARY)
    text.add_text("Author", CANARY, zip=True)
    text.add_itxt("Title", CANARY, lang="en", tkey=CANARY)
    text.add(b"prVt", CANARY.encode())
    exif = Image.Exif()
    exif[0x010E] = exif[0x013B] = CANARY
    Image.fromarray(pixels).save(path, "PNG", pnginfo=text, exif=exif)


def _talkative_photograph(path, pixels):
    exif = Image.Exif()
    exif[0x010E] = exif[0x9286] = CANARY
    Image.fromarray(pixels).save(path, "JPEG", exif=exif, comment=CANARY.encode())


def _wrong_length(path):
    """An element whose stated length runs into the next, so that the parser meets text."""
    content = bytearray(path.read_bytes())
    place = content.index(b"\x28\x00\x10\x00US")
    struct.pack_into("<H", content, place + 6, 3)
    path.write_bytes(content)


def test_no_identifier_in_any_byte_log_or_message(toy, raw, workspace, quiet, caplog, capfd):
    # Below this level Pillow tells what EXIF holds; nobody here turns that on.
    caplog.set_level(logging.INFO)
    pixels = [images.picture(96, 112, seed=k).astype(np.uint8) for k in range(6)]
    # Content decides how a file is read, not its name.
    for number, name in enumerate(("g (0)", "g (1)", "m (2)")):
        _talkative_dicom(raw / f"{name}.png", pixels[number])
    _talkative_picture(raw / "m (3).png", pixels[3])
    _talkative_photograph(raw / "p (4).png", pixels[4])
    _talkative_picture(raw / "p (5).png", pixels[5])
    whole = (raw / "g (1).png").read_bytes()
    (raw / "g (1).png").write_bytes(whole[: len(whole) // 3])
    _wrong_length(raw / "m (2).png")
    cut = (raw / "p (5).png").read_bytes()
    (raw / "p (5).png").write_bytes(cut[: len(cut) // 2])
    caplog.clear()
    report = build(workspace, {"toy": toy}, LocalEngine(1), quiet)
    assert (report.sources[0].failed, report.sources[0].pictures) == (3, 6)
    for path in workspace.root.rglob("*"):
        assert b"CANARY" not in path.name.encode()
        if path.is_file():
            assert not any(word in path.read_bytes() for word in WORDS), path.name
    assert "CANARY" not in caplog.text
    assert "CANARY" not in "".join(capfd.readouterr())

"""Real files of dataset authors: read with the right pixels, or refused with a reason."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from medrcube.build.pixels.geometry import reorient
from medrcube.build.pixels.volume import stack_slices
from medrcube.build.pixels.windowing.policy import display_transform
from medrcube.build.readers import read, read_mask
from medrcube.build.readers.detect_format import content_of
from medrcube.errors import ReadError
from medrcube.facts import ImageRef, MaskFile
from medrcube.sources._formats.dicom.headers import read_header

SHARED = Path(os.environ.get("MEDRCUBE_SHARED", Path(__file__).parents[3] / "../shared"))
RAW = SHARED / "real_raw"
SYNTAXES = RAW / "DICOM_transfer_syntaxes"
PICTURES = (".png", ".jpg", ".jpeg", ".gif")
VIDEOS = (".mp4", ".mov", ".avi", ".mpeg")
PLACE = "ImagePositionPatient"
REFUSED = {
    "CTImage.dcm_JPEGProcess6_8TransferSyntax_1.2.840.10008.1.2.4.53.dcm": "unsupported-syntax",
    "CTImage.dcm_JPEGProcess10_12TransferSyntax_1.2.840.10008.1.2.4.55.dcm": "unsupported-syntax",
    "RG3_JPLY": "unreadable",
    "IM_0027_fMAP.dcm": "several-scales",  # magnitude and phase in one file
    "no-pixel-data.dcm": "no-pixels",
}

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not RAW.is_dir(),
        reason="the folder of real samples is missing: set MEDRCUBE_SHARED to the folder that "
        "holds real_raw",
    ),
]


def load(path, frame=None):
    return read(ImageRef(paths=(path,), frame=frame))


def files(*suffixes):
    paths = sorted(path for path in RAW.rglob("*") if path.suffix.lower() in suffixes)
    assert paths
    return paths


def is_dicom(path):
    with path.open("rb") as file:
        return file.read(132)[128:] == b"DICM"


def test_every_dicom_is_decoded_or_refused_with_a_code():
    refusals = {}
    decoded = 0
    for path in sorted(RAW.rglob("*")):
        if not path.is_file() or not is_dicom(path):
            continue
        try:
            volume = load(path)
            picture = display_transform(volume, "header").apply(volume.slices[0])
        except ReadError as error:
            refusals[path.name] = error.code
        else:
            decoded += 1
            assert picture.std() > 0, path.name
    assert refusals == REFUSED
    assert decoded > 60


@pytest.mark.parametrize(
    "syntax",
    [
        "LittleEndianImplicitTransferSyntax_1.2.840.10008.1.2",
        "BigEndianExplicitTransferSyntax_1.2.840.10008.1.2.2",
        "DeflatedExplicitVRLittleEndianTransferSyntax_1.2.840.10008.1.2.1.99",
        "RLELosslessTransferSyntax_1.2.840.10008.1.2.5",
        "JPEGProcess14SV1TransferSyntax_1.2.840.10008.1.2.4.70",
        "JPEGLSLosslessTransferSyntax_1.2.840.10008.1.2.4.80",
    ],
)
def test_lossless_codings_of_one_slice_are_equal(syntax):
    plain = load(SYNTAXES / "CTImage.dcm").slices
    coded = load(SYNTAXES / f"CTImage.dcm_{syntax}.dcm").slices
    assert coded.dtype == plain.dtype
    assert np.array_equal(coded, plain)


@pytest.mark.parametrize(
    ("syntax", "tolerance"),
    [
        ("JPEG2000TransferSyntax_1.2.840.10008.1.2.4.91", 1),
        ("JPEGProcess1TransferSyntax_1.2.840.10008.1.2.4.50", 45),
    ],
)
def test_lossy_codings_of_one_slice_look_alike(syntax, tolerance):
    plain, coded = (load(SYNTAXES / name) for name in ("CTImage.dcm", f"CTImage.dcm_{syntax}.dcm"))
    pictures = [
        display_transform(volume, "ct:mediastinum").apply(volume.slices[0]).astype(int)
        for volume in (plain, coded)
    ]
    assert np.abs(pictures[0] - pictures[1]).mean() < tolerance


def test_two_lossless_codings_of_one_colour_picture_are_equal():
    folder = RAW / "DICOM_WG04"
    first, second = (load(folder / name).slices for name in ("RLE/US1_RLE", "J2KR/US1_J2KR"))
    assert first.shape == (1, 480, 640, 3)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("suffix", PICTURES)
def test_every_picture_is_read(suffix):
    for path in files(suffix):
        volume = load(path)
        assert volume.slices.dtype == np.uint8
        assert volume.slices[0].shape[:2] == volume.slices.shape[1:3]


def test_every_video_is_read_to_its_last_frame():
    for path in files(*VIDEOS):
        assert content_of(path) == "video"
        volume = load(path)
        last = volume.slices.shape[0] - 1
        assert last > 10, path.name
        picture = volume.slices[last]
        assert picture.std() > 5, path.name
        alone = load(path, frame=last).slices[0]
        grey = alone if alone.ndim == picture.ndim else np.stack([alone] * 3, axis=-1)
        assert np.array_equal(grey, picture)


def test_busi_masks_lie_on_their_pictures():
    folder = RAW / "Dataset_BUSI_with_GT"
    for path in sorted(folder.rglob("*).png")):
        masks = tuple(sorted(path.parent.glob(f"{path.stem}_mask*.png")))
        mask = stack_slices(read_mask(MaskFile(paths=masks), load(path)))
        assert mask.any() == (path.parent.name != "normal")
        assert mask.mean() < 0.5


def test_opaque_rgba_mask_does_not_mark_everything():
    path = RAW / "Dataset_BUSI_with_GT/benign/benign (4)_mask_1.png"
    mask = stack_slices(read_mask(MaskFile(paths=(path,)), load(path)))
    assert 0 < mask.mean() < 0.1


def test_hippocampus_labels_lie_on_their_volumes():
    folder = RAW / "MSD_Task04_Hippocampus/TrainingSet"
    pairs = 0
    for path in sorted((folder / "images").glob("*.nii.gz")):
        label = folder / "labels" / path.name
        if label.exists():
            volume = load(path)
            parts = [
                stack_slices(read_mask(MaskFile(paths=(label,), values=(k,)), volume))
                for k in (1, 2)
            ]
            both = stack_slices(read_mask(MaskFile(paths=(label,)), volume))
            assert all(part.any() for part in parts)
            assert np.array_equal(parts[0] ^ parts[1], both)
            pairs += 1
    assert pairs == 6


def test_enhanced_mr_is_what_its_authors_converted_it_to():
    folder = RAW / "DICOM_enhanced_multiframe"
    dicom = folder / "In/Philips/IM_0027_fMAP.dcm"
    nifti = reorient(load(folder / "Ref/Philips_WIP_B0_NS_801_e1.nii"), "axial")
    reference = stack_slices(nifti.slices).astype(int)
    frames = [load(dicom, frame=k) for k in range(32)]
    frames.sort(key=lambda volume: volume.affine[2, 3])
    ours = np.stack([reorient(volume, "axial").slices[0] for volume in frames]).astype(int)
    assert np.array_equal(ours, reference)


def test_enhanced_mr_keeps_each_frame_in_its_own_unit():
    dicom = RAW / "DICOM_enhanced_multiframe/In/Philips/IM_0027_fMAP.dcm"
    magnitude, phase = load(dicom, frame=0).greys, load(dicom, frame=40).greys
    assert magnitude.slope == pytest.approx(1.2798, abs=1e-3)
    assert phase.slope == pytest.approx(0.2442, abs=1e-3)
    with pytest.raises(ReadError, match="several kinds of image"):
        load(dicom)


def test_head_is_shown_upright_in_each_plane():
    volume = load(RAW / "niivue-images/chris_PD.nii.gz")
    sizes = {"axial": (256, 191), "coronal": (54, 191), "sagittal": (54, 256)}
    for plane, size in sizes.items():
        view = reorient(volume, plane)
        assert view.slices.shape[1:] == size
        middle = view.slices[view.slices.shape[0] // 2]
        if plane != "axial":
            # The crown of the head touches the top row; the neck side is cut wide open.
            assert middle[-1].mean() > middle[0].mean()


def series_of(name):
    folders = sorted({path.parent for path in (RAW / name).rglob("*.dcm")})
    assert folders
    return {folder.name: sorted(folder.glob("*.dcm")) for folder in folders}


@pytest.mark.parametrize("name", ["Brain-Tumor-Progression_DICOM", "COVID-CT-MD"])
def test_real_series_are_stacked_from_foot_to_head_whatever_the_order_of_files(name):
    for paths in series_of(name).values():
        volume = read(ImageRef(paths=tuple(paths)))
        again = read(ImageRef(paths=tuple(reversed(paths))))
        assert np.array_equal(stack_slices(volume.slices), stack_slices(again.slices))
        view = reorient(volume, "axial")
        heights = {
            uid: float(read_header(path, [PLACE])[PLACE].split("\\")[2])
            for path in paths
            for uid in read_header(path, ["SOPInstanceUID"]).values()
        }
        placed = [heights[uid] for uid in view.slice_ids]
        assert placed == sorted(placed)
        assert len(placed) == len(paths)


def test_subset_of_a_real_series_is_shown_in_its_own_plane_only():
    volume = read(ImageRef(paths=tuple(series_of("COVID-CT-MD")["cap001"])))
    assert volume.uneven
    assert reorient(volume, "axial").slices.shape == (5, 512, 512)
    with pytest.raises(ReadError, match="unevenly spaced"):
        reorient(volume, "coronal")


def test_two_real_series_are_not_taken_for_one():
    folders = series_of("Brain-Tumor-Progression_DICOM")
    mixed = [folders["11-T1post-18670"][0], folders["37830-T2reg-78532"][0]]
    with pytest.raises(ReadError) as excinfo:
        read(ImageRef(paths=tuple(mixed)))
    assert excinfo.value.code == "mixed-series"


def test_two_windows_of_every_real_slice_are_kept_for_the_series():
    volume = read(ImageRef(paths=tuple(series_of("COVID-CT-MD")["P001"])))
    assert volume.greys.windows == ((50.0, 350.0), (-600.0, 1200.0))
    assert volume.slices.dtype == np.uint16

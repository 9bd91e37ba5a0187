from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from pydicom import dcmread, dcmwrite
from pydicom.dataset import Dataset
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ImplicitVRLittleEndian,
    JPEG2000Lossless,
    RLELossless,
)

from medrcube.build.pixels.geometry import reorient
from medrcube.build.pixels.volume import stack_slices
from medrcube.build.pixels.windowing.policy import display_transform
from medrcube.build.readers import read
from medrcube.errors import ReadError
from medrcube.facts import ImageRef
from medrcube.sources._synthetic.images import CANARY, write_dicom

GREY = np.random.default_rng(5).integers(0, 4096, (48, 64), dtype=np.uint16)
STACK = np.random.default_rng(6).integers(0, 4096, (4, 48, 64), dtype=np.uint16)
COLOUR = np.random.default_rng(7).integers(0, 256, (48, 64, 3), dtype=np.uint8)
RGB = {"SamplesPerPixel": 3, "PlanarConfiguration": 0, "PhotometricInterpretation": "RGB"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "image.dcm"


def load(path, frame=None):
    return read(ImageRef(paths=(path,), frame=frame))


def refused(path, frame=None):
    with pytest.raises(ReadError) as excinfo:
        stack_slices(load(path, frame).slices)
    assert CANARY not in str(excinfo.value)
    assert str(path.parent) not in str(excinfo.value)
    return excinfo.value.code


def write_rgb(path, pixels, **tags):
    write_dicom(path, pixels.reshape(len(pixels), -1), **RGB, Columns=pixels.shape[1], **tags)


def sequence(**elements):
    item = Dataset()
    for keyword, value in elements.items():
        setattr(item, keyword, value)
    return [item]


def table(first, bits, data):
    item = Dataset()
    item.add_new(0x00283002, "US", [len(data), first, bits])
    item.add_new(0x00283006, "OW", np.asarray(data, "<u2").tobytes())
    return [item]


def recode(path, syntax):
    data = dcmread(path)
    if syntax in {RLELossless, JPEG2000Lossless}:
        data.compress(syntax)
        data.save_as(path)
        return
    fresh = Dataset()
    fresh.update(data)
    fresh.file_meta = data.file_meta
    fresh.file_meta.TransferSyntaxUID = syntax
    if syntax == ExplicitVRBigEndian:
        fresh.PixelData = np.frombuffer(data.PixelData, "<u2").astype(">u2").tobytes()
    dcmwrite(path, fresh, enforce_file_format=True)


@pytest.mark.parametrize(
    "syntax",
    [
        None,
        ImplicitVRLittleEndian,
        ExplicitVRBigEndian,
        DeflatedExplicitVRLittleEndian,
        RLELossless,
        JPEG2000Lossless,
    ],
)
def test_every_lossless_coding_gives_the_stored_values(path, syntax):
    write_dicom(path, GREY, BitsStored=12, HighBit=11)
    if syntax is not None:
        recode(path, syntax)
    volume = load(path)
    assert volume.slices.shape == (1, 48, 64)
    assert volume.slices.dtype == np.dtype(np.uint16)
    assert np.array_equal(volume.slices[0], GREY)
    assert volume.greys.bits == 12


def test_file_without_suffix_is_known_by_its_content(tmp_path):
    write_dicom(tmp_path / "MG1", GREY)
    assert np.array_equal(load(tmp_path / "MG1").slices[0], GREY)


def test_negative_values_keep_their_sign(path):
    signed = (GREY.astype(np.int16) - 2048).reshape(48, 64)
    write_dicom(path, signed, PixelRepresentation=1, BitsStored=12, HighBit=11)
    assert np.array_equal(load(path).slices[0], signed)


def test_bits_above_the_stored_ones_are_ignored(path):
    write_dicom(path, GREY | 0xF000, BitsStored=12, HighBit=11)
    assert np.array_equal(load(path).slices[0], GREY)


@pytest.mark.parametrize("syntax", [None, RLELossless])
def test_frames_are_read_one_by_one(path, syntax):
    write_dicom(path, STACK)
    if syntax:
        recode(path, syntax)
    volume = load(path)
    assert volume.slices.shape == (4, 48, 64)
    assert np.array_equal(volume.slices[2], STACK[2])
    assert np.array_equal(stack_slices(volume.slices), STACK)
    with pytest.raises(IndexError):
        volume.slices[4]


def test_a_chosen_frame_stands_alone(path):
    write_dicom(path, STACK)
    volume = load(path, frame=3)
    assert volume.slices.shape == (1, 48, 64)
    assert np.array_equal(volume.slices[0], STACK[3])
    assert refused(path, frame=4) == "missing-frame"


def test_rescale_window_inversion_and_padding_reach_the_grey_scale(path):
    write_dicom(
        path,
        GREY,
        PhotometricInterpretation="MONOCHROME1",
        RescaleSlope=2,
        RescaleIntercept=-1024,
        WindowCenter=[40, -600],
        WindowWidth=[400, 1500],
        VOILUTFunction="SIGMOID",
        PixelPaddingValue=3000,
        PixelPaddingRangeLimit=2990,
    )
    greys = load(path).greys
    assert (greys.slope, greys.intercept) == (2, -1024)
    assert greys.windows == ((40, 400), (-600, 1500))
    assert greys.function == "sigmoid"
    assert greys.inverted
    assert greys.padding == (2990, 3000)


def test_both_polarities_of_one_picture_give_one_picture(tmp_path):
    window = {"WindowWidth": 2000, "BitsStored": 12, "HighBit": 11}
    write_dicom(tmp_path / "m2", GREY, WindowCenter=1500, **window)
    write_dicom(
        tmp_path / "m1",
        (4095 - GREY).astype(np.uint16),
        PhotometricInterpretation="MONOCHROME1",
        WindowCenter=4096 - 1500,
        **window,
    )
    first, second = (load(tmp_path / name) for name in ("m1", "m2"))
    pictures = [display_transform(v, "header").apply(v.slices[0]) for v in (first, second)]
    assert np.array_equal(*pictures)
    assert pictures[0].std() > 10


def test_padding_written_as_unsigned_is_read_as_signed(path):
    signed = GREY.astype(np.int16)
    write_dicom(path, signed, PixelRepresentation=1, PixelPaddingValue=-2000)
    assert load(path).greys.padding == (-2000, -2000)


def test_voi_and_modality_tables_are_read(path):
    ramp = [0, 10, 20, 40]
    write_dicom(
        path,
        np.array([[0, 1], [2, 3]], np.uint16),
        ModalityLUTSequence=table(0, 16, [100, 101, 102, 103]),
        VOILUTSequence=table(100, 8, ramp),
    )
    volume = load(path)
    assert volume.greys.modality_table.entries.tolist() == [100, 101, 102, 103]
    picture = display_transform(volume, "header").apply(volume.slices[0])
    assert picture.ravel().tolist() == ramp


def test_short_lookup_table_is_refused(path):
    short = table(0, 8, [1, 2, 3])
    short[0].LUTDescriptor = [9, 0, 8]
    write_dicom(path, GREY, VOILUTSequence=short)
    assert refused(path) == "unreadable"


@pytest.mark.parametrize(
    ("tags", "spacing"),
    [
        ({"PixelSpacing": [0.5, 0.25]}, (1, 0.5, 0.25)),
        ({"PixelSpacing": [0.5, 0.25], "SliceThickness": 3}, (3, 0.5, 0.25)),
        ({"ImagerPixelSpacing": [0.1, 0.2], "PixelSpacing": [0, 0]}, (1, 0.1, 0.2)),
        ({"NominalScannedPixelSpacing": [0.3, 0.3]}, (1, 0.3, 0.3)),
        ({"PixelAspectRatio": [2, 1]}, (1, 2, 1)),
        ({"PixelAspectRatio": [1, 1]}, None),
        ({}, None),
    ],
)
def test_spacing_is_taken_from_the_best_element(path, tags, spacing):
    write_dicom(path, GREY, **tags)
    assert load(path).spacing == (pytest.approx(spacing) if spacing else None)


def test_prone_slice_is_turned_to_the_radiological_view(path):
    write_dicom(
        path,
        GREY,
        PixelSpacing=[1, 1],
        ImagePositionPatient=[10, 20, 30],
        ImageOrientationPatient=[-1, 0, 0, 0, -1, 0],
    )
    view = reorient(load(path), "axial")
    assert np.array_equal(view.slices[0], GREY[::-1, ::-1])


def test_usual_axial_slice_is_shown_as_stored(path):
    write_dicom(
        path,
        GREY,
        PixelSpacing=[1, 1],
        ImagePositionPatient=[10, 20, 30],
        ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
    )
    volume = load(path)
    assert np.array_equal(reorient(volume, "axial").slices[0], GREY)
    assert (volume.affine @ [0, 2, 3, 1]).tolist() == [-13, -22, 30, 1]


def test_orientation_that_spans_no_plane_is_refused(path):
    write_dicom(
        path,
        GREY,
        PixelSpacing=[1, 1],
        ImagePositionPatient=[0, 0, 0],
        ImageOrientationPatient=[1, 0, 0, 1, 0, 0],
    )
    assert refused(path) == "singular-affine"


def enhanced(path, places, slopes, centres):
    shared = Dataset()
    shared.PixelMeasuresSequence = sequence(PixelSpacing=[2, 3], SliceThickness=9)
    shared.PlaneOrientationSequence = sequence(ImageOrientationPatient=[1, 0, 0, 0, 1, 0])
    frames = []
    for place, slope, centre in zip(places, slopes, centres, strict=True):
        frame = Dataset()
        frame.PlanePositionSequence = sequence(ImagePositionPatient=[0, 0, place])
        frame.PixelValueTransformationSequence = sequence(RescaleSlope=slope, RescaleIntercept=1)
        frame.FrameVOILUTSequence = sequence(WindowCenter=centre, WindowWidth=100)
        frames.append(frame)
    write_dicom(
        path,
        STACK,
        SharedFunctionalGroupsSequence=[shared],
        PerFrameFunctionalGroupsSequence=frames,
    )


def test_functional_groups_give_geometry_and_greys(path):
    enhanced(path, places=[12, 8, 4, 0], slopes=[2] * 4, centres=[50] * 4)
    volume = load(path)
    assert volume.spacing == pytest.approx((4, 2, 3))
    assert (volume.greys.slope, volume.greys.intercept) == (2, 1)
    assert volume.greys.windows == ((50, 100),)
    view = reorient(volume, "axial")
    assert np.array_equal(view.slices[0], STACK[3])


def test_frames_with_their_own_scale_become_modality_values(path):
    enhanced(path, places=[0, 4, 8, 12], slopes=[1, 2, 3, 4], centres=[1, 2, 3, 4])
    volume = load(path)
    assert volume.slices.dtype == np.float32
    assert np.allclose(volume.slices[2], STACK[2] * 3.0 + 1)
    assert (volume.greys.windows, volume.greys.median_of) == (((2, 100),), 4)
    alone = load(path, frame=2)
    assert alone.slices.dtype == np.uint16
    assert (alone.greys.slope, alone.greys.windows) == (3, ((3, 100),))


def test_frames_at_uneven_places_have_no_affine(path):
    enhanced(path, places=[0, 4, 0, 4], slopes=[1] * 4, centres=[1] * 4)
    assert load(path).affine is None
    assert load(path, frame=1).affine[2, 3] == 4


def test_colour_stays_and_grey_in_three_channels_becomes_one(tmp_path):
    write_rgb(tmp_path / "colour", COLOUR)
    write_rgb(tmp_path / "grey", np.repeat(COLOUR[..., :1], 3, axis=-1))
    assert np.array_equal(load(tmp_path / "colour").slices[0], COLOUR)
    grey = load(tmp_path / "grey")
    assert np.array_equal(grey.slices[0], COLOUR[..., 0])
    assert np.array_equal(display_transform(grey, "header").apply(grey.slices[0]), COLOUR[..., 0])


def test_ybr_becomes_rgb(path):
    ybr = np.full((48, 64, 3), 128, np.uint8)
    ybr[..., 0] = 200
    ybr[0, 0] = (76, 85, 255)  # red, PS3.3 C.7.6.3.1.2
    write_rgb(path, ybr)
    data = dcmread(path)
    data.PhotometricInterpretation = "YBR_FULL"
    data.save_as(path)
    picture = load(path).slices[0]
    assert np.abs(picture[0, 0].astype(int) - (254, 0, 0)).max() <= 2
    assert (picture[1:] == 200).all()


def test_palette_becomes_its_colours(path):
    indices = (np.arange(48 * 64).reshape(48, 64) % 4).astype(np.uint8)
    entries = {"Red": [0, 255, 0, 9], "Green": [0, 0, 255, 9], "Blue": [0, 0, 0, 99]}
    tags = {}
    for name, values in entries.items():
        tags[f"{name}PaletteColorLookupTableDescriptor"] = [4, 0, 16]
        data = (np.asarray(values) * 257).astype("<u2").tobytes()
        tags[f"{name}PaletteColorLookupTableData"] = data
    write_dicom(path, indices, PhotometricInterpretation="PALETTE COLOR", **tags)
    picture = load(path).slices[0]
    assert picture.dtype == np.uint8
    assert picture[0, :4].tolist() == [[0, 0, 0], [255, 0, 0], [0, 255, 0], [9, 9, 99]]


def test_file_without_pixels_is_refused(path):
    write_dicom(path, GREY)
    data = dcmread(path)
    del data.PixelData
    data.save_as(path)
    assert refused(path) == "no-pixels"
    del data.Rows
    data.save_as(path)
    assert refused(path) == "no-pixels"


@pytest.mark.parametrize("syntax", [None, RLELossless, JPEG2000Lossless])
@pytest.mark.parametrize("share", [0.6, 0.9, 0.99])
def test_file_that_ends_early_is_refused(path, syntax, share):
    write_dicom(path, STACK)
    if syntax:
        recode(path, syntax)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert refused(path) == "truncated"


def test_missing_delimiter_after_the_last_fragment_is_forgiven(path):
    write_dicom(path, GREY)
    recode(path, RLELossless)
    content = path.read_bytes()
    assert content.endswith(b"\xfe\xff\xdd\xe0\0\0\0\0")
    path.write_bytes(content[:-8])
    assert np.array_equal(load(path).slices[0], GREY)


def test_damaged_element_is_reported_without_its_content(path):
    write_dicom(path, GREY, RescaleSlope="1.5")
    path.write_bytes(path.read_bytes().replace(b"1.5 ", b"CANA"))
    assert refused(path) == "unreadable"


@pytest.mark.parametrize("slope", ["0", "1e999"])
def test_rescale_that_makes_no_picture_is_refused(path, slope):
    write_dicom(path, GREY, RescaleSlope="1")
    data = dcmread(path)
    data.RescaleSlope = slope
    data.save_as(path)
    assert refused(path) == "unreadable"


def test_retired_coding_is_named(path):
    write_dicom(path, GREY)
    recode(path, RLELossless)
    data = dcmread(path)
    data.file_meta.TransferSyntaxUID = "1.2.840.10008.1.2.4.53"
    data.save_as(path)
    with pytest.raises(ReadError, match="Process 6") as excinfo:
        load(path)
    assert excinfo.value.code == "unsupported-syntax"


@pytest.mark.parametrize("photometric", ["HSV", "YBR_PARTIAL_420"])
def test_unknown_photometric_interpretation_is_refused(path, photometric):
    write_dicom(path, GREY, PhotometricInterpretation=photometric)
    assert refused(path) == "unsupported-format"


def test_unknown_voi_function_is_refused(path):
    write_dicom(path, GREY, WindowCenter=1, WindowWidth=2, VOILUTFunction="CUBIC")
    assert refused(path) == "unsupported-format"


def test_deep_colour_is_refused(path):
    write_rgb(path, COLOUR.astype(np.uint16))
    assert refused(path) == "unsupported-format"


def test_coloured_frames_stay_coloured_on_demand(path):
    frames = np.stack([COLOUR, COLOUR[::-1]])
    write_dicom(path, frames.reshape(2, 48, 192), **RGB, Columns=64)
    volume = load(path)
    assert volume.slices.shape == (2, 48, 64, 3)
    assert np.array_equal(volume.slices[1], COLOUR[::-1])


def test_fractions_are_read(path):
    write_dicom(path, GREY)
    data = dcmread(path)
    del data.PixelData
    data.BitsAllocated = data.BitsStored = 32
    data.HighBit = 31
    data.NumberOfFrames = 2
    values = np.stack([GREY / 7, GREY / 9]).astype("<f4")
    data.FloatPixelData = values.tobytes()
    data.save_as(path)
    volume = load(path)
    assert volume.slices.dtype == np.float32
    assert np.array_equal(stack_slices(volume.slices), values)


def test_bit_masks_of_several_frames_are_unpacked(path):
    bits = np.random.default_rng(1).integers(0, 2, (2, 48, 64), dtype=np.uint8)
    write_dicom(path, bits, BitsAllocated=1, BitsStored=1, HighBit=0)
    data = dcmread(path)
    data.PixelData = np.packbits(bits.ravel(), bitorder="little").tobytes()
    data.save_as(path)
    assert np.array_equal(stack_slices(load(path).slices), bits)


def test_eight_bit_palette_keeps_its_values(path):
    tags = {}
    for name in ("Red", "Green", "Blue"):
        tags[f"{name}PaletteColorLookupTableDescriptor"] = [4, 0, 8]
        tags[f"{name}PaletteColorLookupTableData"] = bytes([0, 50, 100, 200])
    indices = (np.arange(48 * 64).reshape(48, 64) % 4).astype(np.uint8)
    write_dicom(path, indices, PhotometricInterpretation="PALETTE COLOR", **tags)
    assert np.array_equal(load(path).slices[0], indices * 50 + 50 * (indices == 3))


def test_voi_table_of_numbers_is_read(path):
    item = Dataset()
    item.add_new(0x00283002, "SS", [3, -1, 8])
    item.add_new(0x00283006, "US", [0, 128, 255])
    write_dicom(path, GREY.astype(np.int16) - 2, PixelRepresentation=1, VOILUTSequence=[item])
    table_read = load(path).greys.voi_table
    assert (table_read.first, table_read.entries.tolist()) == (-1, [0, 128, 255])


def test_file_without_preamble_is_known_by_its_first_group(path):
    write_dicom(path, GREY)
    path.write_bytes(path.read_bytes()[132:])
    assert np.array_equal(load(path).slices[0], GREY)


def test_file_that_does_not_name_its_coding_is_refused(path):
    write_dicom(path, GREY)
    recode(path, ImplicitVRLittleEndian)
    content = path.read_bytes()
    path.write_bytes(content[content.index(b"\x08\x00\x16\x00") :])
    assert refused(path) == "unreadable"


@pytest.mark.parametrize("syntax", [RLELossless, DeflatedExplicitVRLittleEndian])
def test_damaged_pixel_data_are_refused(path, syntax):
    write_dicom(path, GREY)
    recode(path, syntax)
    content = bytearray(path.read_bytes())
    content[-2000:-1900] = bytes(100)
    content[-len(content) // 2 : -200] = b"\x7f" * (len(content) // 2 - 200)
    path.write_bytes(content)
    assert refused(path) in {"unreadable", "truncated"}


def test_frames_of_several_scales_that_are_no_body_are_refused_but_one_by_one(path):
    enhanced(path, places=[0, 4, 0, 4], slopes=[1, 1, 2, 2], centres=[1] * 4)
    assert refused(path) == "several-scales"
    assert np.array_equal(load(path, frame=2).slices[0], STACK[2])


@pytest.mark.parametrize("syntax", [None, RLELossless])
def test_size_that_no_picture_has_is_refused_before_memory_is_taken(path, syntax):
    write_dicom(path, GREY.astype(np.uint8))
    data = dcmread(path)
    if syntax:
        data.compress(syntax)
    data.Rows = data.Columns = 46000
    data.save_as(path)
    tracemalloc.start()
    assert refused(path) == "too-large"
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import partial
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from medrcube.build.pixels.geometry import (
    Orientation,
    _check_box,
    orientation_of,
    reorient,
    resample_mask,
    resample_picture,
    square_size,
)
from medrcube.build.pixels.volume import Volume, stack_slices
from medrcube.build.readers import read, read_mask
from medrcube.errors import ReadError
from medrcube.facts import ImageRef, MaskFile

SHAPE = (11, 13, 7)
SIZES = (1.5, 2.0, 4.0)
STORAGES = [
    (axes, signs)
    for axes in itertools.permutations(range(3))
    for signs in itertools.product((1, -1), repeat=3)
]
PLANES = ("axial", "coronal", "sagittal")


def phantom():
    """RAS array, different along every axis and in every corner, and a mark in it."""
    x, y, z = np.mgrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    ras = (x * x + 7 * y + 50 * z + x * y * z).astype(np.int16)
    mark = np.zeros(SHAPE, np.uint8)
    mark[2:5, 8:12, 1:3] = 1
    return ras, mark


def stored_as(ras, axes, signs):
    """The array and its affine when the file's axes are a turn of the RAS ones."""
    array = ras.transpose(axes)[tuple(slice(None, None, sign) for sign in signs)]
    affine = np.eye(4)
    affine[:3, :3] = 0
    for new, (old, sign) in enumerate(zip(axes, signs, strict=True)):
        affine[old, new] = sign * SIZES[old]
        affine[old, 3] = 0 if sign > 0 else (SHAPE[old] - 1) * SIZES[old]
    return array, affine


def expected(ras, plane):
    """Pictures by the definition of each plane, from the RAS array."""
    back = ras[::-1, ::-1, ::-1]
    if plane == "axial":
        return back[:, :, ::-1].transpose(2, 1, 0)
    if plane == "coronal":
        return back.transpose(1, 2, 0)
    return back.transpose(0, 2, 1)


def volume_of(array, affine):
    return Volume(slices=array.T, affine=affine[:, [2, 1, 0, 3]], spacing=(1.0, 1.0, 1.0))


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize(("axes", "signs"), STORAGES)
def test_every_storage_of_one_body_gives_the_same_pictures_and_mask(tmp_path, axes, signs, plane):
    ras, mark = phantom()
    paths = {}
    for name, values in (("image", ras), ("mask", mark)):
        paths[name] = tmp_path / f"{name}.nii"
        nib.save(nib.Nifti1Image(*stored_as(values, axes, signs)), paths[name])
    volume = read(ImageRef(paths=(paths["image"],)))
    view = reorient(volume, plane)
    assert np.array_equal(view.slices, expected(ras, plane))
    mask = read_mask(MaskFile(paths=(paths["mask"],)), volume)
    orientation = orientation_of(volume, plane)
    turned = mask.turned(orientation.axes, orientation.flips)
    assert np.array_equal(stack_slices(turned), expected(mark, plane) > 0)
    assert np.array_equal(orientation.apply(stack_slices(mask)), stack_slices(turned))


@pytest.mark.parametrize("plane", PLANES)
def test_spacing_follows_its_axis(tmp_path, plane):
    ras, _ = phantom()
    for axes, signs in STORAGES[::5]:
        nib.save(nib.Nifti1Image(*stored_as(ras, axes, signs)), tmp_path / "a.nii")
        view = reorient(read(ImageRef(paths=(tmp_path / "a.nii",))), plane)
        right, front, top = SIZES
        target = {
            "axial": (top, front, right),
            "coronal": (front, top, right),
            "sagittal": (right, top, front),
        }
        assert view.spacing == pytest.approx(target[plane])


@given(
    storage=st.sampled_from(STORAGES),
    plane=st.sampled_from(PLANES),
    angles=st.tuples(*[st.floats(-0.4, 0.4)] * 3),
)
def test_affine_of_the_pictures_maps_each_pixel_to_where_it_was(storage, plane, angles):
    ras, _ = phantom()
    array, affine = stored_as(ras, *storage)
    for axis, angle in enumerate(angles):
        turn = np.eye(4)
        first, second = (axis + 1) % 3, (axis + 2) % 3
        turn[first, first] = turn[second, second] = np.cos(angle)
        turn[first, second], turn[second, first] = -np.sin(angle), np.sin(angle)
        affine = turn @ affine
    volume = volume_of(array, affine)
    view = reorient(volume, plane)
    index = (3, 4, 2)
    place = view.affine @ (*index, 1)
    voxel_index = np.rint(np.linalg.inv(volume.affine) @ place).astype(int)[:3]
    assert np.allclose(volume.affine @ (*voxel_index, 1), place)
    assert volume.slices[tuple(voxel_index)] == view.slices[index]


def test_arrays_are_viewed_and_not_copied():
    ras, _ = phantom()
    volume = volume_of(ras, np.eye(4))
    for plane in PLANES:
        assert np.shares_memory(reorient(volume, plane).slices, ras)


def _oblique(tilt):
    """Affine of slices from front to back, tilted about the axis from right to left."""
    turn = np.radians(tilt)
    affine = np.eye(4)
    affine[:3, 0] = (0, -np.cos(turn), np.sin(turn))
    affine[:3, 1] = (0, -np.sin(turn), -np.cos(turn))
    affine[:3, 2] = (-1, 0, 0)
    return affine


@pytest.mark.parametrize("tilt", [0, 20, 44])
def test_oblique_slices_of_every_storage_stay_whole_with_head_up_and_right_at_the_left(tilt):
    upright = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    for swap, flips in itertools.product((False, True), itertools.product((1, -1), repeat=3)):
        slices, affine = upright[:: flips[0], :: flips[1], :: flips[2]], _oblique(tilt)
        affine[:, :3] *= flips
        if swap:
            slices, affine = slices.swapaxes(1, 2), affine[:, [0, 2, 1, 3]]
        volume = Volume(slices=slices, affine=affine, spacing=(1.0, 1.0, 1.0))
        again = reorient(volume, "axial", "in-plane")
        assert np.array_equal(stack_slices(again.slices), upright)


def test_stored_orientation_changes_nothing():
    ras, _ = phantom()
    volume = volume_of(ras, np.eye(4))
    assert reorient(volume, "coronal", "stored") is volume


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"uneven": True}, "uneven-spacing"),
        ({"uneven": True, "affine": None}, "uneven-spacing"),
        ({"affine": None}, ""),
        ({"slant": 0.03}, "slanted-slices"),
        ({"slant": -0.03}, "slanted-slices"),
        ({"slant": 0.01}, ""),
        ({}, ""),
    ],
)
def test_a_plane_across_the_slices_needs_slices_that_make_a_box(changes, code):
    affine = np.diag([2.0, 2.0, 4.0, 1.0])
    affine[0, 2] = 4 * changes.pop("slant", 0.0)
    box = Volume(**{"slices": np.zeros((4, 6, 5), np.int16), "affine": affine, **changes})
    cut = partial(_check_box, box, "coronal")
    if not code:
        cut()
        return
    with pytest.raises(ReadError, match="coronal") as excinfo:
        cut()
    assert excinfo.value.code == code


def test_a_stack_at_a_slant_is_refused_across_and_shown_in_its_own_plane():
    affine = np.diag([2.0, 2.0, 4.0, 1.0])
    affine[1, 0] = 1.0
    tilted = Volume(slices=np.zeros((4, 6, 5), np.int16), affine=affine)
    assert len(reorient(tilted, "sagittal", "affine").slices) == 4
    with pytest.raises(ReadError, match="gantry tilt"):
        reorient(tilted, "coronal", "affine")


def test_volume_without_affine_stays_as_stored():
    volume = Volume(slices=np.zeros((2, 3, 4), np.uint8))
    assert reorient(volume, "sagittal") is volume


def test_one_slice_is_shown_in_its_own_plane():
    ras, _ = phantom()
    sagittal = ras[4:5]
    view = reorient(volume_of(sagittal, np.eye(4)), "axial")
    assert np.array_equal(view.slices[0], sagittal[0, ::-1, ::-1].T)


@pytest.mark.parametrize("plane", PLANES)
def test_a_volume_that_is_one_voxel_thick_along_two_axes_is_cut_as_asked(plane):
    rod = np.arange(5).reshape(5, 1, 1)  # from front to back
    view = reorient(volume_of(rod.transpose(1, 0, 2), np.eye(4)), plane)
    target = {"axial": (1, 5, 1), "coronal": (5, 1, 1), "sagittal": (1, 1, 5)}
    assert view.slices.shape == target[plane]
    assert view.slices.ravel().tolist() == [4, 3, 2, 1, 0]


def test_unknown_orient_is_refused():
    with pytest.raises(ValueError, match="stored"):
        orientation_of(volume_of(phantom()[0], np.eye(4)), "axial", "random")


class Lazy:
    """Counts how many slices were asked for."""

    def __init__(self, array):
        self.array = array
        self.indexes = []
        self.shape = array.shape
        self.dtype = array.dtype

    def __getitem__(self, k):
        self.indexes.append(k)
        return self.array[k]


def test_lazy_slices_are_decoded_only_when_asked_for():
    ras, _ = phantom()
    eager = volume_of(ras, np.diag([1.0, 1.0, -1.0, 1.0]))
    lazy = Lazy(eager.slices)
    view = reorient(Volume(slices=lazy, affine=eager.affine), "axial")
    assert lazy.indexes == []
    assert np.array_equal(view.slices[1], reorient(eager, "axial").slices[1])
    assert lazy.indexes == [SHAPE[2] - 2]


def test_lazy_slices_can_be_cut_across():
    ras, _ = phantom()
    eager = volume_of(ras, np.eye(4))
    lazy = Volume(slices=Lazy(eager.slices), affine=eager.affine)
    assert np.array_equal(reorient(lazy, "sagittal").slices, reorient(eager, "sagittal").slices)


def test_lazy_slices_end_where_the_stack_ends():
    ras, _ = phantom()
    eager = volume_of(ras, np.eye(4))
    view = reorient(Volume(slices=Lazy(eager.slices), affine=eager.affine), "axial")
    assert view.slices.dtype == np.int16
    assert np.array_equal(stack_slices(view.slices), reorient(eager, "axial").slices)
    with pytest.raises(IndexError):
        view.slices[SHAPE[2]]


def test_lazy_slices_of_colour_are_turned_in_their_plane():
    ras, _ = phantom()
    grey = volume_of(ras, np.eye(4))
    colour = np.stack([grey.slices, grey.slices + 1, grey.slices + 2], axis=-1)
    view = reorient(Volume(slices=Lazy(colour), affine=grey.affine), "axial").slices
    assert view.shape == (SHAPE[2], SHAPE[1], SHAPE[0], 3)
    turned = reorient(grey, "axial").slices
    assert np.array_equal(stack_slices(view), turned[..., None] + np.arange(3))


def test_colour_axis_stays_last():
    colour = np.arange(2 * 3 * 4 * 3).reshape(2, 3, 4, 3)
    turned = Orientation((2, 0, 1), (True, False, False)).apply(colour)
    assert turned.shape == (4, 2, 3, 3)
    assert np.array_equal(turned[0, 1, 2], colour[1, 2, 3])


@given(
    height=st.integers(50, 600),
    width=st.integers(50, 600),
    rows=st.floats(0.1, 10),
    columns=st.floats(0.1, 10),
)
def test_square_pixels_keep_the_aspect_and_the_finer_spacing(height, width, rows, columns):
    tall, wide = square_size(height, width, rows, columns)
    assert tall >= height
    assert wide >= width
    assert tall == height or wide == width
    aspect = (height * rows) / (width * columns)
    assert abs((tall / wide) / aspect - 1) < 0.0101


@given(
    height=st.integers(1, 600),
    ratio=st.fractions(Fraction(11, 10), 8, max_denominator=20),
    angle=st.floats(0, 40),
)
@example(height=486, ratio=Fraction(5, 4), angle=7.0)
def test_size_of_a_picture_does_not_hang_on_how_its_body_is_turned(height, ratio, angle):
    # An exact half of a row whose ratio no decimal states may be rounded either way.
    assume((height * ratio).denominator != 2 or float(ratio) == ratio)
    turn = np.deg2rad(angle)
    # Columns of an affine as NIfTI keeps them: in single precision.
    axes = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    axes = (axes * [float(ratio), 1.0]).astype(np.float32).astype(np.float64)
    rows, columns = np.linalg.norm(axes, axis=0)
    exact = round(height * ratio)
    assert square_size(height, 50, rows, columns) == (exact, 50)
    assert square_size(50, height, columns, rows) == (50, exact)


def test_spacings_within_a_hundredth_are_square_and_others_grow_the_coarser_axis():
    assert square_size(100, 200, 1.009, 1.0) == (100, 200)
    assert square_size(100, 200, 1.01, 1.0) == (101, 200)
    assert square_size(100, 200, 1.0, 1.02) == (100, 204)
    assert square_size(1, 200, 0.001, 1.0) == (1, 200_000)


@pytest.mark.parametrize("spacing", [(0.0, 1.0), (1.0, -1.0), (float("nan"), 1.0)])
def test_impossible_spacing_is_refused(spacing):
    with pytest.raises(ValueError, match="positive"):
        square_size(10, 10, *spacing)


def test_resampled_picture_and_mask_lie_on_each_other():
    picture = np.zeros((60, 40), np.uint8)
    picture[20:31, 7:19] = 255
    size = (60, 100)
    resized = resample_picture(picture, size)
    mask = resample_mask(picture > 0, size)
    assert resized.shape == mask.shape == size
    assert resized.dtype == np.uint8
    middle = np.argwhere(resized > 127).mean(0)
    assert np.abs(middle - np.argwhere(mask).mean(0)).max() < 0.6


def test_resampling_is_the_same_for_views_in_any_direction():
    rng = np.random.default_rng(3)
    picture = rng.integers(0, 256, (30, 20, 3), dtype=np.uint8)
    view = picture[::-1, ::-1]
    assert np.array_equal(
        resample_picture(view, (41, 20)), resample_picture(np.ascontiguousarray(view), (41, 20))
    )


def test_equal_size_is_no_resampling():
    picture = np.zeros((5, 6), np.uint8)
    assert resample_picture(picture, (5, 6)) is picture
    coloured = np.zeros((5, 6, 3), np.uint8)
    assert resample_picture(coloured, (5, 6)) is coloured
    assert np.array_equal(resample_mask(np.eye(4, dtype=bool), (4, 4)), np.eye(4, dtype=bool))


def test_mask_keeps_every_row_when_it_grows():
    mask = np.eye(3, dtype=bool)
    assert np.array_equal(resample_mask(mask, (6, 3)), np.repeat(mask, 2, axis=0))


def test_reader_and_display_agree_on_a_path_type(tmp_path: Path):
    nib.save(nib.Nifti1Image(phantom()[0], np.eye(4)), tmp_path / "a.nii.gz")
    volume = reorient(read(ImageRef(paths=(tmp_path / "a.nii.gz",))), "axial")
    assert volume.slices.shape == (SHAPE[2], SHAPE[1], SHAPE[0])

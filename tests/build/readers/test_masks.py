from __future__ import annotations

from dataclasses import replace

import nibabel as nib
import numpy as np
import pytest
from dicom_stacks import Stack, write_stack
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from medrcube.build.pixels.geometry import same_grid
from medrcube.build.pixels.volume import Volume, stack_slices
from medrcube.build.readers import check_grids, read, read_mask
from medrcube.build.regions.polygon_fill import fill_convex
from medrcube.errors import ReadError
from medrcube.facts import ImageRef, MaskFile
from medrcube.sources._synthetic.images import write_dicom

MARK = np.zeros((20, 30), np.uint8)
MARK[5:9, 10:20] = 1
OTHER = np.zeros((20, 30), np.uint8)
OTHER[15:18, 2:4] = 1
SHAPE = (1, 20, 30)


def joined(*paths, values=(), shape=SHAPE):
    image = Volume(slices=np.zeros(shape, np.uint8))
    return stack_slices(read_mask(MaskFile(paths=paths, values=values), image))


def save(path, array):
    Image.fromarray(array).save(path)
    return path


def test_every_value_above_zero_counts(tmp_path):
    mask = joined(save(tmp_path / "a.png", MARK * 7))
    assert mask.dtype == np.bool_
    assert np.array_equal(mask[0], MARK > 0)


def test_several_files_are_joined(tmp_path):
    mask = joined(save(tmp_path / "a.png", MARK * 255), save(tmp_path / "b.png", OTHER > 0))
    assert np.array_equal(mask[0], (MARK | OTHER) > 0)


def test_a_colour_channel_is_enough(tmp_path):
    coloured = np.zeros((20, 30, 3), np.uint8)
    coloured[..., 2] = MARK * 200
    assert np.array_equal(joined(save(tmp_path / "a.png", coloured))[0], MARK > 0)


def test_opaque_alpha_marks_nothing(tmp_path):
    image = Image.fromarray(MARK * 255).convert("RGBA")
    image.save(tmp_path / "a.png")
    assert np.array_equal(joined(tmp_path / "a.png")[0], MARK > 0)


def test_noise_of_jpeg_is_no_mark(tmp_path):
    Image.fromarray(MARK * 255).save(tmp_path / "a.jpg", quality=60)
    noisy = np.asarray(Image.open(tmp_path / "a.jpg"))
    assert ((noisy > 0) & (MARK == 0)).any()
    assert np.array_equal(joined(tmp_path / "a.jpg")[0], MARK > 0)


@given(st.integers(3, 12), st.integers(3, 9), st.integers(-3, 30), st.integers(-3, 20))
@settings(max_examples=30)
def test_line_around_a_convex_region_marks_what_it_encloses(across, down, column, row):
    rows, columns = np.mgrid[0:20, 0:30]
    disc = ((rows - row) / down) ** 2 + ((columns - column) / across) ** 2 < 1
    line = outline_of(disc)
    assert np.array_equal(fill_convex(line), disc)
    assert np.array_equal(fill_convex(disc), disc)


def outline_of(region):
    """Pixels of a region beside one outside, the border of the picture being outside."""
    wide = np.pad(region, 1)
    beside = (wide[2:, 1:-1], wide[:-2, 1:-1], wide[1:-1, 2:], wide[1:-1, :-2])
    return region & ~np.logical_and.reduce(beside)


def test_line_in_a_mask_file_marks_a_region_only_where_the_source_says_that_it_draws_lines(
    tmp_path,
):
    line = save(tmp_path / "a.png", outline_of(MARK > 0).astype(np.uint8) * 255)
    image = Volume(slices=np.zeros(SHAPE, np.uint8))
    marked = [
        read_mask(MaskFile(paths=(line,), outlined=is_line), image)[0] for is_line in (False, True)
    ]
    assert np.array_equal(marked[0], outline_of(MARK > 0))
    assert np.array_equal(marked[1], MARK > 0)


def test_pixel_selects_one_label(tmp_path):
    path = save(tmp_path / "a.png", MARK * 85 + OTHER * 170)
    assert np.array_equal(joined(path, values=(170,))[0], OTHER > 0)
    assert not joined(path, values=(3,)).any()


def test_pixel_of_a_palette_is_its_index(tmp_path):
    image = Image.fromarray(MARK + 2 * OTHER)
    image.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0])
    image.save(tmp_path / "a.png")
    assert np.array_equal(joined(tmp_path / "a.png", values=(2,))[0], OTHER > 0)
    assert np.array_equal(joined(tmp_path / "a.png")[0], (MARK | OTHER) > 0)


def test_pixel_in_a_coloured_mask_is_refused(tmp_path):
    coloured = np.zeros((20, 30, 3), np.uint8)
    coloured[..., 2] = MARK * 200
    with pytest.raises(ReadError, match="colour mask"):
        joined(save(tmp_path / "a.png", coloured), values=(200,))


def test_labels_stored_as_fractions_are_rounded(tmp_path):
    labels = (MARK + 4 * OTHER).astype(np.float32)[..., None].transpose(1, 0, 2)
    labels[labels == 4] = 3.99998
    nib.save(nib.Nifti1Image(labels, np.eye(4)), tmp_path / "a.nii.gz")
    assert np.array_equal(joined(tmp_path / "a.nii.gz", values=(4,))[0], OTHER > 0)


def test_mask_of_a_volume_lies_on_its_stored_grid(tmp_path):
    labels = np.zeros((6, 5, 4), np.uint8)
    labels[5, 3, 2] = 2
    nib.save(nib.Nifti1Image(labels, np.eye(4)), tmp_path / "a.nii")
    mask = joined(tmp_path / "a.nii", shape=(4, 5, 6))
    assert np.argwhere(mask).tolist() == [[2, 3, 5]]


def test_dicom_mask_is_read(tmp_path):
    write_dicom(tmp_path / "1-1.dcm", MARK * 255)
    assert np.array_equal(joined(tmp_path / "1-1.dcm")[0], MARK > 0)
    assert np.array_equal(joined(tmp_path / "1-1.dcm", values=(255,))[0], MARK > 0)


def test_dicom_mask_of_one_file_a_slice_lies_where_its_slices_do(tmp_path):
    """Files are named against the order of the slices."""
    marked = np.zeros((3, 6, 5), np.uint8)
    marked[2, 1, 4] = 1
    stack = Stack(name="image", count=3)
    image = read(ImageRef(paths=write_stack(tmp_path / "image", 40 * marked + 7, stack)))
    mask = replace(stack, name="mask", spacing=(-3.0, 1.0, 1.0), origin=(0.0, 0.0, 6.0))
    paths = write_stack(tmp_path / "mask", marked[::-1], mask, Modality="MR")
    result = read_mask(MaskFile(paths=paths), image)
    assert np.argwhere(np.stack([result[k] for k in range(3)])).tolist() == [[2, 1, 4]]


def test_dicom_mask_that_lacks_a_slice_is_refused(tmp_path):
    pixels, stack = np.ones((3, 6, 5), np.uint8), Stack(name="image", count=3)
    image = read(ImageRef(paths=write_stack(tmp_path / "image", pixels, stack)))
    paths = write_stack(tmp_path / "mask", pixels[:2], replace(stack, name="mask", count=2))
    with pytest.raises(ReadError, match="the mask has 2 slice"):
        read_mask(MaskFile(paths=paths), image)


def test_colour_axis_of_the_image_is_ignored(tmp_path):
    mask = joined(save(tmp_path / "a.png", MARK), shape=(1, 20, 30, 3))
    assert mask.shape == SHAPE


def test_mask_of_another_size_is_refused_with_both_sizes(tmp_path):
    path = save(tmp_path / "a.png", MARK)
    with pytest.raises(ReadError, match=r"20 rows x 30 columns.*21 rows x 30 columns") as excinfo:
        joined(path, shape=(1, 21, 30))
    assert excinfo.value.code == "mask-size"


def write_labels(path, labels, affine):
    nib.save(nib.Nifti1Image(labels.T, affine), path)
    return path


def on(path, image, values=(), drawn_on=None):
    mask = MaskFile(paths=(path,), values=values, drawn_on=drawn_on)
    return stack_slices(read_mask(mask, read(ImageRef(paths=(image,)))))


def body(shape, spacing, offset=0.0):
    """Labels of a box and a point, at places in mm, on any grid: (k, row, column)."""
    centres = np.meshgrid(
        *[offset + (np.arange(n) + 0.5) * s for n, s in zip(shape, spacing, strict=True)],
        indexing="ij",
    )
    box = [
        (low < c) & (c < high)
        for c, low, high in zip(centres, (6, 4, 10), (18, 16, 30), strict=True)
    ]
    return (box[0] & box[1] & box[2]).astype(np.uint8) * 3


def grid(spacing, offset=0.0):
    """RAS affine of a grid whose first voxel begins at ``offset`` mm on each axis."""
    k, row, column = spacing
    affine = np.diag([column, row, k, 1.0])
    affine[:3, 3] = offset + np.array([column, row, k]) / 2
    return affine


SPACING = (2.0, 2.0, 2.0)
LABELS = body((12, 20, 20), SPACING)


@pytest.fixture
def image(tmp_path):
    """An image on the grid of ``LABELS``."""
    return write_labels(tmp_path / "image.nii", LABELS, grid(SPACING))


def write_carried(tmp_path, labels, affine):
    """A mask, as the image that it was drawn on and as the mask itself."""
    return {
        "path": write_labels(tmp_path / "mask.nii", labels, affine),
        "drawn_on": write_labels(tmp_path / "drawn_on.nii", labels, affine),
    }


def test_mask_drawn_on_another_image_is_carried_over_in_space(tmp_path):
    fine, coarse = (6.0, 0.5, 0.5), (2.0, 2.0, 2.0)
    image = write_labels(tmp_path / "flair.nii", np.zeros((4, 80, 80), np.uint8), grid(fine))
    mask = write_carried(tmp_path, body((12, 20, 20), coarse), grid(coarse))
    carried = on(image=image, values=(3,), **mask)
    # The box spans 6-18 x 4-16 x 10-30 mm, which whole voxels of both grids fill.
    assert np.array_equal(carried, body((4, 80, 80), fine) > 0)
    assert not on(image=image, values=(2,), **mask).any()


def test_mask_drawn_on_another_image_must_lie_on_the_grid_of_that_one(tmp_path, image):
    drawn_on = write_labels(tmp_path / "drawn_on.nii", LABELS, grid(SPACING, offset=15.0))
    mask = write_labels(tmp_path / "mask.nii", LABELS, grid(SPACING))
    with pytest.raises(ReadError, match=r"mask and drawn_on.nii .* 26.0 mm") as excinfo:
        on(mask, image, drawn_on=drawn_on)
    assert excinfo.value.code == "mask-place"


def test_nothing_is_marked_outside_the_grid_of_the_mask(tmp_path):
    image = write_labels(tmp_path / "image.nii", np.zeros((12, 20, 20), np.uint8), grid(SPACING))
    mask = write_carried(tmp_path, np.ones((12, 4, 20), np.uint8), grid(SPACING, offset=6.0))
    carried = on(image=image, **mask)
    rows = carried.any(axis=(0, 2))
    assert np.flatnonzero(rows).tolist() == [3, 4, 5, 6]
    assert not carried[:3].any()
    assert carried[3:].any(axis=(1, 2)).all()


def test_half_a_voxel_belongs_to_one_side_everywhere(tmp_path):
    image = write_labels(
        tmp_path / "image.nii", np.zeros((1, 1, 8), np.uint8), np.diag([1.0, 1, 1, 1])
    )
    affine = np.diag([1.0, 1, 1, 1])
    affine[0, 3] = 0.5
    mask = write_carried(tmp_path, np.uint8([[[1, 0, 1, 1, 0, 0, 1, 0]]]), affine)
    assert on(image=image, **mask)[0, 0].tolist() == [1, 0, 1, 1, 0, 0, 1, 0]


def test_carried_mask_that_lies_elsewhere_is_refused(tmp_path, image):
    mask = write_carried(tmp_path, LABELS, grid(SPACING, offset=500.0))
    with pytest.raises(ReadError, match="does not overlap its image") as excinfo:
        on(image=image, **mask)
    assert excinfo.value.code == "mask-place"


@pytest.mark.parametrize("carried", [False, True])
def test_grids_are_checked_without_the_pixels_of_the_mask(tmp_path, image, carried):
    beside = write_labels(tmp_path / "beside.nii", LABELS, grid(SPACING, offset=1.5))
    mask = MaskFile(paths=(beside,), drawn_on=beside if carried else None)
    code = None
    try:
        check_grids(mask, read(ImageRef(paths=(image,))))
    except ReadError as error:
        code = error.code
    assert code == (None if carried else "mask-place")


def noisy(affine, rounding):
    """An affine as headers give it back."""
    if rounding == "float32":
        return np.float64(np.float32(affine))
    header = nib.Nifti1Header()
    if rounding == "quaternion":
        header.set_qform(affine, code=1)
        return header.get_qform()
    return np.round(affine, 3)


def spacings(rounding):
    """Spacings in mm at which a rounding moves no corner of 256 x 256 x 60 voxels by half a voxel.

    Three decimals are half a micrometre off in each cell of the affine, so that a corner is off by
    0.0005 * (255 + 255 + 59 + 1) mm along each axis and 0.494 mm in space: half of 0.99 mm. A
    header keeps three parts of a quaternion in 32 bits and the fourth is a root of what they leave
    of 1: near half a turn that is 0.0005 off, the turn 0.0011 rad, and a corner 0.39 of the
    largest spacing, which may be 1.29 of the smallest. A whole affine in 32 bits is off by far
    less than any voxel.
    """
    if rounding == "quaternion":
        uneven = st.tuples(*[st.floats(1, 1.25)] * 3)
        return st.tuples(st.floats(0.4, 6), uneven).map(
            lambda entry: tuple(entry[0] * n for n in entry[1])
        )
    return st.tuples(*[st.floats(1 if rounding == "three decimals" else 0.4, 8)] * 3)


@settings(max_examples=60)
@given(
    turn=st.floats(-np.pi, np.pi),
    tilt=st.floats(-0.6, 0.6),
    origin=st.tuples(*[st.floats(-400, 400)] * 3),
    spaced=st.sampled_from(["float32", "quaternion", "three decimals"]).flatmap(
        lambda rounding: st.tuples(st.just(rounding), spacings(rounding))
    ),
)
def test_rounding_of_headers_moves_no_grid(turn, tilt, origin, spaced):
    rounding, spacing = spaced
    c, s, k, m = np.cos(turn), np.sin(turn), np.cos(tilt), np.sin(tilt)
    affine = np.eye(4)
    affine[:3, :3] = [[c, -s, 0], [s, c, 0], [0, 0, 1]] @ np.array(
        [[1, 0, 0], [0, k, -m], [0, m, k]]
    )
    affine[:3, :3] *= spacing
    affine[:3, 3] = origin
    slices = np.broadcast_to(np.uint8(0), (60, 256, 256))
    volume = Volume(slices=slices, affine=affine[:, [2, 1, 0, 3]])
    assert same_grid(volume, Volume(slices=slices, affine=noisy(affine, rounding)[:, [2, 1, 0, 3]]))


@settings(max_examples=60)
@given(
    axis=st.integers(0, 2),
    step=st.floats(0.51, 30),
    sign=st.sampled_from([-1, 1]),
    origin=st.tuples(*[st.floats(-400, 400)] * 3),
)
def test_a_shift_of_more_than_half_a_voxel_is_another_grid(axis, step, sign, origin):
    affine = np.diag([3.0, 0.7, 0.7, 1])
    affine[:3, 3] = origin
    moved = affine.copy()
    moved[:3, 3] += sign * step * affine[:3, axis]
    slices = np.broadcast_to(np.uint8(0), (20, 64, 64))
    assert not same_grid(Volume(slices=slices, affine=affine), Volume(slices=slices, affine=moved))


def test_mask_without_a_place_must_have_the_size_of_its_image(tmp_path):
    labels = body((12, 20, 20), (2.0, 2.0, 2.0))
    image = write_labels(tmp_path / "image.nii", labels, grid((2.0, 2.0, 2.0)))
    nowhere = nib.Nifti1Image(labels.T, None)
    nib.save(nowhere, tmp_path / "mask.nii")
    assert np.array_equal(on(tmp_path / "mask.nii", image), labels > 0)
    nib.save(nib.Nifti1Image(labels[:6].T, None), tmp_path / "mask.nii")
    with pytest.raises(ReadError) as excinfo:
        on(tmp_path / "mask.nii", image)
    assert excinfo.value.code == "mask-size"


def test_label_map_is_read_once_for_all_its_values_until_it_changes(tmp_path, monkeypatch):
    labels = body((12, 20, 20), (2.0, 2.0, 2.0))
    image = write_labels(tmp_path / "image.nii", labels, grid((2.0, 2.0, 2.0)))
    mask = write_labels(tmp_path / "mask.nii.gz", labels, grid((2.0, 2.0, 2.0)))
    count = []

    def counted(ref, **how):
        count.append(ref)
        return read(ref, **how)

    monkeypatch.setattr("medrcube.build.readers.masks.read", counted)
    assert [on(mask, image, values=(k,)).any() for k in (1, 2, 3)] == [False, False, True]
    assert len(count) == 1
    write_labels(mask, labels // 3, grid((2.0, 2.0, 2.0)))
    assert on(mask, image, values=(1,)).any()
    assert len(count) == 2

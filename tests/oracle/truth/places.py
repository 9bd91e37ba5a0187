"""Where a thing lies in an image, from its raw masks, boxes and lines alone.

Read by nibabel, pydicom, SimpleITK, Pillow and scipy: nothing of the product that reads masks,
turns volumes or draws lines is asked. An adapter says only which file holds which region.
"""

from itertools import product

import nibabel as nib
import numpy as np
import pydicom
import SimpleITK
from nibabel.processing import resample_from_to
from PIL import Image, ImageDraw
from scipy.ndimage import (
    binary_dilation,
    binary_erosion,
    binary_fill_holes,
    distance_transform_edt,
)

from medrcube.facts import Consensus, MaskFile, Polygons, Rectangle, Runs
from medrcube.forms import form_of

__all__ = ["place_faults"]

AROUND = np.ones((3, 3), bool)
FINER = 4
BEYOND = 4
"""Pixels from a region at which no point passes."""
BLUNT = 12
"""Least side in pixels of a box whose corners lie well outside of its ellipse."""
WHOLE = 0.5
"""Share of an image that a box must fill for the whole of it to pass."""


def place_faults(card, case, item, sample):
    """What is wrong with a point or box that is asked for.

    Args:
        card: of the source.
        case: with its raw regions.
        item: of the form ``point`` or ``box``.
        sample: the image that it is asked of.
    """
    size, target = (sample.width, sample.height), item.target
    if tuple(target.size) != size:
        yield f"the size is {target.size}, the image has {size}"
        return
    mask, step = _truth(card, case, item, int(sample.frames), size)
    if not mask.any():
        yield f"{item.concept!r} is not marked on slice {sample.frames}"
        return
    own = target.box if item.form == "box" else target.region
    target_mask = _mask_of(own, mask.shape)
    if item.form == "box":
        mask = _mask_of(_around(mask), mask.shape)
    if not _near(target_mask, mask, step):
        yield f"{item.concept!r} covers {mask.sum()} pixels, the target {target_mask.sum()} others"
    yield from _misjudged(item, target, mask)
    if item.form == "point":
        yield from _passing_corners(case, item, target)


def _passing_corners(case, item, target):
    """Corners of drawn boxes that pass though the finding need not reach them."""
    marked = [region for region in case.regions if region.field == item.field]
    width, height = target.size
    if len(marked) != 1 or not _is_drawn(marked[0].shape):
        return
    if not hasattr(target.region, "boxes"):
        yield "a drawn box is taken for an outline"
        return
    score = form_of(target).score
    for left, top, right, bottom in target.region.boxes:
        if min(right - left, bottom - top) < BLUNT:
            continue
        for x, y in product((left, right), (top, bottom)):
            if score([1000 * x / width, 1000 * y / height], target).passed:
                yield f"the corner ({x:g}, {y:g}) of the drawn box passes"


def _misjudged(item, target, mask):
    """Answers that the form takes for right or wrong against the raw mask."""
    height, width = mask.shape
    score = form_of(target).score
    if item.form == "box":
        x0, y0, x1, y1 = _around(mask)
        scaled = np.array([x0 / width, y0 / height, x1 / width, y1 / height]) * 1000
        if not score(scaled.tolist(), target).passed:
            yield "the box around the raw mask does not pass"
        if score([0, 0, 1000, 1000], target).passed and mask.mean() < WHOLE:
            yield "the whole image passes"
        return
    row, column = np.unravel_index(distance_transform_edt(np.pad(mask, 1)).argmax(), [
        side + 2 for side in mask.shape
    ])  # fmt: skip
    if not score(_thousandths(column - 1, row - 1, mask.shape), target).passed:
        yield "the pixel that is deepest in the raw mask does not pass"
    apart = distance_transform_edt(~mask)
    row, column = np.unravel_index(apart.argmax(), mask.shape)
    if apart.max() > BEYOND and score(_thousandths(column, row, mask.shape), target).passed:
        yield "the pixel that is farthest from the raw mask passes"


def _thousandths(column, row, shape):
    return [1000 * (column + 0.5) / shape[1], 1000 * (row + 0.5) / shape[0]]


def _around(mask):
    rows, columns = np.nonzero(mask)
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


def _is_drawn(shape):
    """Whether a region is a box, or what several readers' boxes share, by its corners alone."""
    if isinstance(shape, Polygons):
        return bool(shape.outlines) and all(_is_upright(line.points) for line in shape.outlines)
    return isinstance(shape, Rectangle) or (
        isinstance(shape, Consensus) and any(map(_is_drawn, shape.readings))
    )


def _is_upright(corners):
    """Whether four corners are those of an upright box."""
    return len(corners) == 4 and all(len(set(places)) == 2 for places in zip(*corners, strict=True))


def _truth(card, case, item, frame, size):
    """Pixels that the regions of a concept mark on a slice, in an image of ``(width, height)``.

    For a point, a drawn box counts as the ellipse in it.

    Returns:
        The mask, and how many pixels of the image one of the raw grid is wide.
    """
    named = [
        region.shape
        for region in case.regions
        if region.field == item.field
        and card.fields[item.field].concept(region.value) == item.concept
    ]
    marked = [_marked(card, case, shape, frame) for shape in named]
    sizes = {mask.shape for mask in marked}
    assert len(sizes) == 1, f"regions of {case.key} on grids of {sizes}"
    step = max(size[0] / marked[0].shape[1], size[1] / marked[0].shape[0], 1)
    if marked[0].shape != (size[1], size[0]):
        marked = [
            np.asarray(Image.fromarray(mask).resize(size, Image.Resampling.NEAREST))
            for mask in marked
        ]
    if item.form == "point":
        marked = [
            _oval(_around(mask), mask.shape) if _is_drawn(shape) and mask.any() else mask
            for mask, shape in zip(marked, named, strict=True)
        ]
    return np.logical_or.reduce(marked), step


def _mask_of(place, shape):
    """Pixels of a box, of run lengths down the columns, or of ellipses."""
    if hasattr(place, "counts"):
        values = np.arange(len(place.counts)) % 2 == 1
        return np.repeat(values, place.counts).reshape(shape[::-1]).T
    if hasattr(place, "boxes"):
        return np.logical_or.reduce([_oval(box, shape) for box in place.boxes])
    x0, y0, x1, y1 = map(int, place)
    mask = np.zeros(shape, bool)
    mask[y0:y1, x0:x1] = True
    return mask


def _oval(box, shape):
    """Pixels of which the ellipse in a box holds more than half; drawn finer."""
    page = Image.new("L", (shape[1] * FINER, shape[0] * FINER))
    x0, y0, x1, y1 = (FINER * int(side) for side in box)
    ImageDraw.Draw(page).ellipse((x0, y0, x1 - 1, y1 - 1), fill=1)
    parts = np.asarray(page).reshape(shape[0], FINER, shape[1], FINER)
    return parts.sum(axis=(1, 3)) > FINER**2 / 2


def _near(first, second, pixels):
    """Whether two masks differ by no more than so many pixels at their borders."""
    steps = int(np.ceil(pixels))
    grown, shrunk = (
        change(second, AROUND, iterations=steps) for change in (binary_dilation, binary_erosion)
    )
    return not (first & ~grown).any() and not (shrunk & ~first).any()


def _marked(card, case, shape, frame):
    if isinstance(shape, Consensus):
        votes = sum(_marked(card, case, reading, frame).astype(int) for reading in shape.readings)
        return votes >= max(1, np.ceil(shape.share * len(shape.readings) - 1e-9))
    if isinstance(shape, MaskFile):
        return _of_files(card, case, shape, frame)
    if isinstance(shape, Runs):
        flat = np.zeros(shape.size[0] * shape.size[1], bool)
        for first, length in shape.runs:
            flat[first : first + length] = True
        return flat.reshape(shape.size[::-1]).T if shape.down else flat.reshape(shape.size)
    (rows, columns), slices = _stored_size(case)
    mask = np.zeros((rows, columns), bool)
    if isinstance(shape, Rectangle):
        width, height = shape.frame or (columns, rows)
        x0, y0, x1, y1 = np.array(shape.xyxy) * np.tile([columns / width, rows / height], 2)
        if shape.slices is None or shape.slices[0] <= frame < shape.slices[1]:
            mask[int(y0) : int(np.ceil(y1)), int(x0) : int(np.ceil(x1))] = True
        return mask
    assert isinstance(shape, Polygons)
    uid = slices[frame] if slices else None
    for line in sorted(shape.outlines, key=lambda line: line.hole):
        if line.slice not in {None, uid}:
            continue
        scale = (columns / shape.frame[0], rows / shape.frame[1]) if shape.frame else (1, 1)
        corners = [((x + 0.5) * scale[0] - 0.5, (y + 0.5) * scale[1] - 0.5) for x, y in line.points]
        inside = _enclosed(corners, line.edge, (columns, rows))
        mask = mask & ~inside if line.hole else mask | inside
    return _as_seen(case, mask)


def _enclosed(corners, edge, size):
    """Pixels of which an outline holds something, or without those under it all; drawn finer."""
    width, height = size
    page = Image.new("1", (width * FINER, height * FINER))
    points = [((x + 0.5) * FINER - 0.5, (y + 0.5) * FINER - 0.5) for x, y in corners]
    ImageDraw.Draw(page).polygon(points, fill=1, outline=1)
    parts = np.asarray(page).reshape(height, FINER, width, FINER)
    return parts.any(axis=(1, 3)) if edge else parts.all(axis=(1, 3))


def _as_seen(case, mask):
    """A stored slice of DICOM with the patient's right at the left, and the front at the top."""
    header = _header(case.images[0].paths[0]) if case.images[0].raw is None else None
    if header is None or "ImageOrientationPatient" not in header:
        return mask
    along, down = np.reshape(header.ImageOrientationPatient, (2, 3)).astype(float)
    return mask[:: -1 if down[1] < 0 else 1, :: -1 if along[0] < 0 else 1]


def _of_files(card, case, shape, frame):
    layers = [_of_file(card, case, shape, path, frame) for path in shape.paths]
    return np.logical_or.reduce(layers)


def _of_file(card, case, shape, path, frame):
    if ".nii" in path.name:
        return _of_nifti(card, case, shape, path, frame)
    header = _header(path)
    if header is None:
        with Image.open(path) as file:
            grey = np.asarray(file.convert("L"))
        mask = grey > 0 if not shape.values else np.isin(grey, shape.values)
        return binary_fill_holes(mask) if shape.outlined else mask
    if header.SOPClassUID != pydicom.uid.SegmentationStorage:
        return pydicom.dcmread(path).pixel_array > 0
    return _of_segments(case, shape, header, frame)


def _of_segments(case, shape, file, frame):
    """Frames of a DICOM segmentation at the height of the slice that is shown."""
    height = _by_height(case)[frame][0]
    layers = [np.zeros((file.Rows, file.Columns), bool)]
    for place, own in enumerate(file.PerFrameFunctionalGroupsSequence):
        number = own.SegmentIdentificationSequence[0].ReferencedSegmentNumber
        at = float(own.PlanePositionSequence[0].ImagePositionPatient[2])
        if number in shape.values and abs(at - height) < 1e-3:
            layers.append(file.pixel_array[place] > 0)
    return np.logical_or.reduce(layers)


def _of_nifti(card, case, shape, path, frame):
    labels = nib.load(path)
    if shape.drawn_on is not None:
        labels = resample_from_to(labels, nib.load(case.images[0].paths[0]), order=0)
    as_is = card.pixels.orient == "stored"
    volume = labels if as_is else nib.as_closest_canonical(labels)
    values = np.rint(np.asarray(volume.dataobj))
    values = values[..., None] if values.ndim == 2 else values
    mask = np.isin(values, shape.values) if shape.values else values > 0
    if as_is:
        return mask[:, :, frame].T
    plane, spacing = case.plane or card.pixels.plane, volume.header.get_zooms()
    axis = {"sagittal": 0, "coronal": 1, "axial": 2}[plane]
    if 1 in mask.shape:
        axis = mask.shape.index(1)
    turned = np.flip(mask, [n for n in range(3) if n != 2 or axis != 2])
    flat = turned.take(frame, axis=axis).T
    across, down = (spacing[n] for n in range(3) if n != axis)
    return _squared(flat, across, down)


def _squared(mask, across, down):
    """The same in square pixels of the smaller side, as images are shown."""
    if abs(across / down - 1) < 0.01:
        return mask
    side = min(across, down)
    size = (round(mask.shape[1] * across / side), round(mask.shape[0] * down / side))
    return np.asarray(Image.fromarray(mask).resize(size, Image.Resampling.NEAREST))


def _header(path):
    try:
        return pydicom.dcmread(path)
    except pydicom.errors.InvalidDicomError:
        return None


def _by_height(case):
    """Height in mm and UID of every slice of a series, from the feet upwards."""
    heads = [pydicom.dcmread(path, stop_before_pixels=True) for path in case.images[0].paths]
    return sorted((float(head.ImagePositionPatient[2]), head.SOPInstanceUID) for head in heads)


def _stored_size(case):
    """Rows and columns of the stored image, and the UIDs of its slices where it has several."""
    image = case.images[0]
    if image.raw is not None:
        return (image.raw.rows, image.raw.columns), []
    path = image.paths[0]
    if path.suffix == ".mhd":
        reader = SimpleITK.ImageFileReader()
        reader.SetFileName(str(path))
        reader.ReadImageInformation()
        return reader.GetSize()[1::-1], []
    if path.suffix == ".avi":
        return (112, 112), []
    header = _header(path)
    if header is None:
        with Image.open(path) as file:
            return file.size[::-1], []
    placed = "ImagePositionPatient" in header
    return (header.Rows, header.Columns), [uid for _, uid in _by_height(case)] if placed else []

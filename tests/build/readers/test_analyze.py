import nibabel
import numpy as np
import pytest

from medrcube.build.readers import read
from medrcube.errors import ReadError
from medrcube.facts import ImageRef

BODY = np.random.default_rng(4).integers(-1000, 1000, (4, 5, 6))


def save(path, order=">", code="i2", **fields):
    header = nibabel.AnalyzeHeader(endianness=order)
    header.set_data_dtype(order + code)
    header.set_data_shape(BODY.shape[::-1])
    header.set_zooms((1.0, 2.0, 3.0))
    for name, value in fields.items():
        header[name] = value
    path.write_bytes(header.binaryblock)
    suffix = ".img" if path.suffix == ".hdr" else ".IMG"
    path.with_suffix(suffix).write_bytes(BODY.astype(order + code).tobytes())
    return path


def load(path):
    return read(ImageRef(paths=(path,), parts=(path.with_suffix(".img"),)))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("name", ["a.hdr", "A.HDR"])
def test_analyze_is_read_in_either_byte_order_and_has_no_directions(tmp_path, name, order):
    volume = load(save(tmp_path / name, order))
    assert np.array_equal(volume.slices, BODY)
    assert volume.spacing == (3, 2, 1)
    assert volume.affine is None


@pytest.mark.parametrize("length", [None, 100])
def test_analyze_with_short_or_missing_voxels_is_refused(tmp_path, length):
    path = save(tmp_path / "a.hdr")
    voxels = path.with_suffix(".img")
    content = voxels.read_bytes()
    voxels.unlink()
    if length:
        voxels.write_bytes(content[:length])
    with pytest.raises(ReadError, match=r"a\.hdr.*a\.img") as excinfo:
        load(path)
    assert excinfo.value.code == "truncated"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"datatype": 77}, "unreadable"),
        ({"datatype": 32, "bitpix": 64}, "unsupported-format"),
        ({"dim": [3, 0, 5, 4, 1, 1, 1, 1]}, "unreadable"),
        ({"dim": [3, 32000, 32000, 4, 1, 1, 1, 1]}, "too-large"),
        ({"vox_offset": -4.0}, "unreadable"),
        ({"vox_offset": np.nan}, "unreadable"),
    ],
)
def test_damaged_analyze_header_is_refused(tmp_path, fields, code):
    with pytest.raises(ReadError) as excinfo:
        load(save(tmp_path / "a.hdr", **fields))
    assert excinfo.value.code == code


def test_analyze_without_a_size_of_its_voxels_has_no_spacing(tmp_path):
    assert load(save(tmp_path / "a.hdr", pixdim=np.zeros(8))).spacing is None

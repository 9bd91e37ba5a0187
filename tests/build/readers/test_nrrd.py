import gzip

import nibabel as nib
import numpy as np
import pytest
import SimpleITK

from medrcube.build.readers.detect_format import content_of, read
from medrcube.errors import ReadError
from medrcube.facts import ImageRef

HEAD = "type: short\ndimension: 3\nsizes: 3 2 4\nendian: little\n"
PLACED = (
    "space directions: (2,0,0) (0,3,0) (0,0,4)\nspace origin: (10,20,30)\n"
    "kinds: domain domain domain\n"
)
VALUES = np.arange(24, dtype="<i2").reshape(4, 2, 3)


def _oblique():
    image = SimpleITK.GetImageFromArray(
        np.random.default_rng(5).integers(-900, 900, (4, 5, 6), np.int16)
    )
    turn = SimpleITK.Euler3DTransform((0, 0, 0), 0.3, -0.2, 0.5)
    image.SetDirection(turn.GetMatrix())
    image.SetSpacing((0.7, 0.9, 2.5))
    image.SetOrigin((-31.0, 12.5, 77.0))
    return image


def _read(path, frame=None):
    return read(ImageRef(paths=(path,), frame=frame))


def _write(path, fields, data, encoding="raw"):
    path.write_bytes(f"NRRD0004\n{HEAD}encoding: {encoding}\n{fields}".encode() + b"\n" + data)
    return path


@pytest.mark.parametrize("name", ["v.nrrd", "v.nhdr"])
@pytest.mark.parametrize("packed", [True, False])
def test_an_oblique_volume_is_what_the_same_one_is_as_nifti_and_as_metaimage(
    tmp_path, name, packed
):
    for file in (name, "v.mha", "v.nii"):
        SimpleITK.WriteImage(_oblique(), str(tmp_path / file), useCompression=packed)
    volume = _read(tmp_path / name)
    assert content_of(tmp_path / name) == "nrrd"
    for other in (_read(tmp_path / "v.mha"), _read(tmp_path / "v.nii")):
        np.testing.assert_array_equal(volume.slices, other.slices)
        np.testing.assert_allclose(volume.affine, other.affine, atol=1e-5)
        np.testing.assert_allclose(volume.spacing, other.spacing, rtol=1e-6)


def test_a_nifti_2_file_lies_where_the_same_nifti_1_file_does(tmp_path):
    SimpleITK.WriteImage(_oblique(), str(tmp_path / "one.nii.gz"))
    volume = nib.load(tmp_path / "one.nii.gz")
    nib.save(nib.Nifti2Image(volume.dataobj, volume.affine), tmp_path / "two.nii.gz")
    first, second = _read(tmp_path / "one.nii.gz"), _read(tmp_path / "two.nii.gz")
    np.testing.assert_array_equal(first.slices, second.slices)
    np.testing.assert_allclose(first.affine, second.affine, atol=1e-5)


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("raw", VALUES.tobytes()),
        ("gzip", gzip.compress(VALUES.tobytes(), mtime=0)),
        ("ascii", " ".join(map(str, VALUES.ravel())).encode()),
        ("hex", VALUES.tobytes().hex().encode()),
    ],
)
def test_every_encoding_gives_the_same_pixels(tmp_path, encoding, data):
    path = _write(tmp_path / "v.nrrd", "space: left-posterior-superior\n" + PLACED, data, encoding)
    np.testing.assert_array_equal(_read(path).slices, VALUES)


@pytest.mark.parametrize(
    ("space", "signs"),
    [
        ("left-posterior-superior", (-1, -1, 1)),
        ("LPS", (-1, -1, 1)),
        ("right-anterior-superior", (1, 1, 1)),
        ("left-anterior-superior", (-1, 1, 1)),
    ],
)
def test_a_space_of_the_patient_becomes_right_anterior_superior(tmp_path, space, signs):
    path = _write(tmp_path / "v.nrrd", f"space: {space}\n{PLACED}", VALUES.tobytes())
    expected = np.diag([*signs, 1]) @ [[0, 0, 2, 10], [0, 3, 0, 20], [4, 0, 0, 30], [0, 0, 0, 1]]
    np.testing.assert_allclose(_read(path).affine, expected)


@pytest.mark.parametrize("fields", ["spacings: 2 3 4\n", "space dimension: 3\n" + PLACED])
def test_a_volume_without_a_space_of_the_patient_has_no_affine(tmp_path, fields):
    volume = _read(_write(tmp_path / "v.nrrd", fields, VALUES.tobytes()))
    assert volume.affine is None
    assert volume.spacing == (4.0, 3.0, 2.0)


@pytest.mark.parametrize(
    ("fields", "data", "encoding", "code"),
    [
        ("", VALUES.tobytes()[:-1], "raw", "truncated"),
        ("", gzip.compress(VALUES.tobytes(), mtime=0)[:-20], "gzip", "truncated"),
        ("data file: gone.raw\n", b"", "raw", "truncated"),
        ("data file: ../v.raw\n", b"", "raw", "outside-root"),
        ("data file: /etc/passwd\n", b"", "raw", "outside-root"),
        ("datafile: LIST\n", b"a.raw\nb.raw\n", "raw", "unsupported-format"),
        ("data file: v%d.raw 1 4 1\n", b"", "raw", "unsupported-format"),
        ("data file: a.raw\ndatafile: b.raw\n", b"", "raw", "unreadable"),
        ("sizes: 9 9 9\n", VALUES.tobytes(), "raw", "unreadable"),
    ],
)
def test_a_damaged_or_outward_file_is_refused(tmp_path, fields, data, encoding, code):
    with pytest.raises(ReadError) as excinfo:
        _read(_write(tmp_path / "v.nrrd", fields, data, encoding))
    assert excinfo.value.code == code


def test_several_values_for_each_voxel_are_refused(tmp_path):
    image = SimpleITK.GetImageFromArray(np.zeros((2, 3, 4, 3), np.uint8), isVector=True)
    SimpleITK.WriteImage(image, str(tmp_path / "v.nrrd"))
    with pytest.raises(ReadError, match="several values per pixel"):
        _read(tmp_path / "v.nrrd")


def test_one_slice_of_a_volume_lies_where_it_lay(tmp_path):
    SimpleITK.WriteImage(_oblique(), str(tmp_path / "v.nrrd"))
    whole, result = _read(tmp_path / "v.nrrd"), _read(tmp_path / "v.nrrd", 2)
    np.testing.assert_array_equal(result.slices[0], whole.slices[2])
    np.testing.assert_allclose(result.affine @ [0, 1, 1, 1], whole.affine @ [2, 1, 1, 1])

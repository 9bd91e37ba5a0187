from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from dicom_stacks import Stack, write_stack

from medrcube.errors import ReadError, SourceError
from medrcube.sources._formats.dicom.headers import (
    FACTS,
    IDENTIFIERS,
    in_slice_order,
    read_header,
    referenced_series,
    rois_of,
    segments_of,
    series_in,
)
from medrcube.sources._synthetic.dicom import Series, uid_of, write_segmentation, write_structures
from medrcube.sources._synthetic.dicom import write_series as write_ct
from medrcube.sources._synthetic.images import CANARY, write_dicom

PIXELS = np.zeros((3, 8, 10), np.uint16)


def test_named_elements_are_read_as_text(tmp_path):
    write_dicom(
        tmp_path / "a", PIXELS[0], Modality="CT", PixelSpacing=[0.5, 0.25], PatientSex="", KVP=None
    )
    header = read_header(
        tmp_path / "a", ["Modality", "PixelSpacing", "PatientSex", "KVP", "PatientID", "Rows"]
    )
    assert header == {
        "Modality": "CT",
        "PixelSpacing": "0.5\\0.25",
        "PatientID": CANARY,
        "Rows": "8",
    }


@pytest.mark.parametrize(
    "keyword", ["PatientName", "PatientBirthDate", "AccessionNumber", "StudyDate", "PixelData", "x"]
)
def test_element_that_may_name_a_person_is_refused(tmp_path, keyword):
    write_dicom(tmp_path / "a", PIXELS[0])
    with pytest.raises(SourceError, match=keyword):
        read_header(tmp_path / "a", ["Modality", keyword])


def test_no_allowed_element_is_a_name_a_date_or_a_place():
    words = ("Name", "Date", "Time", "Birth", "Address", "Institution", "Physician", "Comments")
    harmless = {"SequenceName", "InversionTime", "EchoTime", "RepetitionTime", "ProtocolName"}
    harmless |= {"ManufacturerModelName"}
    assert not {key for key in FACTS - harmless if any(word in key for word in words)}
    assert not FACTS & IDENTIFIERS


@pytest.mark.parametrize("content", [b"", b"no DICOM at all"])
def test_file_that_is_no_dicom_is_refused_without_its_content(tmp_path, content):
    (tmp_path / "a.dcm").write_bytes(content)
    with pytest.raises(ReadError, match=r"a\.dcm") as excinfo:
        read_header(tmp_path / "a.dcm", ["Modality"])
    assert excinfo.value.code == "unreadable"
    assert "at all" not in str(excinfo.value)


def test_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(ReadError) as excinfo:
        read_header(tmp_path / "a.dcm", ["Modality"])
    assert excinfo.value.code == "missing-file"


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_series_are_told_apart_by_content_whatever_their_names(tmp_path):
    paths = write_stack(tmp_path / "x" / "1", PIXELS, Stack(name="one", count=3))
    two = write_stack(tmp_path / "x" / "2", PIXELS[:2], Stack(name="two", count=2))
    odd = paths[1].rename(tmp_path / "x" / "2" / "IM0001")
    (tmp_path / "x" / "LICENSE").write_text("free")
    (tmp_path / "x" / "empty.dcm").touch()
    assert series_in(files_in(tmp_path)) == {
        uid_of("one"): (paths[0], paths[2], odd),
        uid_of("two"): two,
    }


def test_index_of_a_disc_is_no_series(tmp_path):
    write_stack(tmp_path, PIXELS, Stack(name="one", count=3))
    write_dicom(tmp_path / "DICOMDIR", PIXELS[0], SOPClassUID="1.2.840.10008.1.3.10")
    assert list(series_in(files_in(tmp_path))) == [uid_of("one")]


def test_file_of_no_series_is_refused(tmp_path):
    write_dicom(tmp_path / "a", PIXELS[0])
    with pytest.raises(ReadError) as excinfo:
        series_in(files_in(tmp_path))
    assert excinfo.value.code == "no-series"


def test_slices_are_put_in_order_of_their_position(tmp_path):
    paths = write_stack(tmp_path, PIXELS, Stack(name="one", count=3), InstanceNumber=1)
    assert in_slice_order([paths[1], paths[2], paths[0]]) == paths


def test_slice_without_a_place_has_no_order(tmp_path):
    paths = write_stack(tmp_path, PIXELS, Stack(name="one", count=3), ImageOrientationPatient=None)
    with pytest.raises(ReadError) as excinfo:
        in_slice_order(paths)
    assert excinfo.value.code == "no-position"


def test_what_was_drawn_says_its_names_and_its_series(tmp_path):
    series = Series(name="ct", patient="P1", volume=np.zeros((3, 8, 10), np.int16))
    write_ct(tmp_path / "ct", series)
    mask = np.zeros((3, 8, 10), np.bool_)
    mask[1, 2:4, 3:6] = True
    write_segmentation(tmp_path / "seg.dcm", series, {"GTV-1": mask, "Heart": ~mask})
    write_structures(tmp_path / "rt.dcm", series, {"GTV-1": mask, "Heart ": mask})
    assert segments_of(tmp_path / "seg.dcm") == {1: "GTV-1", 2: "Heart"}
    assert [name.strip() for name in rois_of(tmp_path / "rt.dcm")] == ["GTV-1", "Heart"]
    for name in ("seg.dcm", "rt.dcm"):
        assert referenced_series(tmp_path / name) == (series.uid,)


def test_module_loads_without_pydicom():
    code = "import sys, medrcube.sources._formats.dicom.headers; sys.exit('pydicom' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

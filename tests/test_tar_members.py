"""Headers of tar shards: what standard tools read, from name and size alone."""

import io
import tarfile

import pytest

from medrcube.release_format.shards import member_name
from medrcube.release_format.tar_members import END, LONGEST_NAME, member_header, padding

LONG = f"pictures/{'x' * 200}.png"


def _archive(members):
    parts = (
        (member_header(name, len(data)), data, padding(len(data))) for name, data in members.items()
    )
    return b"".join(part for member in parts for part in member) + END


@pytest.mark.parametrize("name", ["a.png", "pictures/" + "y" * 91, LONG, "z" * LONGEST_NAME])
def test_tarfile_reads_names_and_bytes(name):
    data = {name: b"one", "last": b"x" * 1024, "none": b""}
    with tarfile.open(fileobj=io.BytesIO(_archive(data)), mode="r:") as file:
        assert {member.name: file.extractfile(member).read() for member in file} == data
        assert {(entry.mtime, entry.uid, entry.gid, entry.mode) for entry in file} == {
            (0, 0, 0, 0o644)
        }


@pytest.mark.parametrize(("name", "size"), [("", 1), ("x" * 401, 1), ("x", -1), ("x", 8**11)])
def test_a_name_or_size_that_no_header_holds_is_refused(name, size):
    with pytest.raises(ValueError, match="tar header"):
        member_header(name, size)


def test_each_image_is_a_webdataset_sample_of_its_own():
    assert member_name("pictures/a.s0001.boxes-b.png") == "pictures/a+s0001+boxes-b.png"

"""Series of even axial slices are told from all other files of an exam by their headers."""

import numpy as np
import pytest
from dicom_stacks import Stack, write_stack

from medrcube.sources._formats.axial_stacks import axial_stacks, skip_each_reason

PIXELS = np.zeros((6, 4, 4), np.int16)
CORONAL = (1.0, 0.0, 0.0, 0.0, 0.0, -1.0)
UPSIDE_DOWN = (1.0, 0.0, 0.0, 0.0, -1.0, 0.0)


def _found(folder, least=5, **bounds):
    return axial_stacks(sorted(folder.rglob("*")), least=least, uneven=0.1, **bounds)


def test_slices_run_from_the_feet_to_the_head_whatever_the_normal(tmp_path):
    stack = Stack(name="a", count=6, orientation=UPSIDE_DOWN)
    paths = write_stack(tmp_path, PIXELS, stack, SeriesDescription="Plain")
    (entry,), others = _found(tmp_path)
    assert entry.paths == paths[::-1]
    assert entry.slices == tuple(stack.slice(k) for k in reversed(range(6)))
    assert (entry.description, others) == ("Plain", {})


@pytest.mark.parametrize(
    ("orientation", "count", "says"),
    [(CORONAL, 6, "not axial"), ((1.0, 0.0, 0.0, 0.0, 1.0, 0.0), 3, "has 3 slices")],
)
def test_other_series_have_a_reason(tmp_path, orientation, count, says):
    write_stack(tmp_path, PIXELS[:count], Stack(name="a", count=count, orientation=orientation))
    stacks, others = _found(tmp_path)
    assert stacks == []
    assert len(others) == count
    assert all(says in reason for reason in others.values())


def test_a_series_with_a_gap_is_none(tmp_path):
    write_stack(tmp_path, PIXELS, Stack(name="a", count=6))[2].unlink()
    stacks, others = _found(tmp_path)
    assert stacks == []
    assert "3.00 to 6.00 mm apart" in next(iter(others.values()))


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"wide": (5, 9), "tall": (16, 30)}, "cover 15 mm"),
        ({"wide": (5, 9), "tall": (1, 14)}, "cover 15 mm"),
        ({"wide": (9, 20), "tall": (14, 16)}, "are 8 mm wide"),
        ({"wide": (5, 7), "tall": (14, 16)}, "are 8 mm wide"),
        ({"wide": (8, 8), "tall": (15, 15)}, ""),
    ],
)
def test_a_stack_of_another_size_shows_another_part_of_the_body(tmp_path, bounds, says):
    write_stack(tmp_path, PIXELS, Stack(name="a", count=6, spacing=(3.0, 2.0, 2.0)))
    stacks, others = _found(tmp_path, **bounds)
    assert bool(stacks) == (not says)
    assert all(says in reason and "another part" in reason for reason in others.values())


def test_a_damaged_file_leaves_the_other_series_alone(tmp_path):
    write_stack(tmp_path / "a", PIXELS, Stack(name="a", count=6))
    (tmp_path / "b.dcm").write_bytes(b"no DICOM")
    stacks, others = _found(tmp_path)
    assert len(stacks) == 1
    assert "b.dcm" in others[tmp_path / "b.dcm"]


def test_files_left_out_for_one_reason_are_one_skip(tmp_path):
    reasons = {tmp_path / "a": "x", tmp_path / "b": "y", tmp_path / "c": "x"}
    first, second = skip_each_reason("k", reasons)
    assert (first.reason, len(first.paths), second.reason) == ("x", 2, "y")
    assert "k" not in {first.key, second.key}

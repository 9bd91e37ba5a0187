from dataclasses import replace
from itertools import permutations

import pytest

from medrcube.sources._formats.annotations.lidc_xml import (
    Contour,
    NoduleMark,
    Unreadable,
    has_one_mark_per_reader,
    largest_slice,
    match_marks,
    median_rating,
    read_reading,
)

ROI = (
    "<roi><imageZposition>{z}</imageZposition><imageSOP_UID>{uid}</imageSOP_UID>"
    "<inclusion>{inclusion}</inclusion>{points}</roi>"
)


def roi(points, *, z=-10.5, uid="1.2.3", inclusion="TRUE"):
    edges = "".join(
        f"<edgeMap><xCoord>{x}</xCoord><yCoord>{y}</yCoord></edgeMap>" for x, y in points
    )
    return ROI.format(z=z, uid=uid, inclusion=inclusion, points=edges)


def nodule(*rois, ratings=""):
    described = f"<characteristics>{ratings}</characteristics>" if ratings else ""
    inner = "".join((described, *rois))
    return f"<unblindedReadNodule><noduleID>1</noduleID>{inner}</unblindedReadNodule>"


def write(path, *sessions, root="LidcReadMessage", name="http://www.nih.gov"):
    body = "".join(f"<readingSession>{session}</readingSession>" for session in sessions)
    head = "<ResponseHeader><SeriesInstanceUid>9.8.7</SeriesInstanceUid></ResponseHeader>"
    path.write_text(f'<{root} xmlns="{name}">{head}{body}</{root}>', encoding="utf-8")
    return path


SQUARE = [(10, 10), (20, 10), (20, 20), (10, 20)]


def square(x=0, y=0, side=10):
    return ((x, y), (x + side, y), (x + side, y + side), (x, y + side))


def mark(reader, *places, ratings=None, side=10):
    """A mark with one square a place ``(slice, z, x, y)``."""
    contours = tuple(
        Contour(slice=name, z=z, points=square(x, y, side), hole=False) for name, z, x, y in places
    )
    return NoduleMark(reader=reader, ratings=ratings or {}, contours=contours)


def test_a_reading_keeps_outlines_with_their_slice_and_place(tmp_path):
    path = write(tmp_path / "1.xml", nodule(roi(SQUARE)), "", "", "")
    reading = read_reading(path)
    assert (reading.series, reading.readers) == ("9.8.7", 4)
    (contour,) = reading.marks[0].contours
    assert (contour.slice, contour.z, contour.points) == ("1.2.3", -10.5, tuple(SQUARE))


def test_an_excluded_outline_is_a_hole(tmp_path):
    path = write(tmp_path / "1.xml", nodule(roi(SQUARE), roi(SQUARE, inclusion="FALSE")))
    assert [contour.hole for contour in read_reading(path).marks[0].contours] == [False, True]


def test_a_nodule_of_one_point_is_left_out_even_with_ratings_of_zero(tmp_path):
    small = nodule(roi([(5, 5)]), ratings="<malignancy>0</malignancy>")
    assert read_reading(write(tmp_path / "1.xml", small)).marks == ()


@pytest.mark.parametrize("text", ["0", "", "6", "x"])
def test_a_rating_off_its_scale_is_left_out(tmp_path, text):
    rated = nodule(
        roi(SQUARE), ratings=f"<malignancy>{text}</malignancy><calcification>6</calcification>"
    )
    assert read_reading(write(tmp_path / "1.xml", rated)).marks[0].ratings == {"calcification": 6}


def test_a_file_without_sessions_has_no_reader(tmp_path):
    assert read_reading(write(tmp_path / "1.xml")).readers == 0


def test_a_reading_of_a_film_is_none(tmp_path):
    path = write(tmp_path / "1.xml", root="IdriReadMessage", name="http://www.nih.gov/idri")
    assert read_reading(path) is None


def test_a_file_of_another_root_gives_no_reading(tmp_path):
    fault = read_reading(write(tmp_path / "1.xml", root="Report"))
    assert isinstance(fault, Unreadable)
    assert "is it a reading" in fault.reason


@pytest.mark.parametrize(
    "damaged",
    [
        nodule(roi(SQUARE, inclusion="MAYBE")),
        nodule(roi(SQUARE, uid="")),
        nodule(roi(SQUARE, z="nan")),
        nodule(roi([*SQUARE, ("inf", 3)])),
    ],
)
def test_a_part_that_is_missing_or_unknown_is_told_with_the_series(tmp_path, damaged):
    fault = read_reading(write(tmp_path / "1.xml", damaged))
    assert isinstance(fault, Unreadable)
    assert fault.series == "9.8.7"
    assert f"{tmp_path.name}/1.xml" in fault.reason
    assert "another edition" in fault.reason


@pytest.mark.parametrize(("share", "series"), [(0.9, "9.8.7"), (0.1, "")])
def test_a_cut_file_tells_the_series_where_its_header_is_left(tmp_path, share, series):
    path = write(tmp_path / "1.xml", nodule(roi(SQUARE)))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    fault = read_reading(path)
    assert isinstance(fault, Unreadable)
    assert fault.series == series
    assert "get the file again" in fault.reason


def test_marks_within_the_slice_thickness_are_one_nodule():
    marks = [mark(0, ("a", 0, 0, 0)), mark(1, ("b", 2.5, 0, 0)), mark(2, ("a", 0, 40, 0))]
    groups = match_marks(marks, spacing=1, thickness=2.5)
    assert [[entry.reader for entry in group] for group in groups] == [[0, 1], [2]]


def test_distance_in_the_slice_is_measured_in_mm():
    marks = [mark(0, ("a", 0, 0, 0)), mark(1, ("a", 0, 13, 0))]
    assert len(match_marks(marks, spacing=0.5, thickness=2)) == 1
    assert len(match_marks(marks, spacing=1, thickness=2)) == 2


def test_marks_are_joined_through_others():
    marks = [mark(0, ("a", 0, 0, 0)), mark(1, ("a", 0, 24, 0)), mark(2, ("a", 0, 12, 0))]
    assert len(match_marks(marks, spacing=1, thickness=2)) == 1


def test_a_group_of_more_marks_than_readers_is_parted_by_a_smaller_tolerance():
    two = [mark(reader, ("a", 0, x, 0)) for x in (0, 12) for reader in range(4)]
    groups = match_marks(two, spacing=1, thickness=2.5)
    assert [len(group) for group in groups] == [4, 4]
    assert all(has_one_mark_per_reader(group) for group in groups)


def test_two_marks_of_one_reader_make_a_nodule_unsound():
    (group,) = match_marks(
        [mark(0, ("a", 0, 0, 0)), mark(0, ("a", 0, 11, 0))], spacing=1, thickness=2
    )
    assert not has_one_mark_per_reader(group)


def test_nodules_do_not_depend_on_the_order_of_marks():
    marks = [mark(0, ("a", 0, 0, 0)), mark(1, ("a", 0, 1, 0)), mark(1, ("a", 0, 50, 0))]
    expected = match_marks(marks, spacing=1, thickness=2)
    for order in permutations(marks):
        assert match_marks(order, spacing=1, thickness=2) == expected


def test_a_slice_that_one_reader_alone_marks_is_never_the_largest():
    nodule_marks = [
        mark(0, ("low", 0, 0, 0), ("high", 5, 0, 0), side=30),
        mark(1, ("low", 0, 0, 0)),
        mark(2, ("low", 0, 0, 0)),
    ]
    assert largest_slice(nodule_marks) == "low"


def test_a_slice_that_two_of_four_readers_mark_counts_with_their_area():
    marks = [mark(reader, ("low", 0, 0, 0)) for reader in range(2)]
    marks += [mark(reader, ("high", 5, 0, 0), side=30) for reader in (2, 3)]
    assert largest_slice(marks) == "high"


def test_of_equal_slices_the_lowest_is_taken():
    assert largest_slice([mark(0, ("b", 5, 0, 0), ("a", 2, 0, 0))]) == "a"


def test_a_hole_takes_its_area_away():
    (outer,) = mark(0, ("a", 0, 0, 0)).contours
    hole = replace(outer, points=square(2, 2, 6), hole=True)
    assert (outer.area, hole.area) == (100, -36)


@pytest.mark.parametrize(
    ("ratings", "median"),
    [((5, 5, 4), 5), ((4, 5, 4, 5), 4.5), ((5, 5, 3), None), ((5, 5, None), None)],
)
def test_a_rating_counts_only_where_all_readers_are_close(ratings, median):
    marks = [
        mark(reader, ("a", 0, 0, 0), ratings={} if value is None else {"texture": value})
        for reader, value in enumerate(ratings)
    ]
    assert median_rating(marks, "texture") == median


@pytest.mark.real
def test_a_real_reading_holds_one_nodule_that_all_four_readers_marked(real_raw):
    reading = read_reading(real_raw / "LIDC-IDRI/tcia-lidc-xml/185/069.xml")
    (group,) = match_marks(reading.marks, spacing=0.703125, thickness=2.5)
    assert [entry.reader for entry in group] == [0, 1, 2, 3]
    assert median_rating(group, "malignancy") == 5


@pytest.mark.real
def test_every_real_reading_can_be_read(real_raw):
    readings = [read_reading(path) for path in sorted(real_raw.glob("LIDC-IDRI/**/*.xml"))]
    assert sum(reading is None for reading in readings) == 3
    assert {reading.readers for reading in readings if reading} == {4}

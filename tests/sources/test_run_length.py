import pytest

from medrcube.errors import SourceError
from medrcube.sources._formats.annotations.run_length import (
    coco_runs,
    connected_pieces,
    merge_runs,
    relative_runs,
)


def test_each_start_counts_from_the_end_of_the_run_before():
    assert relative_runs("5 2 3 4 0 1") == ((5, 2), (10, 4), (14, 1))


def test_growing_numbers_are_not_taken_for_absolute_starts():
    """``3 2 10 2`` would be a valid code of absolute starts too, for other pixels."""
    assert relative_runs("3 2 10 2") == ((3, 2), (15, 2))


def test_runs_of_a_column_land_one_column_further():
    """In a picture 1024 high a gap of 1024 less the length repeats the rows in the next column."""
    starts = [first for first, _ in relative_runs("557374 2 1022 2 1022 2")]
    assert [divmod(start, 1024) for start in starts] == [(544, 318), (545, 318), (546, 318)]


def test_blanks_around_the_code_do_not_matter():
    assert relative_runs(" 7  1 ") == ((7, 1),)


@pytest.mark.parametrize("text", ["", "5", "5 2 3", "-1", "5 x", "5 -2", "1.5 2", "5 0"])
def test_anything_but_pairs_is_refused(text):
    with pytest.raises(SourceError, match="run-length code"):
        relative_runs(text)


def test_a_compressed_coco_code_runs_down_the_columns():
    """A 3 x 4 picture whose second column is 0 1 1 and whose third is 1 0 0."""
    assert coco_runs("435", (3, 4)) == ((4, 3),)


def test_from_the_third_on_a_length_is_the_difference_to_the_one_before_last():
    """Lengths 6 1 40 4 130: the fourth is written as 4 - 1, the fifth as 130 - 40."""
    assert coco_runs("61X13j2", (181, 1)) == ((6, 1), (47, 4))


def test_a_coco_code_of_another_size_is_refused():
    with pytest.raises(SourceError, match=r"covers 12 pixels, expected 4 x 4"):
        coco_runs("435", (4, 4))


@pytest.mark.parametrize("text", ["43", "4\n5", "43U"])
def test_a_damaged_coco_code_is_refused(text):
    with pytest.raises(SourceError, match="run-length code"):
        coco_runs(text, (3, 4))


def test_runs_that_touch_across_columns_are_one_piece():
    """Columns of 5: a corner joins the first two, the third run stands apart."""
    assert connected_pieces(((0, 2), (7, 2), (20, 1)), 5) == (((0, 2), (7, 2)), ((20, 1),))


def test_a_run_around_the_foot_of_a_column_is_parted_there():
    """Rows 4 of one column and 0 of the next are neighbours in the code, not in the picture."""
    assert connected_pieces(((4, 2),), 5) == (((4, 1),), ((5, 1),))


def test_pieces_that_meet_later_become_one():
    """Two arms of a U, joined in the last column."""
    assert len(connected_pieces(((0, 1), (4, 1), (5, 1), (9, 1), (10, 5)), 5)) == 1


def test_joined_codes_mark_what_any_of_them_marks():
    codes = [((2, 3), (10, 2)), ((4, 4),), ((12, 1),)]
    assert merge_runs(codes) == ((2, 6), (10, 3))
    assert merge_runs([]) == ()

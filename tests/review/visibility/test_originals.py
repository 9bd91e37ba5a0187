import pytest

from medrcube.review.visibility.originals import discloses


@pytest.mark.parametrize(
    ("task", "slices", "expected"),
    [
        ("Modality Recognition", 1, True),
        ("View Recognition", 1, False),
        ("View Recognition", 2, True),
        ("Disease Diagnosis", 2, False),
        ("Unheard Task", 1, True),
    ],
)
def test_a_declaration_says_whether_original_pixels_tell_the_answer(task, slices, expected):
    assert discloses(task, {"slices": ["0"] * slices}) is expected

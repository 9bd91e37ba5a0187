import pytest

from medrcube.review.assigning.outlook import Workload


@pytest.mark.parametrize(
    ("count", "seconds", "text"),
    [(3, 0, "1 min"), (3, 61, "2 min"), (0, 1350, "2 h"), (4, 61, ""), (3, None, "")],
)
def test_the_remaining_time_is_never_zero_minutes(count, seconds, text):
    assert Workload(count=count, share=4, seconds=seconds).time_left == text

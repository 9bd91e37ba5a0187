"""The public films of BrixIA as they lie in its repository."""

import pytest

from medrcube.facts import Case, LabelState
from medrcube.sources.registry import find_sources

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def films(real_raw):
    root = real_raw / "Brixia-score-COVID-19"
    if not root.is_dir():
        pytest.skip(f"no public films of BrixIA at {root}")
    return {entry.key: entry for entry in find_sources()["brixia"].scan(root, "public")}


def test_all_192_rows_add_up(films):
    assert len(films) == 192
    assert all(isinstance(film, Case) for film in films.values())


def test_a_score_counts_where_senior_and_junior_lie_within_two(films):
    states = {
        key: next(label.state for label in films[f"public-{key}"].labels if label.field == "score")
        for key in ("16724_1_1.jpg", "kjr-21-e24-g001-l-a.jpg")
    }
    assert states == {
        "16724_1_1.jpg": LabelState.PRESENT,  # 10 and 10
        "kjr-21-e24-g001-l-a.jpg": LabelState.UNKNOWN,  # 11 and 8
    }


def test_a_zone_that_the_readers_grade_apart_is_unknown(films):
    labels = films["public-16724_1_1.jpg"].labels
    grades = {label.state for label in labels if label.field == "zone_f"}  # 1 and 3
    assert grades == {LabelState.UNKNOWN}

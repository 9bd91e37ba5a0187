"""The day and the version of a release, and what its card tells."""

import os
import re
from datetime import UTC, date, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from medrcube.build.release.metadata.release_facts import day_of, semantic_version
from medrcube.errors import ReleaseError

SEMVER = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"


@pytest.fixture
def items_path(tmp_path, monkeypatch):
    """A table of items that was made on 2 March 2026."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    path = tmp_path / "items.parquet"
    path.touch()
    stamp = datetime(2026, 3, 2, 23, 59, tzinfo=UTC).timestamp()
    os.utime(path, (stamp, stamp))
    return path


def test_the_day_is_that_of_the_items(items_path):
    assert day_of("v1", items_path) == date(2026, 3, 2)


@pytest.mark.parametrize("name", ["2026-11-30", "spring_2026-11-30b", "2026-13-40 or 2026-11-30"])
def test_a_day_in_the_name_goes_before_it(items_path, name):
    assert day_of(name, items_path) == date(2026, 11, 30)


def test_the_common_variable_goes_before_both(items_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert day_of("2026-11-30", items_path) == date(1970, 1, 2)


@pytest.mark.parametrize("expected", ["yesterday", "9" * 30])
def test_a_variable_that_is_no_time_is_an_error(items_path, monkeypatch, expected):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", expected)
    with pytest.raises(ReleaseError, match="expected seconds since 1970"):
        day_of("v1", items_path)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("v1", "1.0.0"),
        ("1.2", "1.2.0"),
        ("v1.2.3", "1.2.3"),
        ("1.2.3-rc.01", "1.2.3-rc.1"),
        ("spring release", "0.0.0+spring-release"),
        ("2026-11-30", "0.0.0+2026-11-30"),
        ("01", "0.0.0+01"),
        ("é", "0.0.0+unnamed"),
    ],
)
def test_a_name_becomes_a_version(name, version):
    assert semantic_version(name) == version


@pytest.mark.thorough
@example("1\N{ARABIC-INDIC DIGIT ZERO}")
@given(st.text(max_size=12) | st.from_regex(r"v?\d+(\.\d+)?(\.\d+)?(-[0-9A-Za-z.-]+)?"))
def test_any_name_becomes_a_semantic_version(name):
    identifier = r"(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
    form = rf"{SEMVER}(-{identifier}(\.{identifier})*)?(\+[0-9A-Za-z-]+)?"
    assert re.fullmatch(form, semantic_version(name), re.ASCII)

"""The unit of an answer: the patient, else the case, else the picture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from medrcube.evaluate.statistics.units import picture_of, unit_kinds, unit_of, units_text


@pytest.mark.parametrize(
    ("picture", "unit", "expected"),
    [
        ("p1", "patient-0000000000000001", "patient-0000000000000001"),
        ("p1", "", "p1"),
        (None, "", "ALPHA/q0"),
    ],
    ids=["told", "picture", "none"],
)
def test_an_answer_belongs_to_the_widest_unit_that_is_known(result, picture, unit, expected):
    assert unit_of(result(picture=picture, unit=unit)) == expected


def test_the_picture_stays_the_picture(result):
    assert picture_of(result(picture="p1", unit="case-0000000000000001")) == "p1"


def test_units_are_counted_by_kind(result):
    rows = [
        result("a", unit="case-0000000000000001"),
        result("b", unit="patient-0000000000000001"),
        result("c", unit="patient-0000000000000001"),
        result("d", unit="patient-0000000000000002"),
        result("e", picture="alone"),
    ]
    assert unit_kinds(rows) == {"patient": 2, "case": 1, "picture": 1}


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ({}, ""),
        ({"patient": 1}, "1 patient"),
        ({"patient": 1200, "case": 1, "picture": 2}, "1,200 patients, 1 case and 2 images"),
    ],
)
def test_units_are_told_in_words(kinds, expected):
    assert units_text(kinds) == expected


def test_an_answer_whose_picture_has_no_digest_belongs_to_its_file(result):
    answer = result(picture="p1")
    assert (
        unit_of(replace(answer, question=replace(answer.question, subject=None))) == "ALPHA/p1.png"
    )


def test_two_kinds_of_units_are_joined_by_and():
    assert units_text({"patient": 2, "picture": 1}) == "2 patients and 1 image"

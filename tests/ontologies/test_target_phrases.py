"""A sentence points at a thing that has a place, with its article."""

import pytest

from medrcube.ontologies.target_phrases import is_paired, target_phrase
from medrcube.ontologies.terms import load_terms


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("Cardiomegaly", "the enlarged heart"),
        ("breast cancer", "a breast cancer"),
        ("mass BI-RADS 3-5", "a breast mass (BI-RADS category 3 to 5)"),
        ("LV", "the left ventricular cavity"),
        ("end-systole", "end-systole"),
        ("Pneumothorax", "a pneumothorax"),
        ("posterior acoustic shadowing", "posterior acoustic shadowing"),
    ],
)
def test_a_target_is_what_can_be_pointed_at(label, text):
    assert target_phrase(load_terms()[label]) == text


def test_a_target_keeps_in_brackets_what_alone_is_marked_of_a_finding_and_nothing_else():
    kinds = {term.kind for term in load_terms().values() if "(" in target_phrase(term)}
    assert kinds == {"finding", "disease"}


def test_structures_of_which_there_are_two_are_those_whose_sides_have_names_of_their_own():
    structures = [term for term in load_terms().values() if term.kind == "anatomy"]
    names = {term.name for term in structures}
    sided = {term.label for term in structures if f"left {term.name}" in names}
    assert {"lung", "clavicle"} <= sided
    assert all(map(is_paired, sided))
    assert is_paired("kidney")
    assert not is_paired("left lung")
    assert not is_paired("heart")

"""A sentence points at a thing that has a place, with its article."""

import pytest

from medrcube.ontologies.target_phrases import target_phrase
from medrcube.ontologies.terms import load_terms


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("Cardiomegaly", "the enlarged heart"),
        ("breast cancer", "a breast cancer"),
        ("mass BI-RADS 3-5", "a breast mass"),
        ("LV", "the left ventricular cavity"),
        ("end-systole", "end-systole"),
        ("Pneumothorax", "a pneumothorax"),
    ],
)
def test_a_target_is_what_can_be_pointed_at(label, text):
    assert target_phrase(load_terms()[label]) == text


def test_no_target_holds_a_category_in_brackets():
    assert not [term.label for term in load_terms().values() if "(" in target_phrase(term)]

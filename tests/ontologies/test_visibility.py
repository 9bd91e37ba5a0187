"""What images of a region and modality also show, and what they cannot show."""

import pytest

from medrcube.ontologies.terms import TermError, load_terms
from medrcube.ontologies.visibility import VisibilityTable, load_visibility
from medrcube.taxonomy import Anatomy, Modality

CHEST, HEART = Anatomy("Chest"), Anatomy("Heart")
XRAY, CT = Modality("X-ray"), Modality("CT")


def row(**changes):
    cells = {"concept": "heart", "anatomy": "Chest", "modality": "X-ray", "shown": "yes"}
    return {**cells, "reason": "both lie in the chest", "reviewed": "", **changes}


def table(*rows):
    return VisibilityTable(rows, load_terms())


@pytest.mark.parametrize(("value", "answer"), [("yes", True), ("no", False)])
def test_a_row_speaks_of_its_concept_region_and_modality_alone(value, answer):
    rows = table(row(shown=value))
    assert rows.shows("heart", CHEST, XRAY) is answer
    assert rows.shows("lung", CHEST, XRAY) is None
    assert rows.shows("heart", HEART, XRAY) is None
    assert rows.shows("heart", CHEST, CT) is None


def test_a_star_stands_for_every_modality():
    rows = table(row(modality="*", shown="no"))
    assert {rows.shows("heart", CHEST, modality) for modality in Modality} == {False}
    assert {rows.shows("heart", HEART, modality) for modality in Modality} == {None}


@pytest.mark.parametrize("value", ["perhaps", "", "Yes"])
def test_a_row_says_yes_or_no(value):
    with pytest.raises(TermError, match="not yes or no"):
        table(row(shown=value))


@pytest.mark.parametrize("modality", ["X-ray", "*"])
def test_two_rows_may_agree_and_not_differ(modality):
    assert table(row(), row(modality=modality)).shows("heart", CHEST, XRAY)
    with pytest.raises(TermError, match="two rows say different things about Chest and X-ray"):
        table(row(), row(modality=modality, shown="no"))


def test_a_row_names_a_known_concept_and_who_reviewed_it():
    with pytest.raises(TermError, match="Nonsense"):
        table(row(concept="Nonsense"))
    with pytest.raises(TermError, match="heart"):
        table(row(reviewed="somebody"))


def test_the_table_of_the_package_is_read():
    assert load_visibility().shows("lung", HEART, CT) is True

import pytest

from medrcube.ontologies.nearest_concepts import nearest_concepts
from medrcube.ontologies.terms import load_terms


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("atelectasis", "Atelectasis"),
        ("Pleural_Effusion", "Effusion"),
        ("cardiomegally", "Cardiomegaly"),
    ],
)
def test_the_nearest_concept_comes_first(word, first):
    assert nearest_concepts(word, load_terms())[0] == first


@pytest.mark.thorough
def test_every_label_and_every_name_finds_its_own_concept():
    terms = load_terms()
    for label, term in terms.items():
        for word in {label, term.name}:
            assert label in nearest_concepts(word, terms, count=len(terms))


@pytest.mark.parametrize("word", ["", "?", "qqqqzzzz", "0"])
def test_words_that_mean_nothing_have_no_nearest_concept(word):
    assert nearest_concepts(word, load_terms()) == ()


def test_never_more_are_named_than_asked_for():
    assert len(nearest_concepts("lung", load_terms(), count=2)) == 2

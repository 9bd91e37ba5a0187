"""Names take the article, number and case that an examiner gives them."""

import pytest

from medrcube.ontologies.name_grammar import with_article
from medrcube.ontologies.target_phrases import target_phrase
from medrcube.ontologies.terms import load_terms


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("brain metastasis", "a brain metastasis"),
        ("lung metastasis", "a lung metastasis"),
        ("brain metastases", "brain metastases"),
        ("pneumonia", "pneumonia"),
        ("acute infarct", "an acute infarct"),
    ],
)
def test_what_can_be_counted_takes_an_article(name, text):
    assert with_article(name) == text


@pytest.mark.parametrize(
    ("concept", "text"),
    [
        ("WT", "the tumor including its surrounding edema"),
        ("brain metastasis", "a brain metastasis"),
        ("NCR", "the necrotic tumor core"),
    ],
)
def test_a_target_is_named_as_in_a_report(concept, text):
    assert target_phrase(load_terms()[concept]) == text

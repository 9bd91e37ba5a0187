import pytest

from medrcube.ontologies.llm.name_resolution import LONGEST_NAME, Resolver


@pytest.fixture
def resolve(rules):
    resolver = Resolver(rules.terms, rules.relations, rules.knowledge)
    return lambda text, key="grey": resolver.resolve(text, rules.terms[key])


@pytest.mark.parametrize("text", ["red flush", "RED-FLUSH"])
def test_a_name_of_a_table_concept_is_that_concept(resolve, text):
    assert resolve(text).term.label == "red"


@pytest.mark.parametrize("text", ["Ashen pyrexia", "Grey fever"])
def test_any_name_of_the_key_is_the_key(resolve, text):
    assert resolve(text).term.label == "grey"


def test_a_concept_outside_the_table_becomes_a_term_with_its_id(resolve):
    term = resolve("verdant rigors").term
    assert (term.label, term.name, term.kind) == ("icd11:1A07", "green rigor", "disease")
    assert term.exact_ids() == {"1A07"}


def test_a_finding_outside_the_table_is_named_by_hpo(resolve):
    term = resolve("bright streak", "spot").term
    assert (term.label, term.kind) == ("hpo:HP:9000021", "finding")


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ("made-up fever of the moon", "grey", "not-in-index"),
        ("", "grey", "no-name"),
        ("x" * (LONGEST_NAME + 1), "grey", "no-name"),
        ("red\x00flush", "grey", "no-name"),
        ("pale chill", "red", "inexact"),
        ("twin rigor", "grey", "ambiguous"),
        ("dark spot", "grey", "kind"),
        ("bright streak", "grey", "kind"),
        ("hoarse croak", "grey", "kind"),
        ("Tinted conditions", "grey", "kind"),
        ("left windpipe", "grey", "kind"),
        ("left windpipe", "spot", "kind"),
        ("sudden", "spot", "kind"),
        ("green rigor", "spot", "kind"),
        ("Abnormal tint", "spot", "heading"),
    ],
)
def test_what_is_no_usable_concept_is_dropped_with_its_reason(resolve, text, key, reason):
    result = resolve(text, key)
    assert (result.term, result.reason) == (None, reason)

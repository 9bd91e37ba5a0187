"""With the real ontologies, options of every group and of every label table are named as sets."""

from itertools import combinations

import pytest

from medrcube.build.questions.question_wording import own_names, preferred_names
from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.index_knowledge import IndexKnowledge
from medrcube.ontologies.item_rules import ItemText
from medrcube.ontologies.item_rules.forms import FORM_RULES
from medrcube.ontologies.name_grammar import is_fragment
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources

pytestmark = pytest.mark.real
TERMS, RELATIONS = load_terms(), load_relations()
GROUPS = {
    field.group
    for source in find_sources().values()
    for field in source.card.fields.values()
    if field.group
}


@pytest.fixture(scope="module")
def knowledge(real_index):
    with OntologyIndex(real_index) as index:
        yield IndexKnowledge(index)


def broken(labels, knowledge, *, ranks=()):
    """Rules of form that a set breaks under every style in which a build may name it."""
    styles = (preferred_names(labels, TERMS, knowledge), own_names(labels, TERMS))
    entries = []
    for style in filter(None, styles):
        draft = ItemText(
            question="",
            options=tuple(style[label].text for label in labels),
            key=0,
            kinds=tuple(TERMS[label].kind for label in labels),
            grouped=True,
            ranks=ranks,
        )
        entries = [(rule.id, draft.options) for rule in FORM_RULES for _ in rule.check(draft)]
        if not entries:
            break
    return entries


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_every_set_of_a_group_has_one_form(group, knowledge):
    members = RELATIONS.group_members(group)
    ranks = tuple(range(len(members))) if RELATIONS.scale(group).ordered else ()
    assert broken(members, knowledge, ranks=ranks) == []
    for pair in combinations(members, 2):
        assert broken(pair, knowledge, ranks=ranks[:2]) == []


def test_brain_tumors_keep_their_nouns_and_number(knowledge):
    labels = ("glioma", "meningioma", "pituitary tumor")
    names = preferred_names(labels, TERMS, knowledge) or own_names(labels, TERMS)
    assert {entry.text for entry in names.values()} == {"Glioma", "Meningioma", "Pituitary tumor"}


def test_no_descriptor_is_exact_for_something_that_it_describes(knowledge):
    for term in TERMS.values():
        for name in knowledge.names(term):
            assert is_fragment(term.name) or not is_fragment(name.text), (term.label, name.text)

"""What a source calls healed, old or left over is never stated as the disease itself."""

import re

import pytest

from medrcube.ontologies.relations import load_relations
from medrcube.sources.registry import find_sources

SOURCES = find_sources()
PAST = re.compile(
    r"heal(ed|ing)|obsolete|inactive|sequela|callus|cicatri|scar|\bold\b|previous|\bprior\b"
    r"|residual|resolved|treated|chronic$|post[ -](radio|trauma|infect)"
    r"|calcified adeno|calcified mediast",
    re.IGNORECASE,
)


def _past_values():
    for name, source in SOURCES.items():
        for field in source.card.fields.values():
            if field.kind in ("finding", "disease", "severity"):
                for value in field.values:
                    if PAST.search(value) and field.concept(value):
                        yield name, field.name, value


@pytest.mark.parametrize(("source", "field", "value"), [*_past_values()])
def test_value_of_past_disease_has_a_name_that_says_so_or_is_a_hint_alone(source, field, value):
    card = SOURCES[source].card
    concept = card.fields[field].concept(value)
    assert PAST.search(concept) or value in card.names.get("hints", ())


def test_values_of_past_disease_are_found_in_the_cards():
    assert len({source for source, _, _ in _past_values()}) >= 3


def test_healed_tuberculosis_is_no_kind_of_tuberculosis_and_no_proof_against_it():
    relations = load_relations()
    healed = "inactive pulmonary tuberculosis"
    assert not relations.implied(healed, "Tuberculosis")
    assert not relations.excludes(healed, "Tuberculosis")
    assert relations.alike(healed, "Tuberculosis")

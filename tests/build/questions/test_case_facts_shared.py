"""Cases that say the same share what is known of them."""

from dataclasses import replace

import pytest

from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.questions.fact_rules import CaseFactsCache
from medrcube.build.stages.scan import scan
from medrcube.facts import Scope
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Modality

SOURCES = ["chexpert", "nih-chestxray14", "vindr-cxr", "lidc-idri", "brats2021", "padchest"]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SOURCES)
def test_what_is_shared_is_what_each_case_says(name, tmp_path):
    source = find_sources()[name]
    source.build_fixture(tmp_path / "raw", source.card.layouts[0].name)
    source_scan = scan(source, tmp_path / "raw", b"k")
    grounds = CaseFactsCache(card=source.card)
    # Every case twice, and once more with all that must not matter told otherwise.
    others = [
        replace(case, key=f"{case.key} again", patient="another", shows=Scope.PATIENT, split="test")
        for case in source_scan.cases
    ]
    for case in (*source_scan.cases, *source_scan.cases, *others):
        assert grounds.of(case) == facts_of_case(source.card, case, load_terms())


def test_cases_that_say_the_same_share_one_ground(toy, raw):
    first, second, *_ = scan(toy, raw, b"k").cases
    grounds = CaseFactsCache(card=toy.card)
    assert grounds.of(first) is grounds.of(second)


def test_what_a_case_says_of_itself_is_told_apart(toy, raw):
    first, *_ = scan(toy, raw, b"k").cases
    grounds = CaseFactsCache(card=toy.card)
    unlabelled, unmarked = replace(first, labels=()), replace(first, regions=())
    for other in (unlabelled, unmarked, replace(first, modality=Modality("CT"))):
        assert grounds.of(first) == facts_of_case(toy.card, first, load_terms())
        assert grounds.of(other) == facts_of_case(toy.card, other, load_terms())
    assert grounds.of(first) != grounds.of(unlabelled)

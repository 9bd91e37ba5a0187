"""``CITATION.bib``."""

from datetime import date
from types import SimpleNamespace

import pytest

from medrcube.build.release.metadata.citations import ONTOLOGIES, bibliography, bibtex_entries
from medrcube.build.release.metadata.licences import citation_key
from medrcube.build.release.metadata.release_facts import ReleasedSource, ReleaseFacts
from medrcube.errors import ReleaseError
from medrcube.sources.registry import find_sources


def _facts(*cards, ontologies=()):
    sources = tuple(
        ReleasedSource(card=card, items=1, pictures=1, withheld=0, licences=()) for card in cards
    )
    editions = tuple({"ontology": name} for name in ontologies)
    return ReleaseFacts(
        name="x\ny", day=date(2026, 1, 1), sources=sources, places={}, tasks={}, grades={},
        editions=editions, review={},
    )  # fmt: skip


def _card(name, citation):
    return SimpleNamespace(id=name, citation=citation)


def test_the_citations_of_all_shipped_sources_go_together():
    cards = [source.card for source in find_sources().values()]
    text = bibliography(_facts(*cards, ontologies=ONTOLOGIES))
    keys = [key for key, _ in bibtex_entries(text.split("\n", 1)[1])]
    assert len(keys) == len(set(keys))
    assert keys[:2] == ["medrcube2026", "medrcube"]
    assert {citation_key(card.citation) for card in cards} <= set(keys)


def test_only_ontologies_that_the_items_rest_on_are_cited():
    keys = {
        key for key, _ in bibtex_entries(bibliography(_facts(ontologies=["hpo"])).split("\n", 1)[1])
    }
    assert keys == {"medrcube2026", "medrcube", "gargano2024hpo"}


def test_a_release_cites_its_sources_and_ontologies(editions):
    text = (editions[0] / "CITATION.bib").read_text()
    for key in ("medrcube2026", "aldhabyani2020busi", "nguyen2022vindrcxr", "who2019icd11"):
        assert f"{{{key}," in text
    assert text in (editions[0] / "README.md").read_text()


def test_an_entry_that_two_sources_share_stands_once():
    entry = "@misc{a, title={A {nested} title}}"
    text = bibliography(_facts(_card("one", entry), _card("two", f"{entry}\n@misc{{b, year=1}}")))
    assert text.count("@misc{a,") == 1
    assert "@misc{b, year=1}" in text


def test_one_key_for_two_entries_is_refused_and_both_sources_are_named():
    cards = _card("one", "@misc{a, year=1}"), _card("two", "@misc{a, year=2}")
    with pytest.raises(ReleaseError, match=r"one and two .*'a'"):
        bibliography(_facts(*cards))


@pytest.mark.parametrize(
    "citation", ["Smith 2020", "@misc{a, title={A}", "@misc{a, x={}} and more"]
)
def test_a_citation_that_is_no_bibtex_would_spoil_the_file_and_is_refused(citation):
    with pytest.raises(ReleaseError, match="source toy: citation of its card"):
        bibliography(_facts(_card("toy", citation)))


def test_a_line_break_in_the_name_does_not_leave_the_comment():
    assert bibliography(_facts()).startswith("% What to cite for the release x y.\n")

"""The page of tasks cannot drift from the cards."""

from pathlib import Path

import pytest

from medrcube.build.reference.tasks import linked_reason, tasks_page
from medrcube.facts import Absence
from medrcube.sources._framework.card_parts.fields import CitedReason
from medrcube.sources.registry import find_sources

PAGE = Path(__file__).parents[3] / "docs/reference/tasks.md"
CARDS = [source.card for source in find_sources().values()]


def test_the_committed_page_is_what_the_cards_say():
    assert PAGE.read_text(encoding="utf-8") == tasks_page(CARDS), "run  make reference"


def test_every_field_that_names_a_concept_has_a_row_with_both_reasons():
    page = tasks_page(CARDS)
    for card in CARDS:
        fields = [field for field in card.fields.values() if field.concepts()]
        if not fields:
            continue
        part = page.partition(f"\n### `{card.id}`\n")[2].partition("\n##")[0]
        for field in fields:
            (row,) = [line for line in part.splitlines() if line.startswith(f"| `{field.name}` |")]
            assert f"| {field.basis.value}: " in row
            assert f"| **{field.visible.name.lower()}** |" in row
            assert linked_reason(field.reasons["basis"]) in row
            assert linked_reason(field.reasons["visible"]) in row


def test_every_claim_of_absence_has_a_row_with_its_reason():
    claims = tasks_page(CARDS).partition("## What counts as absent")[2].splitlines()
    expected = 0
    for card in CARDS:
        for field in card.fields.values():
            names = [key for key in ("absence", "stated") if key in field.reasons]
            if field.absence is Absence.SILENT:
                names = [name for name in names if name != "absence"]
            for name in names if field.concepts() else ():
                expected += 1
                head = f"| `{card.id}` | `{field.name}` | {name.replace('absence', 'silence')}"
                (row,) = [line for line in claims if line.startswith(head)]
                assert linked_reason(field.reasons[name]) in row
    assert expected == sum(line.startswith("| `") for line in claims)


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        ("https://example.org/a", "it is so ([source](https://example.org/a))"),
        ("doi:10.1000/x.1", "it is so ([source](https://doi.org/10.1000/x.1))"),
        ("10.1000/x.1", "it is so ([source](https://doi.org/10.1000/x.1))"),
        ("A handbook | page 3", "it is so (A handbook / page 3)"),
    ],
)
def test_a_reason_links_its_source_where_that_has_an_address(evidence, text):
    assert linked_reason(CitedReason(reason="it is so.", evidence=evidence)) == text

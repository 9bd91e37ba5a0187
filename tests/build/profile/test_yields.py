"""Expected items: what the cards count, and nothing that they do not."""

from dataclasses import replace

import pytest

from medrcube.build.profile.raw_counts import as_counts, as_toml, count_answers
from medrcube.build.profile.yields import expected_items, expected_together, two_option_room
from medrcube.build.reference.yields import yield_cell, yields_of
from medrcube.facts import Absence, Visibility
from medrcube.sources._framework.card_parts.counts import AnswerCount
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task

SOURCES = find_sources()
CARDS = {name: source.card for name, source in SOURCES.items()}


def counted(card, *entries):
    counts = tuple(
        AnswerCount(
            field=field,
            shown=artefact,
            pictures=pictures,
            beside={},
            reason="test",
            evidence="test",
        )
        for field, artefact, pictures in entries
    )
    return replace(card, counts=counts)


def with_values(card, name, **values):
    fields = {
        key: replace(field, **values) if key == name else field
        for key, field in card.fields.items()
    }
    return replace(card, fields=fields)


BUSI = counted(
    CARDS["busi"],
    ("diagnosis", "clean", {"BENIGN": 40, "MALIGNANT": 30, "NORMAL": 10}),
    ("lesion", "boxes", {"breast lesion": 55}),
)


def test_classes_fill_sets_of_three_and_then_of_two():
    expectation = expected_items(BUSI)[Task("Disease Diagnosis")]
    assert (expectation.items, expectation.two) == (30, 40)


def test_every_marked_picture_is_an_item_since_numbers_need_no_set():
    assert expected_items(BUSI)[Task("ROI Grounding")].items == 55


def test_what_no_card_counts_is_not_known_and_counts_nothing():
    expectations = expected_items(counted(CARDS["busi"]))
    assert expectations[Task("Disease Diagnosis")].unknown == ("diagnosis",)
    assert (
        expectations[Task("Disease Diagnosis")].items
        == expectations[Task("Disease Diagnosis")].two
        == 0
    )
    assert yield_cell(expectations[Task("Disease Diagnosis")]) == "?"


def test_what_a_picture_cannot_show_gives_nothing_and_says_why():
    expectation = expected_items(with_values(BUSI, "diagnosis", visible=Visibility.NO))[
        Task("Disease Diagnosis")
    ]
    assert expectation.items == expectation.two == 0
    assert expectation.nothing == (("diagnosis", "not-visible"),)


def test_silence_is_no_evidence_here_either():
    card = with_values(CARDS["vindr-cxr"], "finding", absence=Absence.SILENT, stated=None)
    stated = CARDS["nih-chestxray14"].fields["finding"].stated
    card = with_values(card, "finding", stated=stated, whole=False)
    assert (
        expected_items(card)[Task("Abnormality Diagnosis")]
        .nothing[0][1]
        .startswith("no-distractor")
    )
    assert (
        not expected_items(CARDS["vindr-cxr"])[Task("Abnormality Diagnosis")]
        .nothing[0][1]
        .endswith("C)")
    )


def test_what_stands_against_what_on_real_pictures_goes_before_a_value_alone():
    pictures = {"Pneumothorax": 30, "Pleural Effusion": 30, "Cardiomegaly": 30}
    card = counted(CARDS["vindr-cxr"], ("finding", "clean", pictures))
    alone = expected_items(card)[Task("Abnormality Diagnosis")]
    beside = {
        "Pneumothorax": ("Cardiomegaly",),
        "Cardiomegaly": ("Pneumothorax",),
        "Pleural Effusion": ("Aortic enlargement",),
    }
    card = replace(card, counts=(replace(card.counts[0], beside=beside),))
    real = expected_items(card)[Task("Abnormality Diagnosis")]
    assert (alone.items, alone.two) == (90, 0)
    assert (real.items, real.two) == (0, 60)


def test_values_that_need_a_denial_are_not_known_from_their_number_alone():
    card = counted(CARDS["chexpert"], ("finding", "clean", {"Edema": 900, "Fracture": 900}))
    expectation = expected_items(card)[Task("Abnormality Diagnosis")]
    assert (expectation.items, expectation.two, expectation.unknown) == (0, 0, ("finding",))


def test_a_source_of_one_modality_waits_for_others():
    assert expected_items(BUSI)[Task("Modality Recognition")].items == 0
    assert expected_items(BUSI)[Task("Modality Recognition")].shared == 780
    names = ("busi", "jsrt", "acdc", "covid-ct")
    expectations = expected_together({name: expected_items(CARDS[name]) for name in names})
    # 247 sets of four, then of three, in which 53 pictures of MRI set the number.
    items = [expectations[name, Task("Modality Recognition")] for name in names]
    assert items[1:3] == [247, 300]
    assert 300 <= items[3] <= items[0] < 780  # what is left pairs up, up to a fifth


def test_two_frames_side_by_side_are_two_options():
    expectation = expected_items(CARDS["acdc"])[Task("Imaging Protocols Recognition")]
    assert (expectation.items, expectation.two) == (0, 150)


@pytest.mark.parametrize(("more", "two", "room"), [(0, 90, 0), (40, 90, 10), (40, 3, 3)])
def test_a_fifth_of_a_task_has_two_options(more, two, room):
    assert two_option_room(more, two) == room


@pytest.mark.parametrize("name", sorted(CARDS))
def test_counts_of_a_card_lead_to_items_or_to_a_reason(name):
    """A count of what no rule asks for would never be noticed."""
    card = CARDS[name]
    field_names = {
        field for expectation in expected_items(card).values() for field, _ in expectation.nothing
    }
    plain = expected_items(replace(card, counts=()))
    field_names |= {field for entry in plain.values() for field in entry.unknown}
    field_names |= {
        field.name
        for field in card.fields.values()
        if field.constant and _changes(card, field.name)
    }
    assert {count.field for count in card.counts} <= field_names


def _changes(card, field):
    """Whether a count of pictures of a field changes what is expected."""
    counts = tuple(count for count in card.counts if count.field != field)
    return expected_items(replace(card, counts=counts)) != expected_items(card)


def test_a_constant_that_is_seen_in_some_pictures_is_expected_of_those():
    card = CARDS["hc18"]
    (visible_count,) = (count for count in card.counts if count.field == "target")
    assert card.fields["target"].constant in visible_count.pictures
    plain = expected_items(replace(card, counts=()))
    assert plain[Task("Organ Recognition")].shared == card.images
    counted = expected_items(replace(card, counts=(visible_count,)))
    assert counted[Task("Organ Recognition")].shared == 802 < card.images
    assert counted[Task("Modality Recognition")].shared == card.images


def test_the_adapter_counts_what_its_fixture_holds(tmp_path):
    SOURCES["busi"].build_fixture(tmp_path, "original")
    counts = count_answers(SOURCES["busi"], tmp_path)
    files = {
        name: len(list(tmp_path.glob(f"{name}/{name} (*).png"))) for name in ("benign", "normal")
    }
    pictures = counts["diagnosis", "clean"].pictures
    assert 0 < pictures["NORMAL"] <= files["normal"]
    assert 0 < pictures["BENIGN"] <= files["benign"] - 1  # the mask is no picture
    text = as_toml(as_counts(counts, "the fixture"))
    assert f'"NORMAL" = {pictures["NORMAL"]}' in text


def test_every_source_says_what_it_gives():
    yields = yields_of(list(CARDS.values()))
    assert set(yields.items) == set(CARDS)
    assert all(yields.items.values())

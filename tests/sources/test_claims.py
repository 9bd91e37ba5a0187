"""Words of a card are held against what it lets be asked."""

import pytest

from medrcube.sources._framework.card import load_card
from medrcube.sources._framework.card_parts.claims import (
    overclaimed_slices,
    visibility_contradictions,
)
from medrcube.sources._framework.card_parts.fields import missing_lines

FIELD = """
[[field]]
name = "finding"
kind = "finding"
absence = "silent"
values = { Edema = "Edema" }
"""
VIEW = """
[[field]]
name = "view"
kind = "view"
absence = "silent"
values = { PA = "PA" }
"""
NOTE = """
[[quirk]]
action = "note"
reason = "{}"
evidence = "t"
"""
PARTLY = 'visible = "partly"\nabsence'


@pytest.fixture
def faults(tmp_path, toy_card, reasoned):
    def find(*parts, modality="MRI", check=visibility_contradictions):
        path = tmp_path / "card.toml"
        text = reasoned(toy_card.replace('"MRI"', f'"{modality}"') + "".join(parts))
        path.write_text(text)
        card = load_card(path)
        return list(check(card) if check is overclaimed_slices else check(card, text))

    return find


@pytest.mark.parametrize(
    "words",
    [
        "the slice may not show the lesion",
        "the lesion cannot be seen before contrast",
        "the histology is not visible",
        "the grade is from the microscope",
        "shows in a picture only in part",
        "an early stroke does not always show",
        "a crop on which the probe isn't recognizable",
    ],
)
def test_a_note_that_something_cannot_be_seen_asks_for_a_field_that_says_so(faults, words):
    (fault,) = faults(FIELD, VIEW, NOTE.format(words))
    assert words in fault
    assert "finding, view" in fault
    assert faults(FIELD.replace("absence", PARTLY), VIEW, NOTE.format(words)) == []


@pytest.mark.parametrize(
    "words", ["labels are text-mined", "pictures show 299 pixels a side", "not known to be read"]
)
def test_other_notes_ask_for_nothing(faults, words):
    assert faults(FIELD, NOTE.format(words)) == []


def test_a_note_about_a_field_is_not_answered_by_another(faults):
    note = NOTE.format("may not be seen").replace("reason", 'fields = ["finding"]\nreason')
    assert faults(FIELD.replace("absence", PARTLY), VIEW, note) == []
    (fault,) = faults(FIELD, VIEW.replace("absence", PARTLY), note)
    assert "for finding" in fault


def test_a_note_about_two_fields_asks_for_both(faults):
    note = NOTE.format("may not be seen").replace("reason", 'fields = ["finding", "view"]\nreason')
    assert faults(FIELD.replace("absence", PARTLY), VIEW, note)
    both = (FIELD.replace("absence", PARTLY), VIEW.replace("absence", PARTLY))
    assert faults(*both, note) == []


def test_a_quirk_that_hides_the_field_answers_the_note(faults):
    hidden = NOTE.format("cropped").replace(
        '"note"', '"unseen"\nkeys = ["a*"]\nfields = ["finding"]'
    )
    assert faults(FIELD, NOTE.format("the crop may not show it"), hidden) == []


def test_a_comment_speaks_of_the_field_in_whose_table_it_stands(faults):
    text = FIELD.replace('"silent"', '"silent" # the film may not show it')
    (fault,) = faults(text, VIEW.replace("absence", PARTLY))
    assert "for finding" in fault
    assert faults(text.replace("absence", PARTLY, 1), VIEW) == []
    assert faults(FIELD + "[field.reasons] # not visible\n", VIEW.replace("absence", PARTLY))


def test_a_hash_in_a_string_begins_no_comment(faults):
    assert faults(FIELD, NOTE.format("case #4: not visible there").replace("note", "drop")) == []


def test_a_reason_that_denies_its_own_field_is_a_fault(faults):
    why = '[field.reasons]\nvisible = { reason = "It may not show.", evidence = "t" }\n'
    assert faults(FIELD + why)
    assert faults(FIELD.replace("absence", PARTLY) + why) == []


@pytest.mark.parametrize(
    ("modality", "scope", "visible", "fails"),
    [
        ("CT", "study", "yes", True),
        ("CT", "volume", "yes", True),
        ("MRI", "patient", "yes", True),
        ("CT", "study", "partly", False),
        ("CT", "patient", "no", False),
        ("CT", "image", "yes", False),
        ("MRI", "breast", "yes", False),
        ("X-ray", "study", "yes", False),
    ],
)
def test_one_slice_never_shows_a_study_whatever_the_card_says(
    faults, modality, scope, visible, fails
):
    field = FIELD.replace("absence", f'scope = "{scope}"\nvisible = "{visible}"\nabsence')
    assert bool(faults(field, modality=modality, check=overclaimed_slices)) is fails


def reasons(*keys):
    return {"reasons": {key: {"reason": "r", "evidence": "e"} for key in keys}}


WHOLE = {"basis": "image", "visible": "yes", "absence": "silent"}


@pytest.mark.parametrize(
    ("entry", "missing"),
    [
        ({**WHOLE, **reasons("basis", "visible")}, []),
        ({"absence": "silent", **reasons("basis", "visible")}, ["basis", "visible"]),
        ({**WHOLE, **reasons("visible")}, ["reasons.basis"]),
        ({**WHOLE, **reasons("basis")}, ["reasons.visible"]),
        ({**WHOLE, "absence": "reader", **reasons("basis", "visible")}, ["reasons.absence"]),
        ({**WHOLE, "absence": "implied", **reasons("basis", "visible")}, ["reasons.absence"]),
        ({**WHOLE, "stated": "A", **reasons("basis", "visible")}, ["reasons.stated"]),
        (
            {**WHOLE, "absence": "reader", "stated": "A"}
            | reasons("basis", "visible", "absence", "stated"),
            [],
        ),
    ],
)
def test_what_a_field_lacks_is_named_as_it_is_to_be_written(entry, missing):
    assert [line.partition(" = ")[0] for line in missing_lines(entry)] == missing

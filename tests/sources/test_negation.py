"""What a text does with a phrase."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.sources._formats.report_text.negation import (
    PHRASE,
    compile_phrase,
    find_mentions,
    words_of_name,
)

B_LINES = compile_phrase("b[ -]?lines?")
NORMAL = compile_phrase("(x-?ray|radiograph) ... normal")


def stances(text, phrase=B_LINES):
    return [mention.stance.value for mention in find_mentions(text, phrase)]


@pytest.mark.parametrize(
    "text",
    [
        "B-lines",
        "diffused B lines and white lung sign",
        "The pleural line is smooth. Confluent b-lines.",
        "No effusion but B-lines",
        "without effusion; B-lines",
        "no effusion.\nB-lines on the right",
        "no A-lines were demonstrated, replaced by B-lines",
        "No change of the B-lines",
        "not only B-lines",
        "B-lines could be seen",
    ],
)
def test_plain_mention_affirms(text):
    assert stances(text) == ["affirmed"]


@pytest.mark.parametrize(
    "text",
    [
        "no B-lines",
        "No evidence of B-lines",
        "did not show B-lines",
        "without any B-lines",
        "resolution of the B-lines",
        "normal lung, rare A-lines, no B-lines",
        "absence of B-lines",
        "no effusion, consolidation or B-lines",
        "B-lines were not seen",
        "B-lines have resolved",
        "free of B-lines",
    ],
)
def test_cue_within_five_words_denies(text):
    assert stances(text) == ["denied"]


@pytest.mark.parametrize(
    "text",
    [
        "possible B-lines",
        "B-lines?",
        "maybe one B-line",
        "unsure, I think I see one B-line",
        "cannot exclude B-lines",
        "B-lines are suspected",
        "unlikely to be B-lines",
        "no effusion and no sign at all of what one would call typical B-lines",
    ],
)
def test_word_of_doubt_or_a_far_cue_leaves_open(text):
    assert stances(text) == ["open"]


def test_accents_make_no_difference():
    assert stances("sem nódulos", compile_phrase("nodulos?")) == ["denied"]
    assert stances("calcificações", compile_phrase("calcificac(ao|oes)")) == ["affirmed"]


@pytest.mark.parametrize("text", ["", "lines", "sublines", "b-lineage", "ab lines"])
def test_other_words_are_no_mention(text):
    assert stances(text) == []


def test_every_mention_counts():
    text = "no B-lines on the left, but B-lines on the right"
    assert stances(text) == ["denied", "affirmed"]


@pytest.mark.parametrize(
    ("text", "stance"),
    [
        ("The chest x-ray on day 13 after admission was normal.", ["affirmed"]),
        ("The x-ray was not normal", ["denied"]),
        ("The x-ray was nearly normal", ["open"]),
        ("The x-ray was abnormal", []),
        ("The x-ray shows opacities. Blood counts were normal.", []),
    ],
)
def test_parts_of_a_phrase_stand_in_one_sentence_and_cues_between_them_count(text, stance):
    assert stances(text, NORMAL) == stance


def test_cue_that_is_part_of_the_phrase_negates_nothing():
    phrase = compile_phrase("x-?ray ... (did not show|no) ... abnormal(ity|ities)?")
    assert stances("The x-ray showed no abnormalities", phrase) == ["affirmed"]
    assert stances("The x-ray did not show abnormal changes", phrase) == ["affirmed"]


def test_end_of_a_sentence_can_be_asked_for():
    phrase = compile_phrase("^unremarkable$")
    assert stances("Illness day 7. Unremarkable.", phrase) == ["affirmed"]
    assert stances("Bronchoscopy was unremarkable.", phrase) == []


WORDS = st.text(alphabet="abcdefghijklmnopqrstuvwxyz ,", max_size=60)


@given(WORDS, WORDS)
def test_what_is_kept_of_a_text_is_words_of_the_card(before, after):
    text = f"{before} x-ray {after} normal"
    for mention in find_mentions(text, NORMAL):
        assert re.fullmatch(r"(x-?ray|radiograph) \.\.\. normal", mention.words)


@given(WORDS)
def test_a_mention_is_never_lost(words):
    assert stances(f"{words} b-lines") != []


@given(st.sampled_from(["no", "without", "did not show", "absence of"]), st.integers(0, 4))
def test_negation_reaches_over_four_words(cue, between):
    assert stances(f"{cue} {'word ' * between}b-lines") == ["denied"]


@pytest.mark.parametrize("phrase", [".*", "a.b", "a{2}", r"\w+", "[^a]", "a ...b", "a*"])
def test_wildcard_is_no_phrase(phrase):
    assert not re.fullmatch(PHRASE, phrase)


@pytest.mark.parametrize(
    ("stem", "words"),
    [
        ("Pneu_Avi_small-effusionA-line", "Pneu Avi small-effusion A-line"),
        ("Cov_b_lines_paper1", "Cov b lines paper1"),
        ("Cov-Atlas+(44)", "Cov-Atlas 44"),
    ],
)
def test_file_name_becomes_words(stem, words):
    assert words_of_name(stem) == words

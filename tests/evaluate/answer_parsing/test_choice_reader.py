"""Extraction: what holds for every reply; the replies themselves are in ``test_replies``."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medrcube.evaluate.answer_parsing import extract
from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning

OPTIONS = (("A", "Normal"), ("B", "Mass"), ("C", "Edema"), ("D", "Fracture"))


@pytest.mark.parametrize("reply", ["C", "Answer: C", "The answer is D.", "C. Edema", "(D)"])
def test_a_letter_without_an_option_is_no_answer(reply):
    assert extract(reply, OPTIONS[:2]).letter is None


@pytest.mark.parametrize(
    "reply", ["Answer: D. B", "D. B; Mass", "A: 0.9 B: 1", "C=1, A: 0.9 Mass", "B. Mass\nA) Normal"]
)
def test_a_letter_followed_by_another_one_is_no_answer(reply):
    assert extract(reply, OPTIONS).letter is None


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        ([("A", "Malignant"), ("B", "Benign"), ("C", "Undetermined")], "Undetermined", "C"),
        ([("A", "Mass"), ("B", "Calcified mass")], "The image shows a calcified mass.", "B"),
        ([("A", "Mass"), ("B", "Calcified mass")], "The image shows a mass.", "A"),
        ([("A", "Hepatitis B"), ("B", "Hepatitis C")], "The answer is hepatitis B.", "A"),
        ([("A", "No finding"), ("B", "Finding")], "No finding", "A"),
        ([("A", "None of the above"), ("B", "Mass")], "Answer: none of the above", "A"),
        ([("A", "Yes"), ("B", "No")], "No, there is no fracture.", "B"),
        ([("A", "Yes"), ("B", "No")], "Yes.", "A"),
        ([("A", "0"), ("B", "1"), ("C", "2")], "2", "C"),
        ([("A", "0"), ("B", "1"), ("C", "2")], "There are 2 lesions.", None),
        ([("A", "T1-weighted"), ("B", "T2-weighted")], "T2-weighted", "B"),
        ([("A", "T1"), ("B", "T1ce"), ("C", "FLAIR")], "This is T1ce.", "B"),
        ([("A", "X-ray"), ("B", "CT"), ("C", "MRI")], "This is an MRI of the brain.", "C"),
        ([("A", "Left lung"), ("B", "Right lung")], "It lies in the left lung.", "A"),
        ([("A", "水肿"), ("B", "骨折")], "图像显示骨折。", "B"),
        ([("A", "Glioma (grade II)"), ("B", "Glioma")], "Glioma (grade II)", "A"),
        ([("A", "C"), ("B", "D")], "B", "B"),
    ],
)
def test_the_texts_of_the_items_own_options_decide(options, reply, letter):
    assert extract(reply, options).letter == letter


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B\n\nActually, the image shows C.", "C"),
        ("B\n\nWait, it points to D.", "D"),
        ("The answer is B. Actually, I would choose C or D.", None),
    ],
)
def test_a_later_hint_replaces_the_letter_that_it_revises(reply, letter):
    assert extract(reply, OPTIONS).letter == letter


@pytest.mark.parametrize(
    "reply",
    [
        "It might be option B.",
        "Perhaps B. Mass.",
        "The finding could be (B) Mass.",
        "I am unsure whether option B fits.",
    ],
)
def test_a_named_option_in_doubt_is_no_answer(reply):
    assert extract(reply, OPTIONS) == (None, "doubtful")


@pytest.mark.parametrize(
    ("reply", "letter"),
    [("This is T1weighted.", "A"), ("A T2weighted image.", "B"), ("It is grade2.", "C")],
)
def test_a_digit_may_adjoin_the_word_beside_it(reply, letter):
    options = (("A", "T1-weighted"), ("B", "T2-weighted"), ("C", "Grade 2"))
    assert extract(reply, options).letter == letter


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        ("B", "bare-letter"),
        ("The answer is B", "declared"),
        ('{"answer": "B"}', "json"),
        ("\\boxed{B}", "boxed"),
        ("A mass is seen.", "option-text"),
        ("There is a mass.", "hint"),
        ("A: no. B: yes. C: no. D: no.", "judged-list"),
        ("A is incorrect; C", "last-sentence"),
        ("A round opacity.\n\nB\n\nThank you.", "own-line"),
        ("A round opacity.\n\nB. Mass\n\nThank you.", "own-line"),
        ("Only B fits.", "singled-out"),
        ("B > C > A", "ranked"),
        ("That means D.", "standing-letter"),
        ("A or B", "left-open"),
        ("", "empty"),
        ("<think>B", "unclosed-reasoning"),
    ],
)
def test_the_rule_that_fired_is_named(reply, rule):
    assert extract(reply, OPTIONS).rule == rule


@pytest.mark.parametrize(
    "reply",
    [
        "All signs speak for D. Soft-tissue edema is present.",
        "Answer: B\n\nThe haze is diffuse, so this is edema.",
        "The answer is B. In another case the answer would be C. So the answer would be D.",
        "\\boxed{B} or \\boxed{C}",
        "B\n\nC",
    ],
)
def test_readings_that_disagree_give_no_letter(reply):
    assert extract(reply, OPTIONS).letter is None


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        (
            "Answer: B\n\nWhy the other options are wrong:\nA. Normal: no.\nC. Edema is seen: no.",
            "B",
        ),
        ("A. Normal\nB. Mass\n**C. Edema**\nD. Fracture", "C"),
        ("There is no doubt that this is a mass.", "B"),
        ("The answer is C. The second most likely option is B.", "C"),
        ("故选C。若边界清楚,则选B。", "C"),
        ("A CT would show bone. The finding is therefore:\n\nB. Mass", "B"),
    ],
)
def test_what_is_said_beside_the_answer_does_not_hide_it(reply, letter):
    assert extract(reply, OPTIONS).letter == letter


@given(st.text(max_size=200))
def test_any_text_gives_one_of_the_own_letters_or_none(reply):
    assert extract(reply, OPTIONS[:3]).letter in {"A", "B", "C", None}


WORDS = st.sampled_from(
    [
        "A",
        "B",
        "C",
        "D",
        "E",
        "a",
        "the",
        "answer",
        "is",
        "not",
        "or",
        "and",
        ",",
        ".",
        "\n",
        "Answer:",
        "(",
        ")",
        "Mass",
        "edema",
        "normal",
        "because",
        "if",
        "I",
        "option",
        "**",
        "\\boxed{",
        "}",
        "{",
        '"',
        "think",
        "</think>",
        "correct",
        "no",
        "答案",
        "是",
        "选",
        "wait,",
        "actually",
        "it's",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=25).map(" ".join))
def test_odd_wording_never_breaks_the_reader(reply):
    assert extract(reply, OPTIONS).letter in {"A", "B", "C", "D", None}


@given(st.sampled_from("ABCD"), st.text("abcdefgh ,.", max_size=60))
def test_thinking_never_decides(letter, thought):
    reply = f"<think>The answer is A. {thought} I choose B.</think>The answer is {letter}."
    assert extract(reply, OPTIONS).letter == letter


FORMS = (
    "{L}", "({L})", "**{L}. {T}**", "Answer: {L}", "The answer is {L}.", "{L} is correct.",
    "\\boxed{{{L}}}", '{{"answer": "{L}"}}', "答案是{L}", "Option {L}", "{T}", "I choose {L}. {T}.",
    "<think>maybe</think>{L}", "The correct option is ({L}) {T}.", "The image shows {T}.",
)  # fmt: skip
REMARKS = (
    "I looked at the picture closely.",
    "Note: this is no medical advice.",
    "The picture is of good quality.",
    "Thank you for the question.",
)
WORDY = ("Pleural effusion", "Pneumothorax", "Cardiomegaly", "Atelectasis")


def filled(form, letter, text):
    return form.format(L=letter, T=text)


@given(st.sampled_from(FORMS), st.permutations(WORDY), st.integers(0, 3))
def test_options_in_another_order_move_the_letter_with_them(form, texts, place):
    options = tuple(zip("ABCD", texts, strict=True))
    reply = filled(form, *options[place])
    assert extract(reply, options).letter == "ABCD"[place]


@given(
    st.sampled_from([form for form in FORMS if not form.startswith("<think>")]),
    st.sampled_from(REMARKS),
    st.integers(0, 3),
    st.booleans(),
)
def test_a_remark_beside_the_answer_changes_nothing(form, remark, place, before):
    options = tuple(zip("ABCD", WORDY, strict=True))
    reply = filled(form, *options[place])
    reply = f"{remark}\n\n{reply}" if before else f"{reply}\n\n{remark}"
    assert extract(reply, options).letter == "ABCD"[place]


@given(
    st.sampled_from(FORMS), st.integers(0, 3), st.sampled_from([str.upper, str.lower, str.title])
)
def test_the_case_of_the_words_changes_nothing(form, place, change):
    options = tuple(zip("ABCD", WORDY, strict=True))
    cased = form if form.startswith(("\\", "{{", "<")) else change(form)
    reply = filled(cased.replace("{l}", "{L}").replace("{t}", "{T}"), *options[place])
    assert extract(reply, options).letter == "ABCD"[place]


@pytest.mark.parametrize("count", [2, 3])
@given(reply=st.sampled_from(FORMS), text=st.sampled_from(["Pear", "Plum"]))
def test_a_letter_beyond_the_options_is_never_given(count, reply, text):
    options = tuple(zip("ABCD", WORDY, strict=True))[:count]
    assert extract(filled(reply, "D", text), options).letter is None


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (["Edema", "Tumor"], "oedema", "A"),
        (["Edema", "Tumor"], "A tumour is seen.", "B"),
        (["Edema", "Tumor"], "Edma", None),
        (["BI-RADS 3", "BI-RADS 4"], "birads 4", "B"),
        (["Grade II", "Grade III"], "grade 3", "B"),
        (["Grade II", "Grade III"], "grade 4", None),
        (["T1-weighted", "T2-weighted"], "T2 weighted", "B"),
        (["Behçet disease", "Crohn's disease"], "Crohns disease", "B"),
        (["Behçet disease", "Crohn's disease"], "Behcet's disease", "A"),
        (["Grade 1", "Grade I"], "This is Grade I.", "B"),
        (["が", "か"], "か", "B"),
        (["No", "No finding"], "No finding.", "B"),
        (["None of the above", "Mass"], "The answer is none of the above.", "A"),
        (["Grade 0", "Grade 1"], "The grade is unclear.", None),
        (["Left lung", "Right lung"], "left", "A"),
        (["Low-grade glioma", "Meningioma"], "glioma", None),
        (["Glioma", "No tumor"], "tumor", None),
        (["Glioma", "No tumor"], "There is no evidence of a tumour.", "B"),
        (["Pleural effusion", "Pneumonia"], "pleural effusions", "A"),
        (["Melanocytic nevus", "Melanoma"], "Nevus, melanocytic", "A"),
        (["1-2 cm", "2-3 cm"], "1 to 2 cm", "A"),
        (["ACL tear", "No tear"], "Anterior cruciate ligament tear", None),
        (["Anterior cruciate ligament tear", "No tear"], "ACL tear", "A"),
        (["Pulmonary embolism", "Pleural effusion"], "PE", None),
    ],
)
def test_a_text_may_differ_in_form_but_not_by_likeness(options, reply, letter):
    assert extract(reply, tuple(zip("AB", options, strict=True))).letter == letter


@pytest.mark.parametrize("options", [OPTIONS, tuple(zip("ABCD", "wxyz", strict=True))])
@pytest.mark.parametrize("letter", "ABCD")
def test_every_letter_is_read_alike(options, letter):
    for form in ("{}", "({})", "**{}**", "Answer: {}", "The answer is {}.", "{} is correct."):
        assert extract(form.format(letter), options).letter == letter


PIECES = (
    "(", "A ", "\\boxed{", "<think>", "{", "option A ", "not ", "答案", "A, ", "<answer>",
    "A is ", "| A ", "**", "~~", "- [ ] ", "the answer to ", "A > ", "only A ", "if ",
    "A: no. ", "\n", "image shows ", "(A) ", "\u274c ", "[answer]", '{"a":', "Edema ",
    "A. Normal\n", "a, ", "1st: ", "although a mass ", "mass (", "the first option ",
    "B is more ", "是A更", "mass = ",
)  # fmt: skip
A_FEW = 6


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "piece",
    [
        *PIECES[:A_FEW],
        *(pytest.param(piece, marks=pytest.mark.thorough) for piece in PIECES[A_FEW:]),
    ],
)
def test_a_model_that_loops_does_not_hold_up_scoring(piece):
    started = time.process_time()
    extract(piece * (200_000 // len(piece)), OPTIONS)
    assert time.process_time() - started < 10


def test_a_closing_tag_alone_ends_the_thinking():
    assert strip_reasoning("The answer is A.</think> B") == ("B", True)


def test_text_before_the_thinking_is_kept():
    assert strip_reasoning("Answer: B <think>hm</think>").text.startswith("Answer: B")

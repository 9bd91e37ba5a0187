"""Cases at the edge of each rule of item writing."""

from dataclasses import replace

import pytest

from medrcube.ontologies.item_rules import ItemText, lint

SOUND = ItemText(
    question="Which finding is present in this chest X-ray?",
    options=("pneumothorax", "cardiomegaly", "consolidation", "atelectasis"),
    key=0,
    kinds=("finding",) * 4,
)


def rules(**changes):
    if "options" in changes:
        changes.setdefault("kinds", ("finding",) * len(changes["options"]))
    return {flaw.rule for flaw in lint(replace(SOUND, **changes))}


@pytest.mark.parametrize(
    "question",
    [
        "All findings are present except which in this CT image?",
        "Which statement on this CT image is false?",
        "Which is the least likely diagnosis from this CT image?",
    ],
)
def test_every_negative_word_is_seen(question):
    assert "negative-stem" in rules(question=question)


def test_a_negative_word_in_the_name_of_a_label_is_no_negative_stem():
    stem = "Which box in this CT image shows the lesion that is not calcified?"
    boxes = {"options": ("Box 1", "Box 2"), "kinds": ("", "")}
    assert "negative-stem" in rules(question=stem, **boxes)
    assert rules(question=stem, target="lesion that is not calcified", **boxes) == set()


@pytest.mark.parametrize(
    "question",
    [
        "Which of these entries belongs in the report on this CT image?",
        "Which one of the following statements fits this CT image?",
        "Regarding this CT image, which finding is the correct answer?",
    ],
)
def test_a_question_that_needs_its_options_is_open(question):
    assert "open-question" in rules(question=question)


@pytest.mark.parametrize(
    "question",
    [
        "Which modality was used to acquire this picture of the heart?",
        "By which technique was this picture of the brain made?",
        "Which view is shown in this mammogram?",
        "Which phase is shown in these echocardiograms?",
    ],
)
def test_a_stem_that_names_or_asks_for_the_modality_is_sound(question):
    assert rules(question=question) == set()


@pytest.mark.parametrize(
    ("stem", "file"),
    [
        ("Which finding is present in img-17.dcm, an X-ray?", ""),
        ("Which finding is present in patient00123, an X-ray?", ""),
        ("Which finding is present in the X-ray abc-7?", "images/abc-7.png"),
    ],
)
def test_a_file_or_case_in_the_stem_is_seen(stem, file):
    assert rules(question=stem, file=file) == {"file-name"}


@pytest.mark.parametrize(
    "stem",
    [
        "Findings: clear left lung. Which finding is present in this X-ray?",
        'The text is "there is a dense patch in the lung". Which finding fits this X-ray?',
        "The report says that a tube lies in place. Which finding is present in this X-ray?",
    ],
)
def test_a_report_in_the_stem_is_seen(stem):
    assert "report-sentence" in rules(question=stem)


def test_the_text_of_the_key_in_the_stem_is_seen_and_that_of_a_part_of_a_word_is_not():
    assert "text-leak" in rules(question="Which pneumothorax is present in this X-ray?")
    short = {"options": ("rib", "heart"), "concepts": ("RIB", "HEART")}
    assert rules(question="Which structure lies under the ribbon in this X-ray?", **short) == set()


def test_one_concept_under_two_names_stands_twice():
    options = ("enlarged heart", "big heart", "lung edema")
    assert "duplicate-options" not in rules(options=options, key=2, concepts=("A", "B", "C"))
    assert "duplicate-options" in rules(options=options, key=2, concepts=("A", "A", "C"))


def test_numbered_boxes_have_no_concept_and_are_not_the_same():
    boxes = ("Box 1", "Box 2")
    assert rules(options=boxes, kinds=("", ""), concepts=("", ""), ranks=(0, 1)) == set()


def test_a_figure_in_the_stem_does_not_point_at_a_box():
    stem = "Which red box in this mammogram contains the mass of BI-RADS 3 to 5?"
    boxes = ("Box 1", "Box 2", "Box 3")
    assert rules(question=stem, options=boxes, key=2, kinds=("",) * 3) == set()


@pytest.mark.parametrize("text", ["all of the above", "Neither of these", "A and B"])
def test_options_that_stand_for_others_are_seen(text):
    assert "combined-options" in rules(options=("hernia", "fracture", text))


def test_an_exclusive_group_may_mix_kinds():
    kinds = ("disease", "cardiac group", "disease", "finding")
    assert "mixed-kinds" in rules(kinds=kinds)
    assert rules(kinds=kinds, grouped=True) == set()


@pytest.mark.parametrize(
    ("options", "mixed"),
    [
        (("BI-RADS 2", "Box 3"), True),
        (("grade 1 (low)", "grade 2 (high)"), False),
        (("grade 2 glioma", "meningioma"), False),
        (("edema is present.", "hernia"), True),
        (("mass of BI-RADS 3 to 5", "nipple retraction"), False),
        (("COVID-19 pneumonia", "viral pneumonia"), False),
    ],
)
def test_options_fill_one_slot(options, mixed):
    assert ("mixed-slots" in rules(options=options)) == mixed


def test_no_abnormality_fits_beside_a_numbered_scale():
    options = ("no abnormality", "grade 1", "grade 2")
    kinds = ("normality", "severity grade", "severity grade")
    assert "mixed-slots" not in rules(options=options, kinds=kinds)


def test_information_content_counts_to_both_sides_of_the_key():
    assert rules(content=(0.5, 0.24, 0.5, 0.5)) == {"content-depth"}
    assert rules(content=(0.5, 0.76, 0.5, 0.5)) == {"content-depth"}
    assert rules(content=(0.5, 0.25, 0.75, 0.5)) == set()
    assert rules(content=(None, 0.0, 1.0, 0.5)) == set()


@pytest.mark.parametrize(
    "options",
    [
        ("breast mass", "no breast mass", "nipple retraction"),
        ("hernia", "absence of hernia", "edema"),
        ("normal heart", "abnormal heart", "hernia"),
        ("fat present", "fat absent", "hernia"),
    ],
)
def test_complements_beside_a_third_option_are_seen(options):
    assert "exhaustive-subset" in rules(options=options, key=2)
    assert "exhaustive-subset" not in rules(options=options[1:], key=1)


def test_benign_and_malignant_leave_a_third_case():
    options = ("benign lesion", "malignant lesion", "normal tissue")
    assert "exhaustive-subset" not in rules(options=options, key=2)


@pytest.mark.parametrize(
    ("stem", "options", "cue"),
    [
        ("This X-ray shows an?", ("edema", "effusion"), False),
        ("This X-ray shows an?", ("edema", "mass"), True),
        ("This X-ray shows a?", ("mass", "MRI artifact"), True),
        ("This X-ray shows a?", ("mass", "unilateral effusion", "European goiter"), False),
        ("Which finding fits this X-ray?", ("a mass", "edema", "hernia"), True),
        ("Which finding fits this X-ray?", ("a mass", "a cyst", "hernia", "edema"), False),
        ("Which findings are in this X-ray?", ("masses", "cysts"), False),
        ("Which findings are in this X-ray?", ("mass", "cyst"), False),
        ("Which findings are in this X-ray?", ("calcifications of a rib", "mass"), True),
        ("Which finding is in this X-ray?", ("calcifications", "mass"), False),
        ("Which finding is in the films that are this X-ray?", ("cysts", "mass"), False),
        ("Which step would this X-ray lead to?", ("to drain it", "surgery"), True),
    ],
)
def test_grammar_agrees_with_every_option(stem, options, cue):
    assert ("grammar-cue" in rules(question=stem, options=options)) == cue


@pytest.mark.parametrize(
    "options",
    [
        ("nodule of 4 mm", "nodule of 2 cm"),
        ("nodule of 4.5 mm", "nodule of 6 mm"),
        ("nodule below 6 mm", "nodule of 5 mm to 8 mm"),
        ("score 0 to 5", "score 5 to 9", "score 3 or more"),
        ("fraction of 50% or more", "fraction above 70%"),
    ],
)
def test_figures_that_do_not_compare_are_seen(options):
    assert "numbers" in rules(options=options)


@pytest.mark.parametrize(
    "options",
    [
        ("fraction below 30%", "fraction of 30% to 39%", "fraction of 40% or more"),
        ("CT-1: up to 25% of the lung", "CT-2: 25% to 50% of the lung"),
        ("score 0 to 5", "score 6 to 11", "score 12 to 18"),
        ("T1-weighted", "T2-weighted"),
        ("mass of BI-RADS 3 to 5", "nipple retraction"),
        ("BI-RADS 2", "BI-RADS 3"),
    ],
)
def test_ranges_may_meet_and_names_with_digits_are_no_figures(options):
    assert "numbers" not in rules(options=options)


@pytest.mark.parametrize(
    "options",
    [
        ("moderate stenosis", "mild stenosis", "severe stenosis"),
        ("BI-RADS 10", "BI-RADS 9"),
        ("score 6 to 11", "score 0 to 5"),
        ("4 mm", "2 mm", "6 mm"),
    ],
)
def test_natural_order_is_kept(options):
    assert "order" in rules(options=options)
    assert "order" not in rules(options=tuple(sorted(options, key=SORTED.index)))


SORTED = (
    *("mild stenosis", "moderate stenosis", "severe stenosis"),
    *("BI-RADS 9", "BI-RADS 10", "score 0 to 5", "score 6 to 11", "2 mm", "4 mm", "6 mm"),
)


def test_the_place_on_a_scale_decides_where_it_is_known():
    falling = ("fraction of 55% or more", "fraction of 40% to 54%", "fraction below 40%")
    assert "order" not in rules(options=falling, ranks=(0, 1, 2))
    assert "order" in rules(options=falling, ranks=(0, 2, 1))
    assert "order" not in rules(options=("4 mm", "2 mm"), ranks=(0, 1))


def test_sequences_and_words_have_no_order():
    assert "order" not in rules(options=("T2-weighted", "T1-weighted"))
    assert "order" not in rules(options=("severe stenosis", "mild stenosis", "hernia"))


def test_one_more_modifier_is_no_flaw():
    assert "specificity" not in rules(options=("acute infarct", "infarct", "hernia"))


def test_two_options_cannot_converge():
    assert "convergence" not in rules(options=("left lung mass", "left lung"))


def test_a_kind_of_another_option_is_on_another_level_unless_they_are_one_group():
    kinds = {
        "options": ("bacterial pneumonia", "lobar pneumonia"),
        "concepts": ("bacterial", "lobar"),
        "above": (frozenset(), frozenset({"bacterial"})),
    }
    assert "mixed-level" in rules(**kinds)
    assert "mixed-level" not in rules(**kinds, grouped=True)


@pytest.mark.parametrize(
    "option", ["Irregular", "benign", "Circumscribed", "Hypoechoic", "T1-weighted", "Linear"]
)
def test_a_descriptor_without_its_noun_is_a_fragment(option):
    assert "fragment" in rules(options=(option, "Round mass"))


def test_words_of_degree_on_a_scale_are_no_fragments():
    scale = {"options": ("mild", "moderate", "severe"), "ranks": (0, 1, 2)}
    assert "fragment" not in rules(**scale)


def test_what_an_option_sets_itself_apart_from_is_no_other_form():
    names = ("COVID-19 pneumonia", "viral pneumonia other than COVID-19")
    assert "mixed-form" not in rules(options=names)

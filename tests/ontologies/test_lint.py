import pytest

from medrcube.ontologies.lint import ERROR, WARNING, Draft, lint


def flaws(*, level, **changes):
    values = {
        "question": "Which finding is present in this chest X-ray?",
        "options": ("pneumothorax", "cardiomegaly", "consolidation", "atelectasis"),
        "key": 0,
        "kinds": ("finding",) * 4,
    }
    found = lint(Draft(**{**values, **changes}))
    return {flaw.rule for flaw in found if flaw.level == level}


def test_a_sound_question_has_no_flaw():
    assert flaws(level=ERROR) == set()
    assert flaws(level=WARNING) == set()


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("duplicate-options", {"options": ("edema", "oedemas", "nodule", "mass")}),
        ("option-count", {"options": ("edema",), "kinds": ("finding",)}),
        ("option-count", {"key": 4}),
        ("combined-options", {"options": ("edema", "nodule", "mass", "None of the above")}),
        ("combined-options", {"options": ("edema", "nodule", "mass", "A and B")}),
        ("mixed-kinds", {"kinds": ("finding", "finding", "disease", "finding")}),
        ("not-a-question", {"question": "Name the finding in this chest X-ray."}),
        ("not-a-question", {"question": "Which of the following is true?"}),
        ("negative-stem", {"question": "Which finding is NOT present in this X-ray?"}),
        ("negative-stem", {"question": "All are present except which?"}),
        ("absolute-terms", {"options": ("edema", "always a mass", "nodule", "hernia")}),
        (
            "word-repeats",
            {
                "question": "Which disease of the pleura is seen?",
                "options": ("pleura plaque", "edema", "nodule", "hernia"),
            },
        ),
        ("text-leak", {"question": "Is this a pneumothorax?"}),
    ],
)
def test_a_broken_rule_stops_the_item(rule, changes):
    assert rule in flaws(level=ERROR, **changes)


def test_a_word_of_the_stem_in_every_option_gives_nothing_away():
    options = ("breast cyst", "breast mass", "breast abscess", "breast cancer")
    assert flaws(level=ERROR, question="Which breast lesion is seen?", options=options) == set()


def test_no_finding_goes_with_any_kind():
    kinds = ("finding", "normality", "finding", "finding")
    assert "mixed-kinds" not in flaws(level=ERROR, kinds=kinds)


def test_an_exclusive_group_may_mix_kinds():
    kinds = ("disease", "cardiac group", "disease", "normality")
    assert flaws(level=ERROR, kinds=kinds, grouped=True) == set()


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("length", {"options": ("edema", "mass", "hernia", "dense consolidation of a lung")}),
        ("longest-is-key", {"options": ("pulmonary edema", "mass", "hernia", "nodule")}),
        ("vague-terms", {"question": "Which finding may be present?"}),
        ("abbreviations", {"options": ("edema", "COPD", "nodule", "hernia")}),
        ("convergence", {"options": ("left lung mass", "left lung", "lung cyst", "mass")}),
        ("specificity", {"options": ("acute left mass", "mass", "hernia", "nodule")}),
    ],
)
def test_a_bent_rule_is_a_warning(rule, changes):
    assert rule in flaws(level=WARNING, **changes)

"""Every rule of item writing with a pair: a draft that keeps it and one that breaks only it."""

from dataclasses import fields, replace

import pytest

from medrcube.ontologies.item_rules import ERROR, RULES, WARNING, ItemText, lint

SOUND = ItemText(
    question="Which finding is present in this chest X-ray?",
    options=("pneumothorax", "cardiomegaly", "consolidation", "atelectasis"),
    key=0,
    kinds=("finding",) * 4,
)


def draft(**changes):
    """A sound draft with changes; kinds follow the number of options."""
    if "options" in changes:
        changes.setdefault("kinds", ("finding",) * len(changes["options"]))
    return replace(SOUND, **changes)


def ask(question):
    return draft(question=question)


def choose(*options, **changes):
    return draft(options=options, **changes)


PAIRS = {
    "option-count": (choose("edema", "hernia"), choose("edema")),
    "not-a-question": (SOUND, ask("Name the finding in this chest X-ray.")),
    "open-question": (
        ask("Which of these findings is present in this chest X-ray?"),
        ask("Which of the following is true for this chest X-ray?"),
    ),
    "no-target": (
        ask("Which abnormality is seen in this chest X-ray?"),
        ask("What is seen in this chest X-ray?"),
    ),
    "no-modality": (
        ask("Which finding is present in this CT image?"),
        ask("Which finding is present in this picture?"),
    ),
    "negative-stem": (SOUND, ask("Which finding is NOT present in this chest X-ray?")),
    "text-leak": (
        draft(concepts=("Effusion", "Mass", "Edema", "Hernia")),
        draft(
            question="Which finding with effusion is present in this chest X-ray?",
            concepts=("Effusion", "Mass", "Edema", "Hernia"),
        ),
    ),
    "file-name": (
        draft(file="images/case_0017.png"),
        ask("Which finding is present in the X-ray case_0017?"),
    ),
    "report-sentence": (
        ask("Which finding belongs in the report on this chest X-ray?"),
        ask("Impression: enlarged hilum. Which finding is present in this chest X-ray?"),
    ),
    "mark-colour": (
        ask("Which finding is inside the red box in this chest X-ray?"),
        ask("Which finding is inside the green box in this chest X-ray?"),
    ),
    "duplicate-options": (
        choose("brain edema", "pulmonary edema"),
        choose("pulmonary edema", "pulmonary oedema"),
    ),
    "combined-options": (
        choose("hernia", "edema", "nodule", "fracture", key=1),
        choose("lung hernia", "lung edema", "lung nodule", "none of these"),
    ),
    "mixed-kinds": (
        draft(kinds=("finding", "normality", "finding", "finding")),
        draft(kinds=("finding", "finding", "disease", "finding")),
    ),
    "mixed-slots": (
        choose("Box 1", "Box 2", "Box 3", kinds=("",) * 3),
        choose("edema", "hernia", "grade 2"),
    ),
    "fragment": (
        choose("oval mass", "irregular mass"),
        choose("oval mass", "circumscribed"),
    ),
    "mixed-case": (
        choose("COPD", "ARDS", "edema"),
        choose("Hernia", "edema", "fracture"),
    ),
    "mixed-number": (
        choose("lung nodules", "calcifications"),
        choose("lung nodules", "calcification"),
    ),
    "mixed-form": (
        choose("breast cyst", "breast cancer"),
        choose("breast cancer", "cyst of the breast"),
    ),
    "mixed-level": (
        draft(above=(frozenset("ab"), frozenset("a"), frozenset("a"), frozenset("ac"))),
        draft(above=(frozenset("abd"), frozenset("a"), frozenset("a"), frozenset("ac"))),
    ),
    "content-depth": (
        draft(content=(0.6, 0.8, None, 0.4)),
        draft(content=(0.6, 0.9, None, 0.6)),
    ),
    "length": (
        choose("lung edema", "lung cyst", "lung hernia"),
        choose("lung edema", "lung cyst", "lung opacification"),
    ),
    "specificity": (
        choose("left rib fracture", "left lung mass", "lung collapse", key=2),
        choose("acute left fracture", "left rib fracture", "collapse of lung", key=2),
    ),
    "exhaustive-subset": (
        choose("no lung nodule", "lung nodule", key=1),
        choose("no lung nodule", "lung nodule", "hiatal hernia", key=2),
    ),
    "abbreviations": (
        choose("COPD", "ARDS", "edema"),
        choose("COPD", "edema", "hernia"),
    ),
    "convergence": (
        choose("left lower mass", "left lower cyst", "right lower cyst", "right lower mass"),
        choose("left lower mass", "left upper mass", "right lower mass", "left lower cyst"),
    ),
    "absolute-terms": (
        choose("rib fracture", "hiatal hernia", "breast mass"),
        choose("rib fracture", "every hernia", "breast mass"),
    ),
    "word-repeats": (
        choose("pleural plaque", "pleural effusion"),
        draft(
            question="Which finding of the pleural space is present in this chest X-ray?",
            options=("pleural plaque", "enlarged heart"),
            kinds=("finding",) * 2,
        ),
    ),
    "grammar-cue": (
        ask("Which finding is present in this chest X-ray?"),
        draft(
            question="Which findings are present in this chest X-ray?",
            options=("calcifications", "no abnormality"),
            kinds=("finding", "normality"),
        ),
    ),
    "longest-is-key": (
        choose("edema", "fracture", "hernia"),
        choose("fracture", "edema", "hernia"),
    ),
    "vague-terms": (SOUND, ask("Which finding may be present in this chest X-ray?")),
    "numbers": (
        choose("stenosis of 10% to 20%", "stenosis of 20% to 40%", "stenosis of 40% to 70%"),
        choose("stenosis of 10% to 30%", "stenosis of 20% to 40%", "stenosis of 40% to 70%"),
    ),
    "order": (
        choose("BI-RADS 3", "BI-RADS 4A", "BI-RADS 4B"),
        choose("BI-RADS 3", "BI-RADS 4B", "BI-RADS 4A"),
    ),
}


def broken(flaws):
    return {flaw.rule for flaw in flaws}


def test_every_rule_has_a_pair_of_examples():
    assert set(PAIRS) == {rule.id for rule in RULES}
    assert len(RULES) == len({rule.id for rule in RULES})


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_the_good_example_of_a_rule_has_no_flaw_at_all(rule):
    assert lint(PAIRS[rule][0]) == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_bad_example_of_a_rule_breaks_that_rule_alone(rule):
    flaws = lint(PAIRS[rule.id][1])
    assert broken(flaws) == {rule.id}
    assert {flaw.level for flaw in flaws} == {rule.level}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_message_says_what_was_found_and_then_what_to_change(rule):
    for flaw in lint(PAIRS[rule.id][1]):
        results, _, change = flaw.message.rpartition("; ")
        if not results:  # two sentences in one
            results, _, change = flaw.message.rpartition(", so ")
        assert len(results) > 15
        assert len(change) > 10


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_in_one_line_what_it_asks_for(rule):
    assert rule.asks.endswith(".")
    assert "\n" not in rule.asks
    assert rule.level in (ERROR, WARNING)


def test_errors_come_before_warnings():
    flaws = lint(choose("hernia", "edema", "edema", key=0))
    assert [flaw.level for flaw in flaws] == sorted(flaw.level for flaw in flaws)
    assert broken(flaws) == {"duplicate-options", "longest-is-key"}


def test_a_draft_without_a_key_has_that_error_alone():
    assert [flaw.rule for flaw in lint(draft(key=4))] == ["option-count"]
    assert [flaw.rule for flaw in lint(choose(key=0))] == ["option-count"] * 2


def test_facts_that_are_not_known_break_nothing():
    optional = {f.name for f in fields(ItemText)} - {"question", "options", "key", "kinds"}
    assert optional == {"grouped", "concepts", "content", "ranks", "above", "target", "file"}
    assert lint(SOUND) == ()

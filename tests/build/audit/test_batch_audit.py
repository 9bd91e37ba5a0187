import json
from dataclasses import replace

import pytest

from medrcube.build.audit.batch_audit import audit_batch, describe_rules
from medrcube.build.audit.batch_rules import BATCH_RULES
from medrcube.build.questions.item_table import ChoiceItem, Option
from medrcube.build.stages.samples import Sample
from medrcube.facts import QuarantineRow
from medrcube.ontologies.item_rules import RULES

BLANK = dict.fromkeys(Sample.__dataclass_fields__, "")


def sample(number, **changes):
    numbers = dict.fromkeys(("choices", "regions", "file_bytes", "colour"), 0)
    numbers |= {"area": 0.0, "grey": 0.0, "width": 1, "height": 1}
    values = {
        **BLANK,
        **numbers,
        "id": f"s{number}",
        "source": "toy",
        "case": f"c{number}",
        "redistribute": True,
        "artefact": "clean",
        "pixel_sha256": str(number),
    }
    return Sample(**{**values, **changes})


def item(number=0, *, key=0, texts=("edema", "nodule"), **changes):
    options = tuple(
        Option(
            text=text,
            concept=text,
            ids=(),
            strategy="key" if place == key else "knowledge",
            grade="" if place == key else "A",
            passed=(),
        )
        for place, text in enumerate(texts)
    )
    values = {
        "id": f"i{number}",
        "sample": f"s{number}",
        "source": "toy",
        "task": "Abnormality Diagnosis",
        "anatomy": "Chest",
        "modality": "X-ray",
        "question": "q?",
        "options": options,
        "key": key,
        "strategy": "knowledge",
        "state": "unreviewed",
        "field": "f",
        "concept": texts[key] if 0 <= key < len(texts) else "edema",
        "group": "",
        "scope": "image",
        "grade": "A",
        "ordered": False,
        "variant": "v",
        "template": "t",
        "warnings": ("length",),
        "seed": 0,
    }
    blank = dict.fromkeys(ChoiceItem.__dataclass_fields__, "")
    return ChoiceItem(**{**blank, **values, **changes})


def failures(*items):
    """What is wrong with items one by one."""
    results = audit_batch([sample(n) for n in range(9)], items, [], {})["failures"]
    return [failure for failure in results if not failure.startswith("batch rule ")]


def leaky(count=40):
    """Each answer is right as often, and always in the first place."""
    return [
        item(n, key=0, texts=("edema", "nodule") if n % 2 else ("nodule", "edema"))
        for n in range(count)
    ]


def test_a_sound_batch_has_no_failure():
    assert failures(item(0), item(1, key=1)) == []


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (item(99), "'s99' is not among the samples"),
        (item(key=2), "the key 2 is none of the options"),
        (replace(item(), key=1), "was made as a distractor"),
        (item(texts=("edema", "Oedema")), "two options read the same"),
        (item(texts=("edema", " ")), "an option is empty"),
        (item(texts=("edema",)), "1 options, expected two to four"),
        (item(task="Report Generation"), "'Report Generation' is not a known task"),
        (item(anatomy="Knee"), "'Knee' is not a known anatomy"),
    ],
)
def test_a_broken_item_stops_a_release(broken, words):
    assert any(words in failure for failure in failures(broken))


def test_a_wrong_option_without_evidence_stops_a_release():
    bare = item()
    options = (bare.options[0], replace(bare.options[1], grade=""))
    assert "carries no evidence" in failures(replace(bare, options=options))[0]


def test_a_repeated_id_stops_a_release():
    assert failures(item(), item()) == ["item i0: the id occurs more than once"]


def test_an_item_that_breaks_a_rule_of_level_error_stops_a_release():
    assert failures(item(warnings=("length", "order"))) == []
    assert "it breaks the rule negative-stem" in failures(item(warnings=("negative-stem",)))[0]


def test_every_rule_is_counted_also_those_that_no_item_bends():
    audit = audit_batch([sample(0), sample(1)], [item(0), item(1)], [], {})
    assert set(audit["item_rules"]) == {rule.id for rule in RULES}
    assert audit["item_rules"]["length"]["items"] == 2
    assert audit["item_rules"]["negative-stem"]["items"] == 0
    assert set(audit["batch_rules"]) == {rule.id for rule in BATCH_RULES}


def test_a_leak_is_stated_and_stops_nothing():
    audit = audit_batch([sample(n) for n in range(40)], leaky(), [], {})
    assert audit["batch_rules"]["key-position"]["holds"] is False
    assert audit["failures"] == []


def test_an_option_that_is_always_the_key_stops_a_release():
    audit = audit_batch([sample(n) for n in range(9)], [item(n, key=0) for n in range(9)], [], {})
    (failure,) = audit["failures"]
    assert failure.startswith("batch rule even-keys: toy, Abnormality Diagnosis: ")
    assert any(line.startswith("ERROR even-keys: ") for line in describe_rules(audit))


def test_people_see_what_was_stopped_what_is_bent_and_which_rules_of_the_batch_fail():
    audit = audit_batch([sample(n) for n in range(40)], leaky(), [], {})
    audit["dropped"] = {"A: lint text-leak": 2, "B: lint text-leak": 1, "B: scope": 7}
    lines = describe_rules(audit)
    assert lines[0] == "not asked: fact is about more than this image (7); all reasons: audit.json"
    assert lines[1] == "item rules: no item made because of text-leak (3)"
    assert lines[2] == "items flagged for review: length (40)"
    assert lines[3].startswith("batch rules: ")
    failed = [name for name, rule in audit["batch_rules"].items() if rule["holds"] is False]
    assert "key-position" in failed
    assert [line.split(":")[0] for line in lines[4:]] == [f"WARNING {name}" for name in failed]
    assert f"{len(BATCH_RULES) - len(failed)} of {len(BATCH_RULES)} passed" in lines[3]


def test_the_most_frequent_answer_is_named_with_its_share():
    items = [item(n, texts=("edema", "nodule")) for n in range(3)] + [
        item(3, texts=("mass", "edema"))
    ]
    most_frequent_answer = audit_batch([sample(n) for n in range(4)], items, [], {})[
        "most_frequent_answer"
    ]
    cell = most_frequent_answer["toy / Abnormality Diagnosis"]
    assert cell == {"n": 4, "answer": "edema", "share": 0.75, "chance": 0.5}


def test_equal_pictures_of_two_cases_are_listed_once():
    samples = [
        sample(1, pixel_sha256="x", patient="a"),
        sample(2, pixel_sha256="x", patient="b"),
        sample(3, pixel_sha256="y"),
        sample(4, pixel_sha256="z", case="same"),
        sample(5, pixel_sha256="z", case="same"),
    ]
    assert audit_batch(samples, [], [], {})["duplicate_pictures"] == [
        {"pixel_sha256": "x", "cases": ["toy/c1", "toy/c2"], "patients": 2, "sources": 1}
    ]


def test_counts_are_ready_for_json_in_any_order_of_the_input():
    samples = [sample(n) for n in range(9)]
    items = [item(n, key=n % 2) for n in range(9)]
    problem = QuarantineRow(source="toy", case="c", stage="render", code="blank", message="m")
    first = audit_batch(samples, items, [problem], {"toy": 3})
    items.reverse()
    again = audit_batch(samples[::-1], items, [problem], {"toy": 3})
    assert json.dumps(first, sort_keys=True) == json.dumps(again, sort_keys=True)
    assert first["by_voxel"] == {"Chest / X-ray / Abnormality Diagnosis": 9}
    assert first["by_grade"] == {"A": 9}
    assert first["item_rules"]["length"]["items"] == 9
    assert first["quarantine"] == {"toy / render / blank": 1}
    assert first["absent"] == {"toy": 3}

"""The queue checks an item by the rules of the build, on the facts that the build has."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from medrcube.build.questions.item_table import items_from_frame
from medrcube.build.questions.item_text import item_text
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.facts import Grade
from medrcube.ontologies.distractor_safety import SafetyRules
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.exchange.import_items import import_workspace
from medrcube.review.models import ItemVersion
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.wording.lint_facts import facts_of_row, facts_of_version
from medrcube.review.wording.proposals import Wording, flaws_of
from medrcube.workspace import WorkspaceFolder

GRADES = ("Mild", "Moderate", "Severe")
STEM = "Which degree of enlargement of the heart is most likely in this radiograph?"
BETTER = "Which degree of cardiac enlargement is most likely in this chest radiograph?"


@pytest.fixture
def graded(bench, take_in):
    """An item whose options are the grades of a scale."""
    options = bench.add("a").options
    bench.change(
        "a",
        task="Severity Grading",
        question=STEM,
        group="cardiomegaly grade",
        concept="moderate cardiomegaly",
        key=1,
        ordered=True,
        options=tuple(
            replace(option, text=text, concept=f"{text.casefold()} cardiomegaly")
            for option, text in zip(options, GRADES, strict=False)
        ),
    )
    return take_in()


def change(**fields):
    return Edit(**{"question": BETTER, "options": GRADES, "key": 1, "note": "n", **fields})


def test_grades_of_a_scale_need_no_noun_at_import_and_in_an_edit(graded, person):
    assert (graded.added, graded.refused) == (1, [])
    edit("a", 1, person("manager"), change())
    new = edit("a", 2, person("manager"), change(options=("Slight", "Moderate", "Severe")))
    assert [option["text"] for option in new.options] == ["Slight", "Moderate", "Severe"]


def test_an_edit_out_of_the_order_of_the_scale_gets_a_warning(graded, person):
    worded = ("Slight", "Moderate", "Severe")
    assert "order" not in edit("a", 1, person("manager"), change(options=worded)).warnings
    turned = ("Severe", "Moderate", "Mild")
    assert "order" in edit("a", 2, person("manager"), change(options=turned)).warnings


def test_a_proposal_about_a_scale_breaks_no_rule_on_nouns(graded):
    wording = Wording(question=BETTER, options=("Slight", "Moderate", "Severe"), key=1)
    rules = {flaw.rule for flaw in flaws_of(ItemVersion.objects.get(), wording)}
    assert "fragment" not in rules


def test_items_beyond_the_cube_are_edited_by_the_rules_on_stems_alone(bench, take_in, person):
    sides = ("Left", "Right")
    bench.add_open(
        "o",
        "option",
        task="Patient Side",
        question="On which side of the patient is the glioma in this MRI image?",
        ask=json.dumps({"options": sides}),
        truth=json.dumps({"key": 1}),
    )
    assert take_in().refused == []
    stem = "On which side of the patient does this MRI image show the glioma?"
    edit("o", 1, person("manager"), change(question=stem, options=sides, key=1))
    with pytest.raises(InvalidAnswerError, match="not-a-question"):
        edit("o", 2, person("manager"), change(question="MRI.", options=sides, key=1))


@pytest.mark.thorough
@pytest.mark.untraced
def test_no_item_of_the_demo_is_refused(whole_demo, database):
    workspace = WorkspaceFolder(root=whole_demo / "demo", settings=BuildSettings())
    report = import_workspace(workspace, Reporter(quiet=True))
    assert (report.refused, report.added) == ([], report.items)
    versions = {row.item_id: row for row in ItemVersion.objects.select_related("item")}
    rules = SafetyRules(evidence=Grade.C)
    for item in items_from_frame(pd.read_parquet(workspace.items)):
        texts = [option.text for option in item.options]
        concepts = [option.concept for option in item.options]
        of_build = item_text(
            item.question,
            texts,
            concepts,
            item.key,
            rules,
            group=item.group,
            ordered=item.ordered,
        )
        for facts in (facts_of_row(item), facts_of_version(versions[item.id])):
            queued = facts.draft(item.question, texts, item.key, facts.concepts)
            assert replace(queued, target="") == of_build

"""A task with a rule: its file is loaded from any layer, and what is wrong with it is told."""

import pytest

from medrcube.build.open_items.authoring.task_check import asking_sources
from medrcube.build.open_items.authoring.trial_views import trial_views
from medrcube.build.open_items.rule_files import RuleError, load_rule, open_questions, open_tasks
from medrcube.build.questions.authoring.task_check import check_task
from medrcube.build.questions.authoring.task_scaffold import new_task
from medrcube.errors import MedrcubeError
from medrcube.sources._framework.card import load_card
from medrcube.sources.registry import find_sources
from medrcube.tasks.declaration import TaskError
from medrcube.taxonomy import Task, cube_tasks
from medrcube.vocabulary.layers import using_vocabulary

SOURCES = find_sources()
CARDS = [SOURCES[name].card for name in ("busi", "camus")]


@pytest.fixture
def layer(tmp_path):
    """A layer with a drafted task, which asks for the box of a region; active meanwhile."""
    new_task("Lesion Box", tmp_path / "tasks", rule=True)
    with using_vocabulary([tmp_path]):
        yield tmp_path


@pytest.fixture
def task(layer):
    return Task("Lesion Box")


def edit_copy(layer, name, old, new):
    path = layer / "tasks" / "lesion_box" / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return using_vocabulary([layer])


def questions_of(task, card=CARDS[0]):
    return [question for view in trial_views(task, card) for question in open_questions(view)]


def failures(task):
    return [failure for check in check_task(task, CARDS) for failure in check.failures]


def test_a_drafted_rule_holds_the_contract(task):
    assert failures(task) == []


def test_a_task_with_a_rule_lies_beyond_the_cube(task):
    assert task in open_tasks()
    assert task not in cube_tasks()


def test_a_rule_asks_of_every_source_without_a_word_in_its_card(task):
    assert asking_sources(task, CARDS) == CARDS


def test_a_card_does_not_name_a_task_with_a_rule(layer, tmp_path):
    text = (SOURCES["busi"].folder / "card.toml").read_text(encoding="utf-8")
    path = tmp_path / "card.toml"
    path.write_text(text.replace('"Modality Recognition"', '"Lesion Box"', 1), encoding="utf-8")
    with pytest.raises(MedrcubeError, match="no task with a rule, which is asked of every source"):
        load_card(path)


def test_a_rule_that_is_not_there_is_told_with_its_file(layer):
    (layer / "tasks" / "lesion_box" / "rule.py").unlink()
    with pytest.raises(RuleError, match=r"lesion_box.rule\.py: cannot be read"):
        load_rule(Task("Lesion Box"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rule = Rule()", "", r"rule\.py:1: defines nothing of that name; expected an object"),
        ("rule = Rule()", "rule = 3", r"defines a int without it; expected an object 'rule'"),
        ("class Rule:", "class Rule", r"rule\.py:11: SyntaxError"),
        ("import BoxAsk", "import BoxAsc", r"rule\.py:8: ImportError"),
    ],
)
def test_a_rule_that_cannot_be_loaded_is_told_with_its_line(layer, old, new, message):
    with edit_copy(layer, "rule.py", old, new), pytest.raises(RuleError, match=message):
        load_rule(Task("Lesion Box"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("samples[row.sample]", "samples['x']", r"rule\.py:24: busi: KeyError: 'x'; a rule yields"),
        ("yield OpenQuestion(", "yield dict(", r"the rule yields a dict; expected an OpenQuestion"),
        (
            "sample=samples[row.sample]",
            "sample=__import__('dataclasses').replace(samples[row.sample], id='b')",
            r"an image of another case, 'b'; expected one of the view",
        ),
    ],
)
def test_a_rule_that_fails_is_told_with_its_line(layer, old, new, message):
    with edit_copy(layer, "rule.py", old, new), pytest.raises(RuleError, match=message):
        questions_of(Task("Lesion Box"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('form = "box"', 'form = "point"', r"a target of the form 'box'; task.toml says 'point'"),
        ('["shown", "target"]', '["shown", "zone"]', r"no value 'zone', which task.toml lists"),
    ],
)
def test_a_rule_is_held_to_its_declaration(layer, old, new, message):
    with edit_copy(layer, "task.toml", old, new):
        assert any(message in failure for failure in failures(Task("Lesion Box")))


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("questions.j2", "{{ target }}?", "{{ targets }}?", "'targets' is undefined"),
        ("questions.j2", "{{ target }}?", "{{ target }}.", "breaks the rule not-a-question"),
        ("task.toml", 'set = "none"', 'set = "pair"', "needs a role of every question"),
        (
            "rule.py",
            'bar_reason="several-regions" if len(same) > 1 else ""',
            'bar_reason="no"',
            "bars all",
        ),
        ("rule.py", "iou=0.5", "iou=0.0", "expected a number from 0.01 to 1"),
    ],
)
def test_what_breaks_the_contract_is_told(layer, name, old, new, message):
    with edit_copy(layer, name, old, new):
        messages = failures(Task("Lesion Box"))
    assert any(message in failure for failure in messages), messages


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('rule = "rule.py"', 'rule = "other.py"', r"key 'rule': expected one of rule\.py"),
        ('rule = "rule.py"', "", r'expected "option" of a task without a rule'),
        ('set = "none"', 'set = "three"', r"key 'set': expected one of none, pair"),
        ("drop = 0.5", "drop = 1.5", r"key 'blind.warn': expected a share above 0"),
        ('set = "none"', "per_patient = 0", r"key 'per_patient': expected 1 or more items or sets"),
        ("drop = 0.5", "drap = 0.5", r"unknown key 'blind.drap'; did you mean 'drop'"),
        ('form = "box"', 'form = "boxes"', r"key 'form': expected one of option, number, point"),
        ('set = "none"', 'audits = ["noise"]', r"key 'audits': expected different ones of place"),
        ('"target"]', '"Target"]', r"key 'wording.values': expected different names in small"),
    ],
)
def test_a_wrong_declaration_of_a_rule_is_refused(layer, old, new, message):
    with edit_copy(layer, "task.toml", old, new), pytest.raises(TaskError, match=message):
        Task("Lesion Box")

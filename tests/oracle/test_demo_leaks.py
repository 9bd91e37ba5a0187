"""Nobody answers the demo without its pictures: tricks counted here from the items alone."""

from collections import Counter, defaultdict
from math import sqrt

import pytest

from medrcube.build.audit.leaks import options_only, text_only
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task

pytestmark = [pytest.mark.slow, pytest.mark.untraced]
VARIANTS = ("demo", "hard", "easy")


def longest(item):
    sizes = [len(option.text) for option in item.options]
    return sizes.index(max(sizes))


def first(item):
    return 0


def by_task(items):
    tasks = defaultdict(list)
    for item in items:
        tasks[item.task].append(item)
    return tasks


def frequent(members):
    """The option that is most often right in this task, where it is offered."""
    right = Counter(item.options[item.key].text for item in members)
    return lambda item: max(
        range(len(item.options)), key=lambda place: right[item.options[place].text]
    )


def gain(members, guess):
    """How many standard errors a trick scores above chance."""
    chances = [1 / len(item.options) for item in members]
    error = sqrt(sum(chance * (1 - chance) for chance in chances))
    return (sum(guess(item) == item.key for item in members) - sum(chances)) / error


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("trick", [longest, first])
def test_no_task_is_answered_by_the_form_of_its_options(demo, variant, trick):
    gains = {task: gain(it, trick) for task, it in by_task(demo[variant].items).items()}
    assert {task: value for task, value in gains.items() if value > 2} == {}


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_task_is_answered_by_its_most_frequent_label(demo, variant):
    gains = {task: gain(it, frequent(it)) for task, it in by_task(demo[variant].items).items()}
    assert {task: value for task, value in gains.items() if value > 2} == {}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("reader", [options_only, text_only])
def test_no_task_is_predicted_without_its_pictures_by_cross_validation(demo, variant, reader):
    built = demo[variant]
    rows = reader(built.items, list(built.oracle.samples.values()))
    assert {str(task) for task in Task} <= {row["task"] for row in rows}
    assert [row for row in rows if row["within"] is False] == []


def test_every_cell_that_a_card_promises_is_reached(demo):
    reached = {(item.anatomy, item.modality, item.task) for item in demo["demo"].items}
    promised = {
        (str(voxel.anatomy), str(voxel.modality), str(voxel.task))
        for source in find_sources().values()
        for voxel in source.card.voxels
    }
    assert promised - reached == set()

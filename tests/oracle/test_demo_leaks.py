"""Nobody answers the demo without its pictures: tricks counted here from the items alone."""

from collections import Counter, defaultdict
from dataclasses import replace
from math import sqrt
from pathlib import Path

import pytest

from medrcube.build.audit.leakage.key_words import key_words
from medrcube.build.audit.leakage.leakage_tests import options_only, text_only
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import cube_tasks

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
CONSTANT = ("Modality Recognition", "Organ Recognition")
PAGE = Path(__file__).parents[2] / "docs/explanation/option-sets.md"
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
    """The option that is most often right in the other items of this task."""
    right = Counter(item.options[item.key].text for item in members)
    return lambda item: max(
        range(len(item.options)),
        key=lambda place: right[item.options[place].text] - (place == item.key),
    )


def gain(members, guess):
    """How many standard errors a trick scores above chance."""
    chances = [1 / len(item.options) for item in members]
    error = sqrt(sum(chance * (1 - chance) for chance in chances))
    return (sum(guess(item) == item.key for item in members) - sum(chances)) / error


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("trick", [longest, first])
def test_no_task_is_answered_by_the_form_of_its_options(demo, variant, trick):
    gains = {task: gain(value, trick) for task, value in by_task(demo[variant].items).items()}
    assert {task: value for task, value in gains.items() if value > 2} == {}


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_task_is_answered_by_its_most_frequent_label(demo, variant):
    gains = {
        task: gain(value, frequent(value)) for task, value in by_task(demo[variant].items).items()
    }
    assert {task: value for task, value in gains.items() if value > 3} == {}  # of eight tasks


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("reader", [options_only, text_only])
def test_no_task_is_predicted_without_its_pictures_by_cross_validation(demo, variant, reader):
    build = demo[variant]
    rows = reader(build.items, list(build.oracle.samples.values()))
    assert set(map(str, cube_tasks())) - {"ROI Grounding"} <= {row["task"] for row in rows}
    gains = {row["task"]: (row["accuracy"] - row["chance"]) / row["se"] for row in rows}
    # Eight tasks in three draws for two readers: one in twenty is beyond two by luck alone.
    bounds = dict.fromkeys(gains, 3) | {"all tasks": 2}
    assert {task: gain for task, gain in gains.items() if gain > bounds[task]} == {}


def lost_cells():
    """Cells that the documentation says the demo does not reach, each with its reason."""
    rows = PAGE.read_text(encoding="utf-8").partition("| Cell | Why |")[2].splitlines()[2:]
    cells = [row.strip("| ").split(" | ") for row in rows if row.startswith("|")]
    assert all(reason for _, reason in cells)
    return {tuple(cell.split(" / ")) for cell, _ in cells}


def test_every_cell_that_a_card_promises_is_reached_or_its_loss_explained(demo):
    reached = {(item.anatomy, item.modality, item.task) for item in demo["demo"].items}
    promised = {
        (str(voxel.anatomy), str(voxel.modality), str(voxel.task))
        for source in find_sources().values()
        for voxel in source.card.voxels
    }
    assert promised - reached == lost_cells()


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_option_is_always_or_never_the_key_of_its_source(demo, variant):
    """Counted here by the texts alone; modality and organ are compared over the sources."""
    shown_counts, keyed = Counter(), Counter()
    keys = defaultdict(set)
    for item in demo[variant].items:
        texts = [option.text for option in item.options]
        if not item.options[item.key].concept or item.task in CONSTANT:
            continue
        place = (item.source, item.task)
        keys[place].add(texts[item.key])
        for scope in ((), tuple(sorted(texts))):
            keyed[place, scope, texts[item.key]] += 1
            shown_counts.update((place, scope, text) for text in texts)
    assert {
        entry: n for entry, n in shown_counts.items() if n >= 10 and keyed[entry] in (0, n)
    } == {}
    assert {place: right for place, right in keys.items() if len(right) < 2} == {}


@pytest.mark.parametrize("variant", VARIANTS)
def test_items_of_two_options_are_at_most_a_fifth_of_each_task(demo, variant):
    for task, members in by_task(demo[variant].items).items():
        assert sum(len(item.options) == 2 for item in members) <= 0.2 * len(members), task


def test_a_word_in_a_fifth_of_the_keys_of_a_task_is_seen(demo):
    for task, members in by_task(demo["demo"].items).items():
        if len(members) < 100 or not members[0].options[0].concept:
            continue
        marked = []
        for number, item in enumerate(members):
            options = list(item.options)
            if number % 5 == 0:
                right = options[item.key]
                options[item.key] = replace(right, text=f"{right.text} zyzzyva")
            marked.append(replace(item, options=tuple(options)))
        (row,) = key_words(marked)
        assert (row["task"], row["word"], row["within"]) == (task, "zyzzyva", False)

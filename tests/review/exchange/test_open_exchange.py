"""Items without options in what leaves the queue, and among the items that gold is made of."""

import pytest

from medrcube.review.exchange.labelstudio import export_labelstudio_tasks
from medrcube.review.models import Item, ItemVersion
from medrcube.review.quality.gold_draw import draw_gold

TRUTH = {"value": 23.0, "low": 19.0, "high": 27.0}
TARGET = {"form": "number", "ask": {"unit": "mm"}, "truth": TRUTH}


@pytest.fixture
def both(project, add_shown):
    """An item with options and one without."""
    add_shown()
    options = [{"text": "23 mm", "concept": "x"}, {"text": "another answer"}]
    return add_shown(options=options, target=TARGET)


def test_label_studio_gets_items_with_options_and_counts_the_others(both, tmp_path):
    result = export_labelstudio_tasks(tmp_path / "out")
    assert (result.tasks, result.without_options) == (1, 1)
    assert "23 mm" not in (tmp_path / "out/tasks.json").read_text()


def test_gold_items_are_made_of_items_with_options_alone(both):
    Item.objects.update(state="accepted")
    assert draw_gold(0, "manager", clean=8).counts == {"sound": 1}
    (copy,) = ItemVersion.objects.exclude(item__gold_defect="")
    assert copy.target is None

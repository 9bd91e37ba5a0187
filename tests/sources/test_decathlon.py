import json

import pytest

from medrcube.errors import SourceError
from medrcube.sources._formats.decathlon import check_classes
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.sources.registry import find_sources


def tree(path):
    """A copy whose layout names ``dataset.json`` as its classes."""
    (layout,) = (
        entry for entry in find_sources()["msd-lung"].card.layouts if entry.name == "original"
    )
    return RawTree(path).of_layout(layout)


def write(folder, labels):
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"name": "Lung", "labels": labels})
    (folder / "dataset.json").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("labels", [{"0": "background", "1": "cancer"}, {"cancer": 1}])
def test_both_ways_of_writing_the_classes_are_accepted(tmp_path, labels):
    write(tmp_path / "Task06_Lung", labels)
    check_classes(tree(tmp_path), {"cancer": 1})


def test_another_value_of_the_class_is_refused(tmp_path):
    write(tmp_path, {"0": "background", "2": "cancer"})
    with pytest.raises(SourceError, match="another task"):
        check_classes(tree(tmp_path), {"cancer": 1})


def test_two_tasks_under_one_root_are_refused(tmp_path):
    for task in ("Task06_Lung", "Task04_Hippocampus"):
        write(tmp_path / task, {"1": "cancer"})
    with pytest.raises(SourceError, match="one task"):
        check_classes(tree(tmp_path), {"cancer": 1})


def test_a_file_without_classes_is_refused(tmp_path):
    (tmp_path / "dataset.json").write_text('{"name": "Lung"}', encoding="utf-8")
    with pytest.raises(SourceError, match="names of classes"):
        check_classes(tree(tmp_path), {"cancer": 1})

"""Parts that a card names, and the files that an adapter is shown."""

import pytest

from medrcube.errors import CardError, SourceError
from medrcube.sources._framework.card import load_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

LAYOUT = """
expect.films = { "train/*.png" = 2, "test/*.png" = 1 }
expect.table = { "labels.csv" = 1 }
optional.boxes = { "boxes.csv" = "no boxes" }
optional.films = { "**/*.png" = "" }
ignore = { "thumbs/*.gif" = "smaller pictures" }
"""


@pytest.fixture
def card(tmp_path, toy_card):
    def make(layout):
        path = tmp_path / "card.toml"
        path.write_text(toy_card.replace('expect = { "*.png" = 3 }', layout))
        return load_card(path)

    return make


@pytest.fixture
def layout_tree(card, tmp_path):
    """A function that sees files as those of the layout."""
    layout = card(LAYOUT).layouts[0]
    return lambda *names: RawTree(tmp_path, names).of_layout(layout, {"masks"})


def test_a_part_is_all_that_its_globs_fit_each_file_once_and_in_order(layout_tree, tmp_path):
    tree = layout_tree("train/b.png", "test/c.PNG", "train/train/a.png", "labels.csv")
    names = [path.relative_to(tmp_path).as_posix() for path in tree.part("films")]
    assert names == ["test/c.PNG", "train/b.png", "train/train/a.png"]
    assert tree.index("films")["a.png"] == tmp_path / "train/train/a.png"


def test_files_of_a_part_are_in_order_of_path_and_not_of_text(layout_tree):
    tree = layout_tree("train-b/x/a.png", "train/x.png", "train b/a.png", "train/x/a.png")
    assert tree.part("films") == sorted(tree.part("films"))
    assert len(tree.part("films")) == 4


def test_the_first_file_of_a_stem_is_kept_and_can_be_taken_out(layout_tree, tmp_path):
    stems = layout_tree("train/b.png", "train/a.png", "test/a.png").stems("films")
    assert stems == {"a": tmp_path / "test/a.png", "b": tmp_path / "train/b.png"}
    assert stems.get("c") is None
    assert stems.pop("a") == tmp_path / "test/a.png"
    assert list(stems) == ["b"]
    stems["c"] = tmp_path / "train/d.png"
    assert stems["c"] == tmp_path / "train/d.png"


def test_only_what_a_glob_of_the_layout_fits_is_shown(layout_tree):
    tree = layout_tree("train/a.png", "thumbs/a.gif", "notes.txt", "other/labels.csv", "._a.png")
    assert tree.names == ("train/a.png", "thumbs/a.gif")


@pytest.mark.parametrize("part", ["boxes", "masks"])
def test_a_part_that_a_copy_or_its_layout_lacks_is_empty(layout_tree, part):
    assert layout_tree("train/a.png").part(part) == []


def test_a_part_of_no_layout_is_an_error(layout_tree):
    with pytest.raises(SourceError, match=r"names no part 'mask' \(parts: boxes, films, masks, ta"):
        layout_tree("train/a.png").part("mask")


def test_files_stored_in_another_format_are_the_same_part(layout_tree, tmp_path):
    tree = layout_tree("train/a.jpg", "labels.csv.gz")
    assert tree.part("films") == [tmp_path / "train/a.jpg"]
    assert tree.part("table") == [tmp_path / "labels.csv.gz"]


def test_a_glob_without_a_part_is_counted_all_the_same(card):
    layout = card('expect = { "*.png" = 3, tables = { "a.csv" = 1 } }').layouts[0]
    assert layout.expect == {"*.png": 3, "a.csv": 1}
    assert layout.parts == {"tables": ("a.csv",)}


@pytest.mark.parametrize(
    "layout",
    [
        'expect.films = { "*.png" = 0 }',
        'expect.films = { "*.png" = "many" }',
        'expect = { "*.png" = 3 }\noptional.boxes = { "boxes.csv" = 1 }',
        'expect = { "*.png" = 3 }\noptional = ["boxes.csv"]',
    ],
)
def test_a_part_without_counts_or_words_is_refused(card, layout):
    with pytest.raises(CardError, match=r"expected a table of glob = "):
        card(layout)

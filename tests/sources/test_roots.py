import pytest

from medrcube.errors import SourceError
from medrcube.sources._framework.card import load_card
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._framework.raw_tree.name_index import NameIndex
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.sources._framework.raw_tree.roots import describe_root

LAYOUT = """
[[layout]]
name = "only"
expect = { "images/*.png" = 2, "tables/labels.csv" = 1 }
"""


@pytest.fixture
def card(tmp_path, toy_card):
    head, _, tail = toy_card.partition("[[layout]]")
    path = tmp_path / "card.toml"
    path.write_text(f"{head}{LAYOUT}\n[case]{tail.partition('[case]')[2]}")
    return load_card(path)


@pytest.fixture
def tree(tmp_path):
    def make(*names):
        root = tmp_path / "data"
        root.mkdir(exist_ok=True)
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        return root

    return make


COPY = ("images/a.png", "tables/labels.csv")


@pytest.mark.parametrize(
    "folder", ["", "archive", "archive/dataset-master", "download/archive/dataset-master"]
)
def test_a_root_is_found_in_the_folder_given_and_three_levels_below(card, tree, folder):
    root = tree(*(f"{folder}/{name}" if folder else name for name in COPY))
    assert inspect_copy(card, root).root == root / folder


def test_a_root_four_levels_below_is_named_by_nothing(card, tree):
    assert not inspect_copy(card, tree(*(f"a/b/c/d/{name}" for name in COPY))).fits


@pytest.mark.parametrize("subfolder", ["images", "tables"])
def test_the_folder_above_is_taken_when_a_layout_names_the_one_given(card, tree, subfolder):
    root = tree(*COPY)
    report = inspect_copy(card, root / subfolder)
    assert (report.fits, report.root) == (True, root)


def test_the_folder_above_is_taken_when_one_of_the_alternatives_names_the_one_given(
    toy_card, tree, tmp_path
):
    path = tmp_path / "card.toml"
    layout = '[[layout]]\nname = "loose"\nexpect = { "**/{films/,}*.tif" = 1, "labels.csv" = 1 }\n'
    path.write_text(toy_card.replace("[case]", f"{layout}\n[case]"))
    root = tree("films/a.tif", "labels.csv")
    assert inspect_copy(load_card(path), root / "films").root == root


def test_the_folder_above_is_not_read_where_no_layout_names_the_one_given(card, tree):
    root = tree(*COPY, "elsewhere/c.png")
    assert not inspect_copy(card, root / "elsewhere").fits


def test_two_copies_below_are_not_chosen_between(card, tree):
    root = tree(*(f"{home}/{name}" for home in ("first", "second") for name in COPY))
    with pytest.raises(SourceError, match=r"holds 2 copies \(first, second\); expected one: name"):
        inspect_copy(card, root)


def test_a_copy_of_a_copy_inside_it_is_no_second_copy(card, tree):
    root = tree(*(f"{home}/{name}" for home in ("first", "first/first") for name in COPY))
    assert inspect_copy(card, root).root == root / "first"


def test_what_was_taken_is_said(tmp_path):
    assert describe_root(tmp_path, tmp_path.resolve()) == ""
    assert "below the folder given" in describe_root(tmp_path, tmp_path.resolve() / "a")
    assert "above the folder given" in describe_root(tmp_path / "a", tmp_path.resolve())


def test_the_folder_that_comes_nearer_and_what_it_lacks_are_named(card, tree):
    root = tree("archive/images/a.png", "notes.txt")
    description = inspect_copy(card, root).describe()
    assert (
        f"{root / 'archive'} is closer: it lacks tables/labels.csv of layout 'only'" in description
    )


def test_the_parent_is_taken_where_the_missing_tables_lie_in_it(toy_card, tree, tmp_path):
    layout = '[[layout]]\nname = "deep"\nexpect = { "**/*.png" = 3, "**/labels.csv" = 1 }\n\n[case]'
    text = toy_card.replace("[case]", layout).replace('"*.png"', '"flat/*.png"')
    (tmp_path / "card.toml").write_text(text)
    root = tree("films/a.png", "labels.csv")
    assert inspect_copy(load_card(tmp_path / "card.toml"), root / "films").root == root


def test_the_parent_that_holds_what_is_missing_is_named(toy_card, tree, tmp_path):
    text = toy_card.replace(
        "[case]",
        '[[layout]]\nname = "deep"\nexpect = { "**/*.png" = 3, "**/labels.csv" = 1 }\n\n[case]',
    )
    (tmp_path / "card.toml").write_text(text.replace('"*.png"', '"flat/*.png"'))
    root = tree("films/a.png", "tables/labels.csv")
    description = inspect_copy(load_card(tmp_path / "card.toml"), root / "films").describe()
    assert f"the missing files are in {root}: give that folder" in description


@pytest.mark.parametrize(
    ("archive", "command"),
    [
        ("images.zip", "unzip -q {root}/images.zip -d {root}"),
        ("my images.tar.gz", "tar -xf '{root}/my images.tar.gz' -C {root}"),
        ("images.TGZ", "tar -xf {root}/images.TGZ -C {root}"),
    ],
)
def test_a_packed_archive_is_named_with_the_command_that_unpacks_it(card, tree, archive, command):
    root = tree(archive, "tables/labels.csv")
    assert (
        f"is still packed: unpack with  {command.format(root=root)}"
        in inspect_copy(card, root).describe()
    )


def test_a_packed_table_is_no_archive(card, tree):
    assert (
        "still packed"
        not in inspect_copy(card, tree("labels.csv.zip", "tables/labels.csv")).describe()
    )


def test_an_unknown_tree_is_told_by_what_it_holds(card, tree):
    description = inspect_copy(card, tree("a.xml", "b.xml", "c.pdf")).describe()
    assert (
        "no file that a layout names (such as images/*.png); it holds 2 .xml, 1 .pdf" in description
    )


def test_one_of_several_parts_is_enough_and_none_is_named_whole(toy_card, tmp_path, tree):
    text = toy_card.replace(
        'expect = { "*.png" = 3 }',
        'expect = { "a/*.png" = 1, "b/*.png" = 1 }\none_of = ["a/*.png", "b/*.png"]',
    )
    (tmp_path / "card.toml").write_text(text)
    card = load_card(tmp_path / "card.toml")
    assert inspect_copy(card, tree("b/1.png")).fits
    (tmp_path / "data" / "b" / "1.png").unlink()
    assert inspect_copy(card, tree("c.txt")).missing == ("a/*.png", "b/*.png")


LITTER = (
    "._a.png",
    "images/._a.png",
    "__MACOSX/images/a.png",
    ".DS_Store",
    "x/Thumbs.db",
    "desktop.ini",
    "MD5SUMS",
    "a.png.md5",
    "checksums.txt",
    "LICENSE",
    "docs/License.txt",
    "index.html?C=N;O=D",
)


@pytest.mark.parametrize("name", LITTER)
def test_litter_is_counted_and_never_shown(name, tmp_path):
    tree = RawTree(tmp_path, ["images/a.png", name])
    assert (tree.names, tree.litter) == (("images/a.png",), 1)


@pytest.mark.parametrize(
    "name", ["licensed.png", "a._b.png", "sha.png", "md5/a.png", "checksum.csv"]
)
def test_what_only_resembles_litter_is_kept(name, tmp_path):
    assert RawTree(tmp_path, [name]).names == (name,)


def test_a_file_is_found_under_its_plain_name(tmp_path):
    tree = RawTree(tmp_path, ["images/images/1.PNG", "a/b/c.nii.GZ"])
    assert tree.resolve(tmp_path / "images/1.png") == tmp_path / "images/images/1.PNG"
    assert tree / "a/b/c.nii.gz" == tmp_path / "a/b/c.nii.GZ"
    assert tree / "a/b/d.nii.gz" == tmp_path / "a/b/d.nii.gz"
    assert list(tree.match("images/*.png")) == ["images/images/1.PNG"]


def test_a_file_that_carries_the_name_goes_before_one_in_a_doubled_folder(tmp_path):
    tree = RawTree(tmp_path, ["images/1.png", "images/images/1.png"])
    assert tree / "images/1.png" == tmp_path / "images/1.png"
    assert list(tree.match("images/*.png")) == ["images/1.png"]


def test_an_index_of_names_does_not_mind_the_case_of_the_extension(tmp_path):
    index = NameIndex([tmp_path / "a.PNG", tmp_path / "b" / "a.png"])
    assert index["a.png"] == index["a.PNG"] == tmp_path / "a.PNG"
    assert "A.png" not in index


SAME = [
    ("a/1.jpg", "a/1.jpeg"),
    ("a/1.dcm", "a/1.dicom"),
    ("a/1.nii.gz", "a/1.nii"),
    ("a/1.csv", "a/1.csv.gz"),
]


@pytest.mark.parametrize(
    ("name", "there"), [*SAME, *((b, a) for a, b in SAME), ("a/1.csv.zip", "a/1.CSV")]
)
def test_a_file_is_found_under_an_extension_that_stands_for_the_same(name, there, tmp_path):
    tree = RawTree(tmp_path, [there])
    assert tree / name == tmp_path / there
    assert list(tree.match(name.replace("1", "*"))) == [there]
    assert NameIndex([tmp_path / there])[name[2:]] == tmp_path / there


@pytest.mark.parametrize(("name", "there"), SAME)
def test_a_file_that_is_there_packed_and_unpacked_counts_once(name, there, tmp_path):
    tree = RawTree(tmp_path, [there, name, "a/2" + there[3:]])
    assert list(tree.match(name.replace("1", "*"))) == [name, "a/2" + there[3:]]
    assert (tree / name, tree / there) == (tmp_path / name, tmp_path / there)
    index = NameIndex([tmp_path / there, tmp_path / name])
    assert (index[name[2:]], index[there[2:]]) == (tmp_path / name, tmp_path / there)


RESAVED = [("a/1.png", "a/1.jpeg"), ("a/1.jpg", "a/1.PNG"), ("a/1.xlsx", "a/1.csv")]


@pytest.mark.parametrize(("name", "there"), RESAVED)
def test_a_whole_copy_in_another_format_is_found(name, there, tmp_path):
    tree = RawTree(tmp_path, [there])
    assert tree / name == tmp_path / there
    assert list(tree.match(name.replace("1", "*"))) == [there]
    assert NameIndex([tmp_path / there])[name[2:]] == tmp_path / there


@pytest.mark.parametrize(("name", "there"), RESAVED)
def test_a_namesake_in_another_format_is_another_file_where_both_formats_are(name, there, tmp_path):
    other = name.replace("1", "2")
    tree = RawTree(tmp_path, [there, other])
    assert tree / name == tmp_path / name
    assert list(tree.match(name.replace("1", "*"))) == [other]
    assert name[2:] not in NameIndex([tmp_path / there, tmp_path / other])


def test_files_below_a_folder_are_those_of_no_other(tmp_path):
    tree = RawTree(tmp_path, ["a/1", "a/b/2", "a-b/3", "ab/4", "a0/5"])
    assert tree.below(tmp_path / "a") == [tmp_path / "a/1", tmp_path / "a/b/2"]

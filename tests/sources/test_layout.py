import pytest

from medrcube.errors import SourceError
from medrcube.sources._framework.card import load_card
from medrcube.sources._framework.layout import compare_layouts, inspect_copy
from medrcube.sources._framework.raw_tree.globs import compile_glob
from medrcube.sources._framework.raw_tree.raw_tree import RawTree, walk_files

LAYOUTS = """
[[layout]]
name = "nested"
expect = { "images/* (*).png" = 2, "table.csv" = 1 }
"""


@pytest.fixture
def card(tmp_path, toy_card):
    path = tmp_path / "card.toml"
    path.write_text(toy_card.replace("[case]", LAYOUTS + "\n[case]"))
    return load_card(path)


@pytest.fixture
def tree(tmp_path):
    def make(*names):
        root = tmp_path / "raw"
        root.mkdir(exist_ok=True)
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        return root

    return make


def test_a_complete_copy_fits_its_layout(card, tree):
    report = inspect_copy(card, tree("images/a (1).png", "images/a (2).png", "table.csv"))
    assert (report.layout, report.fits, report.complete) == ("nested", True, True)


def test_a_partial_copy_fits_and_says_what_is_short(card, tree):
    report = inspect_copy(card, tree("images/a (1).png", "table.csv"))
    assert report.fits
    assert not report.complete
    assert "1 of 2 images/* (*).png" in report.describe()


def test_an_optional_part_is_counted_and_not_demanded(tmp_path, toy_card, tree):
    path = tmp_path / "card.toml"
    path.write_text(
        toy_card.replace("[case]", f'{LAYOUTS}optional = {{ "table.csv" = "no labels" }}\n\n[case]')
    )
    report = inspect_copy(load_card(path), tree("images/a (1).png", "images/a (2).png"))
    assert (report.layout, report.fits, report.complete) == ("nested", True, False)
    assert "0 of 1 table.csv" in report.describe()
    assert "table.csv is optional and absent: no labels" in report.describe()


@pytest.mark.parametrize("suffix", ["nii", "nii.gz"])
def test_of_layouts_that_fit_alike_the_one_with_the_very_extensions_counts(
    tmp_path, toy_card, tree, suffix
):
    layouts = "".join(
        f'[[layout]]\nname = "{name}"\nexpect = {{ "*.{name}" = 2 }}\n\n'
        for name in ("nii.gz", "nii")
    )
    (tmp_path / "card.toml").write_text(toy_card.replace("[case]", f"{layouts}[case]"))
    assert inspect_copy(load_card(tmp_path / "card.toml"), tree(f"a.{suffix}")).layout == suffix


def test_a_wrong_tree_names_the_nearest_layout_and_what_is_missing(card, tree):
    report = compare_layouts(card, RawTree(tree("images/a (1).png", "images/a (2).png")))
    assert not report.fits
    assert (report.layout, report.missing) == ("nested", ("table.csv",))


def test_a_file_as_root_is_refused_with_what_was_expected(card, tree):
    root = tree("archive.zip")
    with pytest.raises(SourceError, match="is a file; expected the folder"):
        inspect_copy(card, root / "archive.zip")


def test_a_root_that_may_not_be_read_is_refused_as_such(card, tree, monkeypatch):
    root = tree("images/a (1).png")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(SourceError, match=r"cannot be read \(Permission denied\)"):
        inspect_copy(card, root)


def test_a_missing_root_is_refused(card, tmp_path):
    with pytest.raises(SourceError, match="does not exist"):
        inspect_copy(card, tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("glob", "name", "fits"),
    [
        ("a (*).png", "a (1).png", True),
        ("a (*).png", "a (1)_mask.png", False),
        ("*.png", "deep/a.png", False),
        ("**/*.png", "very/deep/a.png", True),
        ("**/*.png", "a.png", True),
        ("x[1].png", "x[1].png", True),
        ("x[1].png", "x1.png", False),
        ("a?.png", "ab.png", True),
    ],
)
def test_globs_read_brackets_literally_and_stars_stay_in_a_folder(glob, name, fits):
    assert (compile_glob(glob).fullmatch(name) is not None) is fits


def test_walk_follows_linked_folders_once_and_ends(tree, tmp_path):
    root = tree("a.png")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "b.png").touch()
    (root / "linked").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(root)
    assert list(walk_files(root)) == ["a.png", "linked/b.png"]


def test_braces_stand_for_either_text(tree):
    root = tree("a/1.png", "b/1.JPG", "c/1.png", "a/1.gif")
    as_posixes = [
        path.relative_to(root).as_posix() for path in RawTree(root).glob("{a,b}/*.{png,jpg}")
    ]
    assert as_posixes == ["a/1.png", "b/1.JPG"]


def test_brackets_and_single_braces_are_letters():
    assert compile_glob("{a}[1].png").fullmatch("{a}[1].png")


def test_a_copy_in_a_form_that_the_card_knows_is_refused_with_the_reason(tmp_path, toy_card, tree):
    path = tmp_path / "card.toml"
    unfit = '[unfit]\n"slices/*.npy" = "slices without their grey scale: get the volumes"\n'
    path.write_text(toy_card.replace("[case]", f"{LAYOUTS}\n{unfit}\n[case]"))
    report = inspect_copy(load_card(path), tree("slices/1.npy"))
    assert not report.fits
    assert "it holds slices/1.npy: slices without their grey scale" in report.describe()

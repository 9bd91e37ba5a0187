import os
import shutil
import time
import tracemalloc
from types import SimpleNamespace

import pytest

from medrcube.build.incremental import file_states
from medrcube.build.incremental.file_states import file_state, snapshot, snapshot_parent
from medrcube.sources._framework.raw_tree.raw_tree import walk_files


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    for name in ("b/2.txt", "b/1.txt", "a/deep/3.txt", "a.txt", "z.txt"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def test_the_files_come_in_the_order_of_a_walk(tree):
    (tree / "again").symlink_to("b")
    assert list(snapshot(tree).states) == list(walk_files(tree))


def test_a_tree_in_which_nothing_happens_keeps_its_digest(tree):
    assert snapshot(tree).digest == snapshot(tree).digest


def test_a_long_folder_takes_less_than_400_bytes_a_file(tmp_path):
    # With the ``stat`` of all its entries at once it would take 900.
    for number in range(2_000):
        (tmp_path / f"{number:08}_000.png").touch()
    snapshot(tmp_path)
    tracemalloc.start()
    try:
        tree = snapshot(tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(tree.states) == 2_000
    assert peak < 400 * 2_000


def test_a_dropped_listing_is_the_same_when_it_is_asked_for_again(tree):
    tree_snapshot = snapshot(tree)
    names = tree_snapshot.visible_tree.names
    tree_snapshot.drop_listing()
    assert tree_snapshot.visible_tree.names == names


def _swap(tree):
    (tree / "a.txt").rename(tree / "x")
    (tree / "z.txt").rename(tree / "a.txt")
    (tree / "x").rename(tree / "z.txt")


def _edit_unseen(tree):
    before = (tree / "a.txt").stat()
    (tree / "a.txt").write_text("A.TXT")
    os.utime(tree / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))


def _copy_over(tree):
    shutil.copy2(tree / "a.txt", tree / "new")
    (tree / "new").replace(tree / "a.txt")


def _rename(tree):
    (tree / "a.txt").rename(tree / "c.txt")


def _remove(tree):
    (tree / "a.txt").unlink()


def _pipe(tree):
    os.mkfifo(tree / "pipe")


@pytest.mark.parametrize("change", [_swap, _edit_unseen, _copy_over, _rename, _remove, _pipe])
def test_every_change_shows(tree, change):
    before = snapshot(tree)
    change(tree)
    assert snapshot(tree).digest != before.digest


def test_a_link_has_the_inode_of_what_it_leads_to(tree):
    """Files of one archive can have one size and one time, so that nothing else tells them."""
    (tree / "link").symlink_to("b/1.txt")
    assert snapshot(tree).states["link"].inode == (tree / "b" / "1.txt").stat().st_ino


def test_a_link_that_leads_elsewhere_shows(tree):
    (tree / "link").symlink_to("b/1.txt")
    before = snapshot(tree)
    (tree / "link").unlink()
    (tree / "link").symlink_to("b/2.txt")
    assert snapshot(tree).digest != before.digest


def test_a_file_that_was_just_written_is_waited_for(tree):
    (tree / "a.txt").write_text("new")
    tree_snapshot = snapshot(tree)
    assert tree_snapshot.settled
    assert time.time_ns() > tree_snapshot.states["a.txt"].changed + file_states._TICK_NS


def test_a_tree_that_is_written_while_it_is_looked_at_is_not_settled(tree, monkeypatch):
    clock = SimpleNamespace(  # each look begins at the moment of the last write, under any load
        time_ns=lambda: file_state(tree / "a.txt").changed,
        sleep=lambda _: (tree / "a.txt").write_text("more"),
    )
    monkeypatch.setattr(file_states, "time", clock)
    (tree / "a.txt").write_text("new")
    assert not snapshot(tree).settled
    assert (tree / "a.txt").read_text() == "more"


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    assert snapshot(tmp_path / "nothing").states == {}


def test_a_file_is_found_by_its_path(tree):
    tree_snapshot = snapshot(tree)
    path = tree / "a" / "deep" / "3.txt"
    assert tree_snapshot.state(path) == file_state(path)
    assert tree_snapshot.state(tree / "a" / "none") is None


def _same(first, second):
    return (first, list(first.states), first.digest) == (second, list(second.states), second.digest)


def _between(tree):
    """A folder among others, which come before and after it."""
    (tree / "a" / "early").mkdir()
    (tree / "a" / "early" / "4.txt").touch()
    return tree / "a" / "deep"


LINKS = {
    "none": lambda _: None,
    "to a file": lambda tree: (tree / "b" / "link").symlink_to("1.txt"),
    "to the folder": lambda tree: (tree / "again").symlink_to("a/deep"),
    "from the folder": lambda tree: (tree / "a" / "deep" / "out").symlink_to("../../b"),
}


@pytest.mark.parametrize("link", LINKS)
def test_a_folder_of_a_tree_is_what_another_look_would_find(tree, link):
    inner = _between(tree)
    LINKS[link](tree)
    assert _same(snapshot(tree).inside("a/deep"), snapshot(inner))


@pytest.mark.parametrize("link", LINKS)
def test_a_folder_around_a_tree_is_what_another_look_would_find(tree, link):
    inner = _between(tree)
    LINKS[link](tree)
    assert _same(snapshot_parent(snapshot(inner), tree, 99), snapshot(tree))


def test_a_folder_with_more_files_beside_a_tree_than_allowed_is_not_taken(tree):
    inner = snapshot(_between(tree))
    assert snapshot_parent(inner, tree, 5) is not None
    assert snapshot_parent(inner, tree, 4) is None


def test_the_files_of_each_folder_are_told(tree):
    tree_names = []
    time.sleep(0.05)  # else it is looked at twice
    snapshot(tree, tree_names.append)
    assert tree_names == [2, 0, 1, 2]

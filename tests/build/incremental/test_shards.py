"""Shards: what a change of one case redoes, and that nothing stale is ever taken again."""

import os
import shutil
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.execution.local import LocalEngine
from medrcube.build.incremental import shards
from medrcube.build.incremental.file_states import snapshot
from medrcube.build.pipeline import build
from medrcube.build.stages import shard_result
from medrcube.errors import WorkspaceError
from medrcube.facts import Case
from medrcube.files.atomic import sha256_of
from medrcube.sources._framework.contract import load_source

CASES = 8
"""With the six of the raw tree they fill eight shards of one or two cases."""


def _parted(keys):
    cases = [Case(key=key, images=()) for key in keys]
    return [[case.key for case in portion] for portion in shards.in_portions(cases)]


KEYS = st.lists(st.text(max_size=8), unique=True, max_size=60)


@given(KEYS)
def test_shards_hold_every_case_once_and_in_order(keys):
    assert [key for shard in _parted(keys) for key in shard] == keys


@given(KEYS, st.integers(0, 60), st.uuids())
def test_a_case_that_comes_changes_one_shard_or_parts_it(keys, place, new):
    size, shards.CASES = shards.CASES, 4
    try:
        before = _parted(keys)
        after = _parted([*keys[:place], str(new), *keys[place:]])
    finally:
        shards.CASES = size
    gone = [shard for shard in before if shard not in after]
    come = [shard for shard in after if shard not in before]
    assert len(gone) <= 1
    assert len(come) <= 2


def test_shards_hold_as_many_cases_as_they_are_meant_to():
    sizes = [len(shard) for shard in _parted([f"{number:08}_000" for number in range(50_000)])]
    assert 0.5 < len(sizes) * shards.CASES / 50_000 < 2
    assert max(sizes) < 10 * shards.CASES


@pytest.mark.parametrize(
    "other",
    [
        lambda case: replace(case, split="test"),
        lambda case: replace(case, patient="somebody else"),
        lambda case: replace(case, labels=case.labels[1:]),
        lambda case: replace(case, labels=(replace(case.labels[0], evidence="elsewhere"),)),
        lambda case: replace(case, labels=(replace(case.labels[0], state="unknown"),)),
        lambda case: replace(case, regions=()),
        lambda case: replace(case, facts=(("age", "57"),)),
        lambda case: replace(case, redistribute=False),
    ],
)
def test_another_statement_about_a_case_gives_another_key(toy, raw, other):
    tree = snapshot(raw)
    cases = list(toy.scan(tree.root, "flat"))
    names = [case.key for case in cases]
    digest = shards.digest_of_cases(cases, names)
    assert shards.digest_of_cases(list(cases), names) == digest
    assert shards.digest_of_cases([other(cases[0]), *cases[1:]], names) != digest
    assert shards.digest_of_cases(cases, ["x", *names[1:]]) != digest
    files = ["g (1).png"]
    key = shards.key_of_shard("common", digest, files, tree)
    assert shards.key_of_shard("common", digest, files, tree) == key
    assert shards.key_of_shard("other", digest, files, tree) != key
    assert shards.key_of_shard("common", "other", files, tree) != key


def test_a_shard_whose_raw_tree_may_change_unseen_has_no_key(raw):
    tree = replace(snapshot(raw), settled=False)
    assert shards.key_of_shard("common", "digest", ["g (1).png"], tree) is None


@pytest.fixture
def derived(monkeypatch):
    """Keys of the cases that were gone through."""
    counts, derive = Counter(), shard_result.derive_questions

    def counting(card, case, *args, **kwargs):
        counts[case.key] += 1
        return derive(card, case, *args, **kwargs)

    monkeypatch.setattr(shard_result, "derive_questions", counting)
    return counts


@pytest.fixture
def many(raw, write_case, monkeypatch):
    """A raw tree of several shards."""
    monkeypatch.setattr(shards, "CASES", 2)
    for number in range(CASES):
        write_case(raw, f"{'gmp'[number % 3]} ({100 + number})", seed=100 + number)
    return raw


@pytest.fixture
def run(toy, quiet):
    def run_build(workspace, engine=None):
        for name in [name for name in sys.modules if name.startswith("medrcube_source_")]:
            del sys.modules[name]
        sources = {path.name: load_source(path) for path in toy.folder.parent.iterdir()}
        return build(workspace, sources, engine or LocalEngine(1), quiet)

    return run_build


@pytest.fixture
def clean(run, tmp_path):
    """Digests of the files of a build from nothing of the same inputs."""

    def build_clean(workspace):
        root = tmp_path / "clean"
        shutil.rmtree(root, ignore_errors=True)
        (root / "cache").mkdir(parents=True)
        shutil.copy(workspace.root / "cache" / "patient.key", root / "cache" / "patient.key")
        run(replace(workspace, root=root))
        return _files(root)

    return build_clean


def _files(root):
    """Digests of all files: unequal bytes would be told apart at length."""
    return {
        path.relative_to(root).as_posix(): sha256_of(path)
        for path in root.rglob("*")
        if path.is_file() and "cache" not in path.relative_to(root).parts
    }


def _edited(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def _replaced(raw, write_case, toy):
    write_case(raw, "g (103)", seed=7)


def _same_size_and_time(raw, write_case, toy):
    """Only ctime tells: size and time of writing are those of before."""
    path = raw / "g (103)_mask.png"
    before, data = path.stat(), (raw / "g (106)_mask.png").read_bytes()
    path.write_bytes((data + b"\0" * before.st_size)[: before.st_size])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _swapped(raw, write_case, toy):
    (raw / "g (103).png").rename(raw / "x")
    (raw / "m (104).png").rename(raw / "g (103).png")
    (raw / "x").rename(raw / "m (104).png")


def _removed(raw, write_case, toy):
    (raw / "g (103).png").unlink()
    (raw / "g (103)_mask.png").unlink()


def _renamed(raw, write_case, toy):
    (raw / "g (103).png").rename(raw / "p (103).png")
    (raw / "g (103)_mask.png").rename(raw / "p (103)_mask.png")


def _joined_by_its_like(raw, write_case, toy):
    """Two cases whose images would have one name: both get another, also the one left alone."""
    write_case(raw, "g  (103)", seed=8)


def _mask_removed(raw, write_case, toy):
    (raw / "g (103)_mask.png").unlink()


FEW = [
    _replaced,
    _same_size_and_time,
    _swapped,
    _removed,
    _renamed,
    _joined_by_its_like,
    _mask_removed,
]


@pytest.mark.few(1)
@pytest.mark.parametrize("change", FEW)
def test_a_change_of_a_case_redoes_few_and_gives_what_a_build_from_nothing_gives(
    run, clean, workspace, toy, many, write_case, derived, change
):
    run(workspace)
    change(many, write_case, toy)
    derived.clear()
    run(workspace)
    assert sum(derived.values()) < CASES
    assert _files(workspace.root) == clean(workspace)


def _card(raw, write_case, toy):
    _edited(toy.folder / "card.toml", 'm = "meningioma"', 'm = "glioma"')


def _adapter(raw, write_case, toy):
    _edited(toy.folder / "adapter.py", "key=path.stem,", 'key=path.stem, split="train",')


@pytest.mark.thorough
@pytest.mark.few(1)
@pytest.mark.parametrize("change", [_card, _adapter])
def test_another_card_or_adapter_redoes_all_shards(
    run, clean, workspace, toy, many, write_case, derived, change
):
    run(workspace)
    change(many, write_case, toy)
    derived.clear()
    run(workspace)
    assert sum(derived.values()) == CASES + 6
    assert _files(workspace.root) == clean(workspace)


def test_an_image_that_was_edited_redoes_its_shard_alone(run, clean, workspace, many, derived):
    run(workspace)
    path = sorted(workspace.images.rglob("*.png"))[3]
    before, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    derived.clear()
    run(workspace)
    assert 0 < sum(derived.values()) < CASES
    assert _files(workspace.root) == clean(workspace)


@pytest.mark.thorough
def test_a_shard_that_is_damaged_in_the_cache_is_made_again(
    run, clean, workspace, many, write_case, derived
):
    run(workspace)
    write_case(many, "g (103)", seed=7)
    with closing(sqlite3.connect(workspace.root / "cache" / "build.sqlite3")) as database:
        database.execute(
            "UPDATE memory SET record = substr(record, 1, length(record) / 2) "
            "WHERE name LIKE 'shard/%'"
        )
        database.commit()
    derived.clear()
    run(workspace)
    assert sum(derived.values()) == CASES + 6
    assert _files(workspace.root) == clean(workspace)


@pytest.mark.thorough
def test_what_cannot_be_read_is_tried_again_though_its_shard_is_kept(
    run, clean, workspace, many, write_case
):
    data = (many / "g (103).png").read_bytes()
    (many / "g (103).png").write_bytes(data[: len(data) // 2])
    run(workspace)
    write_case(many, "m (104)", seed=9)
    run(workspace)
    assert _files(workspace.root) == clean(workspace)
    (many / "g (103).png").write_bytes(data)
    run(workspace)
    assert _files(workspace.root) == clean(workspace)


@pytest.mark.thorough
def test_the_cache_keeps_the_shards_of_the_last_build_alone(run, workspace, many, write_case):
    for seed in range(3):
        write_case(many, "g (103)", seed=seed)
        run(workspace)
    with closing(sqlite3.connect(workspace.root / "cache" / "build.sqlite3")) as database:
        names = [name for (name,) in database.execute("SELECT name FROM memory")]
    (many / "g (103).png").unlink()
    (many / "g (103)_mask.png").unlink()
    run(workspace)
    with closing(sqlite3.connect(workspace.root / "cache" / "build.sqlite3")) as database:
        names_now = [name for (name,) in database.execute("SELECT name FROM memory")]
    assert sum(name.startswith("shard/") for name in names) > 3
    assert abs(len(names_now) - len(names)) <= 1


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["cases", "files", "scan", "opened"])
def test_a_part_of_a_scan_that_is_damaged_in_the_cache_is_scanned_again(
    run, clean, workspace, many, write_case, kind
):
    run(workspace)
    write_case(many, "g (103)", seed=7)
    with closing(sqlite3.connect(workspace.root / "cache" / "build.sqlite3")) as database:
        database.execute("DELETE FROM memory WHERE name LIKE ?", (f"{kind}/%",))
        database.commit()
    run(workspace)
    assert _files(workspace.root) == clean(workspace)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["recipes", "lines"])
def test_texts_that_the_cache_has_lost_are_made_again_by_the_next_build(
    run, clean, workspace, many, write_case, kind
):
    run(workspace)
    write_case(many, "g (103)", seed=7)
    with closing(sqlite3.connect(workspace.root / "cache" / "build.sqlite3")) as database:
        database.execute("DELETE FROM memory WHERE name LIKE ?", (f"{kind}/%",))
        database.commit()
    with pytest.raises(WorkspaceError, match="lost recipes of 'toy'"):
        run(workspace)
    run(workspace)
    assert _files(workspace.root) == clean(workspace)


class Stops:
    """The local engine; the build is interrupted when its last case would be rendered."""

    def run(self, jobs, images):
        for job, rendered in LocalEngine(1).run(jobs, images):
            if job is jobs[-1]:
                raise KeyboardInterrupt
            yield job, rendered


def test_a_build_that_was_interrupted_goes_on_with_the_shards_it_had_completed(
    run, clean, workspace, many, derived
):
    with pytest.raises(KeyboardInterrupt):
        run(workspace, Stops())
    before = set(derived)
    assert len(before) > CASES
    derived.clear()
    run(workspace)
    assert before.isdisjoint(derived)
    assert _files(workspace.root) == clean(workspace)

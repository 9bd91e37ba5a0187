"""A build after a build: nothing done where nothing has changed, and never a stale result."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import fields, make_dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from medrcube.build.execution.local import LocalEngine, worker_died
from medrcube.build.incremental import cache_database, changed_sources, result_cache
from medrcube.build.pipeline import build
from medrcube.build.stages import shard_result
from medrcube.build.stages.plan import RenderJob, plan_jobs
from medrcube.build.stages.rendering.rendered_picture import RenderedPicture
from medrcube.files.atomic import sha256_of
from medrcube.sources._framework.contract import load_source
from medrcube.sources._synthetic.images import picture
from medrcube.taxonomy import Modality
from medrcube.vocabulary.layers import using_vocabulary

ONE = LocalEngine(1)


class Counting:
    """The local engine; counts the jobs of each source."""

    def __init__(self):
        self.jobs = Counter()

    def run(self, jobs, images):
        self.jobs.update(job.source for job in jobs)
        yield from ONE.run(jobs, images)


class Work:
    """What builds have done, by source."""

    def __init__(self, monkeypatch):
        self.engine = Counting()
        self.scans, self.derived = Counter(), Counter()
        scan, derive = changed_sources.keep_scan, shard_result.derive_questions

        def counting_scan(source, *args):
            self.scans[source.id] += 1
            return scan(source, *args)

        def counting_derive(card, *args, **kwargs):
            self.derived[card.id] += 1
            return derive(card, *args, **kwargs)

        monkeypatch.setattr(changed_sources, "keep_scan", counting_scan)
        monkeypatch.setattr(shard_result, "derive_questions", counting_derive)

    def take_counts(self):
        """(sources scanned, cases rendered, cases derived) since the last call."""
        counts = (Counter(self.scans), Counter(self.engine.jobs), Counter(self.derived))
        for counter in (self.scans, self.engine.jobs, self.derived):
            counter.clear()
        return counts


@pytest.fixture
def work(monkeypatch):
    return Work(monkeypatch)


@pytest.fixture
def run(toy, quiet, work):
    """Build as a new process would, with the card and the adapter as they stand now."""

    def run_build(workspace, engine=None):
        for name in [name for name in sys.modules if name.startswith("medrcube_source_")]:
            del sys.modules[name]
        sources = {path.name: load_source(path) for path in toy.folder.parent.iterdir()}
        return build(workspace, sources, engine or work.engine, quiet)

    return run_build


@pytest.fixture
def clean(run, work, tmp_path):
    """Files of a build from nothing of the same inputs."""

    def build_clean(workspace):
        root = tmp_path / "clean"
        shutil.rmtree(root, ignore_errors=True)
        (root / "cache").mkdir(parents=True)
        shutil.copy(workspace.root / "cache" / "patient.key", root / "cache" / "patient.key")
        run(replace(workspace, root=root))
        work.take_counts()
        return _files(root)

    return build_clean


def _files(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "cache" not in path.relative_to(root).parts
    }


def _states(root):
    return {
        path: (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in root.rglob("*")
        if path.is_file() and "cache" not in path.relative_to(root).parts
    }


NOTHING = (Counter(), Counter(), Counter())


def test_where_nothing_has_changed_nothing_is_done_and_nothing_is_written(run, workspace, work):
    first = run(workspace)
    before = _states(workspace.root)
    work.take_counts()
    report = run(workspace)
    assert work.take_counts() == NOTHING
    assert _states(workspace.root) == before
    assert (report.rendered, report.reused) == (0, 6)
    assert replace(report, rendered=6, reused=0, seconds=first.seconds) == first


def test_the_first_build_of_a_workspace_does_all_of_it(run, workspace, work):
    run(workspace)
    assert work.take_counts() == (Counter(toy=1), Counter(toy=6), Counter(toy=6))


def _unseen(path, data):
    """Other bytes, as many, with the old time of writing."""
    before = path.stat()
    assert len(data) == before.st_size
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _flipped(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    return bytes(data)


def _edit_text(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def _raw_content(workspace, toy, raw):
    other = raw.parent / "other.png"
    pixels = np.array(Image.open(raw / "g (0).png"))
    Image.fromarray(255 - pixels).save(other, compress_level=0)
    _unseen(raw / "g (0).png", other.read_bytes())


def _raw_touched(workspace, toy, raw):
    os.utime(raw / "g (0).png", (1, 1))


def _raw_new(workspace, toy, raw):
    shutil.copy(raw / "g (0).png", raw / "p (9).png")
    shutil.copy(raw / "g (0)_mask.png", raw / "p (9)_mask.png")


def _raw_removed(workspace, toy, raw):
    (raw / "g (0).png").unlink()
    (raw / "g (0)_mask.png").unlink()


def _raw_mask_removed(workspace, toy, raw):
    (raw / "m (2)_mask.png").unlink()


def _raw_swapped(workspace, toy, raw):
    (raw / "g (0).png").rename(raw / "x")
    (raw / "m (2).png").rename(raw / "g (0).png")
    (raw / "x").rename(raw / "m (2).png")


def _raw_truncated(workspace, toy, raw):
    data = (raw / "g (0).png").read_bytes()
    (raw / "g (0).png").write_bytes(data[: len(data) // 2])


def _card_licence(workspace, toy, raw):
    _edit_text(toy.folder / "card.toml", "CC-BY-4.0", "CC0-1.0")


def _card_drop(workspace, toy, raw):
    _edit_text(toy.folder / "card.toml", "g (9)", "g (1)")


def _card_value(workspace, toy, raw):
    _edit_text(toy.folder / "card.toml", 'm = "meningioma"', 'm = "glioma"')


def _adapter(workspace, toy, raw):
    _edit_text(toy.folder / "adapter.py", "key=path.stem,", 'key=path.stem, split="train",')


def _picture_deleted(workspace, toy, raw):
    next(iter(sorted(workspace.images.rglob("*.png")))).unlink()


def _picture_edited(workspace, toy, raw):
    path = sorted(workspace.images.rglob("*.png"))[3]
    _unseen(path, _flipped(path))


def _picture_swapped(workspace, toy, raw):
    first, second = sorted(workspace.images.rglob("*.png"))[:2]
    first.rename(first.with_suffix(".x"))
    second.rename(first)
    first.with_suffix(".x").rename(second)


def _picture_emptied(workspace, toy, raw):
    max(workspace.images.rglob("*.png")).write_bytes(b"")


def _picture_added(workspace, toy, raw):
    shutil.copy(raw / "g (0).png", workspace.images / "toy" / "mine.png")


def _key_of_patients(workspace, toy, raw):
    (workspace.root / "cache" / "patient.key").write_bytes(b"l" * 32)


def _cache_damaged(workspace, toy, raw):
    with (
        closing(sqlite3.connect(workspace.root / "cache" / "build.sqlite3")) as cache_database,
        cache_database,
    ):
        cache_database.execute("UPDATE memory SET record = substr(record, 1, length(record) / 2)")
        cache_database.execute(
            "UPDATE rendering SET record = substr(record, 1, length(record) / 2)"
        )


CHANGES = [
    _raw_content,
    _raw_touched,
    _raw_new,
    _raw_removed,
    _raw_mask_removed,
    _raw_swapped,
    _raw_truncated,
    _card_licence,
    _card_drop,
    _card_value,
    _adapter,
    _picture_deleted,
    _picture_edited,
    _picture_swapped,
    _picture_emptied,
    _picture_added,
    _key_of_patients,
    _cache_damaged,
]


@pytest.fixture
def plain(raw):
    """The raw tree with pictures whose size does not tell their content."""
    for number, path in enumerate(sorted(raw.glob("* (?).png"))):
        pixels = picture(96, 112, seed=number).astype(np.uint8)
        Image.fromarray(pixels).save(path, compress_level=0)


@pytest.mark.few(4)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.usefixtures("plain")
def test_after_any_change_a_build_gives_what_one_from_nothing_gives_and_the_next_does_nothing(
    run, clean, workspace, toy, raw, work, change
):
    run(workspace)
    change(workspace, toy, raw)
    work.take_counts()
    run(workspace)
    assert work.take_counts() != NOTHING
    assert _files(workspace.root) == clean(workspace)
    run(workspace)
    scanned, _, derived = work.take_counts()
    assert (scanned, derived) == (Counter(), Counter())


TABLES = [
    "samples.parquet",
    "geometry.parquet",
    "items.parquet",
    "quarantine.parquet",
    "recipes.jsonl",
    "audit.json",
]


def _edited(path):
    _unseen(path, _flipped(path))


def _replaced(path):
    path.with_suffix(".new").write_bytes(_flipped(path))
    path.with_suffix(".new").replace(path)


@pytest.mark.few(2)
@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_was_edited_or_lost_is_written_again(run, workspace, work, table):
    run(workspace)
    before = _files(workspace.root)
    for harm in (_edited, _replaced, Path.unlink):
        harm(workspace.root / table)
        assert _files(workspace.root) != before, harm
        work.take_counts()
        run(workspace)
        assert _files(workspace.root) == before, harm
        assert work.take_counts() == NOTHING, harm


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "setting", [{"seed": 7}, {"options": 2}, {"items_per_cell": 1}, {"quarantine_gate": 0.5}]
)
def test_another_setting_gives_what_a_build_from_nothing_gives(run, clean, workspace, setting):
    run(workspace)
    other = replace(workspace, settings=replace(workspace.settings, **setting))
    run(other)
    assert _files(other.root) == clean(other)


@pytest.mark.thorough
def test_a_setting_that_was_put_back_gives_the_first_result(run, workspace):
    run(workspace)
    before = _files(workspace.root)
    run(replace(workspace, settings=replace(workspace.settings, seed=7)))
    run(workspace)
    assert _files(workspace.root) == before


def test_another_raw_root_of_the_same_source_is_seen(run, clean, workspace, raw, write_case):
    other = raw.parent / "other raw"
    for number in range(3):
        write_case(other, f"p ({number})", seed=40 + number)
    run(workspace)
    moved = replace(workspace, sources={"toy": other})
    run(moved)
    assert _files(moved.root) == clean(moved)


def test_a_raw_tree_that_was_moved_is_found_in_its_new_place(run, clean, workspace, toy, raw):
    run(workspace)
    raw.rename(raw.with_name("moved"))
    moved = replace(workspace, sources={"toy": raw.with_name("moved")})
    _picture_deleted(workspace, toy, raw)
    run(moved)
    assert _files(moved.root) == clean(moved)


def test_a_touched_raw_file_is_read_and_not_rendered(run, workspace, raw, work):
    run(workspace)
    for path in raw.iterdir():
        os.utime(path, (1, 1))
    work.take_counts()
    assert run(workspace).rendered == 0
    assert work.take_counts()[1] == Counter()


@pytest.mark.thorough
def test_a_touched_raw_file_is_read_once(run, workspace, toy, raw, monkeypatch):
    run(workspace)
    os.utime(raw / "g (0).png", (1, 1))
    paths = []
    monkeypatch.setattr(
        cache_database, "sha256_of", lambda path: paths.append(path) or sha256_of(path)
    )
    run(workspace)
    _card_licence(workspace, toy, raw)
    run(workspace)
    assert paths == [raw / "g (0).png"]


GREY = '[pixels]\ncolour = "grey"\n\n[case]'


@pytest.fixture
def two(toy, workspace, raw, write_case):
    """A workspace of two sources, and the card of the second."""
    folder = toy.folder.with_name("twin")
    shutil.copytree(toy.folder, folder)
    _edit_text(folder / "card.toml", 'id = "toy"', 'id = "twin"')
    other = raw.with_name("twin raw")
    for number, letter in enumerate("gmp"):
        write_case(other, f"{letter} ({number})", seed=20 + number)
    return workspace.with_sources({"twin": other}), folder / "card.toml"


def test_images_of_earlier_versions_in_one_folder_give_way(run, clean, workspace, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr(RenderJob, "place", property(lambda job: job.name))
        earlier.setattr(result_cache, "code_digest", lambda: "earlier")
        run(workspace)
    assert (workspace.images / "toy/g_0.png").is_file()
    run(workspace)
    assert (workspace.images / "toy/0a/g_0.png").is_file()
    assert _files(workspace.root) == clean(workspace)


def test_changing_one_card_rebuilds_that_source_only(run, clean, two, work):
    workspace, card = two
    run(workspace)
    pictures = _states(workspace.images / "toy")
    work.take_counts()
    _edit_text(card, "[case]", GREY)
    report = run(workspace)
    assert work.take_counts() == (Counter(twin=1), Counter(twin=3), Counter(twin=3))
    assert (report.rendered, report.reused) == (3, 6)
    assert _states(workspace.images / "toy") == pictures
    assert _files(workspace.root) == clean(workspace)


def test_a_card_that_says_the_same_of_the_pixels_renders_nothing(run, clean, two, work):
    workspace, card = two
    run(workspace)
    work.take_counts()
    _edit_text(card, "CC-BY-4.0", "CC0-1.0")
    assert run(workspace).rendered == 0
    assert work.take_counts() == (Counter(twin=1), Counter(), Counter(twin=3))
    assert _files(workspace.root) == clean(workspace)


def test_one_changed_raw_file_goes_through_its_source_only(run, clean, two, raw, write_case, work):
    workspace, _ = two
    run(workspace)
    work.take_counts()
    write_case(raw, "g (0)", seed=99)
    run(workspace)
    assert work.take_counts() == (Counter(toy=1), Counter(toy=1), Counter(toy=6))
    assert _files(workspace.root) == clean(workspace)


def test_a_source_that_is_added_leaves_the_others_as_they_were(run, clean, two, work):
    workspace, _ = two
    alone = replace(workspace, sources={"toy": workspace.sources["toy"]})
    run(alone)
    work.take_counts()
    run(workspace)
    assert work.take_counts() == (Counter(twin=1), Counter(twin=3), Counter(twin=3))
    assert _files(workspace.root) == clean(workspace)


def test_what_cannot_be_read_is_tried_again_and_nothing_else(run, workspace, raw, work):
    _raw_truncated(workspace, None, raw)
    run(workspace)
    before = _states(workspace.root)
    work.take_counts()
    report = run(workspace)
    assert work.take_counts() == (Counter(), Counter(toy=1), Counter())
    assert (report.rendered, report.reused) == (1, 5)
    assert _states(workspace.root) == before


class Kills:
    """The local engine; the worker of the first job dies."""

    def run(self, jobs, images):
        yield jobs[0], worker_died(jobs[0])
        yield from ONE.run(jobs[1:], images)


def test_what_failed_for_a_passing_reason_is_mended_by_the_next_build(run, clean, workspace):
    assert run(workspace, Kills()).sources[0].failed == 1
    assert run(workspace).sources[0].failed == 0
    assert _files(workspace.root) == clean(workspace)


class DiesLate:
    """The local engine; the worker of the first job dies once it has written its images."""

    def run(self, jobs, images):
        for job, rendered in ONE.run(jobs, images):
            yield job, worker_died(job) if job is jobs[0] else rendered


def test_images_of_a_case_that_failed_after_writing_them_are_deleted(run, workspace):
    assert run(workspace, DiesLate()).sources[0].failed == 1
    images = {
        path.relative_to(workspace.root).as_posix() for path in workspace.images.rglob("*.png")
    }
    assert images == set(pd.read_parquet(workspace.samples)["image"])


class Meddles:
    """The local engine; somebody changes a file while the build is at work."""

    def __init__(self, change):
        self._change = change

    def run(self, jobs, images):
        results = list(ONE.run(jobs, images))
        yield from results[:-1]
        self._change()
        yield results[-1]


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [0, 5])
@pytest.mark.usefixtures("plain")
def test_a_raw_file_that_changes_during_a_build_is_seen_by_the_next(
    run, clean, workspace, raw, number
):
    path = sorted(raw.glob("* (?).png"))[number]
    before = path.read_bytes()
    other = 255 - np.array(Image.open(path))

    def change():
        Image.fromarray(other).save(path, compress_level=0)

    run(workspace, Meddles(change))
    run(workspace)
    assert _files(workspace.root) == clean(workspace)
    path.write_bytes(before)
    run(workspace)
    assert _files(workspace.root) == clean(workspace)


@pytest.mark.thorough
@pytest.mark.usefixtures("plain")
def test_a_raw_file_that_changes_between_its_digest_and_its_pixels_is_not_mistaken(
    run, clean, workspace, raw
):
    path = raw / "g (0).png"
    before = path.read_bytes()
    other = 255 - np.array(Image.open(path))

    class Late:
        """The local engine; every digest was taken before a file changed, every pixel after."""

        def run(self, jobs, images):
            digests = {job.case.key: rendered.digests for job, rendered in ONE.run(jobs, images)}
            Image.fromarray(other).save(path, compress_level=0)
            for job, rendered in ONE.run(jobs, images):
                yield job, replace(rendered, digests=digests[job.case.key])

    run(workspace, Late())
    path.write_bytes(before)
    run(workspace)
    assert _files(workspace.root) == clean(workspace)


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [0, 11])  # 11: rendered, but its result is not yet received
def test_a_picture_that_changes_during_a_build_is_mended_by_the_next(run, clean, workspace, number):
    def change():
        path = sorted(workspace.images.rglob("*.png"))[number]
        _unseen(path, _flipped(path))

    run(workspace, Meddles(change))
    run(workspace)
    assert _files(workspace.root) == clean(workspace)


def test_a_workspace_that_was_copied_is_read_and_not_rendered(run, workspace, tmp_path):
    run(workspace)
    copy = replace(workspace, root=tmp_path / "copy")
    shutil.copytree(workspace.root, copy.root)
    assert run(copy).rendered == 0
    assert _files(copy.root) == _files(workspace.root)


PARTS = ("build", "sources", "ontologies", "tasks", "templates")
BUILD = """
import json, sys
from pathlib import Path
from medrcube.build import pipeline
from medrcube.build.incremental import changed_sources
from medrcube.build.execution.local import LocalEngine
from medrcube.console.progress import Reporter
from medrcube.sources._framework.contract import load_source
from medrcube.workspace import WorkspaceFolder

scans = []
scan = changed_sources.keep_scan
changed_sources.keep_scan = lambda *given: scans.append(1) or scan(*given)
assert pipeline.__file__.startswith(sys.argv[1]), pipeline.__file__
for root in sys.argv[4:]:
    report = pipeline.build(
        WorkspaceFolder(root=Path(root), sources={"toy": Path(sys.argv[2])}),
        {"toy": load_source(Path(sys.argv[3]))}, LocalEngine(1), Reporter(quiet=True))
    print(json.dumps([len(scans), report.rendered]))
    scans.clear()
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package that a test may change."""
    top, copy = Path(__file__).parents[3], tmp_path / "site" / "medrcube"
    shutil.copytree(top / "medrcube", copy)
    for part in PARTS:
        shutil.copytree(top / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def _template(package):
    """Every wording of a task that the toy source asks is another."""
    path = package / "tasks" / "disease_diagnosis" / "questions.j2"
    before = path.read_text()
    path.write_text(before.replace("?{% endblock %}", " here?{% endblock %}"))
    assert path.read_text() != before


def _term(package):
    path = package / "ontologies" / "terms.csv"
    rows = path.read_text().splitlines()
    number = next(number for number, row in enumerate(rows) if row.startswith("glioma,"))
    cells = rows[number].split(",")
    cells[2] = "glial tumour"
    rows[number] = ",".join(cells)
    path.write_text("\n".join(rows) + "\n")


def _code(package):
    _edit_text(
        package / "build" / "stages" / "shard_result.py",
        'case.split or ""',
        'case.split or "none"',
    )


def test_a_rendering_of_which_less_was_kept_is_made_again(toy, raw, monkeypatch):
    """An edition that keeps one more number of a picture cannot read what an older one kept."""
    job = plan_jobs(toy, raw, list(toy.scan(raw, "flat")))[0]
    digests = {str(path): sha256_of(path) for path in job.case.files()}
    now = cache_database.content_key(job, digests)
    older = [field.name for field in fields(RenderedPicture) if field.name != "perceptual_hash"]
    monkeypatch.setattr(cache_database, "RenderedPicture", make_dataclass("Picture", older))
    assert cache_database.content_key(job, digests) != now


def test_a_picture_is_searched_again_once_its_modality_names_another_detector(toy, raw, tmp_path):
    words = tmp_path / "layer" / "words.toml"
    words.parent.mkdir()
    text = '[[modality]]\nname = "Fundus"\nconcept = "CT"\nimage = "photograph"\n'
    keys = set()
    for detector in ("film", "ultrasound"):
        words.write_text(f'{text}burnt_in = "{detector}"\n')
        with using_vocabulary([words.parent]):
            job = plan_jobs(toy, raw, list(toy.scan(raw, "flat")))[0]
            job = replace(job, case=replace(job.case, modality=Modality("Fundus")))
            digests = {str(path): sha256_of(path) for path in job.case.files()}
            keys.add(cache_database.content_key(job, digests))
    assert len(keys) == 2


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE rendering SET record = json_remove(record, '$.geometry', '$.geometry_epoch')",
        "UPDATE rendering SET record = json_set(record, '$.geometry_epoch', 0)",
    ],
    ids=["an older edition", "another epoch"],
)
def test_a_rendering_without_measurements_is_made_again_to_the_same_pictures(
    run, workspace, work, change
):
    run(workspace)
    before = _files(workspace.root)
    with closing(sqlite3.connect(workspace.root / "cache" / "build.sqlite3")) as database:
        database.execute(change)
        database.execute("DELETE FROM memory")
        database.commit()
    work.take_counts()
    run(workspace)
    assert _files(workspace.root) == before
    assert work.take_counts()[1] == Counter(toy=6)


def test_another_trust_in_geometry_renders_nothing_and_changes_its_table_alone(
    run, toy, workspace, work
):
    run(workspace)
    before = _files(workspace.root)
    card = toy.folder / "card.toml"
    reason = 'orientation = { reason = "all stand upright", evidence = "test" }'
    claim = f'[geometry]\norientation = "stated"\n[geometry.reasons]\n{reason}\n'
    card.write_text(f"{card.read_text()}\n{claim}")
    work.take_counts()
    run(workspace)
    after = _files(workspace.root)
    assert {name for name in after if after[name] != before[name]} == {"geometry.parquet"}
    assert work.take_counts()[1] == Counter()


@pytest.mark.thorough
def test_another_edition_of_the_package_gives_what_it_gives_from_nothing(
    package, toy, raw, workspace, tmp_path
):
    script = tmp_path / "build.py"
    script.write_text(BUILD)

    def run(*roots):
        command = [sys.executable, script, package, raw, toy.folder, *roots]
        environment = {**os.environ, "PYTHONPATH": str(package.parent)}
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=600, check=False, env=environment
        )
        assert process.returncode == 0, process.stderr
        return [json.loads(line) for line in process.stdout.splitlines()]

    assert run(workspace.root, workspace.root) == [[1, 6], [0, 0]]
    assert run(workspace.root) == [[0, 0]]
    for change in (_template, _term, _code):
        before = _files(workspace.root)
        change(package)
        clean = tmp_path / change.__name__
        (clean / "cache").mkdir(parents=True)
        shutil.copy(workspace.root / "cache" / "patient.key", clean / "cache" / "patient.key")
        assert run(workspace.root, clean) == [[1, 0], [1, 6]], change
        assert _files(workspace.root) == _files(clean) != before, change

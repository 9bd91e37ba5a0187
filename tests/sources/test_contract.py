"""One contract for every source; a new source brings no test file of its own."""

import ast
import json
import os
import random
import shutil

import pandas as pd
import pytest
from pydicom import dcmread

from medrcube.build.execution.local import LocalEngine
from medrcube.build.source_checks.privacy_check import (
    FixtureCopy,
    leaks,
    secret_identifiers,
    unsearchable,
)
from medrcube.build.stages.plan import plan_jobs
from medrcube.build.stages.rendering.render import render_job
from medrcube.build.stages.scan import scan
from medrcube.facts import BAD_ROW, Case, MaskFile, Skip
from medrcube.ontologies.terms import load_terms
from medrcube.sources._formats.report_text.phrases import FILE_NAME
from medrcube.sources._framework.card_lookup import concept_of
from medrcube.sources._framework.card_parts.claims import (
    overclaimed_slices,
    visibility_contradictions,
)
from medrcube.sources._framework.contract import undeclared_files
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._framework.raw_tree.globs import compile_glob
from medrcube.sources._framework.raw_tree.raw_tree import walk_files
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Anatomy, Modality, Task, Voxel

pytestmark = pytest.mark.untraced
SOURCES = find_sources()
LAYOUTS = [
    pytest.param(source, layout.name, id=f"{source.id}-{layout.name}")
    for source in SOURCES.values()
    for layout in source.card.layouts
]
each_source = pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
each_layout = pytest.mark.parametrize(("source", "layout"), LAYOUTS)
ONE_OF_EACH_READER = {
    "acdc", "busi", "cbis-ddsm", "echonet-dynamic", "figshare-brain-tumor", "jsrt", "lidc-idri",
}  # fmt: skip
RENDERED_APART = [
    pytest.param(source, id=source.id)
    for source in SOURCES.values()
    if source.id in ONE_OF_EACH_READER or source.find_hook("read") or source.find_hook("frames")
]
"""What workers run: each reader, and each adapter that reads or chooses slices by itself."""


@pytest.fixture(scope="module")
def sources_for(request):
    """``(test)`` -> the sources that this session asks a test of this module about."""

    def sources(test):
        return [
            item.callspec.params["source"]
            for item in request.session.items
            if item.path == request.path and item.originalname == test
        ]

    return sources


@pytest.fixture(scope="module")
def by_two_workers(sources_for, built_layout, build_raw_trees, tmp_path_factory):
    """One build by two workers of every source that is rendered apart."""
    sources = sources_for("test_two_workers_give_the_bytes_of_one")
    roots = {
        source.id: built_layout(source.id, source.card.layouts[0].name).sources[source.id]
        for source in sources
    }
    root = tmp_path_factory.mktemp("two") / "workspace"
    return build_raw_trees(roots, root, LocalEngine(2), items_per_cell=1, viewer=False)


@pytest.fixture(scope="session")
def scanned(fixture_tree):
    """``(source, layout)`` -> what the adapter finds in the synthetic tree, found once."""
    scans = {}

    def scan(source, layout):
        if (source.id, layout) not in scans:
            entries = source.scan(fixture_tree(source.id, layout), layout)
            scans[source.id, layout] = tuple(entries)
        return scans[source.id, layout]

    return scan


@pytest.fixture(scope="session")
def identifiers(scanned, fixture_tree):
    """``source`` -> every identifier that must not leave any of its layouts."""
    cache = {}

    def find(source):
        if source.id not in cache:
            copies = [
                FixtureCopy(
                    root=fixture_tree(source.id, layout.name),
                    cases=tuple(
                        entry for entry in scanned(source, layout.name) if isinstance(entry, Case)
                    ),
                )
                for layout in source.card.layouts
            ]
            cache[source.id] = secret_identifiers(copies)
        return cache[source.id]

    return find


@each_layout
def test_its_fixture_has_the_layout_that_it_claims(source, layout, fixture_tree):
    report = inspect_copy(source.card, fixture_tree(source.id, layout))
    assert report.fits
    assert report.layout == layout
    assert report.seconds < 5


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_an_adapter_finds_files_through_the_tree_alone(name):
    """Litter, and the shapes that copies have, are settled once, in ``RawTree``."""
    text = (SOURCES[name].folder / "adapter.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"iterdir", "rglob", "walk", "listdir", "scandir"}, node.lineno
            if ast.unparse(node.value) == "root":
                assert node.attr not in {"glob", "match", "holds", "folders"}, node.lineno


@each_layout
def test_an_adapter_opens_no_file_that_its_card_does_not_name(source, layout, fixture_tree):
    assert undeclared_files(source, fixture_tree(source.id, layout), layout) == []


@each_layout
def test_its_fixture_has_no_row_that_cannot_be_used(source, layout, scanned):
    entries = scanned(source, layout)
    assert [
        entry.reason for entry in entries if isinstance(entry, Skip) and entry.code == BAD_ROW
    ] == []


@each_layout
def test_verify_names_what_is_missing(source, layout, fixture_tree, tmp_path):
    root = tmp_path / "raw"
    shutil.copytree(fixture_tree(source.id, layout), root)
    glob = next(iter(source.card.layout(layout).expect))
    pattern = compile_glob(glob)
    for name in list(walk_files(root)):
        if pattern.fullmatch(name):
            (root / name).unlink()
    report = inspect_copy(source.card, root)
    assert glob in report.describe() or report.layout != layout


@each_layout
def test_cases_come_in_one_order_under_any_directory_order(
    source, layout, fixture_tree, scanned, monkeypatch
):
    root = fixture_tree(source.id, layout)
    expected = list(scanned(source, layout))
    assert expected
    scandir = os.scandir

    class Shuffled:
        def __init__(self, path):
            with scandir(path) as entries:
                self._entries = list(entries)
            random.Random(7).shuffle(self._entries)
            self._iterator = iter(self._entries)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def __iter__(self):
            return self

        def __next__(self):
            return next(self._iterator)

        def close(self):
            return None

    def listdir(path="."):
        with Shuffled(path) as entries:
            return [entry.name for entry in entries]

    monkeypatch.setattr(os, "scandir", Shuffled)
    monkeypatch.setattr(os, "listdir", listdir)
    assert list(source.scan(root, layout)) == expected


@pytest.mark.few(4)
@each_layout
def test_listing_cases_opens_no_pixel_file(source, layout, fixture_tree, scanned, tmp_path):
    """Pixels replaced by rubbish of the same length go unnoticed until rendering."""
    root, whole = tmp_path / "raw", fixture_tree(source.id, layout)
    shutil.copytree(whole, root)
    expected = _portable(scanned(source, layout), whole)
    for path in root.rglob("*"):
        if path.is_file():
            _blank_pixels(path)
    assert _portable(source.scan(root, layout), root) == expected


PIXEL_TAG = 12
"""Bytes of tag, representation and length before the pixels (PS3.5 7.1.2)."""


def _blank_pixels(path):
    """Zeros in place of pixels; a DICOM header stays, and so does what is no picture."""
    data = path.read_bytes()
    start = 0
    if data[128:132] == b"DICM":
        with path.open("rb") as file:
            dcmread(file, stop_before_pixels=True)
            # Not the tag: zeros are read as thousands of empty elements where none ends the header.
            start = min(file.tell() + PIXEL_TAG, len(data))
    elif path.suffix.lower() not in {".png", ".jpg", ".jpeg", ".nii", ".raw", ".img"} and (
        not path.name.endswith(".nii.gz")
    ):
        return
    path.write_bytes(data[:start] + bytes(len(data) - start))


def _portable(scan, root):
    return [str(entry).replace(str(root), "") for entry in scan]


@each_source
def test_every_concept_of_the_card_is_in_the_term_table(source):
    terms = load_terms()
    for field in source.card.fields.values():
        for concept in field.concepts():
            assert concept in terms, f"{field.name}: {concept}"


@each_source
def test_what_a_picture_does_not_show_is_not_asked(source):
    text = (source.folder / "card.toml").read_text(encoding="utf-8")
    assert [*visibility_contradictions(source.card, text), *overclaimed_slices(source.card)] == []


@pytest.mark.few(3)
@each_source
def test_every_map_entry_is_used_by_a_fixture(source, scanned):
    used = set()
    for layout in source.card.layouts:
        for entry in scanned(source, layout.name):
            if isinstance(entry, Case):
                statements = (*entry.labels, *entry.panels, *entry.regions)
                used |= {(statement.field, statement.value) for statement in statements}
    declared = {(f.name, raw) for f in source.card.fields.values() for raw in sorted(f.values)}
    assert declared <= used, f"never used: {sorted(declared - used)}"


@each_source
def test_every_text_that_the_card_reads_is_given_by_a_fixture(source, scanned):
    names = {FILE_NAME}
    for layout in source.card.layouts:
        for entry in scanned(source, layout.name):
            names |= {words.name for words in getattr(entry, "words", ())}
    assert {name for text in source.card.texts for name in text.sources} <= names


@pytest.mark.few(2)
@each_source
def test_every_declared_task_and_no_other_yields_an_item(source, built_layout):
    voxels = set()
    for layout in source.card.layouts:
        items = pd.read_parquet(built_layout(source.id, layout.name).items)
        cells = zip(items["anatomy"], items["modality"], items["task"], strict=True)
        voxels |= {Voxel(Anatomy(a), Modality(m), Task(t)) for a, m, t in cells}
    assert voxels == source.card.voxels


@each_layout
def test_every_case_is_a_picture_or_has_a_reason(source, layout, built_layout, scanned):
    workspace = built_layout(source.id, layout)
    pictures = set(pd.read_parquet(workspace.samples)["case"])
    quarantine = pd.read_parquet(workspace.quarantine)
    for entry in scanned(source, layout):
        if isinstance(entry, Case) and all(path.exists() for path in entry.files()):
            assert entry.key in pictures | set(quarantine["case"])
    assert not set(quarantine["code"]) & {"crashed", "worker-died", "unclaimed"}
    assert quarantine["message"].str.len().min() > 10 or quarantine.empty


@pytest.mark.thorough
@pytest.mark.parametrize("source", RENDERED_APART)
def test_two_workers_give_the_bytes_of_one(source, built_layout, by_two_workers):
    """Items are made by no worker; ``tests/build/test_pipeline.py`` holds them too."""
    one, two = built_layout(source.id, source.card.layouts[0].name), by_two_workers
    for name in ("samples", "geometry", "quarantine"):
        assert _rows_of(source, one, name) == _rows_of(source, two, name), name
    recipes = [json.loads(line) for line in one.recipes.read_text("utf-8").splitlines()]
    everywhere = [json.loads(line) for line in two.recipes.read_text("utf-8").splitlines()]
    assert recipes == [recipe for recipe in everywhere if recipe["source"] == source.id]
    pictures = sorted(path.relative_to(one.images) for path in one.images.rglob("*.png"))
    folder = two.images / source.id
    assert pictures == sorted(path.relative_to(two.images) for path in folder.rglob("*.png"))
    for picture in pictures:
        assert (one.images / picture).read_bytes() == (two.images / picture).read_bytes()


def _rows_of(source, workspace, table):
    """Rows of one source in a table of a workspace, as text."""
    rows = pd.read_parquet(workspace.root / f"{table}.parquet")
    return rows[rows["source"] == source.id].to_csv(index=False).splitlines()


@each_layout
def test_a_build_leaves_the_raw_tree_as_it_was(source, layout, built_layout, tree_changes):
    assert tree_changes(built_layout(source.id, layout).sources[source.id]) == set()


@each_layout
def test_no_identifier_reaches_an_output_byte(source, layout, built_layout, identifiers):
    secret = identifiers(source)
    assert list(unsearchable(secret)) == []
    assert list(leaks(built_layout(source.id, layout).root, secret)) == []


@pytest.mark.few(2)
@each_source
def test_a_broken_file_ends_in_quarantine_and_not_in_a_crash(source, fixture_tree, tmp_path):
    """Only cases that read the file are rendered: ``built_layout`` renders the others."""
    layout, raw = source.card.layouts[0].name, tmp_path / "raw"
    shutil.copytree(fixture_tree(source.id, layout), raw)
    broken = next(
        entry
        for entry in source.scan(raw, layout)
        if isinstance(entry, Case) and all(path.exists() for path in entry.files())
    )
    image = broken.images[0].paths[0]
    with image.open("r+b") as file:
        file.truncate(max(image.stat().st_size // 3, 1))
    found = scan(source, raw, b"k" * 32)
    problems = [*found.problems]
    for job in plan_jobs(source, raw, found.cases):
        if image in job.case.files():
            problems += render_job(job, tmp_path / "images").problems
    assert broken.key in {problem.case for problem in problems}
    assert not {problem.code for problem in problems} & {"crashed", "worker-died"}


@each_source
def test_the_card_is_complete_enough_to_act_on(source):
    card = source.card
    assert card.homepage.startswith("https://")
    assert "@" in card.citation
    assert all(quirk.evidence for quirk in card.quirks)
    assert all(len(step) > 10 for step in card.access.steps)


@pytest.mark.few(3)
@each_source
def test_masks_are_read_only_where_they_are_declared(source, scanned):
    for layout in source.card.layouts:
        for entry in scanned(source, layout.name):
            for region in getattr(entry, "regions", ()):
                assert concept_of(source.card, region) is not None
                assert not isinstance(region.shape, MaskFile) or region.shape.paths

"""A toy source with real pixel files, for tests of the stages, and its releases."""

import json
import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import binary_erosion

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.release.write import release
from medrcube.build.validation.validate import validate
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.sources._framework.card_parts.access import Statement
from medrcube.sources._framework.contract import load_source
from medrcube.sources._synthetic import images
from medrcube.sources.registry import find_sources
from medrcube.workspace import WorkspaceFolder

CARD = """\
id = "toy"
title = "A toy source"
homepage = "https://example.org/toy"
release = "1.0"
images = 4
citation = "@misc{toy, title={Toy}}"

[access]
mode = "open"
licence = "CC-BY-4.0"
redistribute = true
basis = { says = "CC BY 4.0", place = "https://example.org/toy" }
steps = ["Download it."]

[[layout]]
name = "flat"
expect = { "*.png" = 8 }

[case]
anatomy = "Brain"
modality = "MRI"
patient = "known"
tasks = ["Modality Recognition", "ROI Grounding", "Disease Diagnosis"]

[[field]]
name = "tumour"
kind = "disease"
absence = "reader"
group = "brain tumor class"
values = { g = "glioma", m = "meningioma", p = "pituitary tumor" }

[[field]]
name = "region"
kind = "structure"
absence = "reader"
values = { g = "glioma", m = "meningioma", p = "pituitary tumor" }

[[quirk]]
keys = ["g (9)"]
action = "drop"
reason = "a duplicate"
evidence = "https://example.org/toy/issues/1"
"""

ADAPTER = """\
from medrcube.facts import Case, ImageRef, Label, MaskFile, Region, Skip

def cases(root, layout):
    for path in sorted(root.glob("* (*).png")):
        letter = path.name[0]
        mask = path.with_name(path.stem + "_mask.png")
        if letter == "x":
            yield Skip(key=path.stem, reason="filed in no class", paths=(path,))
            continue
        yield Case(
            key=path.stem,
            images=(ImageRef(paths=(path,)),),
            patient="CANARY-" + path.stem,
            labels=(Label(field="tumour", value=letter, evidence="file name"),),
            regions=(
                Region(field="region", value=letter, shape=MaskFile(paths=(mask,)), evidence="m"),
            ),
        )
"""


@pytest.fixture(scope="session")
def write_case():
    """Write a picture and its mask: ``write_case(root, "g (1)")``."""

    def write(root, key, *, seed=1, size=(96, 112)):
        root.mkdir(exist_ok=True)
        pixels = images.picture(*size, seed=seed).astype(np.uint8)
        # Small, so that wrong boxes have room beside it in every case.
        mask = binary_erosion(images.lesion(*size, seed=seed), iterations=3)
        Image.fromarray(pixels).save(root / f"{key}.png")
        Image.fromarray(mask.astype(np.uint8) * 255).save(root / f"{key}_mask.png")

    return write


@pytest.fixture
def toy(tmp_path, reasoned):
    """The toy source."""
    folder = tmp_path / "sources" / "toy"
    folder.mkdir(parents=True)
    (folder / "card.toml").write_text(reasoned(CARD))
    (folder / "adapter.py").write_text(ADAPTER)
    return load_source(folder)


@pytest.fixture(scope="session")
def six_cases(tmp_path_factory, write_case):
    """A raw tree of six good cases, made once; tests get copies."""
    root = tmp_path_factory.mktemp("toy") / "raw"
    for number, letter in enumerate("ggmmpp"):
        write_case(root, f"{letter} ({number})", seed=number)
    return root


@pytest.fixture
def raw(tmp_path, six_cases):
    """A raw tree of six good cases."""
    return shutil.copytree(six_cases, tmp_path / "raw")


@pytest.fixture
def workspace(tmp_path, raw):
    """A workspace that names the raw tree."""
    root = tmp_path / "workspace"
    (root / "cache").mkdir(parents=True)
    (root / "cache" / "patient.key").write_bytes(b"k" * 32)
    return WorkspaceFolder(root=root, settings=BuildSettings(), sources={"toy": raw})


@pytest.fixture(scope="session")
def quiet():
    """A reporter that says nothing."""
    return Reporter(quiet=True)


BARRED = 'patient="CANARY-" + path.stem, redistribute=letter != "m",'


@pytest.fixture(scope="session")
def pressed(tmp_path_factory, six_cases, quiet):
    """Where a toy source was built and released, once for each text of it: ``pressed(toy)``.

    The folder holds ``workspace``, ``public`` and ``private``; who changes one copies it.
    """
    roots = {}

    def press(source):
        text = tuple((source.folder / name).read_text() for name in ("card.toml", "adapter.py"))
        if text not in roots:
            roots[text] = root = tmp_path_factory.mktemp("pressed")
            workspace = WorkspaceFolder(root=root / "workspace", sources={"toy": six_cases})
            (workspace.root / "cache").mkdir(parents=True)
            (workspace.root / "cache" / "patient.key").write_bytes(b"k" * 32)
            build(workspace, {"toy": source}, LocalEngine(1), quiet)
            for private, name in ((False, "public"), (True, "private")):
                release(
                    workspace, {"toy": source}, root / name, name="x", allow_unreviewed=True,
                    private=private,
                )  # fmt: skip
        return roots[text]

    return press


@pytest.fixture
def barred(toy):
    """The toy source, of which some pictures may not be redistributed."""
    adapter = toy.folder / "adapter.py"
    adapter.write_text(adapter.read_text().replace('patient="CANARY-" + path.stem,', BARRED))
    return load_source(toy.folder)


@pytest.fixture
def released(barred, pressed, workspace, tmp_path, quiet):
    """Write a release of the built workspace: ``released("name", private=True)``."""
    shutil.copytree(pressed(barred) / "workspace", workspace.root, dirs_exist_ok=True)

    def write(name="release", **options):
        return release(
            workspace, {"toy": barred}, tmp_path / name, name="x", allow_unreviewed=True, **options
        ).out

    return write


@pytest.fixture
def edition(barred, pressed, tmp_path):
    """Copy an edition, which a test may change: ``edition("name", private=True)``."""

    def copy(name="release", *, private=False):
        tree = pressed(barred) / ("private" if private else "public")
        return shutil.copytree(tree, tmp_path / name)

    return copy


@pytest.fixture(scope="session")
def _sharded_once(pressed, tmp_path_factory, quiet):
    releases = {}

    def make(source, size, private):
        root = pressed(source)
        if (root, size, private) not in releases:
            workspace = WorkspaceFolder(
                root=root / "workspace", settings=BuildSettings(), sources={}
            )
            releases[root, size, private] = release(
                workspace, {"toy": source}, tmp_path_factory.mktemp("sharded") / "x", name="x",
                allow_unreviewed=True, private=private, shard_size=size,
            ).out  # fmt: skip
        return releases[root, size, private]

    return make


@pytest.fixture
def sharded(barred, _sharded_once, tmp_path):
    """Copy an edition with shards, which a test may change: ``sharded("name", 15_000)``."""

    def copy(name, size, *, private=False):
        return shutil.copytree(_sharded_once(barred, size, private), tmp_path / name)

    return copy


@pytest.fixture
def public(edition):
    """A public edition that a test may change."""
    return edition()


@pytest.fixture
def check(quiet):
    """Validate a tree in this process: ``check(tree)``."""

    def run(tree, **options):
        return validate(tree, quiet, **{"workers": 1, **options})

    return run


@pytest.fixture
def faults(check):
    """Names of the checks that found something, as errors or as warnings."""

    def run(tree, level="error"):
        return {finding.check for finding in check(tree).findings if finding.level == level}

    return run


@pytest.fixture
def edit():
    """Change the rows of the toy source: ``edit(tree, lambda rows: ..., table="open.json")``."""

    def change(tree, work, table="test.json"):
        path = tree / "TOY" / table
        rows = json.loads(path.read_text())
        path.write_text(json.dumps(work(rows) or rows))

    return change


def _passed_on(source):
    """The source as if its owner allowed passing its pictures on."""
    statement = Statement(says="CC BY 4.0", place="https://example.org", read="https://example.org")
    access = replace(source.card.access, redistribute=True, basis=statement)
    return replace(source, card=replace(source.card, access=access))


@pytest.fixture(scope="session")
def editions(tmp_path_factory):
    """Both editions of a release of two sources, one of them barred: ``(public, private)``."""
    root = tmp_path_factory.mktemp("editions")
    result = find_sources()
    sources = {"busi": _passed_on(result["busi"]), "vindr-cxr": result["vindr-cxr"]}
    roots = {name: root / name for name in sources}
    for name, source in sources.items():
        source.build_fixture(roots[name], source.card.layouts[0].name)
    workspace = WorkspaceFolder(root=root / "workspace", settings=BuildSettings(), sources=roots)
    build(workspace, sources, LocalEngine(1), Reporter(quiet=True))
    for private, name in ((False, "public"), (True, "private")):
        release(
            workspace, sources, root / name, name="v1.2", allow_unreviewed=True, private=private
        )
    return root / "public", root / "private"


@pytest.fixture
def release_all(toy, workspace, tmp_path, quiet):
    """Release the toy source with all pictures or none of them: ``release_all(barred=True)``."""

    def write(*, barred):
        adapter = toy.folder / "adapter.py"
        label = f'patient="p" + path.stem, redistribute={not barred},'
        text = adapter.read_text().replace('patient="CANARY-" + path.stem,', label)
        adapter.write_text(text)
        sources = {"toy": load_source(toy.folder)}
        build(workspace, sources, LocalEngine(1), quiet)
        return release(workspace, sources, tmp_path / "all", name="x", allow_unreviewed=True).out

    return write


@pytest.fixture
def listings(monkeypatch):
    """Count, for each folder, how often it is listed: by its path or by an open handle."""
    counts = Counter()
    scandir = os.scandir

    def counted(path="."):
        opened = isinstance(path, int)
        counts[str(Path(f"/proc/self/fd/{path}").readlink()) if opened else os.fspath(path)] += 1
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    return counts

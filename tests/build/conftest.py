"""A toy source with real pixel files, for tests of the stages."""

import shutil

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import binary_erosion

from medrcube.console.progress import Reporter
from medrcube.sources._framework.contract import load_source
from medrcube.sources._synthetic import images
from medrcube.workspace import BuildSettings, Workspace

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
    return Workspace(root=root, settings=BuildSettings(), sources={"toy": raw})


@pytest.fixture(scope="session")
def quiet():
    """A reporter that says nothing."""
    return Reporter(quiet=True)

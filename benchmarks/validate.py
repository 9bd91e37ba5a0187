"""How long a full-size release takes to be written and validated, and in how much memory.

Usage: ``python validate.py FOLDER [ITEMS PICTURES SIDE]``. Makes a workspace of synthetic images
(7,626 items on 5,000 images of 768 x 768 pixels by default), releases it, validates the release,
and prints one line of JSON. The peak is that of this process and of its largest worker.
"""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import timing

from medrcube.build.audit.batch_audit import audit_batch
from medrcube.build.execution.progress import usable_cores
from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.pixels.png_encoder import ENCODER, encode_png
from medrcube.build.questions.item_table import ChoiceItem, Option, items_to_frame
from medrcube.build.release.write import release
from medrcube.build.stages.samples import Sample, samples_to_frame
from medrcube.build.validation.validate import validate
from medrcube.console.progress import Reporter
from medrcube.perceptual_hash import perceptual_hash
from medrcube.sources.registry import find_sources
from medrcube.workspace import WorkspaceFolder

SOURCE = "busi"
WORDS = ("Malignant", "Benign", "Normal", "Undetermined")


def main() -> None:
    folder = Path(sys.argv[1])
    items, pictures, side = map(int, sys.argv[2:5] or (7626, 5000, 768))
    shutil.rmtree(folder, ignore_errors=True)
    workspace = WorkspaceFolder(root=folder / "workspace")
    make_workspace(workspace, items, pictures, side)
    idle = timing.peak_memory()
    started = time.perf_counter()
    report = release(
        workspace, find_sources(), folder / "release", name="full", allow_unreviewed=True
    )
    released = time.perf_counter()
    busy = _busy()
    validation = validate(report.out, Reporter(quiet=True), workers=usable_cores())
    ended = time.perf_counter()
    if validation.findings or (validation.items, validation.pictures) != (items, pictures):
        sys.exit(f"the release is not sound: {validation.findings}")
    line = {
        "items": validation.items,
        "pictures": validation.pictures,
        "side": side,
        "bytes": sum(path.stat().st_size for path in report.out.rglob("*.png")),
        "workers": usable_cores(),
        "release": released - started,
        "validate": ended - released,
        "validate_cpu": _busy() - busy,
        "idle": idle,
        "peak": timing.peak_memory(),
        "worker": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
    }
    print(json.dumps(line))


def _busy() -> float:
    """Seconds of processor time of this process and of its workers that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def make_workspace(workspace: WorkspaceFolder, items: int, pictures: int, side: int) -> None:
    """A built workspace without a raw tree."""
    rng = np.random.default_rng(1)
    (workspace.images / SOURCE).mkdir(parents=True)
    noise = rng.normal(0, 12, (side, side)) + np.linspace(40, 160, side)[None, :]
    grey = np.clip(noise, 0, 255).astype(np.uint8)
    samples, recipes = [], []
    for number in range(pictures):
        pixels = np.roll(grey, (number % side, number // side), axis=(0, 1))
        name = f"case_{number:05}"
        (workspace.images / SOURCE / f"{name}.png").write_bytes(encode_png(pixels))
        sample = _sample(name, pixel_hash(pixels), perceptual_hash(pixels), side)
        samples.append(sample)
        recipes.append(json.dumps(_recipe(sample)) + "\n")
    questions = [_item(number, samples[number % pictures]) for number in range(items)]
    samples_to_frame(samples).to_parquet(workspace.samples, index=False)
    items_to_frame(questions).to_parquet(workspace.items, index=False)
    workspace.recipes.write_text("".join(recipes), encoding="utf-8")
    audit = audit_batch(samples, questions, [], {}) | {
        "ontologies": {"editions": [], "digest": ""},
        "shared_images": [],
        "dropped": {},
    }
    workspace.audit.write_text(json.dumps(audit), encoding="utf-8")


def _sample(name: str, digest: str, look: str, side: int) -> Sample:
    return Sample(
        id=_short(name),
        source=SOURCE,
        case=name,
        artefact="clean",
        field="",
        marked="",
        truth="",
        choices=0,
        area=0.0,
        regions=0,
        image=f"images/{SOURCE}/{name}.png",
        pixel_sha256=digest,
        perceptual_hash=look,
        width=side,
        height=side,
        anatomy="Breast",
        modality="Ultrasound",
        patient="",
        split="",
        scope="image",
        licence="CC0-1.0",
        redistribute=True,
        frames="0",
        reason="the only one",
        recipe=_short(digest),
    )


def _item(number: int, sample: Sample) -> ChoiceItem:
    key = number % len(WORDS)
    options = tuple(
        Option(
            text=word,
            concept=word,
            ids=(),
            strategy="key" if place == key else "predefined",
            grade="" if place == key else "A",
            passed=(1,),
        )
        for place, word in enumerate(WORDS)
    )
    return ChoiceItem(
        id=_short(f"item {number}"),
        sample=sample.id,
        source=SOURCE,
        task="Disease Diagnosis",
        anatomy="Breast",
        modality="Ultrasound",
        question=f"Which of these does ultrasound picture {number} show?",
        options=options,
        key=key,
        strategy="predefined",
        state="unreviewed",
        field="diagnosis",
        concept=WORDS[key],
        group="",
        scope="image",
        grade="A",
        ordered=False,
        variant="plain",
        template=_short("template"),
        warnings=(),
        seed=0,
    )


def _recipe(sample: Sample) -> dict[str, object]:
    return {
        "sample": sample.id,
        "image": sample.image,
        "source": SOURCE,
        "case": sample.case,
        "origin": {"adapter": "", "card": "", "layout": "original"},
        "epoch": 1,
        "encoder": ENCODER,
        "files": {f"{sample.case}.png": hashlib.sha256(sample.case.encode()).hexdigest()},
        "images": [{"files": [f"{sample.case}.png"], "frame": 0, "member": None}],
        "mark": {"kind": "clean", "field": "", "concept": "", "boxes": []},
        "pixel_sha256": sample.pixel_sha256,
    }


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()

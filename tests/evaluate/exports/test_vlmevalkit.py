"""VLMEvalKit's own class reads our TSV, asks, and scores the replies as we do.

``MEDRCUBE_VLMEVALKIT`` names a checkout, ``MEDRCUBE_VLMEVALKIT_PYTHON`` a Python that has what it
needs.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest
from PIL import Image

from medrcube.evaluate.exports.export import write_export
from medrcube.evaluate.exports.selection import select_exportable
from medrcube.evaluate.imports.import_run import import_run

CHECKOUT = os.environ.get("MEDRCUBE_VLMEVALKIT", "")

REPLIES = ("A", "Answer: B", "I cannot tell.", "A", "(A)", "B")
"""To keys A, B, C, D, A, B: four are right."""

ASK = """
import json, os, sys
from pathlib import Path
checkout, folder, name, replies = sys.argv[1:]
sys.path[:0] = [checkout, folder]
os.chdir(checkout)
from run_vlmevalkit import register
register()
from vlmeval.dataset import build_dataset
from vlmeval.smp import dump
data = build_dataset(name)
prompts = [data.build_prompt(row) for _, row in data.data.iterrows()]
rows = data.data.drop(columns="image")
rows["prediction"] = json.loads(replies)
model = Path(folder) / "m"
model.mkdir()
file = str(model / f"m_{name}.xlsx")
dump(rows, file)
found = data.evaluate(file, model="exact_matching", nproc=1)
print(json.dumps({
    "kind": type(data).__mro__[1].__name__,
    "texts": [prompt[-1]["value"] for prompt in prompts],
    "pictures": [Path(prompt[0]["value"]).read_bytes().hex() for prompt in prompts],
    "accuracy": float(found["Overall"].iloc[0]),
    "file": file,
}))
"""


def pixels(data):
    with Image.open(io.BytesIO(data)) as picture:
        return picture.size, picture.convert("RGB").tobytes()


@pytest.mark.skipif(not CHECKOUT, reason="MEDRCUBE_VLMEVALKIT names no checkout of VLMEvalKit")
def test_its_class_reads_the_table_and_gives_our_accuracy(load, row, tmp_path):
    release = load(*(row(n) for n in range(5)), row(5, option_D="None"))
    table = write_export(select_exportable(release, private=False), tmp_path / "out", "vlmevalkit")
    arguments = [CHECKOUT, str(table.parent), table.stem, json.dumps(REPLIES)]
    python = os.environ.get("MEDRCUBE_VLMEVALKIT_PYTHON", sys.executable)
    process = subprocess.run(
        [python, "-c", ASK, *arguments],
        capture_output=True, text=True, check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "LMUData": str(tmp_path / "cache")},
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-3000:]
    summary = json.loads(process.stdout.splitlines()[-1])
    assert summary["kind"] == "ImageMCQDataset"
    # It writes each picture again, so that bytes differ and pixels do not.
    images = [pixels(bytes.fromhex(data)) for data in summary["pictures"]]
    assert images == [pixels(release.images.read(item.image)) for item in release.items]
    for text, item in zip(summary["texts"], release.items, strict=True):
        options = "".join(f"{letter}. {option}\n" for letter, option in item.options)
        assert f"Question: {item.question}\nOptions:\n{options}" in text.replace(
            "None \n", "None\n"
        )
    back = import_run(type(table)(summary["file"]), release, tmp_path / "run")
    assert back.metrics["global"]["accuracy"] == pytest.approx(4 / 6)
    assert summary["accuracy"] == pytest.approx(4 / 6)

"""What a build of many films takes beside their pixels: time of the client, its memory, its tables.

Usage: ``python scale.py FOLDER FILMS local|dask``. Writes a raw tree like MIMIC-CXR-JPG 2.1.0 with
images of 8 x 8 pixels, builds it, builds again with nothing to do, and prints one line of JSON.
With ``dask`` the scheduler of the local cluster runs in this very process.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import timing
from PIL import Image
from rebuild import Clock

from medrcube.build.execution.dask import DaskEngine
from medrcube.build.execution.local import LocalEngine, RenderEngine
from medrcube.build.execution.progress import usable_cores
from medrcube.build.pipeline import build
from medrcube.sources.registry import find_sources
from medrcube.workspace import init_workspace, open_workspace

SOURCE = "mimic-cxr-jpg"
_LABELS = (
    "Atelectasis,Cardiomegaly,Consolidation,Edema,Enlarged Cardiomediastinum,Fracture,"
    "Lung Lesion,Lung Opacity,No Finding,Pleural Effusion,Pleural Other,Pneumonia,Pneumothorax,"
    "Support Devices"
)
_NO_FINDING = 8
_METADATA = (
    "dicom_id,subject_id,study_id,PerformedProcedureStepDescription,ViewPosition,Rows,Columns,"
    "StudyDate,StudyTime,ProcedureCodeSequence_CodeMeaning,ViewCodeSequence_CodeMeaning,"
    "PatientOrientationCodeSequence_CodeMeaning"
)
_SIGNS = ("1.0", "0.0", "", "-1.0", "", "", "0.0")


def main() -> None:
    folder, films, name = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    shutil.rmtree(folder, ignore_errors=True)
    write_mimic_films(folder / "raw", films)
    workers = usable_cores()
    engine: RenderEngine = DaskEngine(None, workers) if name == "dask" else LocalEngine(workers)
    sources = find_sources()
    init_workspace(folder / "bench")
    workspace = open_workspace(folder / "bench").with_sources({SOURCE: folder / "raw"})
    idle, clock = timing.peak_memory(), Clock()
    first = build(workspace, sources, engine, clock)
    peak = timing.peak_memory()
    again = build(workspace, sources, engine, Clock())
    if first.rendered != films or again.rendered:
        sys.exit(f"{first.rendered} and {again.rendered} of {films} films were rendered")
    result = {
        "films": films,
        "engine": name,
        "workers": workers,
        "seconds": first.seconds,
        "stages": clock.seconds,
        "nothing": again.seconds,
        "idle": idle,
        "peak": peak,
        "cache": _bytes(folder / "bench" / "cache"),
        "tables": sum(path.stat().st_size for path in workspace.root.iterdir() if path.is_file()),
        "items": sum(source.items for source in first.sources),
    }
    print(json.dumps(result))


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def write_mimic_films(root: Path, films: int) -> None:
    rng = np.random.default_rng(1)
    metadata = [_METADATA]
    splits = ["dicom_id,study_id,subject_id,split"]
    labels = [f"subject_id,study_id,{_LABELS}"]
    for number in range(films):
        subject, study = 10000000 + number // 6, 50000000 + number // 2
        ident = "-".join(f"{number:08x}" for _ in range(5))
        folder = root / "files" / f"p{subject}"[:3] / f"p{subject}" / f"s{study}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (8, 8), np.uint8)).save(folder / f"{ident}.jpg")
        view = ("PA", "LATERAL", "AP")[number % 3]
        rest = f'{view},3056,2544,21800506,213014.53,"CHEST (PA AND LAT)",,Erect'
        metadata.append(f'{ident},{subject},{study},"CHEST (PA AND LAT)",{rest}')
        splits.append(f"{ident},{study},{subject},train")
        if number % 2 == 0:
            signs = [_SIGNS[(number + place) % len(_SIGNS)] for place in range(14)]
            signs[_NO_FINDING] = ""  # beside findings it would contradict them
            labels.append(f"{subject},{study},{','.join(signs)}")
    tables = {"metadata": metadata, "split": splits, "chexpert": labels, "negbio": labels}
    for name, lines in tables.items():
        text = "\n".join(lines) + "\n"
        (root / f"mimic-cxr-2.0.0-{name}.csv").write_text(text, encoding="utf-8")
    (root / "mimic-cxr-2.1.0-test-set-labeled.csv").write_text(
        f"study_id,{_LABELS}\n50000000,{','.join('0' * 14)}\n".replace(
            "Lung Opacity", "Airspace Opacity"
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()

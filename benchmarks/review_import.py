"""Import a large workspace into the queue, then open the pages that count it.

Usage: ``python review_import.py DEMO FOLDER [ITEMS]``. DEMO is a folder of ``medrcube demo``; its
items are repeated under other names until there are ITEMS (100,000). Prints one JSON object: the
time and peak memory of the import, and the seconds that each page of a manager takes when its
figures are counted and when they are kept.
"""

from __future__ import annotations

import json
import math
import resource
import shutil
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pandas as pd

_ID_COLUMNS = {"items": ("id", "sample"), "samples": ("id", "case", "patient", "perceptual_hash")}


def main() -> None:
    """Make the workspace, import it, and print the figures."""
    demo, folder = Path(sys.argv[1]), Path(sys.argv[2])
    items = int([*sys.argv[3:], "100000"][0])
    if not folder.exists():
        repeat(demo, folder, items)
    print(json.dumps(_imported(folder)) if len(sys.argv) < 5 else "made")


def repeat(demo: Path, folder: Path, items: int) -> None:
    folder.mkdir(parents=True)
    shutil.copytree(demo / "images", folder / "images")
    shutil.copy(demo / "medrcube.toml", folder)
    times = math.ceil(items / len(pd.read_parquet(demo / "items.parquet")))
    for table, columns in _ID_COLUMNS.items():
        rows = pd.read_parquet(demo / f"{table}.parquet")
        parts = []
        for number in range(times):
            part = rows.copy()
            for column in columns:
                part[column] = part[column].where(part[column] == "", part[column] + f"-{number}")
            parts.append(part)
        pd.concat(parts).to_parquet(folder / f"{table}.parquet", index=False)
    with (folder / "recipes.jsonl").open("w", encoding="utf-8") as file:
        recipes = (demo / "recipes.jsonl").read_text(encoding="utf-8").splitlines()
        for number in range(times):
            for line in recipes:
                recipe = json.loads(line)
                recipe["sample"] += f"-{number}"
                recipe["files"] = {
                    name: sha256(f"{digest}-{number}".encode()).hexdigest()
                    for name, digest in recipe["files"].items()
                }
                file.write(json.dumps(recipe) + "\n")


def _imported(folder: Path) -> dict[str, float]:
    began = time.perf_counter()
    command = [sys.executable, "-m", "medrcube", "review", "import", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603
    first = 0.0
    for line in process.stderr or ():
        first = first or time.perf_counter() - began
        print(f"{time.perf_counter() - began:6.1f} s  {line}", end="", file=sys.stderr)
    process.wait()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "seconds to the first line": round(first, 1),
        "peak MB": round(peak),
    }


if __name__ == "__main__":
    main()

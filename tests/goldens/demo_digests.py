"""Digests of what the demo releases and scores of the cube; ``demo.json`` beside this holds them.

Items beyond the cube, those of ``open.json``, are left out: tasks may be added at any time.

Written anew, after a change that is meant to alter items:  python tests/goldens/demo_digests.py
"""

import csv
import hashlib
import json
import shutil
import tempfile
from pathlib import Path

from medrcube.console.progress import Reporter
from medrcube.demo import BASELINES, run_demo
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.runner.run import run_evaluation

FILE = Path(__file__).with_name("demo.json")
SMALL = ("bus-bra", "busi", "vindr-cxr")
"""Sources of the fixture ``small_demo``."""
SCORED = ("random", "longest")
"""Baselines whose metrics are held."""
KEYED = ("unit",)
"""Columns of ``items.csv`` that hold ids under a key that each workspace draws for itself."""
DIGITS = 9
"""Significant digits of a figure: the last ones differ with the processor."""


def demo_digests(demo):
    """Digests of the demo in a folder, by what they are of.

    None depends on the machine, the time, the encoding of PNG or the secret of the workspace.
    """
    release = _cube_alone(demo)
    tables = {path.parent.name: path for path in sorted(release.glob("*/test.json"))}
    ids = [f"{name}/{row['id']}" for name, path in tables.items() for row in _json(path)]
    return {
        "items": len(ids),
        "item_ids": _digest("\n".join(ids)),
        "test.json": {name: _digest(path.read_bytes()) for name, path in tables.items()},
        "sets.json": _digest((release / "sets.json").read_bytes()),
        "items.csv": _columns(release / "items.csv"),
        "metrics": {name: _metrics(_run(name, release)) for name in SCORED},
    }


def _cube_alone(demo):
    """The release without what lies beyond the cube; beside it, and made once."""
    tree = demo / "cube"
    if tree.exists():
        return tree
    shutil.copytree(demo / "release", tree, ignore=shutil.ignore_patterns("open.json"))
    rows = [json.dumps(row, ensure_ascii=False) for row in _json(tree / "sets.json")]
    blocks = ",\n".join(row for row in rows if row.startswith('{"id": "block-'))
    (tree / "sets.json").write_text(f"[\n{blocks}\n]\n" if blocks else "[]\n", encoding="utf-8")
    ids = {(row["dataset"], row["id"]) for path in tree.glob("*/test.json") for row in _json(path)}
    header, *lines = (tree / "items.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    remaining = [line for line in lines if tuple(line.split(",", 2)[:2]) in ids]
    (tree / "items.csv").write_text(header + "".join(remaining), encoding="utf-8")
    return tree


def _run(name, release):
    """A run of a baseline over the items of the cube."""
    out = release.with_name("cube_runs") / name
    if not out.exists():
        model = f"baseline/{name}"
        run_evaluation(load_benchmark(release), open_model(model), out, conditions=BASELINES[model])
    return out


def read_goldens():
    """The digests as they were recorded, by the name of the demo: ``small`` and ``all``."""
    return _json(FILE)


def _columns(table):
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = [name for name in rows[0] if name not in KEYED]
    return {name: _digest("\n".join(row[name] for row in rows)) for name in columns}


def _metrics(run):
    """Digest of each part of ``metrics.json`` that is a figure."""
    parts = _json(run / "metrics.json")
    figures = {name: part for name, part in parts.items() if isinstance(part, dict | list)}
    return {
        name: _digest(json.dumps(_rounded(part), sort_keys=True)) for name, part in figures.items()
    }


def _rounded(value):
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value


def _digest(content):
    data = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()[:16]


def _json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def _record():
    goldens = {}
    for name, only in (("small", SMALL), ("all", None)):
        with tempfile.TemporaryDirectory() as folder:
            run_demo(Path(folder) / "demo", Reporter(), only=only)
            goldens[name] = demo_digests(Path(folder) / "demo")
    FILE.write_text(json.dumps(goldens, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _record()

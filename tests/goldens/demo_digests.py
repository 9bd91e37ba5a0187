"""Digests of what the demo releases and scores, held in ``demo.json`` beside this module.

Written anew, after a change that is meant to alter items:  python tests/goldens/demo_digests.py
"""

import csv
import hashlib
import json
import tempfile
from pathlib import Path

from medrcube.console.progress import Reporter
from medrcube.demo import run_demo

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
    release = demo / "release"
    tables = {path.parent.name: path for path in sorted(release.glob("*/test.json"))}
    ids = [f"{name}/{row['id']}" for name, path in tables.items() for row in _json(path)]
    return {
        "items": len(ids),
        "item_ids": _digest("\n".join(ids)),
        "test.json": {name: _digest(path.read_bytes()) for name, path in tables.items()},
        "sets.json": _digest((release / "sets.json").read_bytes()),
        "items.csv": _columns(release / "items.csv"),
        "metrics": {name: _metrics(demo / "runs" / name) for name in SCORED},
    }


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

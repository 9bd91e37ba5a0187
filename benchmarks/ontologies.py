"""Compile an index of real ontology files, or open it and ask for every label with its ancestors.

Usage: ``python ontologies.py compile DB FILE...``, each in a process of its own because its memory
is measured, and ``python ontologies.py ask DB``. The files are the user's own: see
docs/how-to/use-ontologies.md.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import timing

from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.index.compile import compile_index
from medrcube.ontologies.readers import open_ontology
from medrcube.ontologies.terms import load_terms

LABELS = 150
_TURNS = 5


def main() -> None:
    action, index, *files = sys.argv[1:]
    result = _compile(Path(index), files) if action == "compile" else _ask(Path(index))
    print(json.dumps(result))


def _compile(index: Path, files: list[str]) -> dict[str, float]:
    """Time from nothing to a whole file; the readers' packages load within it, as for a user."""
    idle = timing.peak_memory()
    started = time.perf_counter()
    compile_index(index, (open_ontology(Path(file)) for file in files))
    seconds = time.perf_counter() - started
    with OntologyIndex(index) as opened:
        concepts = sum(holding.concepts for holding in opened.holdings)
        names = sum(holding.names for holding in opened.holdings)
    return {
        "seconds": seconds,
        "idle": idle,
        "peak": timing.peak_memory(),
        "concepts": concepts,
        "names": names,
        "bytes": index.stat().st_size,
    }


def _ask(index: Path) -> dict[str, float]:
    """The best of a few turns: opening the file, and all ids of the first labels."""
    terms = [term for term in load_terms().values() if term.ids()][:LABELS]
    seconds = []
    for _ in range(_TURNS):
        started = time.perf_counter()
        with OntologyIndex(index) as opened:
            ancestors = sum(
                len(opened.ancestors(identity))
                for term in terms
                for identity in term.ids().values()
            )
        seconds.append(time.perf_counter() - started)
    return {"seconds": min(seconds), "labels": len(terms), "ancestors": ancestors}


if __name__ == "__main__":
    main()

"""Measure all but the speed of images, and write ``docs/reference/performance-in-detail.md``.

Usage: ``make bench-detail``, or ``python benchmarks/run.py [--rounds N] [--quick]``. The first run
makes data and an environment in a cache folder outside the repository (``MEDRCUBE_BENCH`` names
another one). Of all runs the best counts. The speed of images is in ``speed_table.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate_large
import machine
import numpy as np
import ours
from data import cache_folder, make_data
from environments import ENVIRONMENTS, EnvironmentFailedError, python_of, versions_of
from results import CASES, Timing

from medrcube.build.pixels.case_image import open_case_images
from medrcube.files.atomic import write_text
from medrcube.templates import render_card

_HERE = Path(__file__).resolve().parent
_PAGE = _HERE.parent / "docs" / "reference" / "performance-in-detail.md"
_BATCH = 6
_ENCODERS = "encoders"
_MEMORY = Path("/dev/shm")  # noqa: S108
_ITEMS = 2000
FILMS = (5_000, 20_000)
"""Of the builds that show what a film costs beside its pixels."""
_SHARED = Path(os.environ.get("MEDRCUBE_SHARED") or _HERE.parents[1] / "shared")
_ONTOLOGIES = _SHARED / "ontologies_raw"
_HPO = "hp_2025-01-16.obo.gz"
_ICD11 = "SimpleTabulation-ICD-11-MMS-en_2024-01.zip"
INDEXES = {
    "HPO, RadLex as a table, ICD-11": (_HPO, "radlex_2017-01_term_rid_parent.csv.gz", _ICD11),
    "HPO, RadLex as RDF/XML, ICD-11": (_HPO, "radlex_2017_converted.owl.gz", _ICD11),
}
"""Real ontology files, as the tests take them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each pair")
    parser.add_argument("--cases", type=int, default=100_000, help="of the build of nothing")
    parser.add_argument("--quick", action="store_true", help="leave out the build of nothing")
    parser.add_argument("--page", type=Path, default=_PAGE, help="where the page goes")
    parser.add_argument("--upstream", type=Path, help="folder scripts of the published evaluator")
    parser.add_argument("--inspect", type=Path, help="Python with inspect_ai, openai, Pillow, tqdm")
    args = parser.parse_args()
    bench = Bench(cache_folder(), args.rounds)
    _say("data and environments")
    make_data(bench.folder / "data")
    pythons = bench.environments()
    conditions = machine.describe()
    values = {
        "conditions": conditions,
        "versions": {name: versions_of(pythons[name], ENVIRONMENTS[name]) for name in pythons},
        "own_versions": versions_of(Path(sys.executable), machine.OWN),
        "missing": sorted({_ENCODERS} - set(pythons)),
        "slices": bench.single_slices(),
        "memory": bench.memory(),
        "films": bench.films(),
        "scaling": bench.scaling(),
        "ontologies": bench.ontologies(),
        "review": bench.review(),
        "evaluation": bench.evaluation(args.upstream, args.inspect),
        "large": bench.large_evaluation(quick=args.quick),
        "distractors": bench.distractors(10_000),
        "encoders": bench.encoders(pythons[_ENCODERS]) if pythons else [],
        "scale": [] if args.quick else bench.scale(),
        "rebuild": None if args.quick else bench.rebuild(args.cases),
    }
    page = render_card("performance_in_detail.md", **values)
    write_text(args.page, page)
    sys.stdout.write(page)


class Bench:
    """Runs the scripts of this folder, each in a process of its own."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self.folder = folder
        self._rounds = rounds

    def environments(self) -> dict[str, Path]:
        """The Python of every environment that could be made."""
        pythons = {}
        for name in (_ENCODERS,):
            try:
                pythons[name] = python_of(name, self.folder / "env")
            except EnvironmentFailedError as error:
                _say(f"left out: {name}: {error}")
        return pythons

    def single_slices(self) -> list[tuple[str, Timing, Timing]]:
        """One slice and all slices of each form of the CT."""
        rows = []
        for name, place in (
            ("`.nii`", "ct/plain/ct.nii"),
            ("`.nii.gz`", "ct/ct.nii.gz"),
            ("DICOM series", "ct/series"),
        ):
            _say(f"one slice of {name}")
            middle, whole = (
                _best([self._ours(place, "--times", 3, "--slices", slices)])
                for slices in ("middle", "all")
            )
            rows.append((name, middle, whole))
        return rows

    def memory(self) -> list[Mapping[str, Any]]:
        """What a worker takes for one case."""
        rows = []
        for name, place, marks, volume in CASES:
            _say(f"memory: {name}")
            files = (self.folder / "data" / file for file in (place, marks) if file)
            data, *drawing_files = files
            script = (Path(sys.executable), _HERE / "memory.py")
            rows.append(
                {
                    "name": name,
                    "volume": volume,
                    **self._json(*script, data, self._out, *drawing_files),
                }
            )
        return rows

    def films(self) -> list[Mapping[str, Any]]:
        """One film as those of MIMIC-CXR in each of its two editions."""
        rows = []
        for name, place in (("DICOM, 16 bits a pixel", "film.dcm"), ("JPEG", "film.jpg")):
            _say(f"film: {name}")
            film = self.folder / "data" / "chest" / place
            script = (Path(sys.executable), _HERE / "steps.py")
            rows.append({"name": name, **self._json(*script, film, self._out, 20 * self._rounds)})
        return rows

    def scaling(self) -> list[Mapping[str, Any]]:
        """Six cases by one worker and by two, and what two separate processes get done."""
        rows = []
        for name, place, batch in (
            ("CT `.nii.gz`", "ct/ct.nii.gz", _BATCH),
            ("JPEG 2000 mammogram", "mammogram/mammogram.dcm", 4 * _BATCH),
        ):
            _say(f"workers: {name}")
            runs = range(self._rounds)
            options = ("--batch", batch)
            alone = _best([self._ours(place, *options) for _ in runs])
            two = _best([self._ours(place, *options, "--workers", 2) for _ in runs])
            both = min(self._twice(place, batch) for _ in runs)
            script = (Path(sys.executable), _HERE / "start.py", self.folder / "data" / place)
            start = min(self._json(*script, self._out) for _ in runs)
            rows.append(
                {
                    "name": name,
                    "cases": batch,
                    "one": alone.seconds,
                    "two": two.seconds,
                    "gain": alone.seconds / two.seconds,
                    "start": start,
                    "long": alone.seconds / (two.seconds - start),
                    "limit": 2 * alone.seconds / both,
                }
            )
        return rows

    def encoders(self, python: Path) -> list[Mapping[str, Any]]:
        """Every encoder on one CT slice and one radiograph."""
        _say("encoders")
        files = []
        for place, index in (("ct/ct.nii.gz", 100), ("radiograph12/radiograph.dcm", 0)):
            picture = open_case_images(ours.job_of(self.folder / "data" / place))[0].picture(index)
            files.append(self.folder / f"{Path(place).name}.npy")
            np.save(files[-1], picture)
        rows: list[Mapping[str, Any]] = self._json(python, _HERE / "encoders.py", *files, 7)
        return rows

    def ontologies(self) -> list[Mapping[str, Any]]:
        """The index of real ontologies, with each form of RadLex; nothing where they are not."""
        if not all((_ONTOLOGIES / name).exists() for names in INDEXES.values() for name in names):
            _say(f"left out: the index, for {_ONTOLOGIES} lacks files that it is measured with")
            return []
        rows = []
        for name, files in INDEXES.items():
            _say(f"index: {name}")
            index = self.folder / "ontologies.sqlite3"
            script = (Path(sys.executable), _HERE / "ontologies.py")
            paths = [_ONTOLOGIES / file for file in files]
            runs = [self._json(*script, "compile", index, *paths) for _ in range(self._rounds)]
            answers = self._json(*script, "ask", index)
            rows.append(
                {
                    **min(runs, key=lambda row: row["seconds"]),
                    "name": name,
                    "ask": answers["seconds"],
                    "labels": answers["labels"],
                    "ancestors": answers["ancestors"],
                }
            )
        return rows

    def scale(self) -> list[Mapping[str, Any]]:
        """What a film costs a build beside its pixels; two sizes tell it from what is fixed."""
        rows = []
        for engine in ("local", "dask"):
            few, many = (self._scaled(films, engine) for films in FILMS)
            films = many["films"] - few["films"]
            each = {
                name: (many[name] - few[name]) / films
                for name in ("seconds", "render", "nothing", "peak", "cache", "tables")
            }
            rows.append({**many, "each": each})
        return rows

    def _scaled(self, films: int, engine: str) -> dict[str, Any]:
        _say(f"a build of {films} films, {engine}")
        script = (Path(sys.executable), _HERE / "scale.py")
        result = self._json(*script, self.folder / "scale", films, engine)
        return {**result, "render": result["stages"]["render"]}

    def distractors(self, sets: int) -> list[Mapping[str, Any]]:
        """Wrong options by our tables alone and, where it was made, with the index."""
        index = self.folder / "ontologies.sqlite3"
        script = (Path(sys.executable), _HERE / "distractors.py", sets)
        rows = []
        for files in ((), (index,)) if index.exists() else ((),):
            _say(f"distractors{' with the index' if files else ''}")
            runs = [self._json(*script, *files) for _ in range(self._rounds)]
            rows.append(
                {
                    "sets": sets,
                    "index": bool(files),
                    **{name: min(run[name] for run in runs) for name in ("choose", "compose")},
                    "items": runs[0]["items"],
                }
            )
        return rows

    def review(self) -> list[Mapping[str, Any]]:
        """The review queue on the disk and in memory, with one process and with eight."""
        rows = []
        places = {"the disk": self.folder / "review"}
        if os.access(_MEMORY, os.W_OK):
            places["memory"] = _MEMORY / f"medrcube-bench-{os.getpid()}"
        for name, folder in places.items():
            for processes in (1, 8):
                _say(f"review queue in {name}, {processes} processes")
                folder.mkdir(exist_ok=True)
                script = (Path(sys.executable), _HERE / "review.py")
                row = self._json(*script, folder, _ITEMS, processes)
                shutil.rmtree(folder)
                rows.append({**row, "name": name, "rate": row["reviews"] / row["seconds"]})
        return rows

    def evaluation(self, upstream: Path | None, python: Path | None) -> Mapping[str, Any]:
        """An endpoint on this machine that is asked by ours and, where they are named, by peers."""
        _say("evaluation of a model")
        options = [("--upstream", upstream), ("--inspect", python)]
        result: Mapping[str, Any] = self._json(
            *(Path(sys.executable), _HERE / "evaluate.py", self.folder / "evaluate"),
            *("--rounds", self._rounds),
            *(part for option in options if option[1] for part in option),
        )
        return result

    def large_evaluation(self, *, quick: bool) -> str:
        """The section on releases of many items; of few ones where it has to be quick."""
        _say("evaluation of many items")
        sizes = evaluate_large.SIZES[:1] if quick else evaluate_large.SIZES
        conditions = machine.describe()
        script = (Path(sys.executable), _HERE / "evaluate_large.py", self.folder / "large")
        return evaluate_large.section(self._json(*script, "--sizes", *sizes), conditions)

    def rebuild(self, cases: int) -> Mapping[str, Any]:
        """A build with nothing to do."""
        _say(f"a build of {cases} cases; the first one in a cache folder takes minutes")
        folder = self.folder / f"rebuild-{cases}"
        result: Mapping[str, Any] = self._json(
            Path(sys.executable), _HERE / "rebuild.py", folder, cases, 1
        )
        return result

    @property
    def _out(self) -> Path:
        return self.folder / "out"

    def _ours(self, place: str, *options: object) -> Any:
        data = self.folder / "data" / place
        return self._json(Path(sys.executable), _HERE / "ours.py", data, self._out, *options)

    def _twice(self, place: str, batch: int) -> float:
        """Seconds of the slower of two processes that do the same work at the same time."""
        data = self.folder / "data" / place
        running = [
            subprocess.Popen(  # noqa: S603
                _command(
                    *(Path(sys.executable), _HERE / "ours.py"),
                    *(data, self.folder / f"out{number}", "--batch", batch),
                ),
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(2)
        ]
        replies = [process.communicate()[0] for process in running]
        return max(json.loads(reply)["seconds"][0] for reply in replies)

    def _json(self, *command: object) -> Any:
        process = subprocess.run(_command(*command), capture_output=True, text=True, check=False)  # noqa: S603
        if process.returncode:
            sys.exit(f"{Path(str(command[1])).name} failed:\n{process.stderr or process.stdout}")
        return json.loads(process.stdout.splitlines()[-1])


def _best(runs: list[Mapping[str, Any]], memory: Mapping[str, Any] | None = None) -> Timing:
    seconds = [value for run in runs for value in run["seconds"]]
    once = memory or runs[0]
    return Timing(
        seconds=min(seconds),
        runs=len(seconds),
        pictures=runs[0]["pictures"],
        bytes=runs[0]["bytes"],
        idle=once["idle"],
        peak=once["peak"],
    )


def _command(*parts: object) -> list[str]:
    return [str(part) for part in parts]


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()

"""Cost of the images of a release as loose files, in tar shards, and in Parquet.

Usage: ``python release_images.py [--sizes N ...] [--side PIXELS]``. Every form holds the same noise
images; each step runs in a process of its own, with its files in the disk cache, and is measured in
processor time (user and system). ``one image`` is the mean of 500 reads in random order. The last
columns are a least-squares line through the sizes, and the growth of the peak of memory at the
largest. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import timing

from medrcube.build.pixels.png_encoder import encode_png
from medrcube.build.release.editions.private_edition import write_sums
from medrcube.build.release.image_writers import FolderWriter, ImageWriter, ShardWriter
from medrcube.build.validation.validate import validate
from medrcube.console.progress import Reporter
from medrcube.evaluate.dataset import load_benchmark
from medrcube.release_format.images import open_images

SIZES = (2_000, 10_000, 50_000)
SHARD = 64_000_000
"""Bytes of a shard or a Parquet file, so that the largest size has several."""
DIFFERENT = 200
"""Images that are encoded; their names repeat."""
READS = 500
ROWS = 100
"""Rows of a row group, as in the Parquet files of a release."""
NO_PROOFS = {"proof-missing", "recipe-missing", "item-facts", "edition-differs", "sets"}
"""What a tree without recipes and items.csv lacks."""
WRITERS: Mapping[str, ImageWriter] = {"loose files": FolderWriter(), "tar": ShardWriter(SHARD)}
SCHEMA = pa.schema([("image", pa.string()), ("sha256", pa.string()), ("bytes", pa.binary())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--side", type=int, default=64, help="of each image, in pixels")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        form, step, size, folder = arguments.one
        print(*STEPS[step](form, Path(folder), int(size)))
        return
    sizes = " | ".join(f"{size:,}" for size in arguments.sizes)
    print(f"| Step | Form | {sizes} | Line through them | Memory, MB |")
    print("|---|---|" + "---|" * (len(arguments.sizes) + 2))
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as scratch:
            _make_pool(Path(scratch) / "pool", arguments.side)
            for form in (*WRITERS, "Parquet"):
                for step in STEPS if form in WRITERS else BARE:
                    rows.setdefault((step, form), []).append(_run(form, step, size, scratch))
                rows.setdefault(("on disk, MB", form), []).append((_on_disk(scratch, form), 0))
                shutil.rmtree(Path(scratch) / form)
    for (step, form), values in sorted(
        rows.items(), key=lambda row: [*STEPS, row[0][0]].index(row[0][0])
    ):
        seconds = [value for value, _ in values]
        cells = " | ".join(f"{value:.3g}" for value in seconds)
        memory = f"{values[-1][1] / 1e6:.0f}" if step in STEPS else ""
        print(f"| {step} | {form} | {cells} | {_line(arguments.sizes, seconds)} | {memory} |")


def _line(sizes: Sequence[int], values: Sequence[float]) -> str:
    slope, start = np.polyfit(np.array(sizes) / 1000, values, 1)
    return f"{start:.2g} {'+' if slope >= 0 else '-'} {abs(slope):.2g} per thousand"


def _make_pool(pool: Path, side: int) -> None:
    pool.mkdir()
    noise = np.random.default_rng(1)
    for number in range(DIFFERENT):
        pixels = noise.integers(0, 256, (side, side), np.uint8)
        (pool / f"{number}.png").write_bytes(encode_png(pixels))


def _run(form: str, step: str, size: int, scratch: str) -> tuple[float, float]:
    command = [sys.executable, __file__, "--one", form, step, str(size), scratch]
    process = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if process.returncode:
        sys.exit(f"{form}, {step}, {size} failed:\n{process.stderr[-3000:]}")
    seconds, memory = process.stdout.split()
    return float(seconds), float(memory)


def _on_disk(scratch: str, form: str) -> float:
    paths = (path for path in (Path(scratch) / form).rglob("*") if path.is_file())
    return sum(path.stat().st_blocks for path in paths) * 512 / 1e6


def _measured(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of processor time, and bytes by which the peak of memory grew."""
    idle, started = timing.peak_memory(), time.process_time()
    work()
    return time.process_time() - started, timing.peak_memory() - idle


def _names(count: int) -> list[str]:
    return [f"NOISE/pictures/image-{number:08d}.png" for number in range(count)]


def _write(form: str, scratch: Path, count: int) -> tuple[float, float]:
    pool = sorted((scratch / "pool").iterdir())
    files = {name: pool[number % DIFFERENT] for number, name in enumerate(_names(count))}
    tree = scratch / form
    (tree / "NOISE").mkdir(parents=True)
    if form == "Parquet":
        return _measured(lambda: _write_parquet(tree, files))
    _write_table(tree, count)

    def work() -> None:
        WRITERS[form].write(tree, files, set(), private=False)
        write_sums(tree, {})

    return _measured(work)


def _write_table(tree: Path, count: int) -> None:
    """One item an image, so that the tree is a release."""
    rows = [
        {
            "id": f"noise-{number:08d}",
            "dataset": "NOISE",
            "image_path": name.partition("/")[2],
            "question": "What does this image show?",
            "option_A": "Noise",
            "option_B": "A signal",
            "gt_answer": "Noise",
            "correct_index": 0,
            "task": "Disease Diagnosis",
            "modality": "X-ray",
            "parts": "Chest",
            "original_task": "classification",
            "restricted": False,
        }
        for number, name in enumerate(_names(count))
    ]
    (tree / "NOISE/test.json").write_text(json.dumps(rows))


def _write_parquet(tree: Path, files: Mapping[str, Path]) -> None:
    remaining = iter(files.items())
    number = 0
    while first := next(remaining, None):
        with pq.ParquetWriter(tree / f"{number:05d}.parquet", SCHEMA, use_dictionary=False) as file:
            size = 0
            group = [first, *islice(remaining, ROWS - 1)]
            while group:
                rows = [_row(image, path.read_bytes()) for image, path in group]
                file.write_table(pa.Table.from_pylist(rows, SCHEMA))
                size += sum(len(row["bytes"]) for row in rows)
                group = list(islice(remaining, ROWS)) if size < SHARD else []
        number += 1


def _row(image: str, data: bytes) -> dict[str, object]:
    return {"image": image, "sha256": hashlib.sha256(data).hexdigest(), "bytes": data}


def _read_all(form: str, scratch: Path, count: int) -> tuple[float, float]:
    def work() -> None:
        for data, digest in _all(form, scratch / form, count):
            if hashlib.sha256(data).hexdigest() != digest:
                sys.exit("an image has other bytes")

    return _measured(work)


def _all(form: str, tree: Path, count: int) -> Iterator[tuple[bytes, str]]:
    if form == "Parquet":
        for path in sorted(tree.glob("*.parquet")):
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(ROWS):
                    for row in batch.to_pylist():
                        yield row["bytes"], row["sha256"]
        return
    images = open_images(tree)
    for name in _names(count):
        data = images.read(name)
        yield data, hashlib.sha256(data).hexdigest()


def _read_one(form: str, scratch: Path, count: int) -> tuple[float, float]:
    names = random.Random(1).sample(_names(count), READS)  # noqa: S311 - a drawing of lots
    read_image = (
        _parquet_reader(scratch / form) if form == "Parquet" else open_images(scratch / form).read
    )
    read_image(names[0])
    seconds, memory = _measured(lambda: [len(read_image(name)) for name in names])
    return seconds / READS * 1000, memory


def _parquet_reader(tree: Path) -> Callable[[str], bytes]:
    files = [pq.ParquetFile(path) for path in sorted(tree.glob("*.parquet"))]
    places: dict[str, tuple[int, int, int]] = {}
    for number, file in enumerate(files):
        for group in range(file.num_row_groups):
            names = file.read_row_group(group, ["image"])["image"].to_pylist()
            places |= {name: (number, group, row) for row, name in enumerate(names)}

    def read(name: str) -> bytes:
        number, group, row = places[name]
        data: bytes = files[number].read_row_group(group, ["bytes"])["bytes"][row].as_py()
        return data

    return read


def _validate(form: str, scratch: Path, _: int) -> tuple[float, float]:
    def work() -> None:
        validation = validate(scratch / form, Reporter(quiet=True), workers=1)
        damage = {fault.check for fault in validation.findings} - NO_PROOFS
        if damage or validation.without_picture:
            sys.exit(f"not valid: {damage}")

    return _measured(work)


def _load(form: str, scratch: Path, _: int) -> tuple[float, float]:
    return _measured(lambda: load_benchmark(scratch / form).image_digests)


BARE = ("write with digests, s", "read and digest all, s", "one image, ms")
STEPS: Mapping[str, Callable[[str, Path, int], tuple[float, float]]] = {
    BARE[0]: _write,
    BARE[1]: _read_all,
    BARE[2]: _read_one,
    "validate, s": _validate,
    "load and digest for evaluate, s": _load,
}

if __name__ == "__main__":
    main()

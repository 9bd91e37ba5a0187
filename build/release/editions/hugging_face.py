"""Hugging Face edition: Parquet files with images, and the front matter of the card.

``data/<source>/test-00000.parquet`` holds the rows of ``test.json``, the licence, the columns of
``items.csv``, set and role of items of complete sets, and the bytes of the image, which are missing
if the image is restricted, also in a private tree, so that both editions have the same file.
``open/<source>/test-00000.parquet`` holds the rows of ``open.json`` likewise, with form, chance,
and ``ask`` and ``truth`` as JSON, in place of options and key: a separate configuration.
``hugging_face_private`` makes the edition with all images.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from medrcube.build.release.metadata.release_facts import ReleaseFacts
from medrcube.build.stages.samples import Sample
from medrcube.release_format.format_version import CURRENT, ReleaseFormat
from medrcube.release_format.images import ReleaseImages, open_images
from medrcube.release_format.item_facts import ItemFacts, read_item_facts
from medrcube.release_format.item_sets import read_item_sets
from medrcube.release_format.tree import OPEN_TABLE, TABLE

__all__ = [
    "AS_JSON",
    "DATA",
    "OPEN_DATA",
    "OPEN_SCHEMA",
    "ROWS",
    "SCHEMA",
    "TOLD",
    "front_matter",
    "parquet_json",
    "schema_of",
    "write_parquet_edition",
]

DATA = "data"
OPEN_DATA = "open"
"""Folder of the second configuration, items of other answer forms; the first holds items of the
published form.
"""

SHARD = 500_000_000
"""Bytes of images after which a new file begins, as the hub recommends."""

ROWS = 100
"""Rows of a row group, which a reader loads into memory at once."""

TOLD = ("visible", "block", "unit", "fact")
"""Columns of ``items.csv`` in addition to the published fields."""

AS_JSON = ("ask", "truth")
"""Columns of ``open`` whose values are JSON, since their keys differ by answer form."""

LICENCES = (
    "cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0",
    "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-3.0",
    "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "odbl", "odc-by",
    "pddl", "mit", "apache-2.0",
)  # fmt: skip
"""Licences of data that the hub knows by name
(https://huggingface.co/docs/hub/repositories-licenses).
"""

_TEXT = {"dtype": "string", "_type": "Value"}
_FEATURES: Mapping[str, Mapping[str, str]] = {
    "id": _TEXT,
    "dataset": _TEXT,
    "image": {"_type": "Image"},
    "image_path": _TEXT,
    "question": _TEXT,
    **{f"option_{letter}": _TEXT for letter in "ABCD"},
    "gt_answer": _TEXT,
    "correct_index": {"dtype": "int64", "_type": "Value"},
    **dict.fromkeys(("task", "modality", "parts", "original_task"), _TEXT),
    "restricted": {"dtype": "bool", "_type": "Value"},
    "licence": _TEXT,
    "pixel_sha256": _TEXT,
    "visible": _TEXT,
    "block": _TEXT,
    "unit": _TEXT,
    "fact": _TEXT,
    "set": _TEXT,
    "role": _TEXT,
}
_OPEN_FEATURES: Mapping[str, Mapping[str, str]] = {
    **{name: _FEATURES[name] for name in ("id", "dataset", "image", "image_path", "question")},
    **dict.fromkeys(("form", "ask", "truth"), _TEXT),
    "chance": {"dtype": "float64", "_type": "Value"},
    **{name: _FEATURES[name] for name in ("task", "modality", "parts", "original_task")},
    **{name: _FEATURES[name] for name in ("restricted", "licence", "pixel_sha256", "visible")},
    **{name: _FEATURES[name] for name in ("unit", "fact", "set", "role")},
}
_ARROW = {
    "string": pa.string(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
}
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def _schema(features: Mapping[str, Mapping[str, str]]) -> pa.Schema:
    """Return the columns, with the feature types that ``datasets`` needs."""
    return pa.schema(
        [
            (name, _ARROW[feature["dtype"]] if "dtype" in feature else _IMAGE)
            for name, feature in features.items()
        ],
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )


SCHEMA = _schema(_FEATURES)
"""Columns of the files in ``data``."""

OPEN_SCHEMA = _schema(_OPEN_FEATURES)
"""Columns of the files in ``open``."""


def schema_of(release_format: ReleaseFormat) -> pa.Schema:
    """Return the columns of the files in ``data`` for a release format; newer ones are appended."""
    later = set(CURRENT.edition_columns) - set(release_format.edition_columns)
    return pa.schema([column for column in SCHEMA if column.name not in later])


_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def write_parquet_edition(tree: Path, places: Mapping[str, Sample]) -> None:
    """Write the Parquet files of all ``test.json`` and ``open.json`` of a new tree.

    Args:
        tree: the release, with the redistributable images as loose files or in shards.
        places: path in the release -> image.
    """
    images = open_images(tree)
    item_facts = read_item_facts(tree)
    set_of = {
        (member.dataset, member.id): (item_set.id, member.role)
        for item_set in read_item_sets(tree)
        for member in item_set.members
        if item_set.is_complete
    }
    for name, part, schema in ((TABLE, DATA, SCHEMA), (OPEN_TABLE, OPEN_DATA, OPEN_SCHEMA)):
        for table in sorted(tree.glob(f"*/{name}")):
            source = table.parent.name
            folder = tree / part / source.lower()
            folder.mkdir(parents=True)
            records = json.loads(table.read_text(encoding="utf-8"))
            rows = _rows(
                images, source, records, places, schema, item_facts=item_facts, set_of=set_of
            )
            for number, shard in groupby(rows, key=itemgetter(0)):
                _write(folder / f"test-{number:05d}.parquet", (row for _, row in shard), schema)


def front_matter(facts: ReleaseFacts, *, with_open: bool = False) -> str:
    """Return the YAML block at the head of the dataset card, as the hub reads it.

    Values are JSON strings, which every YAML parser accepts. ``with_open`` states whether a source
    has items of other answer forms.
    """
    licence_names = [name.lower() for name in facts.licences]
    licence = licence_names[0] if len(licence_names) == 1 and licence_names[0] in LICENCES else None
    size = next((name for bound, name in _SIZES if facts.items < bound), "1M<n<10M")
    lines = [
        f"pretty_name: {_quoted(f'Medical-imaging benchmark made with medrcube, {facts.name}')}",
        "language:\n- en",
        *([f"license: {licence}"] if licence else _OTHER),
        "task_categories:\n- visual-question-answering\n- multiple-choice",
        f"size_categories:\n- {size}",
        "tags:\n- medical\n- radiology\n- benchmark\n- croissant",
        "configs:",
        "- config_name: default\n  default: true",
        _files(f"{DATA}/*/*.parquet"),
    ]
    for source in facts.sources:
        name = source.card.id
        lines += [f"- config_name: {_quoted(name)}", _files(f"{DATA}/{name}/*.parquet")]
    if with_open:
        lines += [f"- config_name: {OPEN_DATA}", _files(f"{OPEN_DATA}/*/*.parquet")]
    return "\n".join(("---", *lines, "---")) + "\n"


_OTHER = ("license: other", "license_name: per-source", "license_link: LICENSE.md")


def _files(path: str) -> str:
    return f"  data_files:\n  - split: test\n    path: {_quoted(path)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _rows(
    images: ReleaseImages,
    folder: str,
    records: Iterable[Mapping[str, Any]],
    places: Mapping[str, Sample],
    schema: pa.Schema,
    *,
    item_facts: Mapping[tuple[str, str], ItemFacts],
    set_of: Mapping[tuple[str, str], tuple[str, str]],
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the file number and the row of each item."""
    size = 0
    for record in records:
        place = f"{folder}/{record['image_path']}"
        sample = places[place]
        image = None
        if sample.redistribute and not record["restricted"]:
            image = {"bytes": images.read(place), "path": Path(place).name}
        row = {**dict.fromkeys(schema.names), **record, "image": image}
        row |= {name: parquet_json(row[name]) for name in AS_JSON if name in row}
        row |= {"licence": sample.licence, "pixel_sha256": sample.pixel_sha256}
        if (facts := item_facts.get((folder, record["id"]))) is not None:
            row |= {name: getattr(facts, name) for name in TOLD if name in row}
        row["set"], row["role"] = set_of.get((folder, record["id"]), ("", ""))
        yield size // SHARD, row
        size += len(image["bytes"]) if image else 0


def _write(path: Path, rows: Iterator[dict[str, Any]], schema: pa.Schema) -> None:
    # Images repeat too rarely for a dictionary, which would be built in memory.
    words = [name for name in schema.names if name != "image"]
    with pq.ParquetWriter(path, schema, use_dictionary=words) as writer:
        while group := list(islice(rows, ROWS)):
            writer.write_table(pa.Table.from_pylist(group, schema))


def parquet_json(value: object) -> str:
    """Return a value of a column that holds JSON."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)

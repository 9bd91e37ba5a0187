"""``croissant.json``: the release in the Croissant 1.1 format (http://mlcommons.org/croissant/1.1).

It describes both editions: each file by its digest, images as file sets. Its record sets are the
items (with their images, from the Parquet edition), the redistributable images, and the sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from medrcube.build.release.editions.hugging_face import DATA, OPEN_DATA, OPEN_SCHEMA, SCHEMA
from medrcube.build.release.metadata.citations import MEDRCUBE
from medrcube.build.release.metadata.croissant_rai import rai_properties
from medrcube.build.release.metadata.release_facts import (
    ReleasedSource,
    ReleaseFacts,
    semantic_version,
)
from medrcube.files.atomic import sha256_of, write_text
from medrcube.release_format.shards import FOLDER, Shard, read_shards
from medrcube.release_format.tree import OPEN_TABLE, PICTURES
from medrcube.sources._formats.licences import is_spdx_id

__all__ = ["CONTEXT", "write_croissant"]

CROISSANT = "croissant.json"

CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{
        term: f"cr:{term}"
        for term in (
            "annotation", "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty",
            "excludes", "extract", "field", "fileObject", "fileProperty", "fileSet", "format",
            "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5", "parentField",
            "path", "readLines", "recordSet", "references", "regex", "repeated", "replace",
            "samplingRate", "sdVersion", "separator", "source", "subField", "transform",
            "unArchive", "value",
        )
    },
}  # fmt: skip
"""Context of appendix 1 of the specification, with the terms of its earlier editions, and PROV."""

_MEDIA = {
    ".bib": "application/x-bibtex",
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
    ".md": "text/markdown",
    ".parquet": "application/x-parquet",
    ".tar": "application/x-tar",
}
_TYPES = {
    "int64": "sc:Integer",
    "double": "sc:Float",
    "bool": "sc:Boolean",
    "string": "sc:Text",
}
_TOLD = {
    "id": "unique within its dataset",
    "dataset": "folder of the source in the release",
    "image": "the image; null if it may not be redistributed",
    "image_path": "path of the image, relative to the folder of its source",
    "correct_index": "index of the key among the options, from 0",
    "gt_answer": "text of the key",
    "restricted": "whether the image may not be redistributed",
    "licence": "licence of the image",
    "visible": "whether a reader of the image could know the answer: yes, partly or no",
    "block": "block of items that share their options; empty for none",
    "unit": "keyed id of the patient, or of the case if none is named: the unit of resampling",
    "fact": "id of the question about an image, equal in every edition of a workspace",
    "set": "complete set of items that is scored together; empty for none",
    "role": "what distinguishes the item from the others of its set",
    "pixel_sha256": "identity of the image: hash of its shape, type and pixels",
    "form": "form of the answer: number, point, box, order, pair or option",
    "ask": "further information given with the question, as JSON; its keys differ by form",
    "truth": "right answer and pass criterion, as JSON; its keys differ by form",
    "chance": "probability that the best answer given without the image passes",
}


def write_croissant(tree: Path, facts: ReleaseFacts) -> None:
    """Write the description of a tree that has all other files except the checksum lists."""
    with_open = any(tree.glob(f"*/{OPEN_TABLE}"))
    shards = read_shards(tree)
    document = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [
            "http://mlcommons.org/croissant/1.1",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        **_about(facts),
        **rai_properties(facts),
        "distribution": [*_files(tree, shards), *_sets(facts, shards, with_open=with_open)],
        "recordSet": _record_sets(facts, with_open=with_open),
    }
    write_text(tree / CROISSANT, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _about(facts: ReleaseFacts) -> dict[str, Any]:
    synthetic = "Synthetic images, generated by medrcube in the layout of the datasets named. "
    return {
        "name": f"medrcube release {facts.name}",
        "description": (
            f"{synthetic if facts.is_synthetic else ''}{facts.counts}, of "
            f"{len(facts.sources)} datasets. The multiple-choice questions are in the form "
            "of the MedRCube benchmark. "
            f"{facts.withheld} of the images may not be redistributed; the public edition contains "
            f"the recipe of each. {facts.unreviewed} of {facts.items} items have not been accepted "
            "by a clinician."
        ),
        # A release does not know its URL; its page is the card in the same folder.
        "url": "README.md",
        "version": semantic_version(facts.name),
        "datePublished": facts.day.isoformat(),
        "inLanguage": "en",
        "keywords": ["medical imaging", "visual question answering", "benchmark", *facts.tasks],
        "license": [_licence(name) for name in facts.licences],
        "creator": {
            "@type": "sc:Organization",
            "name": f"The maker of this release, with medrcube {facts.software}",
        },
        "citeAs": " ".join(MEDRCUBE.split()),
        "prov:wasDerivedFrom": [
            {
                "@id": f"urn:medrcube:source:{source.card.id}",
                "@type": "prov:Entity",
                "prov:label": f"{source.card.title} ({source.card.release})",
                "prov:atLocation": source.card.homepage,
            }
            for source in facts.sources
        ],
        "prov:wasGeneratedBy": {
            "@id": f"urn:medrcube:software:medrcube-{facts.software}",
            "@type": "prov:Activity",
            "prov:label": f"medrcube build and medrcube release, version {facts.software}",
        },
    }


def _licence(name: str) -> str | dict[str, str]:
    if is_spdx_id(name):
        return f"https://spdx.org/licenses/{name}"
    return {
        "@type": "sc:CreativeWork",
        "name": name,
        "description": "No SPDX licence: LICENSE.md states what is known about the rights.",
        "url": "LICENSE.md",
    }


def _files(tree: Path, shards: Sequence[Shard]) -> list[dict[str, Any]]:
    """Return the files of both editions except loose images."""
    private = {tree / shard.name for shard in shards if shard.restricted}
    paths = (
        path
        for path in tree.rglob("*")
        if path.is_file() and path.suffix in _MEDIA and path not in private
    )
    return [
        {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "encodingFormat": _MEDIA[Path(name).suffix],
            "sha256": sha256_of(tree / name),
        }
        for name in sorted(path.relative_to(tree).as_posix() for path in paths)
    ]


def _sets(facts: ReleaseFacts, shards: Sequence[Shard], *, with_open: bool) -> list[dict[str, Any]]:
    media, which = "application/x-parquet", "All items with options of the published tasks."
    sets = [_set("items-parquet", f"{DATA}/*/*.parquet", media, which if with_open else _ALL)]
    if with_open:
        which = "All items of other tasks and answer forms."
        sets.append(_set("open-parquet", f"{OPEN_DATA}/*/*.parquet", media, which))
    if facts.withheld < len(facts.places):
        description = (
            f"Images of all sources; {facts.withheld} of {len(facts.places)} are withheld."
        )
        sets.append(_images("pictures-png", "*", description, shards))
    for source in facts.sources:
        description = (
            f"Images of {source.card.title}: {source.pictures}, of which {source.withheld} are "
            f"not in the public edition; licence {', '.join(source.licences)}."
        )
        name = source.card.id
        own = [shard for shard in shards if shard.dataset == name.upper()]
        sets.append(_images(f"{name}-png", name.upper(), description, own))
    return sets


def _images(name: str, folder: str, description: str, shards: Sequence[Shard]) -> dict[str, Any]:
    """Return the set of the images in the folders of sources, or in their shards."""
    public = [shard.name for shard in shards if not shard.restricted]
    if public:
        file_set = _set(name, f"{PICTURES}/**/*.png", "image/png", description)
        return {**file_set, "containedIn": [{"@id": shard} for shard in public]}
    if shards:  # in the private edition alone, so that no file of both can be named
        return _set(name, f"{folder}/{FOLDER}/restricted-*.tar", _MEDIA[".tar"], description)
    return _set(name, f"{folder}/{PICTURES}/**/*.png", "image/png", description)


_ALL = "All items."


def _set(name: str, includes: str, media: str, description: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        "description": description,
        "encodingFormat": media,
        "includes": includes,
    }


def _record_sets(facts: ReleaseFacts, *, with_open: bool) -> list[dict[str, Any]]:
    sets = [_items("items", SCHEMA, "The questions, with their images.")]
    if with_open:
        what = "The questions of other tasks and answer forms, with their images."
        sets.append(_items("open", OPEN_SCHEMA, what))
    sets.append(_sources(facts.sources))
    if facts.withheld < len(facts.places):
        sets.insert(1, _pictures())
    return sets


def _items(name: str, schema: pa.Schema, what: str) -> dict[str, Any]:
    fields = []
    for column in schema:
        extract: dict[str, Any] = {"extract": {"column": column.name}}
        if column.name == "image":
            extract["transform"] = {"jsonPath": "bytes"}
        kind = _TYPES.get(str(column.type), "sc:ImageObject")
        source = {"fileSet": {"@id": f"{name}-parquet"}, **extract}
        fields.append(_field(name, column.name, kind, source))
    key = [{"@id": f"{name}/dataset"}, {"@id": f"{name}/id"}]
    return _record_set(name, what, key, fields)


def _pictures() -> dict[str, Any]:
    def source(what: str) -> dict[str, Any]:
        return {"fileSet": {"@id": "pictures-png"}, "extract": {"fileProperty": what}}

    fields = [
        _field("pictures", "path", "sc:Text", source("fullpath")),
        _field("pictures", "content", "sc:ImageObject", source("content")),
    ]
    key = {"@id": "pictures/path"}
    return _record_set("pictures", "The images in the tree.", key, fields)


def _sources(sources: Iterable[ReleasedSource]) -> dict[str, Any]:
    names = ("dataset", "title", "homepage", "edition", "access", "licence", "passed_on")
    counts = ("items", "pictures", "withheld")
    fields = [_field("sources", name, "sc:Text") for name in names]
    fields += [_field("sources", name, "sc:Integer") for name in counts]
    records = []
    for source in sources:
        card = source.card
        texts = (card.id.upper(), card.title, card.homepage, card.release, card.access.mode)
        values = (*texts, ", ".join(source.licences), source.passed_on)
        numbers = (source.items, source.pictures, source.withheld)
        columns = zip((*names, *counts), (*values, *numbers), strict=True)
        records.append({f"sources/{name}": value for name, value in columns})
    description = "The datasets that the images come from."
    return {
        **_record_set("sources", description, {"@id": "sources/dataset"}, fields),
        "data": records,
    }


def _record_set(
    name: str, description: str, key: Mapping[str, str] | list[dict[str, str]], fields: list[Any]
) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": description,
        "key": key,
        "field": fields,
    }


def _field(
    records: str, name: str, kind: str, source: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    description = _TOLD.get(name)
    return {
        "@type": "cr:Field",
        "@id": f"{records}/{name}",
        "name": name,
        **({"description": description} if description else {}),
        "dataType": kind,
        **({"source": source} if source else {}),
    }

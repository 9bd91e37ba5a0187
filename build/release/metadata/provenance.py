"""``prov.jsonl``: W3C PROV record of each image.

Each line is a PROV-JSON document (https://www.w3.org/submissions/prov-json/) about one image: the
entity, the activity that generated it, the raw files used with their digests, and the software and
recipe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medrcube.build.reconstruction.recipes import RECIPES
from medrcube.build.release.metadata.release_facts import ReleaseFacts

__all__ = ["provenance", "write_provenance"]

PROVENANCE = "prov.jsonl"

PREFIXES: Mapping[str, str] = {
    "medrcube": "urn:medrcube:term:",
    "picture": "urn:medrcube:picture:",
    "raw": "urn:medrcube:sha256:",
    "recipe": "urn:medrcube:recipe:",
    "render": "urn:medrcube:render:",
    "software": "urn:medrcube:software:",
    "source": "urn:medrcube:source:",
}
"""Namespace prefixes of ids; those of raw files are their SHA-256, equal in every release."""


def write_provenance(tree: Path, facts: ReleaseFacts) -> None:
    """Write the provenance of each image that has a recipe, in the order of the recipes."""
    editions = {source.card.id: source.card.release for source in facts.sources}
    with (
        (tree / RECIPES).open(encoding="utf-8") as recipes,
        (tree / PROVENANCE).open("w", encoding="utf-8") as file,
    ):
        for line in recipes:
            recipe = json.loads(line)
            document = provenance(recipe, editions[recipe["source"]], facts.software)
            file.write(json.dumps(document, ensure_ascii=False, sort_keys=True) + "\n")


def provenance(recipe: Mapping[str, Any], edition: str, software: str) -> dict[str, Any]:
    """Return the PROV-JSON document of one image.

    Args:
        recipe: its row of ``recipes.jsonl``.
        edition: edition of the source that the card describes.
        software: version of medrcube.
    """
    sample, source = recipe["sample"], f"source:{recipe['source']}"
    picture, activity, plan = f"picture:{sample}", f"render:{sample}", f"recipe:{sample}"
    agent = f"software:medrcube-{software}"
    image_files = {name for image in recipe["images"] for name in image["files"]}
    raw: dict[str, list[str]] = {}
    for name, digest in recipe["files"].items():
        raw.setdefault(f"raw:{digest}", []).append(name)
    pixels = [entity for entity, names in raw.items() if image_files.intersection(names)]
    return {
        "prefix": dict(PREFIXES),
        "entity": {
            picture: {
                "prov:type": _name("medrcube:Picture"),
                "prov:atLocation": recipe["image"],
                "medrcube:pixel-sha256": recipe["pixel_sha256"],
                "medrcube:restricted": recipe["restricted"],
            },
            plan: {"prov:type": _name("prov:Plan"), "prov:atLocation": RECIPES},
            source: {"prov:type": _name("prov:Collection"), "prov:label": edition},
            **{entity: {"prov:label": names} for entity, names in raw.items()},
        },
        "activity": {activity: {"prov:type": _name("medrcube:Render"), **_settings(recipe)}},
        "agent": {
            agent: {
                "prov:type": _name("prov:SoftwareAgent"),
                "prov:label": f"medrcube {software}",
            }
        },
        "wasGeneratedBy": {"_:generated": {"prov:entity": picture, "prov:activity": activity}},
        "wasAssociatedWith": {
            "_:associated": {"prov:activity": activity, "prov:agent": agent, "prov:plan": plan}
        },
        "used": {
            f"_:used{number}": {
                "prov:activity": activity,
                "prov:entity": entity,
                "prov:role": "image" if entity in pixels else "beside the image",
            }
            for number, entity in enumerate(raw)
        },
        "wasDerivedFrom": {
            f"_:derived{number}": {
                "prov:generatedEntity": picture,
                "prov:usedEntity": entity,
                "prov:activity": activity,
            }
            for number, entity in enumerate(pixels)
        },
        "hadMember": {
            f"_:member{number}": {"prov:collection": source, "prov:entity": entity}
            for number, entity in enumerate(raw)
        },
    }


def _name(name: str) -> dict[str, str]:
    return {"$": name, "type": "prov:QUALIFIED_NAME"}


def _settings(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rendering settings of a recipe."""
    origin = recipe["origin"]
    return {
        "medrcube:card": origin["card"],
        "medrcube:adapter": origin["adapter"],
        "medrcube:layout": origin["layout"],
        "medrcube:epoch": recipe["epoch"],
        "medrcube:encoder": recipe["encoder"],
        "medrcube:mark": recipe["mark"]["kind"],
    }

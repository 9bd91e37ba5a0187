"""``prov.jsonl``, read by an implementation of the W3C's PROV data model."""

import hashlib
import json

import pytest
from prov.constants import PROV_TYPE
from prov.model import (
    ProvActivity,
    ProvAgent,
    ProvAssociation,
    ProvDerivation,
    ProvDocument,
    ProvEntity,
    ProvGeneration,
    ProvUsage,
)

from medrcube import __version__
from medrcube.build.release.metadata.provenance import provenance

RECIPE = {
    "sample": "0123456789abcdef", "source": "toy", "image": "TOY/pictures/a.png", "epoch": 1,
    "pixel_sha256": "a" * 64, "restricted": True, "encoder": "e", "mark": {"kind": "clean"},
    "origin": {"card": "c", "adapter": "d", "layout": "flat"},
    "images": [{"files": ["a.png"], "frame": 0}],
    "files": {"a.png": "b" * 64, "m (1).png": "c" * 64, "copy of m.png": "c" * 64},
}  # fmt: skip


@pytest.fixture
def documents(editions):
    """Each picture's document, by the picture's path in the release."""
    lines = (editions[0] / "prov.jsonl").read_text(encoding="utf-8").splitlines()
    entries = {}
    for line in lines:
        document = ProvDocument.deserialize(content=line, format="json")
        (picture,) = (
            record for record in document.get_records(ProvEntity) if _place(record).endswith(".png")
        )
        assert _place(picture) not in entries
        entries[_place(picture)] = document
    return entries


def test_every_picture_has_one_also_those_that_are_left_out(documents, editions):
    private = editions[1]
    pictures = private.glob("*/pictures/*/*.png")
    assert set(documents) == {path.relative_to(private).as_posix() for path in pictures}


def test_a_picture_is_generated_from_raw_files_with_their_digests(documents, editions):
    raw = editions[0].parent
    for place, document in documents.items():
        source = place.split("/")[0].lower()
        (generation,) = document.get_records(ProvGeneration)
        (activity,) = document.get_records(ProvActivity)
        assert _ends(generation)[1] == activity.identifier
        usages = document.get_records(ProvUsage)
        assert usages
        for usage in usages:
            user, entity = _ends(usage)
            assert user == activity.identifier
            (used,) = document.get_record(entity)
            for name in used.get_attribute("prov:label"):
                data = (raw / source / name).read_bytes()
                assert entity.localpart == hashlib.sha256(data).hexdigest()


def test_it_is_derived_from_the_files_that_it_shows(documents, editions):
    recipes = (editions[0] / "recipes.jsonl").read_text().splitlines()
    for recipe in map(json.loads, recipes):
        files = {recipe["files"][name] for image in recipe["images"] for name in image["files"]}
        derived = documents[recipe["image"]].get_records(ProvDerivation)
        assert {_ends(entry)[1].localpart for entry in derived} == files


def test_the_software_did_it_by_the_recipe(documents):
    for document in documents.values():
        (association,) = document.get_records(ProvAssociation)
        (agent,) = document.get_records(ProvAgent)
        _, doer, plan = _ends(association)
        assert doer == agent.identifier
        assert str(next(iter(agent.get_attribute(PROV_TYPE)))) == "prov:SoftwareAgent"
        assert next(iter(agent.get_attribute("prov:label"))) == f"medrcube {__version__}"
        (recipe,) = document.get_record(plan)
        assert _place(recipe) == "recipes.jsonl"


def test_two_files_of_equal_content_are_one_entity_with_two_names():
    document = provenance(RECIPE, "1.0", "0")
    assert document["entity"]["raw:" + "c" * 64] == {"prov:label": ["m (1).png", "copy of m.png"]}
    used = {entry["prov:entity"]: entry["prov:role"] for entry in document["used"].values()}
    assert used == {"raw:" + "b" * 64: "image", "raw:" + "c" * 64: "beside the image"}


def test_it_holds_no_time_so_that_it_is_the_same_whenever_it_is_made(editions):
    text = (editions[0] / "prov.jsonl").read_text()
    assert "Time" not in text
    assert text == (editions[1] / "prov.jsonl").read_text()


def _place(entity):
    return next(iter(entity.get_attribute("prov:atLocation")), "")


def _ends(relation):
    return [value for _, value in relation.formal_attributes if value is not None]

"""The Parquet edition and the head of the card, as the Hugging Face tools read them."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import DatasetCard
from PIL import Image

from medrcube.build.reconstruction.safe_writes import stored_hash
from medrcube.build.release.editions import hugging_face
from medrcube.build.release.write import release
from medrcube.release_format.images import FolderImages
from medrcube.release_format.item_facts import read_item_facts
from medrcube.release_format.item_sets import read_item_sets
from medrcube.sources._framework.contract import load_source

LOAD = """
import hashlib, json, sys
import numpy as np
from datasets import load_dataset
rows = load_dataset(sys.argv[1], *sys.argv[2:], split="test")
for row in rows:
    image = row["image"]
    row["image"] = None if image is None else [image.mode, np.asarray(image).tolist()]
    print(json.dumps(row))
"""


@pytest.fixture
def load(tmp_path):
    """Rows that ``datasets`` reads, offline, as a stranger would: ``load(tree, "busi")``."""

    def run(tree, *config):
        places = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "HOME": str(tmp_path)}
        process = subprocess.run(
            [sys.executable, "-c", LOAD, str(tree), *config], env={**os.environ, **places},
            capture_output=True, check=True, text=True,
        )  # fmt: skip
        return [json.loads(line) for line in process.stdout.splitlines()]

    return run


@pytest.mark.thorough
def test_datasets_gives_every_item_and_the_pictures_that_may_be_passed_on(load, editions):
    tree, _ = editions
    expected = {
        (row["dataset"], row["id"]): row
        for table in tree.glob("*/test.json")
        for row in json.loads(table.read_text())
    }
    facts = read_item_facts(tree)
    places = {
        (member.dataset, member.id): (item_set.id, member.role)
        for item_set in read_item_sets(tree)
        for member in item_set.members
    }
    assert places
    rows = load(tree)
    assert {(row["dataset"], row["id"]) for row in rows} == set(expected)
    assert len(rows) == len(expected)
    for row in rows:
        record = expected[row["dataset"], row["id"]]
        image = row.pop("image")
        assert (image is None) == record["restricted"]
        if image is not None:
            with Image.open(tree / row["dataset"] / row["image_path"]) as picture:
                assert image == [picture.mode, _pixels(picture)]
        del row["licence"], row["pixel_sha256"]
        fact = facts[row["dataset"], row["id"]]
        for name in ("visible", "block", "unit", "fact"):
            assert row.pop(name) == getattr(fact, name)
        place = places.get((row["dataset"], row["id"]), ("", ""))
        assert (row.pop("set"), row.pop("role")) == place
        assert {name: value for name, value in row.items() if value is not None} == record


@pytest.mark.thorough
def test_each_source_can_be_loaded_alone(load, editions):
    for source in ("busi", "vindr-cxr"):
        rows = load(editions[0], source)
        assert {row["dataset"] for row in rows} == {source.upper()}


@pytest.mark.parametrize("edition", [0, 1], ids=["public", "private"])
def test_no_parquet_file_holds_a_picture_that_may_not_be_passed_on(editions, edition):
    private = editions[1]
    restricted_images = {path.read_bytes() for path in private.glob("VINDR-CXR/pictures/*/*.png")}
    assert restricted_images
    rows = _rows(editions[edition])
    assert {row["restricted"] for row in rows} == {False, True}
    for row in rows:
        assert (row["image"] is None) == row["restricted"]
    pictures = {row["image"]["bytes"] for row in rows if row["image"]}
    assert pictures
    assert not pictures & restricted_images
    for path in (editions[edition] / "data").rglob("*.parquet"):
        data = path.read_bytes()
        assert not any(picture[-200:-20] in data for picture in restricted_images)


def test_a_private_tree_of_single_barred_pictures_has_the_same_parquet_files(edition):
    public, private = edition("public"), edition("private", private=True)
    rows = _rows(private)
    assert {row["restricted"] for row in rows} == {False, True}
    assert all((row["image"] is None) == row["restricted"] for row in rows)
    assert _digests(public / "data") == _digests(private / "data")


def test_an_embedded_picture_is_the_file_and_has_the_pixels_that_are_told(editions):
    tree, _ = editions
    for row in _rows(tree):
        if row["image"]:
            place = tree / row["dataset"] / row["image_path"]
            assert row["image"]["bytes"] == place.read_bytes()
            assert row["image"]["path"] == place.name
            assert row["pixel_sha256"] == stored_hash(
                FolderImages(tree), place.relative_to(tree).as_posix()
            )


def test_the_schema_tells_datasets_what_each_column_is(editions):
    for path in (editions[0] / "data").rglob("*.parquet"):
        schema = pq.read_schema(path)
        features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
        assert list(features) == schema.names
        assert [name for name, feature in features.items() if feature["_type"] == "Image"] == [
            "image"
        ]
        assert {feature["dtype"] for feature in features.values() if "dtype" in feature} == {
            str(field.type) for field in schema if field.name != "image"
        }


def test_no_field_of_an_item_is_lost(editions):
    for table in editions[0].glob("*/test.json"):
        for row in json.loads(table.read_text()):
            assert set(row) <= set(hugging_face.SCHEMA.names)


def test_many_pictures_are_spread_over_files_in_order(editions, released, monkeypatch):
    whole = [row["id"] for row in _rows(released("whole"))]
    monkeypatch.setattr(hugging_face, "SHARD", 10_000)
    monkeypatch.setattr(hugging_face, "ROWS", 2)
    tree = released("parts")
    files = sorted((tree / "data" / "toy").iterdir())
    assert len(files) > 2
    assert [row["id"] for row in _rows(tree)] == whole


def test_the_new_folders_are_no_datasets_for_the_published_evaluator(editions):
    for tree in editions:
        tables = {path.parent.name for path in tree.rglob("test.json")}
        assert tables == {"BUSI", "VINDR-CXR"}


def test_the_hub_reads_the_head_of_the_card(editions):
    card = DatasetCard.load(editions[0] / "README.md")
    data = card.data
    assert data.license == "other"
    assert data.license_link == "LICENSE.md"
    assert (editions[0] / data.license_link).is_file()
    assert data.task_categories == ["visual-question-answering", "multiple-choice"]
    assert data.size_categories == ["n<1K"]
    configs = {entry["config_name"]: entry for entry in data.to_dict()["configs"]}
    assert set(configs) == {"default", "busi", "vindr-cxr", "open"}
    for config in configs.values():
        (files,) = config["data_files"]
        assert files["split"] == "test"
        assert list(editions[0].glob(files["path"]))
    assert card.text.lstrip().startswith("# v1.2")


def test_one_licence_that_the_hub_knows_is_told_by_its_name(edition):
    text = (edition() / "README.md").read_text()
    assert yaml.safe_load(text.split("---\n")[1])["license"] == "cc-by-4.0"


def test_a_name_of_a_release_cannot_break_the_head_of_the_card(released, toy, workspace, tmp_path):
    released("first")
    name = 'a: "b" \\ é\n---'
    sources = {"toy": load_source(toy.folder)}
    out = release(workspace, sources, tmp_path / "odd", name=name, allow_unreviewed=True).out
    head = yaml.safe_load((out / "README.md").read_text().split("\n---\n")[0])
    assert head["pretty_name"].endswith(name)


def _rows(tree):
    files = sorted((tree / "data").rglob("*.parquet"))
    return [row for path in files for row in pq.ParquetFile(path).read().to_pylist()]


def _pixels(picture):
    return np.asarray(picture).tolist()


def _digests(folder):
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }

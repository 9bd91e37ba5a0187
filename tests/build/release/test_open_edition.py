"""The open configuration of a release: Parquet files, head of the card and Croissant."""

import json
import shutil

import mlcroissant
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from medrcube.build.questions.item_table import items_from_frame
from medrcube.build.release.editions.hugging_face import (
    OPEN_SCHEMA,
    front_matter,
    write_parquet_edition,
)
from medrcube.build.release.editions.hugging_face_private import write_private_hub
from medrcube.build.release.metadata.croissant import write_croissant
from medrcube.build.release.metadata.release_facts import collect_facts, day_of
from medrcube.build.release.picture_places import picture_place
from medrcube.build.stages.samples import samples_from_frame

ASK, TRUTH = {"unit": "mm"}, {"value": 23.0, "low": 19.0, "high": 27.0}


@pytest.fixture
def editions(barred, pressed, tmp_path):
    """Public and private tree with an open row for every image, and what is told of them."""
    root = pressed(barred)
    trees = {name: shutil.copytree(root / name, tmp_path / name) for name in ("public", "private")}
    rows = json.loads((trees["public"] / "TOY/test.json").read_text())
    samples = samples_from_frame(pd.read_parquet(root / "workspace/samples.parquet"))
    places = {picture_place(sample): sample for sample in samples}
    for tree in trees.values():
        (tree / "TOY/open.json").write_text(json.dumps([_open(row) for row in rows]))
        shutil.rmtree(tree / "data")
        shutil.rmtree(tree / "open", ignore_errors=True)
        write_parquet_edition(tree, places)
    items = items_from_frame(pd.read_parquet(root / "workspace/items.parquet"))
    audit = json.loads((trees["public"] / "audit.json").read_text())
    day = day_of("x", root / "workspace/items.parquet")
    facts = collect_facts({"toy": barred}, items, places, audit, name="x", day=day)
    return trees, facts


def _open(row):
    columns = ("dataset", "image_path", "task", "modality", "parts", "original_task", "restricted")
    return {
        "id": f"{row['id'][::-1]}",
        **{name: row[name] for name in columns},
        "question": "How long is the lesion?",
        "form": "number",
        "ask": ASK,
        "truth": TRUTH,
        "chance": 0.25,
    }


def test_open_items_have_documented_columns_and_no_restricted_image(editions):
    trees, _ = editions
    file = trees["private"] / "open/toy/test-00000.parquet"
    assert file.read_bytes() == (trees["public"] / "open/toy/test-00000.parquet").read_bytes()
    assert pq.read_schema(file).equals(OPEN_SCHEMA, check_metadata=True)
    rows = pq.read_table(file).to_pylist()
    assert {row["restricted"] for row in rows} == {True, False}
    for row in rows:
        assert (row["image"] is None) is row["restricted"]
        assert (row["form"], row["chance"]) == ("number", 0.25)
        assert (json.loads(row["ask"]), json.loads(row["truth"])) == (ASK, TRUTH)
        assert row["licence"]


def test_open_items_are_in_no_file_of_the_other_configuration(editions):
    trees, facts = editions
    head = yaml.safe_load(front_matter(facts, with_open=True).strip("-\n"))
    paths = {config["config_name"]: config["data_files"][0]["path"] for config in head["configs"]}
    assert (paths["default"], paths["open"]) == ("data/*/*.parquet", "open/*/*.parquet")
    assert "open:" not in front_matter(facts)
    ids = {row["id"] for row in json.loads((trees["public"] / "TOY/test.json").read_text())}
    assert (
        set(pq.read_table(trees["public"] / "data/toy/test-00000.parquet")["id"].to_pylist()) == ids
    )


# rdflib warns of what mlcroissant calls, not of what we write.
@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index")
def test_croissant_has_a_record_for_each_open_item(editions, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    trees, facts = editions
    write_croissant(trees["public"], facts)
    dataset = mlcroissant.Dataset(jsonld=str(trees["public"] / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert (issues.errors, issues.warnings) == (set(), set())
    records = list(dataset.records("open"))
    assert len(records) == len(json.loads((trees["public"] / "TOY/open.json").read_text()))
    assert json.loads(records[0]["open/truth"]) == TRUTH
    (records_of_open,) = (
        record_set for record_set in dataset.metadata.record_sets if record_set.id == "open"
    )
    described = {field.id: field.description for field in records_of_open.fields}
    assert all(described[f"open/{name}"] for name in ("form", "ask", "truth", "chance"))


def test_the_edition_is_held_against_open_json(editions, faults):
    tree = editions[0]["public"]
    assert "edition-differs" not in faults(tree)
    rows = json.loads((tree / "TOY/open.json").read_text())
    rows[0]["truth"] = {**TRUTH, "high": 29.0}
    (tree / "TOY/open.json").write_text(json.dumps(rows))
    assert "edition-differs" in faults(tree)


def test_a_restricted_image_in_an_open_file_of_a_public_tree_is_an_error(
    editions, faults, tmp_path
):
    trees, _ = editions
    write_private_hub(trees["private"], tmp_path / "hub")
    filled = tmp_path / "hub/open/toy/test-00000.parquet"
    assert all(row["image"] is not None for row in pq.read_table(filled).to_pylist())
    assert "restricted-picture" not in faults(trees["public"])
    shutil.copy(filled, trees["public"] / "open/toy/test-00000.parquet")
    assert "restricted-picture" in faults(trees["public"])

"""``croissant.json``, checked by the reference implementation of the format."""

import hashlib
import json

import mlcroissant
import numpy as np
import pytest
from mlcroissant._src.core.rdf import make_context
from mlcroissant._src.core.versions import VERSION_PATTERN_REGEX
from PIL import Image

from medrcube.build.release.metadata.croissant import CONTEXT
from medrcube.build.release.metadata.release_facts import semantic_version

# rdflib and pandas warn of what mlcroissant calls, not of what we write.
pytestmark = [
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),
]


@pytest.fixture
def read(tmp_path, monkeypatch):
    """The Croissant dataset of a tree; its cache is not the user's."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return lambda tree: mlcroissant.Dataset(jsonld=str(tree / "croissant.json"))


@pytest.mark.parametrize("edition", [0, 1], ids=["public", "private"])
def test_it_is_croissant_1_1_without_errors_or_warnings(read, editions, edition):
    metadata = read(editions[edition]).metadata
    assert metadata.ctx.issues.errors == set()
    assert metadata.ctx.issues.warnings == set()
    assert metadata.ctx.conforms_to.value == "http://mlcommons.org/croissant/1.1"
    assert "http://mlcommons.org/croissant/RAI/1.0" in metadata.conforms_to


@pytest.mark.parametrize("edition", [0, 1], ids=["public", "private"])
def test_the_first_record_of_every_record_set_can_be_read(read, editions, edition):
    dataset = read(editions[edition])
    names = [records.id for records in dataset.metadata.record_sets]
    assert names == ["items", "pictures", "open", "sources"]
    for name in names:
        record = next(iter(dataset.records(name)))
        assert set(record) == {
            field.id
            for record_set in dataset.metadata.record_sets
            if record_set.id == name
            for field in record_set.fields
        }


def test_every_item_is_a_record_with_its_picture_or_none(read, editions):
    tree = editions[0]
    records = list(read(tree).records("items"))
    rows = [row for table in tree.glob("*/test.json") for row in json.loads(table.read_text())]
    assert {entry["items/id"].decode() for entry in records} == {row["id"] for row in rows}
    assert len(records) == len(rows)
    for record in records:
        image = record["items/image"]
        assert (image is None) == record["items/restricted"]
        if image is not None:
            path = tree / record["items/dataset"].decode() / record["items/image_path"].decode()
            with Image.open(path) as picture:
                assert np.array_equal(np.asarray(image), np.asarray(picture))


def test_the_pictures_and_the_sources_are_those_of_the_tree(read, editions):
    tree = editions[0]
    dataset = read(tree)
    paths = {record["pictures/path"].decode() for record in dataset.records("pictures")}
    assert paths == {path.relative_to(tree).as_posix() for path in tree.glob("*/pictures/*/*.png")}
    sources = {record["sources/dataset"]: record for record in dataset.records("sources")}
    assert set(sources) == {"BUSI", "VINDR-CXR"}
    assert sources["BUSI"]["sources/withheld"] == 0
    restricted_source = sources["VINDR-CXR"]
    assert restricted_source["sources/pictures"] == restricted_source["sources/withheld"] > 0
    assert restricted_source["sources/passed_on"] == "no"
    assert restricted_source["sources/pictures"] == len(
        list(editions[1].glob("VINDR-CXR/pictures/*/*.png"))
    )


def test_a_release_of_which_nothing_may_be_passed_on_can_be_read(read, release_all):
    tree = release_all(barred=True)
    dataset = read(tree)
    assert not list(tree.rglob("*.png"))
    assert dataset.metadata.ctx.issues.warnings == set()
    assert [record_set.id for record_set in dataset.metadata.record_sets] == [
        "items",
        "open",
        "sources",
    ]
    assert next(iter(dataset.records("items")))["items/image"] is None


def test_every_file_is_named_by_its_digest_and_every_picture_is_in_a_set(read, editions):
    tree = editions[0]
    metadata = read(tree).metadata
    named = {file_object.content_url: file_object.sha256 for file_object in metadata.file_objects}
    for name, digest in named.items():
        assert hashlib.sha256((tree / name).read_bytes()).hexdigest() == digest
    lines = (tree / "SHA256SUMS").read_text().splitlines()
    listed = {line.split("  ", 1)[1] for line in lines if not line.endswith(".png")}
    assert listed - {"croissant.json", "SHA256SUMS.restricted"} == set(named)
    assert {file_set.id for file_set in metadata.file_sets} >= {"busi-png", "vindr-cxr-png"}


def test_what_responsible_ai_asks_is_told(read, editions):
    metadata = read(editions[0]).metadata
    assert "BUSI" in metadata.data_collection_raw_data
    assert any("clinician" in text for text in metadata.data_limitations)
    assert any(text.startswith("busi: ") for text in metadata.data_biases)
    assert any("Not for clinical use" in text for text in metadata.data_use_cases)
    assert metadata.personal_sensitive_information
    assert metadata.annotations_per_item
    croissant = json.loads((editions[0] / "croissant.json").read_text())
    words = {
        "dataCollection", "dataCollectionType", "dataCollectionMissingData",
        "dataCollectionRawData", "dataPreprocessingProtocol", "dataImputationProtocol",
        "dataManipulationProtocol", "dataReleaseMaintenancePlan", "personalSensitiveInformation",
        "dataAnnotationProtocol", "dataAnnotationAnalysis", "annotationsPerItem",
        "annotatorDemographics", "machineAnnotationTools", "dataSocialImpact", "dataBiases",
        "dataLimitations", "dataUseCases",
    }  # fmt: skip
    assert {name[4:] for name in croissant if name.startswith("rai:")} == words


def test_every_licence_and_source_is_named(editions):
    croissant = json.loads((editions[0] / "croissant.json").read_text())
    names = [entry if isinstance(entry, str) else entry["name"] for entry in croissant["license"]]
    assert names == ["LicenseRef-BUSI", "LicenseRef-PhysioNet-Credentialed"]
    derived = {entry["@id"] for entry in croissant["prov:wasDerivedFrom"]}
    assert derived == {"urn:medrcube:source:busi", "urn:medrcube:source:vindr-cxr"}


def test_an_spdx_licence_is_a_link(edition):
    croissant = json.loads((edition() / "croissant.json").read_text())
    assert croissant["license"] == ["https://spdx.org/licenses/CC-BY-4.0"]


def test_the_context_holds_every_word_of_the_reference_implementation(read, editions):
    standard = make_context(read(editions[0]).metadata.ctx)
    ours = dict(CONTEXT)
    assert {key: ours.get(key) for key in standard} == standard


@pytest.mark.parametrize("name", ["v1", "x", "0", "2026-11-30", "1.2.3-rc.01", "ü", "v1.0.0-"])
def test_the_version_is_one_that_croissant_takes(name):
    assert VERSION_PATTERN_REGEX.match(semantic_version(name))

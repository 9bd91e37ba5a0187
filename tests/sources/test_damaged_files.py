"""A file that cannot be read costs what rests on it, and never the source."""

import pytest

from medrcube.facts import BAD_ROW, Case
from medrcube.sources.registry import find_sources

SOURCES = find_sources()


def scan(source_id, layout, root):
    return {entry.key: entry for entry in SOURCES[source_id].scan(root, layout)}


@pytest.mark.parametrize(
    ("source_id", "layout", "name"),
    [
        ("chexpert", "localize", "gt_segmentations_test.json"),
        ("mosmed-covid19", "nifti", "dataset_registry.xlsx"),
        ("figshare-brain-tumor", "original", "cvind.mat"),
        ("ixi", "archives", "IXI.xls"),
        ("covid19-radiography", "with-masks", "Normal.metadata.xlsx"),
        ("rsna-pneumonia", "kaggle", "pneumonia-challenge-dataset-mappings_2018.json"),
    ],
)
@pytest.mark.parametrize("content", [b"\xff\xfe no file of its kind", b"PK\x03\x04 cut"])
def test_a_table_that_a_copy_could_lack_is_named_and_the_others_are_used(
    tmp_path, source_id, layout, name, content
):
    SOURCES[source_id].build_fixture(tmp_path, layout)
    (table,) = tmp_path.rglob(name)
    table.write_bytes(content)
    source_scan = scan(source_id, layout, tmp_path)
    entry = source_scan[table.name]
    assert entry.code == BAD_ROW
    assert str(tmp_path) not in entry.reason
    assert [value for value in source_scan.values() if isinstance(value, Case)]


@pytest.mark.parametrize(
    ("source_id", "layout", "glob"),
    [
        ("inbreast", "release", "**/AllXML/*.xml"),
        ("isles2022", "zenodo", "**/*_dwi.json"),
        ("acdc", "database", "**/patient021/Info.cfg"),
        ("camus", "nifti", "**/patient0001/Info_4CH.cfg"),
    ],
)
@pytest.mark.parametrize("content", [b"\xff\xfe\xff", b"nothing"])
def test_a_file_of_one_case_sets_that_case_aside(tmp_path, source_id, layout, glob, content):
    SOURCES[source_id].build_fixture(tmp_path, layout)
    before = scan(source_id, layout, tmp_path)
    path = min(tmp_path.glob(glob))
    path.write_bytes(content)
    after = scan(source_id, layout, tmp_path)
    aside = [entry for entry in after.values() if not isinstance(entry, Case)]
    assert [entry for entry in aside if path.name in entry.reason]
    keys = [key for key, value in after.items() if isinstance(value, Case)]
    assert keys
    assert len(keys) < sum(isinstance(entry, Case) for entry in before.values())

"""docs/reference/file-formats.md against the files of a build, a release and its runs."""

import csv
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from medrcube.build.release.editions.hugging_face import OPEN_SCHEMA
from medrcube.build.validation.contracts.rules import CONTRACT_RULES
from medrcube.console.progress import Reporter
from medrcube.demo import run_demo
from medrcube.forms import OPEN_FORMS, OPTION
from medrcube.release_format.open_rows import OPEN_FIELDS
from medrcube.release_format.vocabulary_file import AXES

PAGE = Path(__file__).parents[2] / "docs/reference/file-formats.md"
TYPES = {
    "text": {"string", "large_string"},
    "list of text": {"list<element: string>"},
    "int64": {"int64"},
    "float64": {"double"},
    "bool": {"bool"},
    "struct of bytes and path": {"struct<bytes: binary, path: string>"},
}
JUDGED = [("version", "int64"), ("reviewers", "int64")]
"""Columns that a release adds to the tables of items."""
OF_DEMO = {".medrcube-demo", "report.html"}
"""What only a demo writes into a workspace."""
SECTION = re.compile(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
SECTIONS = dict(SECTION.findall(PAGE.read_text("utf-8")))


def tables(section):
    """Rows of every table of a section, without their heads."""
    parts = [part for part in SECTIONS[section].split("\n\n") if part.lstrip().startswith("|")]
    return [
        [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in part.strip().splitlines()[2:]
        ]
        for part in parts
    ]


def rows(section):
    """Cells of the first table of a section, without its head; none where there is no table."""
    return next(iter(tables(section)), [])


def names(section):
    """Names in code: of the first column of a table, or of the text where there is no table."""
    table = rows(section)
    text = " ".join(row[0] for row in table) if table else SECTIONS[section]
    return set(re.findall(r"`([^`]+)`", re.sub(r"\([^)]*\)", "", text)))


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    root = tmp_path_factory.mktemp("formats") / "demo"
    run_demo(root, Reporter(quiet=True), only=["lidc-idri"], workers=1)
    return root


@pytest.mark.parametrize(
    ("section", "path", "more"),
    [
        ("`samples.parquet`", "samples.parquet", []),
        ("`geometry.parquet`", "geometry.parquet", []),
        ("`items.parquet`", "items.parquet", []),
        ("`items.parquet`", "release/items.parquet", JUDGED),
        ("`open_items.parquet`", "open_items.parquet", []),
        ("`open_items.parquet`", "release/open_items.parquet", JUDGED),
        ("`quarantine.parquet`", "quarantine.parquet", []),
        ("`data/SOURCE/test-NNNNN.parquet`", "release/data/lidc-idri/test-00000.parquet", []),
    ],
    ids=lambda value: value if isinstance(value, str) and "/" in value else "",
)
def test_columns_of_a_parquet_table_are_those_on_the_page(demo, section, path, more):
    columns = [(column.name, str(column.type)) for column in pq.read_schema(demo / path)]
    stated = [(name.strip("`"), kind) for name, kind, _ in rows(section)]
    assert [name for name, _ in columns] == [name for name, _ in [*stated, *more]]
    for (name, kind), (_, page) in zip(columns, [*stated, *more], strict=True):
        assert kind in TYPES[page], name


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ("`absent.csv`", "absent.csv"),
        ("`items.csv`", "release/items.csv"),
        ("`licences.csv`", "release/licences.csv"),
    ],
)
def test_columns_of_a_csv_table_are_those_on_the_page(demo, section, path):
    with (demo / path).open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == [row[0].strip("`") for row in rows(section)]


@pytest.mark.parametrize(
    ("section", "path", "absent"),
    [
        ("`recipes.jsonl`", "recipes.jsonl", set()),
        ("`recipes.jsonl`", "release/recipes.jsonl", set()),
        ("`raw_files.jsonl`", "raw_files.jsonl", set()),
        ("`viewer/copies.jsonl`", "viewer/copies.jsonl", set()),
        ("`test.json`", "release/LIDC-IDRI/test.json", {"option_C", "option_D"}),
        ("`open.json`", "release/LIDC-IDRI/open.json", set()),
        ("`sets.json`", "release/sets.json", set()),
        ("`contracts.json`", "release/contracts.json", set()),
        ("`manifest.json`", "runs/random/manifest.json", set()),
        ("`items.jsonl` of a run", "runs/random/items.jsonl", set()),
        ("`asked.jsonl`", "runs/random/asked.jsonl", set()),
        ("`attempts.jsonl`", "runs/random/attempts.jsonl", set()),
        ("`outcomes.jsonl`", "runs/random/outcomes.jsonl", set()),
        ("`results.jsonl`", "runs/random/results.jsonl", set()),
        ("`dataset-lock.jsonl`", "runs/random/dataset-lock.jsonl", set()),
    ],
)
def test_keys_of_a_json_file_are_those_on_the_page(demo, section, path, absent):
    text = (demo / path).read_text("utf-8")
    if path.endswith(".jsonl"):
        records = [json.loads(line) for line in text.splitlines()]
    else:
        records = json.loads(text)
        records = records if isinstance(records, list) else [records]
    keys = {key for record in records for key in record}
    keys -= {"restricted"} if section == "`recipes.jsonl`" else set()
    assert keys <= names(section)
    assert names(section) - keys <= absent


@pytest.mark.parametrize("path", [".", "release", "runs/random"])
def test_every_file_that_is_written_is_on_the_page(demo, path):
    page = PAGE.read_text("utf-8")
    files = {file.name for file in (demo / path).iterdir() if file.is_file()} - OF_DEMO
    assert [name for name in files if f"`{name}`" not in page] == []


def test_columns_of_the_open_configuration_are_those_on_the_page():
    assert names("`open/SOURCE/test-NNNNN.parquet`") == set(OPEN_SCHEMA.names)


def in_code(text):
    return re.findall(r"`(\w+)`", text)


def test_every_field_of_an_open_item_and_every_form_is_on_the_page():
    fields, forms = tables("`open.json`")
    assert sorted(name for row in fields for name in in_code(row[0])) == sorted(OPEN_FIELDS)
    assert {name for row in forms for name in in_code(row[0])} == {OPTION, *OPEN_FORMS}
    (stated,) = (row[1] for row in fields if row[0] == "`form`")
    assert set(in_code(stated)) == {OPTION, *OPEN_FORMS}


def test_what_is_asked_and_right_of_a_form_is_on_the_page(demo):
    _, forms = tables("`open.json`")
    stated = {in_code(row[0])[0]: [set(in_code(cell)) for cell in row[1:]] for row in forms}
    rows_of_demo = json.loads((demo / "release/LIDC-IDRI/open.json").read_text("utf-8"))
    assert {row["form"] for row in rows_of_demo} >= {"option", "point", "box"}
    for row in rows_of_demo:
        ask, truth = stated[row["form"]]
        assert set(row["ask"]) <= ask
        assert set(row["truth"]) <= truth


def test_every_axis_of_a_vocabulary_is_on_the_page():
    assert [in_code(row[0]) for row in rows("`vocabulary.json`")] == [[name] for name in AXES]


def test_every_table_under_contract_is_on_the_page():
    stated = set(in_code(SECTIONS["`contracts.json`"]))
    assert stated >= set(CONTRACT_RULES)

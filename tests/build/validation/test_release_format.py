"""A release is held against the contract of its own format, whatever version made it."""

import csv
import hashlib
import json
import shutil

import pyarrow.parquet as pq
import pytest

from medrcube.release_format.format_version import CURRENT, FORMATS, SHARDED

LOOSE = [layout.number for layout in FORMATS if layout is not SHARDED]
EVERY = pytest.mark.parametrize("number", LOOSE)
OPEN = ("open.json", "open_items.parquet")


def as_format(tree, number):
    """Strip a present release of what came after a format, and list its digests anew."""
    layout = FORMATS[number - 1]
    if not layout.states_itself:
        _change_json(tree / "audit.json", lambda audit: audit.pop("format"))
    for name in set(CURRENT.tables) - set(layout.tables):
        (tree / name).unlink()
    if layout.item_columns:
        _keep_columns(tree / "items.csv", layout.item_columns)
    if not layout.optional:
        _drop_open_items(tree)
    later = set(CURRENT.edition_columns) - set(layout.edition_columns)
    for path in tree.glob("data/*/*.parquet"):
        table = pq.read_table(path)
        pq.write_table(table.drop_columns(sorted(later)), path)
    seal(tree)
    return tree


def seal(tree):
    """List the digests of all files that are not listed as restricted."""
    files = sorted(path for path in tree.rglob("*") if path.is_file())
    names = [path.relative_to(tree).as_posix() for path in files]
    lines = [
        f"{hashlib.sha256((tree / name).read_bytes()).hexdigest()}  {name}\n"
        for name in names
        if name not in {"SHA256SUMS", "PRIVATE.md"}
    ]
    (tree / "SHA256SUMS").write_text("".join(lines))


def _change_json(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def _keep_columns(path, columns):
    rows = list(csv.DictReader(path.read_text().splitlines()))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _drop_open_items(tree):
    """Remove the items beyond the cube, and what is said of them alone."""
    shutil.rmtree(tree / "open")
    for path in [*tree.glob("*/open.json"), tree / "open_items.parquet"]:
        path.unlink()
    rows = [row for path in tree.glob("*/test.json") for row in json.loads(path.read_text())]
    ids = {row["id"] for row in rows}
    images = {f"{row['dataset']}/{row['image_path']}" for row in rows}
    for name in ("licences.csv", "items.csv"):
        if (tree / name).exists():
            lines = (tree / name).read_text().splitlines(keepends=True)
            remaining = [line for line in lines[1:] if ids & set(line.strip().split(",")[:2])]
            (tree / name).write_text("".join([lines[0], *remaining]))
    recipes = (tree / "recipes.jsonl").read_text().splitlines(keepends=True)
    remaining = [line for line in recipes if json.loads(line)["image"] in images]
    (tree / "recipes.jsonl").write_text("".join(remaining))
    for path in tree.glob("*/pictures/*/*.png"):
        if path.relative_to(tree).as_posix() not in images:
            path.unlink()


def test_a_release_states_the_present_format(public, check):
    assert json.loads((public / "audit.json").read_text())["format"] == CURRENT.number
    validation = check(public)
    assert validation.release_format == validation.as_dict()["format"] == CURRENT.number


@EVERY
def test_a_release_of_any_format_is_valid_and_its_format_is_told(number, public, check):
    validation = check(as_format(public, number))
    assert (validation.findings, validation.release_format) == ((), number)


@pytest.mark.parametrize(
    ("number", "later"),
    [
        (1, {"items.csv is not in format 1", "sets.json is not in format 1"}),
        (
            2,
            {
                "sets.json is not in format 2",
                "the column unit is not in format 2",
                "the column fact is not in format 2",
            },
        ),
        (3, {"sets.json is not in format 3"}),
        (4, set()),
        (5, set()),
    ],
)
def test_what_came_after_a_format_is_named_as_not_part_of_it(number, later, public, check):
    validation = check(as_format(public, number))
    assert {text.partition(" (")[2].removesuffix(")") for text in validation.unchecked} == later


@EVERY
def test_what_a_format_has_is_checked_as_in_a_present_release(number, public, faults):
    tree = as_format(public, number)
    (tree / "licences.csv").unlink()
    path = tree / "data/toy/test-00000.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    assert faults(tree) == {"digest", "edition-differs", "file-missing", "proof-missing"}


@pytest.mark.parametrize("name", CURRENT.tables)
def test_a_present_release_without_a_table_is_not_valid_though_no_list_names_it(
    name, public, faults
):
    (public / name).unlink()
    seal(public)
    assert "proof-missing" in faults(public)


@pytest.mark.parametrize(
    "columns", [("visible", "block", "unit", "fact", "set", "role"), ("set", "role")]
)
def test_a_present_release_with_the_edition_of_an_older_format_is_not_valid(
    columns, public, faults
):
    path = public / "data/toy/test-00000.parquet"
    pq.write_table(pq.read_table(path).drop_columns(list(columns)), path)
    seal(public)
    assert "edition" in faults(public)


def test_a_present_release_with_the_facts_of_an_older_format_is_not_valid(public, faults):
    _keep_columns(public / "items.csv", FORMATS[1].item_columns)
    seal(public)
    assert "item-facts" in faults(public)


@pytest.mark.parametrize("lost", ["items.csv", "sets.json"])
def test_a_table_that_an_unstated_format_had_is_missed(lost, public, faults):
    tree = as_format(public, 4)
    (tree / lost).unlink()
    seal(tree)
    assert "proof-missing" in faults(tree)


@pytest.mark.parametrize("stated", [SHARDED.number + 1, 1, "5", 5.0, True, None, []])
def test_a_format_that_is_not_known_is_an_error_and_all_of_the_present_one_is_checked(
    stated, public, check
):
    _change_json(public / "audit.json", lambda audit: audit.update(format=stated))
    (public / "sets.json").unlink()
    seal(public)
    validation = check(public)
    errors = {finding.check: finding for finding in validation.findings}
    assert "proof-missing" in errors
    if stated is not None:
        assert "later one" in errors["format"].advice
        assert "expected one of 5, 6" in errors["format"].examples[0]

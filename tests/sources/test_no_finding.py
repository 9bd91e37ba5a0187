"""A row that says "No Finding" beside a finding sets its picture aside, with its place."""

import csv
import gzip
import io

import pytest

from medrcube.facts import BAD_ROW, Case
from medrcube.sources.registry import find_sources

pytestmark = pytest.mark.thorough  # like the traps of a source

SOURCES = find_sources()


@pytest.fixture
def tree(tmp_path):
    def build(source, layout):
        SOURCES[source].build_fixture(tmp_path, layout)
        return tmp_path

    return build


def scan(source, layout, root):
    return {entry.key: entry for entry in SOURCES[source].scan(root, layout)}


def rewrite(path, change):
    """Let ``change`` alter the rows of a table, ``(header, rows)``, in place."""
    opened = gzip.decompress if path.suffix == ".gz" else bytes
    header, *rows = csv.reader(io.StringIO(opened(path.read_bytes()).decode("utf-8-sig")))
    change(header, rows)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def contradict(column):
    """Calls "No Finding" and one finding present in each row, and nothing else."""

    def change(header, rows):
        for row in rows:
            labels = header.index("No Finding")
            row[labels:] = [""] * len(row[labels:])
            row[header.index("No Finding")] = row[header.index(column)] = "1.0"

    return change


def check_set_aside(before, after, keys, place):
    for key in keys:
        assert isinstance(before[key], Case)
        assert after[key].code == BAD_ROW
        assert place in after[key].reason, after[key].reason
    assert {key for key, value in before.items() if value != after[key]} == set(keys)


def test_of_nih(tree):
    root = tree("nih-chestxray14", "official")
    before = scan("nih-chestxray14", "official", root)

    def change(header, rows):
        (row,) = [entry for entry in rows if entry[0] == "00000002_000.png"]
        row[1] = "No Finding|Edema"

    rewrite(root / "Data_Entry_2017_v2020.csv", change)
    after = scan("nih-chestxray14", "official", root)
    place = "Data_Entry_2017_v2020.csv:4 Finding Labels=No Finding|Edema: contradicts 'Edema'"
    check_set_aside(before, after, ["00000002_000"], place)


def test_of_nih_with_a_box(tree):
    root = tree("nih-chestxray14", "official")
    before = scan("nih-chestxray14", "official", root)
    with (root / "BBox_List_2017.csv").open("a") as file:
        file.write("00000002_000.png,Nodule,10,10,50,50,,,\n")
    after = scan("nih-chestxray14", "official", root)
    check_set_aside(before, after, ["00000002_000"], "BBox_List_2017.csv:6 Finding Label=Nodule")


@pytest.mark.parametrize("column", ["Edema", "Pneumonia", "Lung Opacity"])
def test_of_chexpert(tree, column):
    root = tree("chexpert", "small")
    before = scan("chexpert", "small", root)
    rewrite(next(root.rglob("valid.csv")), contradict(column))
    after = scan("chexpert", "small", root)
    keys = [
        key for key, value in before.items() if key.startswith("valid/") and isinstance(value, Case)
    ]
    assert keys
    check_set_aside(before, after, keys, f"No Finding=1.0: contradicts '{column}'")


def test_of_chexpert_unless_it_is_a_device(tree):
    root = tree("chexpert", "small")
    rewrite(next(root.rglob("valid.csv")), contradict("Support Devices"))
    after = scan("chexpert", "small", root)
    afters = [value for key, value in after.items() if key.startswith("valid/")]
    assert afters
    assert all(isinstance(entry, Case) for entry in afters)


@pytest.mark.parametrize("table", ["2.0.0-chexpert", "2.0.0-negbio"])
def test_of_mimic(tree, table):
    root = tree("mimic-cxr-jpg", "2.0.0")
    before = scan("mimic-cxr-jpg", "2.0.0", root)
    rewrite(next(root.rglob(f"mimic-cxr-{table}.csv*")), contradict("Edema"))
    after = scan("mimic-cxr-jpg", "2.0.0", root)
    bad = [
        entry for entry in after.values() if not isinstance(entry, Case) and entry.code == BAD_ROW
    ]
    assert bad
    assert all("No Finding=1.0: contradicts" in entry.reason for entry in bad)
    assert not [
        label
        for entry in after.values()
        if isinstance(entry, Case)
        for label in entry.labels
        if label.value == "No Finding" and label.state.name == "PRESENT"
    ]
    assert len(after) == len(before)

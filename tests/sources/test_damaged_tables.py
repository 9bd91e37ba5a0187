"""A damaged table costs what rests on it; one that no copy may lack fails the source by name."""

import functools
import random

import pytest

from medrcube.errors import SourceError
from medrcube.facts import BAD_ROW, Case, LabelState
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.sources.registry import find_sources

pytestmark = [pytest.mark.untraced, pytest.mark.usefixtures("headers_read_once")]
SOURCES = find_sources()
KINDS = (".csv", ".xls", ".xlsx", ".json", ".txt", ".mat", ".zip", ".csv.gz")
OF_ONE_CASE = {"slices", "readings", "info", "sidecars"}
"""Parts with a file for each case: a damaged one sets its own case aside."""
DAMAGES = {
    "empty": lambda _: b"",
    "random": lambda _: random.Random(7).randbytes(997),
    "half": lambda content: content[: len(content) // 2],
    "utf-16": lambda content: content.decode("latin-1").encode("utf-16"),
    "header": lambda content: content.splitlines(keepends=True)[0],
}


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    """The tree of a layout, and what is found there."""

    @functools.cache
    def make(source_id, layout):
        root = tmp_path_factory.mktemp(source_id) / "raw"
        SOURCES[source_id].build_fixture(root, layout)
        return root, scan(source_id, layout, root)

    return make


def scan(source_id, layout, root):
    return {entry.key: entry for entry in SOURCES[source_id].scan(root, layout)}


def scan_or_refusal(source_id, layout, root):
    try:
        return scan(source_id, layout, root)
    except SourceError as error:
        return str(error)


def cases_in(outcome):
    return {key: value for key, value in outcome.items() if isinstance(value, Case)}


def tables_of(tree, layout):
    """Name of each table of a layout, and whether the card calls it optional."""
    spare = {name for glob in (*layout.optional, *layout.one_of) for name in tree.match(glob)}
    of_cases = {
        name
        for part, globs in layout.parts.items()
        if part in OF_ONE_CASE
        for glob in globs
        if not glob.endswith("cvind.mat")
        for name in tree.match(glob)
    }
    named = {name for glob in (*layout.expect, *layout.optional) for name in tree.match(glob)}
    for name in sorted(named):
        if name.lower().endswith(KINDS) and (name not in of_cases or name.endswith("cvind.mat")):
            yield name, name in spare


LAYOUTS = [
    (source.id, layout.name) for source in SOURCES.values() for layout in source.card.layouts
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("source_id", "layout"), LAYOUTS)
def test_a_damaged_table_costs_what_rests_on_it_alone(intact, source_id, layout):
    root, before = intact(source_id, layout)
    kept_before = cases_in(before)
    declared = SOURCES[source_id].card.layout(layout)
    for name, optional in tables_of(RawTree(root), declared):
        path = root / name
        content = path.read_bytes()
        lost = declared_without(root, name, declared)
        for damage, change in DAMAGES.items():
            path.write_bytes(change(content))
            place = f"{name} {damage}"
            outcome = scan_or_refusal(source_id, layout, root)
            path.write_bytes(content)
            if isinstance(outcome, str):
                assert path.name in outcome, place
                assert "the adapter raised" not in outcome, place
                assert not (optional and lost), f"{place}: {outcome}"
                continue
            keys = [entry.key for entry in outcome.values() if _tells(entry, path.name)]
            shows = damage in {"empty", "random"} or (damage == "header" and name.endswith(".csv"))
            assert not shows or keys.count(path.name) == 1, f"{place}: nothing tells of it"
            assert not any(
                str(root) in getattr(entry, "reason", "") for entry in outcome.values()
            ), place
            _states_nothing_new(kept_before, cases_in(outcome), place)


def declared_without(root, name, declared):
    """Whether a copy without that file still fits the layout."""
    rest = RawTree(root).without(root / name)
    return not declared.missing([glob for glob in declared.expect if rest.holds(glob)])


def _tells(entry, name):
    return not isinstance(entry, Case) and name in f"{entry.key} {entry.reason}"


def _states_nothing_new(before, after, place):
    """What is absent after a table is lost was absent before."""
    for key, case in after.items():
        if key not in before:
            continue
        denied = {
            (label.field, label.value) for label in case.labels if label.state is LabelState.ABSENT
        }
        earlier = {
            (label.field, label.value)
            for label in before[key].labels
            if label.state is LabelState.ABSENT
        }
        assert denied <= earlier, f"{place}: {key} denies {denied - earlier}"


@pytest.mark.parametrize(
    ("source_id", "layout", "name"),
    [
        ("bus-bra", "release", "5-fold-cv.csv"),
        ("brixia", "v2", "metadata_consensus_v1.csv"),
        ("vindr-cxr", "physionet", "annotations_test.csv"),
        ("rsna-pneumonia", "kaggle", "stage_2_detailed_class_info.csv.zip"),
        ("nih-chestxray14", "official", "train_val_list.txt"),
        ("camus", "nifti", "subgroup_validation.txt"),
        ("duke-breast-mri", "tcia", "Annotation_Boxes.xlsx"),
    ],
)
def test_a_copy_with_a_damaged_table_is_built_as_one_without_it(
    intact, tmp_path, source_id, layout, name
):
    SOURCES[source_id].build_fixture(tmp_path, layout)
    (path,) = tmp_path.rglob(name)
    path.write_bytes(b"\x00\xff no table")
    damaged = scan(source_id, layout, tmp_path)
    path.unlink()
    without = scan(source_id, layout, tmp_path)
    assert damaged.pop(name).code == BAD_ROW
    assert damaged == without
    assert cases_in(damaged)

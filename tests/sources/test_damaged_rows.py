"""A cell that cannot be used sets its own case aside, in every table of every source."""

import functools
import re
import shutil
from codecs import BOM_UTF8
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from medrcube.build.questions.case_facts import facts_of_case
from medrcube.facts import BAD_ROW, Case, LabelState
from medrcube.ontologies.terms import load_terms
from medrcube.sources._formats.tables import spreadsheets
from medrcube.sources._formats.tables.tables import TableRow
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.sources.registry import find_sources

pytestmark = pytest.mark.untraced
SOURCES = find_sources()
each_source = pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))

# What a blank cell says there, so that nobody can tell that something stood in it.
BLANK_IS_A_VALUE = {
    ("cbis-ddsm", "mass_case_description", "mass shape"): "the type alone, as of four masses",
    ("cbis-ddsm", "mass_case_description", "mass_shape"): "the type alone, as of four masses",
    ("mimic-cxr-jpg", "mimic-cxr-2", "Lung Opacity"): "not mentioned",
    ("duke-breast-mri", "Clinical", "Patient ID"): "nobody denies another cancer",
    ("duke-breast-mri", "Clinical", "Bilateral Information"): "nobody denies another cancer",
    ("duke-breast-mri", "Clinical", "Multicentric/Multifocal"): "nobody denies another cancer",
    ("duke-breast-mri", "Clinical", "Contralateral Breast Involvement"): "nor here",
    ("covid-chestxray", "covid-severity-scores", "filename"): "a film without a score",
    ("covid-chestxray", "metadata.csv", "filename"): "one row less that contradicts another",
}
# What the name of a picture that is not in this copy takes from one that is, untold.
ANOTHER_IS_THERE = {
    (
        *("mimic-cxr-jpg", "mimic-cxr-2.1.0-test-set-labeled.csv", "study_id"),
    ): "the radiologist, so the labelers are heard",
    ("vindr-cxr", "train.csv", "image_id"): "the mark of one reader, so the box of the others",
}
UNUSABLE = ("", "nan", "???")


@dataclass
class Cells:
    """What an adapter reads of its tables."""

    lines: dict = field(default_factory=dict)  # (table, column) -> line -> cell

    def ends(self):
        """The first filled cell of each column, and the last."""
        for (table, column), cells in sorted(self.lines.items()):
            filled = [line for line, cell in cells.items() if cell]
            for line in dict.fromkeys(filled[:1] + filled[-1:]):
                yield table, line, column


@contextmanager
def reading(change=None, cells_read=None):
    """Let ``change(table, line, values)`` give the cells of each row, and note what is read."""
    begin, get_item = TableRow.__init__, TableRow.__getitem__

    def start(self, values, table, line, lines=None, **rest):
        begin(self, change(table, line, values) if change else values, table, line, lines, **rest)

    def get(self, column):
        value = get_item(self, column)
        if cells_read is not None:
            cells = cells_read.lines.setdefault((self.table, column), {})
            cells.setdefault(self.line, self._values[column])
        return value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableRow, "__init__", start)
        patch.setattr(TableRow, "__getitem__", get)
        yield


def scan(source, tree, layout):
    return {entry.key: entry for entry in source.scan(tree, layout)}


@pytest.fixture(scope="module", autouse=True)
def _files_read_once(headers_read_once):
    """Read each DICOM header and each spreadsheet once: tests here change rows, never a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spreadsheets, "read_cells", functools.cache(spreadsheets.read_cells))
        yield


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    """Of every layout of a source: its tree, what is found there, and the cells that are read."""

    @functools.cache
    def make(source_id):
        source, scans = SOURCES[source_id], {}
        for layout in (entry.name for entry in source.card.layouts):
            root = tmp_path_factory.mktemp(source.id) / "raw"
            source.build_fixture(root, layout)
            tree, cells_read = RawTree(root), Cells()
            with reading(cells_read=cells_read):
                scans[layout] = tree, scan(source, tree, layout), cells_read
        return scans

    return make


@pytest.mark.thorough
@each_source
def test_a_cell_that_cannot_be_used_sets_its_own_case_aside(source, intact):
    tried, names = set(), set()
    for layout, (tree, before, cells_read) in intact(source.id).items():
        values_of = _values_of_columns(cells_read.lines.keys() - tried)
        for table, line, column in cells_read.ends():
            values = values_of.get((table, column), ())
            if any(
                entry[0] == source.id and table.startswith(entry[1]) and entry[2] == column
                for entry in BLANK_IS_A_VALUE
            ):
                values = ()
            if (source.id, table, column) in ANOTHER_IS_THERE:
                values = values[:2]
            for value in values:
                with reading(functools.partial(_put, (table, line), column, value)):
                    after = scan(source, tree, layout)
                place = f"{table}:{line} {column}={value}"
                if f"{place}: is blank; expected the name" in str(after.values()):
                    names.add((table, column))
                # Any other text may be the name of something that is not in this copy.
                _check(before, after, place, text=value != "???" or (table, column) not in names)
        tried |= cells_read.lines.keys()


def _values_of_columns(columns):
    """Columns whose names differ in a number alone, such as those of readers, share the values."""
    return {
        place: UNUSABLE[number % len(UNUSABLE) :: len(places)]
        for places in _alike(columns)
        for number, place in enumerate(places)
    }


def _alike(columns):
    places = defaultdict(list)
    for table, column in sorted(columns):
        places[table, re.sub(r"\d+", "#", column)].append((table, column))
    return list(places.values())


@pytest.mark.thorough
@each_source
def test_a_byte_that_is_no_text_costs_its_row_alone(source, intact):
    for layout, (tree, before, cells_read) in intact(source.id).items():
        last = {(table, column): line for table, line, column in cells_read.ends()}
        for table, column in (places[0] for places in _alike(last)):
            line = last[table, column]
            place = (source.id, table, column)
            if table.endswith((".xls", ".xlsx")) or any(
                entry[::2] == place[::2] and table.startswith(entry[1])
                for entry in BLANK_IS_A_VALUE
            ):
                continue  # a cell of a spreadsheet is text in any case
            with reading(functools.partial(_put, (table, line), column, "a\udcffb")):
                after = scan(source, tree, layout)
            cases, other_cases = (
                [
                    key
                    for key, value in entry.items()
                    if isinstance(value, Case) and _is_there(value)
                ]
                for entry in (after, before)
            )
            named = [
                entry.reason for entry in after.values() if _is_bad(entry) and table in entry.reason
            ]
            assert named or cases == other_cases, f"{table}:{line} {column}: nothing tells of it"
            _check(before, after, f"{table}:{line} {column}=", text=False)


def _put(cell, column, value, table, line, values):
    return {**values, column: value} if (table, line) == cell else values


def _check(before, after, place, *, text):
    bad = {entry.key: entry.reason for entry in after.values() if _is_bad(entry)}
    for key, value in after.items():
        if not isinstance(value, Case) or not all(path.is_file() for path in value.files()):
            continue
        assert value.patient not in ("", "nan"), f"{place}: {key} has a patient without a name"
        if key in before:
            assert isinstance(before[key], Case), f"{place}: {key} was set aside and is a case now"
            new = _statements(value) - _statements(before[key])
            assert not new, f"{place}: {key} states {new}"
        else:  # a picture of which nothing is stated may take the place of one that is lost
            assert not _statements(value), f"{place}: {key} is new"
    if bad and text:
        table, cell = place.split(":")[0], place.partition(" ")[2]
        named = [
            entry
            for entry in bad.values()
            if entry.startswith(f"{table}:") or f" {table}:" in entry
        ]
        causes = [
            entry for entry in bad.values() if "???" in entry
        ]  # it may be told beside another cell
        assert causes or any(f" {cell}" in entry for entry in named), f"{place}: {bad}"
    lost = [key for key, entry in before.items() if isinstance(entry, Case) and key not in after]
    new = after.keys() - before.keys()
    assert not lost or new, f"{place}: nothing tells why {lost} are lost"


@pytest.mark.parametrize(
    ("source_id", "layout", "table", "column", "fields"),
    [
        ("vindr-cxr", "kaggle", "train.csv", "image_id", ("finding", "disease")),
        ("vindr-cxr", "physionet", "annotations_train.csv", "image_id", ("finding", "disease")),
        ("vindr-mammo", "physionet", "finding_annotations.csv", "image_id", ("lesion", "sign")),
        ("rsna-pneumonia", "kaggle", "stage_2_train_labels.csv", "patientId", ("film",)),
        ("siim-acr-pneumothorax", "stage-2", "", "ImageId", ("film",)),
    ],
)
def test_a_row_that_may_speak_of_any_picture_leaves_no_absence(
    intact, source_id, layout, table, column, fields
):
    source, terms = SOURCES[source_id], load_terms()
    tree, before, cells_read = intact(source_id)[layout]
    lines = [line for line in cells_read.lines if line[0].startswith(table) and line[1] == column]
    (name,) = [entry[0] for entry in lines]
    with reading(functools.partial(_put, (name, max(cells_read.lines[name, column])), column, "")):
        after = scan(source, tree, layout)
    (notice,) = [entry for entry in after.values() if not isinstance(entry, Case) and entry.opens]
    assert "no absence in" in notice.reason
    assert set(fields) <= set(notice.opens)
    cases = [entry for entry in after.values() if isinstance(entry, Case)]
    assert cases
    for case in cases:
        absent = facts_of_case(source.card, case, terms).absent.values()
        assert not {mark.field for mark in absent} & set(fields), case.key
        assert not [region for region in case.regions if region.field in fields], case.key
        assert _statements(case) <= _statements(before[case.key])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("finding", "lost"),
    [("Infiltrate", {"Infiltrate"}), ("Pneumothorax", {"Pneumothorax"}), ("", None)],
)
def test_a_box_of_nih_without_a_name_takes_the_boxes_of_its_finding_alone(intact, finding, lost):
    source = SOURCES["nih-chestxray14"]
    tree, before, _ = intact(source.id)["official"]

    def drop_name(table, line, values):
        if not table.startswith("BBox_List") or values["Finding Label"] != (
            finding or "Infiltrate"
        ):
            return values
        return {**values, "Image Index": "", "Finding Label": finding}

    with reading(drop_name):
        after = scan(source, tree, "official")
    (notice,) = [entry for entry in after.values() if not isinstance(entry, Case) and entry.opens]
    assert f"no absence in finding {finding!r}" in notice.reason or not finding
    regions_by_key = {
        key: tuple(region for region in case.regions if lost and region.value not in lost)
        for key, case in before.items()
        if isinstance(case, Case)
    }
    assert any(regions_by_key.values()) == bool(lost)
    assert {key: after[key].regions for key in regions_by_key} == regions_by_key
    unknown = {
        label.value for label in after["00000001_000"].labels if label.state is LabelState.UNKNOWN
    }
    assert unknown == (
        {"Infiltration"} if finding == "Infiltrate" else lost or unknown - {"Cardiomegaly"}
    )


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("mimic-cxr-2.0.0-chexpert.csv", "study_id"),
        ("mimic-cxr-2.0.0-negbio.csv", "study_id"),
        ("mimic-cxr-2.1.0-test-set-labeled.csv", "study_id"),
        ("mimic-cxr-2.0.0-split.csv", "dicom_id"),
        ("mimic-cxr-2.0.0-metadata.csv", "study_id"),
    ],
)
def test_a_blank_name_in_a_table_of_mimic_is_told_with_its_place(intact, table, column):
    source = SOURCES["mimic-cxr-jpg"]
    tree, _, cells_read = intact(source.id)["2.1.0"]
    line = max(cells_read.lines[table, column])
    with reading(functools.partial(_put, (table, line), column, "")):
        after = scan(source, tree, "2.1.0")
    place = f"{table}:{line} {column}=: is blank"
    assert [entry for entry in after.values() if _is_bad(entry) and entry.reason.startswith(place)]


def test_two_rows_of_a_study_of_mimic_that_contradict_each_other_set_its_films_aside(intact):
    source, table = SOURCES["mimic-cxr-jpg"], "mimic-cxr-2.0.0-chexpert.csv"
    tree, before, cells_read = intact(source.id)["2.1.0"]
    (first, study), (second, _), *_ = sorted(cells_read.lines[table, "study_id"].items())
    with reading(functools.partial(_put, (table, second), "study_id", study)):
        after = scan(source, tree, "2.1.0")
    bad = [entry for entry in after.values() if _is_bad(entry)]
    assert bad
    assert all(f"{table}:{first} says otherwise of this study" in entry.reason for entry in bad)
    assert all(f"/s{study}/" in path.as_posix() for entry in bad for path in entry.paths)
    assert len(after) == len(before)


def _is_there(case):
    return all(path.is_file() for path in case.files())


def _is_bad(outcome):
    """Whether it gets a row in the quarantine: what is not in this copy is counted as absent."""
    if isinstance(outcome, Case) or outcome.code != BAD_ROW:
        return False
    return not outcome.paths or any(path.is_file() for path in outcome.paths)


def _statements(case):
    """What a case states; of an open statement nothing is known."""
    labels = {(label.field, label.value, label.state) for label in case.labels}
    marked = {(region.field, region.value, region.shape) for region in case.regions}
    marked |= {(region.field, region.value, LabelState.PRESENT) for region in case.regions}
    return {label for label in labels if label[2] is not LabelState.UNKNOWN} | marked


@pytest.mark.few(2)
@each_source
def test_whole_numbers_that_were_saved_again_change_nothing(source, intact):
    for layout, (tree, before, _) in intact(source.id).items():
        with reading(_saved_again):
            after = scan(source, tree, layout)
        assert list(after) == list(before)
        assert {key: _plain(value) for key, value in after.items()} == {
            key: _plain(value) for key, value in before.items()
        }


@pytest.mark.few(2)
@each_source
def test_a_byte_order_mark_and_other_line_ends_change_nothing(source, intact, tmp_path):
    for layout, (tree, before, _) in intact(source.id).items():
        root = tmp_path / layout / "raw"
        shutil.copytree(tree.path, root)
        for path in root.rglob("*"):
            if path.suffix.lower() in {".csv", ".txt", ".tsv", ".xml", ".json", ".cfg"}:
                lines = path.read_bytes().removeprefix(BOM_UTF8).replace(b"\r\n", b"\n")
                path.write_bytes(BOM_UTF8 + lines.replace(b"\n", b"\r\n"))
        after = scan(source, RawTree(root), layout)
        moved = {
            key: value.moved(functools.partial(_back, root, tree.path))
            for key, value in after.items()
        }
        assert {key: _plain(value) for key, value in moved.items()} == {
            key: _plain(value) for key, value in before.items()
        }


def _back(root, place, path):
    return place / path.relative_to(root)


def _saved_again(_table, _line, values):
    return {name: f"{cell}.0" if cell.isdecimal() else cell for name, cell in values.items()}


def _plain(outcome):
    """What is found, without the words of its evidence, which show cells as they stand."""
    if not isinstance(outcome, Case):
        return outcome.paths
    return replace(
        outcome,
        labels=tuple(replace(label, evidence="") for label in outcome.labels),
        panels=tuple(replace(panel, evidence="") for panel in outcome.panels),
        regions=tuple(replace(region, evidence="") for region in outcome.regions),
        quantities=tuple(replace(quantity, evidence="") for quantity in outcome.quantities),
        words=(),
    )

"""Columns in blocks: the same rows whether they are in memory or in a temporary file."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build import column_blocks
from medrcube.build.column_blocks import Spool
from medrcube.build.stages.samples import SAMPLES, Sample
from medrcube.errors import WorkspaceError

PLAIN = {"int": 7, "float": 0.5, "bool": True}
PARTS = st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=6)


def sample(name, number):
    values = {
        field: PLAIN.get(str(of.type), name) for field, of in Sample.__dataclass_fields__.items()
    }
    return Sample(**{**values, "id": f"{name}{number}"})


def samples_of(parts):
    return [
        [sample(name, f"{number}.{place}") for place, name in enumerate(part)]
        for number, part in enumerate(parts)
    ]


@pytest.fixture(scope="module")
def spool(tmp_path_factory):
    with Spool(tmp_path_factory.mktemp("spool")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(column_blocks, "_ROWS", 4)


@given(parts=PARTS, data=st.data())
def test_a_table_in_a_spool_has_the_rows_of_its_parts(spool, parts, data):
    lists = samples_of(parts)
    flat = [record for part in lists for record in part]
    table = SAMPLES.spool(map(SAMPLES.table, lists), spool)
    assert list(table) == flat
    places = data.draw(st.lists(st.integers(0, len(flat) - 1), max_size=9) if flat else st.just([]))
    assert table.rows(places) == [flat[place] for place in places]
    assert table.where("source", {"a"}) == [record for record in flat if record.source == "a"]
    assert table.columns["id"].to_pylist() == [record.id for record in flat]
    assert table.columns["source"].to_pylist() == [record.source for record in flat]


@given(parts=PARTS, rows=st.integers(1, 7))
def test_every_piece_of_a_table_but_the_last_has_the_stated_number_of_rows(spool, parts, rows):
    table = SAMPLES.spool(map(SAMPLES.table, samples_of(parts)), spool)
    pieces = list(table.columns.tables(rows, ["id"]))
    assert all(piece.num_rows == rows for piece in pieces[:-1])
    assert all(0 < piece.num_rows <= rows for piece in pieces)
    assert sum(piece.num_rows for piece in pieces) == len(table)
    assert all(piece.column_names == ["id"] for piece in pieces)


@given(parts=PARTS)
def test_parquet_of_a_spool_is_that_of_the_same_table_in_memory(spool, parts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parquet")
    lists = samples_of(parts)
    SAMPLES.spool(map(SAMPLES.table, lists), spool).write(folder / "spooled", rows=5)
    SAMPLES.join(list(map(SAMPLES.table, lists))).write(folder / "held", rows=5)
    assert (folder / "spooled").read_bytes() == (folder / "held").read_bytes()


def test_tables_of_two_spools_are_joined_in_order(spool):
    first, second = (
        SAMPLES.spool([SAMPLES.table([sample(name, number) for number in range(6)])], spool)
        for name in "ab"
    )
    assert list(SAMPLES.join([first, second])) == [*first, *second]


def test_a_spool_leaves_no_file_behind(tmp_path):
    with Spool(tmp_path) as spool:
        assert spool.add(b"some bytes").read() == b"some bytes"
        assert not list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_a_spool_that_cannot_be_created_names_the_folder(tmp_path):
    with pytest.raises(WorkspaceError, match=r"absent: a temporary file of the build cannot"):
        Spool(tmp_path / "absent")


def test_damage_to_a_packed_table_is_noticed_when_it_is_unpacked():
    packed = SAMPLES.table([sample("a", 1)]).pack()
    with pytest.raises(ValueError, match="no table of Sample"):
        SAMPLES.unpack(packed[: len(packed) // 2])


def test_a_column_of_no_rows_has_its_type(spool):
    column = SAMPLES.spool([], spool).columns["source"]
    assert len(column) == 0
    assert pa.types.is_dictionary(column.type)

"""Trees that mean harm: a clear answer, soon, and nothing outside the tree is read."""

import io
import json
import os
import socket
import tracemalloc
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from medrcube.build.validation.bounded_parquet import read_batches, read_table
from medrcube.errors import ReleaseError
from medrcube.release_format.strict_json import BadJsonError, read_document, read_lines, read_list
from medrcube.release_format.tree import leaves_folder, open_file

PICTURE = "TOY/pictures/0a/g_0.png"


class Flood(io.RawIOBase):
    """A list without end, that lies on no disk."""

    def __init__(self):
        self._start = b"["

    def read(self, size=-1):
        start, self._start = self._start, b""
        return start + b"[[[[]]],[]]," * (size // 12)


@pytest.mark.parametrize("name", [PICTURE, "TOY/pictures", "TOY/test.json", "recipes.jsonl"])
def test_a_link_that_leads_out_is_an_error_and_is_not_followed(name, public, faults, tmp_path):
    (public / name).rename(tmp_path / "elsewhere")
    (public / name).symlink_to(tmp_path / "elsewhere")
    assert "link" in faults(public)


def test_what_a_link_leads_to_is_never_opened(public, check, tmp_path, monkeypatch):
    secret = tmp_path / "secret"
    (public / PICTURE).rename(secret)
    (public / PICTURE).symlink_to(secret)
    touched = []
    real = os.open

    def note(path, *rest):
        touched.append(str(path))
        return real(path, *rest)

    monkeypatch.setattr(os, "open", note)
    check(public)
    assert touched
    assert not [path for path in touched if path in {str(secret), str(public / PICTURE)}]


def test_a_link_within_the_tree_is_an_error_too(public, faults):
    (public / PICTURE).unlink()
    (public / PICTURE).symlink_to("g_1.png")
    assert "link" in faults(public)


@pytest.mark.parametrize("name", [PICTURE, "TOY/test.json", "recipes.jsonl", "SHA256SUMS", "new"])
def test_a_named_pipe_is_an_error_and_is_never_opened(name, public, faults):
    (public / name).unlink(missing_ok=True)
    os.mkfifo(public / name)
    assert "special" in faults(public)


def test_a_socket_is_an_error(public, faults, monkeypatch):
    monkeypatch.chdir(public)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert "special" in faults(public)


def test_a_table_that_is_a_folder_is_an_error(public, faults):
    (public / "TOY/test.json").unlink()
    (public / "TOY/test.json").mkdir()
    assert "table" in faults(public)


def test_a_file_name_that_would_move_the_cursor_is_told_without_it(public, check):
    (public / "TOY/\x1b[2J.txt").write_text("x")
    (finding,) = [entry for entry in check(public).findings if entry.check == "file-name"]
    assert "\x1b" not in finding.examples[0]


@pytest.mark.parametrize(
    "name",
    ["../../../etc/passwd", "/etc/passwd", "a/../../b", "a\nb", ""],
)
def test_a_recipe_that_names_a_file_outside_the_raw_root_is_an_error(name, public, faults):
    path = public / "recipes.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["files"] = {name: "0" * 64}
    path.write_text("\n".join(map(json.dumps, rows)))
    assert "recipes" in faults(public)


@pytest.mark.few(5)
@pytest.mark.parametrize(
    "data",
    [
        b"[" * 10_000_000,
        b'[{"id": ' * 10_000_000,
        b'["' + b"x" * 5_000_000,
        b"[NaN]",
        b"[1e999]",
        b'[{"id": 1, "id": 2}]',
        b'[{"id": "\xff"}]',
        "[]".encode("utf-16"),
        b"[1] 2",
        b"[1,]",
        b"[1 2]",
        b"[1",
        b"",
        b"{}",
        b"[" + b"9" * 5000 + b"]",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_json_that_is_none_or_too_much_is_refused(data, tmp_path, public, faults):
    with pytest.raises(BadJsonError):
        list(read_list(io.BytesIO(data)))
    (public / "TOY/test.json").write_bytes(data)
    assert "table" in faults(public)


@pytest.mark.parametrize("chunk", [1, 2, 7, 64])
def test_json_reads_alike_wherever_its_chunks_end(chunk, monkeypatch):
    rows = [-12.5, 1234567, {"a": 'é"\\]}', "b": [1, 2.5e3, None, True]}, "ü\u2028", [], {}, 7]
    monkeypatch.setattr("medrcube.release_format.strict_json._CHUNK", chunk)
    text = json.dumps(rows, ensure_ascii=False, indent=1)
    assert list(read_list(io.BytesIO(b"\xef\xbb\xbf" + text.encode()))) == rows


@pytest.mark.thorough
def test_a_list_without_end_takes_little_memory():
    tracemalloc.start()
    rows = islice(read_list(Flood()), 100_000)
    assert all(isinstance(row, list) for row in rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * 2**20


def test_after_a_thousand_faulty_rows_a_table_is_left(public, check):
    (public / "TOY/test.json").write_bytes(b"[" + b"[[[[]]],[]]," * 2**16)
    findings = {finding.check: finding for finding in check(public).findings}
    assert findings["row"].count == 1000
    assert "those after them were not read" in findings["table"].examples[0]


@pytest.mark.parametrize("data", [b"[" * 10**6, b"NaN", b"{} {}", b"\xff", b"[0" + b",0" * 2**21])
def test_a_document_that_is_none_or_too_much_is_refused(data, public, faults):
    with pytest.raises(BadJsonError):
        read_document(data)
    (public / "audit.json").write_bytes(data)
    assert faults(public) == {"digest", "audit"}


def test_a_line_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr("medrcube.release_format.strict_json.LONGEST_LINE", 1000)
    assert list(read_lines(io.BytesIO(b'{"a": 1}\n\n[2]'))) == [{"a": 1}, [2]]
    with pytest.raises(BadJsonError, match="line 2: has more than"):
        list(read_lines(io.BytesIO(b"1\n" + b"x" * 2000)))


def test_a_table_of_items_that_is_no_parquet_is_an_error(public, faults):
    (public / "items.parquet").write_bytes(b"PAR1" + b"\0" * 100 + b"PAR1")
    assert faults(public) == {"digest", "items-table"}


def test_a_table_of_items_that_inflates_too_far_is_not_read(public, faults, monkeypatch):
    monkeypatch.setattr("medrcube.build.validation.consistency._LARGEST_TABLE", 100_000)
    table = pa.table({"id": ["x" * 1000] * 1000})
    pq.write_table(table, public / "items.parquet", use_dictionary=False, compression="zstd")
    assert (public / "items.parquet").stat().st_size < 100_000
    assert faults(public) == {"digest", "items-table"}


@pytest.mark.parametrize("name", ["items.parquet", "data/toy/test-00000.parquet"])
def test_a_small_file_of_endless_rows_is_not_read(name, public, check, monkeypatch):
    """What repeats is stored once: a megabyte can hold a hundred million rows."""
    schema = pq.read_schema(public / name)
    rows = pa.Table.from_pylist([dict.fromkeys(schema.names)] * 100_000, schema)
    pq.write_table(rows, public / name)
    assert (public / name).stat().st_size < 100_000
    iter_batches = pq.ParquetFile.iter_batches

    def guarded(file, **bounds):
        assert file.metadata.num_rows < 100_000
        return iter_batches(file, **bounds)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", guarded)
    findings = {finding.check: finding for finding in check(public).findings}
    examples = findings["items-table" if name == "items.parquet" else "edition"].examples
    assert examples == [f"{name}: has 100,000 rows, far more than there are items"]


@pytest.mark.thorough
def test_a_text_that_repeats_is_not_held_for_many_rows_at_once(tmp_path):
    name, rows = "t.parquet", 64
    pq.write_table(pa.table({"text": ["x" * 20_000_000] * rows}), tmp_path / name)
    assert (tmp_path / name).stat().st_size < 2_000_000
    largest = max(batch.nbytes for batch in read_batches(tmp_path, name, most=rows))
    assert largest < 2**28 + 20_000_000
    with pytest.raises(ReleaseError, match="more than 50,000,000 bytes"):
        read_table(tmp_path, name, most=rows, largest=50_000_000)


def test_columns_of_other_types_are_an_error_and_no_crash(public, faults):
    table = pq.read_table(public / "items.parquet")
    rows = table.num_rows
    broken = table
    for name in ("options", "key", "details", "task", "source", "state"):
        at = broken.column_names.index(name)
        broken = broken.set_column(at, name, pa.array([1.5] * rows))
    pq.write_table(broken, public / "items.parquet")
    expected = {"items-differ", "contract items/known-task", "contract items/has-options"}
    assert expected <= faults(public)


def test_a_file_that_is_larger_than_allowed_is_not_read(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    with (
        pytest.raises(ReleaseError, match="has 5 bytes; expected at most 4"),
        open_file(tmp_path, tmp_path / "file", largest=4),
    ):
        pass


@pytest.mark.parametrize(
    "value", ["", "/a", "../a", "a/../../b", "a\\b", "C:/a", "a\0b", "a\nb", "\ud800", "a/.."]
)
def test_paths_that_could_lead_out_are_known(value):
    assert leaves_folder(value)


@pytest.mark.parametrize("value", ["a", "a/b.png", "a b/ü (1).png", "..a", "a..b/c", "./a"])
def test_other_paths_are_left_alone(value):
    assert not leaves_folder(value)


@pytest.mark.parametrize(
    "row",
    [
        '{"a": 1, "a": 2}',
        '{"a" : 1, "a" : 2}',
        '{"a": {"b": 1, "b": 2}}',
        '{"a": ":", "b": 1, "b": 2}',
        '{"a": [{"b": 1, "b": 2}], "c": ":"}',
    ],
)
def test_a_key_that_occurs_twice_is_found_in_any_object(row):
    text = f'[{{"a": 1}}, {row}, {{"a": 3}}, {" " * 40}{{"a": 4}}]'
    with pytest.raises(BadJsonError, match="item 1: a key occurs twice in one object"):
        list(read_list(io.BytesIO(text.encode())))


@pytest.mark.parametrize(
    "text", ['[{"a": 1} {"a": 2}]', '[{"a": 1},, {"a": 2}]', '[{"a": 1}, ]', '[{"a": 1}: {"a": 2}]']
)
def test_objects_are_separated_by_one_comma(text):
    with pytest.raises(BadJsonError):
        list(read_list(io.BytesIO((text + " " * 40).encode())))

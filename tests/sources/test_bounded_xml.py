"""XML that would exhaust the memory is refused before any of it is kept."""

import tracemalloc

import pytest

from medrcube.errors import RowError
from medrcube.sources._formats import bounded_xml
from medrcube.sources._formats.bounded_xml import read_xml

BOMB = """<!DOCTYPE a [<!ENTITY b "bbbbbbbb"><!ENTITY c "&b;&b;&b;&b;">]><a>&c;</a>"""


@pytest.fixture
def read(tmp_path):
    def write_and_read(content):
        path = tmp_path / "1.xml"
        path.write_bytes(content)
        return read_xml(path)

    return write_and_read


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_file_that_declares_entities_is_refused(read, encoding):
    with pytest.raises(RowError, match=r"1\.xml: declares entities"):
        read(BOMB.encode(encoding))


def test_a_document_type_without_entities_is_read(read):
    content = b'<!DOCTYPE plist PUBLIC "-//x" "http://x"><plist/>'
    assert read(content) == content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<a>" * 100 + b"</a>" * 100, "nests elements 65 deep; expected at most 64"),
        (b"<a>" + b"<b/>" * 200 + b"</a>", "has over 100 elements"),
        (b"<a>" + b" " * 2000 + b"</a>", r"has 2007 bytes; expected at most 2000"),
        (b"", r"is empty \(0 bytes\)"),
        (b"<a><b></a>", r"is not valid XML \(mismatched tag: line 1"),
        (b'<?xml version="1.0" encoding="nonsense"?><a/>', "is not valid XML"),
    ],
)
def test_a_file_beyond_a_limit_is_refused_with_what_was_found(read, monkeypatch, content, message):
    monkeypatch.setattr(bounded_xml, "MOST_BYTES", 2000)
    monkeypatch.setattr(bounded_xml, "MOST_ELEMENTS", 100)
    with pytest.raises(RowError, match=message):
        read(content)


def test_a_file_that_is_too_large_takes_no_memory(tmp_path):
    path = tmp_path / "1.xml"
    with path.open("wb") as file:
        file.truncate(bounded_xml.MOST_BYTES + 1)
    tracemalloc.start()
    with pytest.raises(RowError, match="expected at most"):
        read_xml(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20

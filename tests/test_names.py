from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.console.progress import Reporter
from medrcube.facts import QuarantineRow
from medrcube.names import (
    escape_bytes,
    escape_controls,
    name_to_text,
    relative_name,
    text_to_name,
)
from medrcube.sources._formats.tables.tables import TableRow

NAMES = st.one_of(
    st.binary(min_size=1, max_size=12).map(os.fsdecode),
    st.text("\\x5cf9", max_size=12),
    st.text(max_size=6),
).filter(
    lambda name: (
        not any("\ud800" <= entry <= "\udc7f" or entry > "\udcff" > entry for entry in name)
    )
)


@given(name=NAMES)
def test_every_name_is_text_that_can_be_written_and_turned_back(name):
    text = name_to_text(name)
    text.encode()
    assert text_to_name(text) == name
    assert escape_bytes(text) == text


@given(name=st.text(st.characters(codec="utf-8", exclude_characters="\\")))
def test_ordinary_names_stay_as_they_are(name):
    assert name_to_text(name) == name


@given(first=NAMES, second=NAMES)
def test_different_names_are_different_texts(first, second):
    assert (name_to_text(first) == name_to_text(second)) == (first == second)


def test_odd_names_can_be_printed(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", out)
    name = os.fsdecode(b"caf\xe9.png")
    reporter = Reporter()
    reporter.note(name)
    reporter.result(name)
    reporter.table(["file"], [[name]])
    Reporter(json_output=True).data({"file": name})
    out.flush()
    text = out.buffer.getvalue().decode()
    assert text.count("caf\\xe9.png") == 3
    assert json.loads(text[text.index("{") :]) == {"file": name}


@given(name=st.text())
def test_no_control_character_is_left_in_what_people_read(name):
    assert not any(
        (control < " " and control not in "\n\t") or "\x7f" <= control <= "\x9f"
        for control in escape_controls(name)
    )


def test_escape_of_a_cell_or_a_file_name_reaches_no_message():
    cell = "a\x1b[31m\u202eb\x9b"
    text = "a\\x1b[31m\\u202eb\\u009b"
    assert TableRow({"c": cell}, "t.csv", 2).cite("c") == f"t.csv:2 c={text}"
    problem = QuarantineRow(source="s", case=cell, stage="scan", code="unclaimed", message=cell)
    assert (problem.case, problem.message) == (text, text)


@pytest.mark.parametrize("root", ["/", "/raw", "raw", "."])
@pytest.mark.parametrize("name", ["a.png", "p1/s 2/b.png", "raw/raw/c.png"])
def test_a_name_below_a_root_is_that_of_pathlib(root, name):
    path = Path(root) / name
    assert relative_name(path, Path(root)) == path.relative_to(root).as_posix() == name


def test_a_name_beside_a_root_is_refused():
    with pytest.raises(ValueError, match="raw2"):
        relative_name(Path("/raw2/a.png"), Path("/raw"))

"""Lines are parsed as ``json.loads`` parses them."""

from __future__ import annotations

import json

import pytest

from medrcube.evaluate.runner.json_lines import parse_line

VALUE = {"reply": "é \u2028 B", "n": [1, 2.5, None]}
TEXT = json.dumps(VALUE, ensure_ascii=False)


@pytest.mark.parametrize("line", [TEXT, f"{TEXT}\n", f"  {TEXT} \r\n"])
def test_a_line_gives_its_value(line):
    assert parse_line(line.encode()) == VALUE


@pytest.mark.parametrize("line", [b"{", b"", b'{"a": 1} {"a": 2}', b'{"a": 1}]', b"\xff"])
def test_a_line_that_is_not_one_value_is_refused(line):
    with pytest.raises(ValueError, match=r"Expecting|Extra data|can't decode"):
        parse_line(line)

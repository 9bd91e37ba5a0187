"""docs/reference/card.md against the parsers of a card."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/card.md"
PARSERS = [
    ROOT / "sources/_framework/card.py",
    ROOT / "sources/_framework/upstream_names.py",
    ROOT / "sources/_formats/report_text/phrases.py",
    *sorted((ROOT / "sources/_framework/card_parts").glob("*.py")),
]
GETTERS = {
    *("choice", "choices", "counts", "flag", "grouped", "holds_list", "integer", "lists"),
    *("mapping", "number", "numbers", "span", "table", "tables", "text", "texts"),
}


def keys_read(path):
    """Literal keys that a parser asks a TOML table for."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in GETTERS
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            yield node.args[0].value


@pytest.mark.parametrize("path", PARSERS, ids=lambda path: path.stem)
def test_every_key_of_a_card_is_on_the_page(path):
    code = set(re.findall(r"`([^`\n]+)`", PAGE.read_text("utf-8")))
    words = {word for span in code for word in re.findall(r"[a-z][a-z0-9_]*", span)}
    assert set(keys_read(path)) <= words

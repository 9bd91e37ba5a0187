"""Adapters stay small: what repeats belongs to the shared formats."""

import ast
import tokenize
from io import StringIO
from statistics import median

import pytest

from medrcube.sources.registry import find_sources

MOST = 80
NEW = (
    "luna16",
    "openi-chestxray",
    "ct-ich",
    "breast-lesions-usg",
    "hc18",
    "covid-ct-md",
    "tbx11k",
    "cq500",
)


def code_lines(text):
    """Number of lines with code that is neither an import nor a docstring."""
    lines = {
        number
        for token in tokenize.generate_tokens(StringIO(text).readline)
        if token.type not in {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT}
        and token.type not in {tokenize.DEDENT, tokenize.ENDMARKER}
        for number in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        parts = [node] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            parts += node.body[: ast.get_docstring(node) is not None]
        for part in parts:
            lines -= set(range(part.lineno, part.end_lineno + 1))
    return len(lines)


def _sizes():
    return {
        name: code_lines((source.folder / "adapter.py").read_text(encoding="utf-8"))
        for name, source in find_sources().items()
    }


def test_imports_docstrings_comments_and_blank_lines_do_not_count():
    text = '"""Doc."""\n\nimport os\n# why\nA = (\n    1,  # one\n)\n\n\ndef f():\n    """Doc."""\n'
    assert code_lines(text + "    return os\n") == 5


def test_the_median_adapter_is_small():
    assert median(_sizes().values()) <= MOST


@pytest.mark.parametrize("name", NEW)
def test_an_adapter_made_with_the_shared_formats_is_small(name):
    assert _sizes()[name] <= MOST

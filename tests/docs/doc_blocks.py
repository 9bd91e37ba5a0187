"""The fenced blocks of a page of the documentation."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(
    r"^(?: *<!-- not run: (?P<reason>[^\n]*?) -->\n)?"
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: its page.
        line: number of its first line.
        language: first word behind the fence; empty for none.
        file: second word: the file that the block is saved as, or empty.
        text: its lines, without indentation.
        reason: why it is not run, or empty.
    """

    page: Path
    line: int
    language: str
    file: str
    text: str
    reason: str

    @property
    def name(self):
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"


def blocks_of(page):
    """The blocks of a page, in order; ``<!-- not run: REASON -->`` belongs to the next one."""
    text = page.read_text(encoding="utf-8")
    blocks = []
    for fence in _FENCE.finditer(text):
        language, _, file = fence["info"].strip().partition(" ")
        indent = len(fence["indent"])
        lines = [line[indent:] for line in fence["text"].splitlines(keepends=True)]
        line = text.count("\n", 0, fence.start("info")) + 1
        blocks.append(Block(page, line, language, file, "".join(lines), fence["reason"] or ""))
    return blocks

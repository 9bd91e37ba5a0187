"""Writes docs/reference/copies.md from the tables here: python tests/sources/copies/page.py docs"""

import sys
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent
HEAD = """\
# Shapes of copies

Copies of one dataset differ: archives unpack into folders of their own, operating systems add
files, parts are missing, loaders and mirrors rename and re-sort. This table states what happens to
each shape, and where it was seen; a test checks every row. It is made from the tables in
`tests/sources/copies` by `make reference`.

The raw root is detected: the folder given, or one up to three levels below it; or one above it if
a layout names the folder given. `medrcube sources validate ID FOLDER` and the build say which was
used. `._*`, `__MACOSX`, `.DS_Store`, `Thumbs.db`, `desktop.ini`, checksums and licences are
counted and skipped.

Extensions match in any case; `.jpeg` is `.jpg`, `.nii.gz` is `.nii`, `.csv.gz` is `.csv` and
`.dicom` is `.dcm`. A copy without any file of the expected format is read in the format that it
has: `.png` for `.jpg` and back, `.csv` for `.xlsx`. Columns of tables may be separated by `,`,
`;`, `|` or tabs: the header decides.
"""
SLIP = "common practice"
"""Where a shape was seen that follows from how people unpack, copy and name folders."""


def read_every():
    """Shapes that every source takes."""
    return _read(FOLDER / "every.toml")["every"]


def read_named():
    """Shapes by source and name: one table for each source, in the order of the page."""
    tables = sorted(set(FOLDER.glob("*.toml")) - {FOLDER / "every.toml"})
    return [
        {"source": table.stem, "seen": SLIP} | row
        for table in tables
        for row in _read(table)["variant"]
    ]


def _read(table):
    return tomllib.loads(table.read_text(encoding="utf-8"))


def page():
    """The page as Markdown."""
    rows = [("every source", row["name"], SLIP, "accepted") for row in read_every()]
    rows += [(row["source"], row["name"], row["seen"], _outcome(row)) for row in read_named()]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join((HEAD, "| Source | Copy | Seen | Outcome |", "|---|---|---|---|", *lines, ""))


def _outcome(row):
    if "refused" in row:
        return f"refused: “… {row['refused']} …”"
    part = {"cases", "keys"} & row.keys()
    return "accepted; only the parts present are used" if part else "accepted"


if __name__ == "__main__":
    (Path(sys.argv[1]) / "reference" / "copies.md").write_text(page(), encoding="utf-8")

"""Writes docs/reference/copies.md from variants.toml:  python tests/sources/copies/page.py docs"""

import sys
import tomllib
from pathlib import Path

TABLE = Path(__file__).parent / "variants.toml"
HEAD = """\
# Shapes of copies

Copies of one dataset differ: archives unpack into folders of their own, systems leave files, parts
are missing. This table says what becomes of each shape; a test holds every row of it. It is made
from `tests/sources/copies/variants.toml` by `make reference`.

The raw root is found: the folder given, or one up to two levels below it; or one above it where a
layout names the folder given. `medrcube sources verify ID FOLDER` and the build say which was
taken. Extensions fit in any case. `._*`, `__MACOSX`, `.DS_Store`, `Thumbs.db`, `desktop.ini`,
checksums and licences are counted and passed over.
"""


def page(variants):
    """The page as Markdown."""
    rows = [("every source", entry["name"], "accepted") for entry in variants["every"]]
    for entry in sorted(variants["variant"], key=lambda entry: (entry["source"], entry["name"])):
        refused = entry.get("refused")
        part = "accepted, with the part that is there"
        whole = part if {"cases", "keys"} & entry.keys() else "accepted"
        rows.append(
            (entry["source"], entry["name"], f"refused: “… {refused} …”" if refused else whole)
        )
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join((HEAD, "| Source | Copy | Outcome |", "|---|---|---|", *lines, ""))


if __name__ == "__main__":
    text = page(tomllib.loads(TABLE.read_text(encoding="utf-8")))
    (Path(sys.argv[1]) / "reference" / "copies.md").write_text(text, encoding="utf-8")

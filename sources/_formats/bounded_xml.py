"""Bounded XML reading: size, depth, element count and entities are checked before parsing.

A file that is larger, deeper or has more elements than those of any source here, or that declares
entities (with which a few bytes can expand to gigabytes), is rejected in a streaming pass with
expat before a tree is built.
"""

from __future__ import annotations

import io
from pathlib import Path
from xml.parsers import expat

from medrcube.errors import RowError

__all__ = ["MOST_BYTES", "MOST_DEPTH", "MOST_ELEMENTS", "read_xml"]

MOST_BYTES = 32 << 20
"""Maximum file size: many times a LIDC-IDRI reading or the outlines of a mammogram."""
MOST_ELEMENTS = 1_000_000
"""Maximum number of elements; a tree takes some hundred bytes for each."""
MOST_DEPTH = 64


def read_xml(path: Path) -> bytes:
    """Return the bytes of a file that is safe to parse.

    Raises:
        RowError: the file is missing, is not valid XML, or exceeds a limit; states what was found,
            without its content. Other cases have other files.
    """
    name = f"{path.parent.name}/{path.name}"
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise RowError(f"{name}: is missing; get the file again") from None
    if size > MOST_BYTES:
        raise _refused(name, f"has {size} bytes; expected at most {MOST_BYTES}")
    if not size:
        raise RowError(f"{name}: is empty (0 bytes); get the file again")
    content = path.read_bytes()
    _look_through(name, content)
    return content


def _look_through(name: str, content: bytes) -> None:
    parser, depth, elements = expat.ParserCreate(), 0, 0

    def start(_tag: str, _attributes: object) -> None:
        nonlocal depth, elements
        depth, elements = depth + 1, elements + 1
        if depth > MOST_DEPTH:
            raise _refused(name, f"nests elements {depth} deep; expected at most {MOST_DEPTH}")
        if elements > MOST_ELEMENTS:
            raise _refused(name, f"has over {MOST_ELEMENTS} elements; expected at most as many")

    def end(_tag: str) -> None:
        nonlocal depth
        depth -= 1

    def declare(*_declared: object) -> None:
        raise _refused(name, "declares entities, which no file of a source does")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.EntityDeclHandler = declare
    try:
        parser.ParseFile(io.BytesIO(content))
    except (expat.ExpatError, ValueError, LookupError) as error:  # syntax or encoding
        raise RowError(f"{name} is not valid XML ({error}); get the file again") from None


def _refused(name: str, what: str) -> RowError:
    return RowError(f"{name}: {what}: it is damaged, or crafted to exhaust memory; get it again")

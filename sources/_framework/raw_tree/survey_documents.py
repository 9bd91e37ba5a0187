"""Survey of XML, JSON and NumPy files of an unknown raw tree: structure only, no content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from medrcube.errors import MedrcubeError
from medrcube.sources._formats.bounded_xml import read_xml
from medrcube.sources._formats.tables.contents import read_json
from medrcube.sources._framework.raw_tree.pixel_files import stem_of, suffix_of

__all__ = ["survey_documents"]

_SAMPLE = 5
_MOST_PATHS = 40
_COCO = {"images", "annotations", "categories"}


def survey_documents(
    root: Path, names: Sequence[str], pictures: Iterable[str]
) -> tuple[tuple[str, ...], ...]:
    """Return short paragraphs about the XML, JSON and NumPy files of a tree."""
    stems = {stem_of(name) for name in pictures}
    xml = [name for name in names if suffix_of(name) == ".xml"]
    coco = [name for name in names if suffix_of(name) == ".json" and _is_coco(root / name)]
    others = sum(suffix_of(name) == ".json" for name in names) - len(coco)
    paragraphs = [tuple(_xml(root, xml[:_SAMPLE], stems))] if xml else []
    paragraphs += [
        (f'"{name}": COCO, read by sources/_formats/annotations/coco.py',) for name in coco
    ]
    if others:
        reader = "read_json of sources/_formats/tables/contents.py"
        paragraphs.append((f'{others:,} other files with ".json": {reader}',))
    arrays = [(name, _array(root / name)) for name in names if suffix_of(name) == ".npy"]
    reader = "sources/_formats/tables/arrays.py"
    paragraphs += [
        (f'"{name}": array of {what}, read by {reader}',) for name, what in arrays if what
    ]
    return tuple(paragraphs)


def _xml(root: Path, names: Sequence[str], stems: set[str]) -> Iterator[str]:
    """Yield element paths of a few files, first those whose text or attribute names an image."""
    paths: set[str] = set()
    naming: set[str] = set()
    for name in names:
        try:
            tree = ET.fromstring(read_xml(root / name))  # noqa: S314
        except (MedrcubeError, ET.ParseError):
            continue
        for path, element in _elements(tree, tree.tag):
            if not len(element):
                paths.add(path)
            texts = {path: element.text or ""} | {
                f"{path}/@{key}": value for key, value in element.attrib.items()
            }
            naming |= {place for place, text in texts.items() if stem_of(text.strip()) in stems}
    yield f'elements and attributes of the first {len(names)} files with ".xml":'
    for place in [*sorted(naming), *sorted(paths - naming)[:_MOST_PATHS]]:
        yield f"  {place}{' names an image' if place in naming else ''}"


def _elements(element: ET.Element, path: str) -> Iterator[tuple[str, ET.Element]]:
    yield path, element
    for child in element:
        yield from _elements(child, f"{path}/{child.tag}")


def _array(path: Path) -> str:
    """Return shape and dtype of a numeric array; empty for any other file."""
    import numpy as np  # noqa: PLC0415

    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError):
        return ""
    return f"{' x '.join(map(str, array.shape))} {array.dtype}"


def _is_coco(path: Path) -> bool:
    try:
        content = read_json(path)
    except MedrcubeError:
        return False
    return isinstance(content, dict) and content.keys() >= _COCO

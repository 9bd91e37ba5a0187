"""Which raw files a source's pictures were made of, and which its facts and its layout rest on.

Recipes name the files of one picture each. What all pictures of a source need alike, and how
large each file is, stands in a table of its own: ``raw_files.jsonl`` of a workspace or release.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from medrcube.build.render import Picture
from medrcube.build.scan import Scan, holds_pixels
from medrcube.build.store.trees import Tree
from medrcube.files import sha256_of
from medrcube.names import name_of, text_of

PICTURE, FACTS, LAYOUT = "picture", "facts", "layout"
USES = (PICTURE, FACTS, LAYOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFile:
    """One file of a raw tree.

    Attributes:
        source: id of the source.
        path: relative to the raw root, with forward slashes, as ``names.text_of`` writes it.
        bytes: its size.
        sha256: its digest.
        use: ``picture`` (named by a recipe: pixels, masks, contours), ``facts`` (tables and
            sidecars that labels come from) or ``layout`` (the smallest file of a glob without
            which the copy is not recognised).
    """

    source: str
    path: str
    bytes: int
    sha256: str
    use: str

    def line(self) -> str:
        """Its row of ``raw_files.jsonl``."""
        return json.dumps(asdict(self), sort_keys=True) + "\n"


def raw_files(found: Scan, tree: Tree, pictures: Iterable[Picture]) -> Iterator[RawFile]:
    """Raw files of a source, in order of use and path; one that is gone by now is left out.

    A file of ``layout`` may be one of ``picture`` too: a release that lacks that picture still
    needs the layout.

    Args:
        found: the scan.
        tree: the raw tree that was scanned.
        pictures: what was made of it.
    """
    digests: dict[str, str] = {}
    for picture in pictures:
        files = picture.recipe["files"]
        digests.update({name_of(text): digest for text, digest in files.items()})
    sizes = {name: state.size for name, state in tree.states.items()}
    layout = found.source.card.layout(found.layout.layout)
    matched = {
        glob: [name for name in tree.seen.match(glob) if name in sizes]
        for glob in (*layout.expect, *layout.optional)
    }
    facts = {name for names in matched.values() for name in names if not holds_pixels(name)}
    least = {
        min(matched[glob], key=lambda name: (sizes[name], name))
        for glob in layout.expect
        if matched[glob]
    }
    facts -= digests.keys()
    for use, names in ((PICTURE, digests.keys()), (FACTS, facts), (LAYOUT, least - facts)):
        for name in sorted(names & sizes.keys()):
            digest = digests.get(name) or _digest(tree.root / name)
            if digest is not None:
                yield RawFile(
                    source=found.source.id,
                    path=text_of(name),
                    bytes=sizes[name],
                    sha256=digest,
                    use=use,
                )


def _digest(path: Path) -> str | None:
    try:
        return sha256_of(path)
    except OSError:
        return None

"""The pictures of HC18: one case for each row of the training table."""

from __future__ import annotations

from collections.abc import Iterator

from medrcube.facts import Case, ImageRef
from medrcube.sources._formats.tables.tables import find_table, read_csv
from medrcube.sources._framework.raw_tree.raw_tree import RawTree


def cases(root: RawTree, layout: str) -> Iterator[Case]:
    """Yield one case for every measured picture."""
    del layout
    for row in read_csv(find_table(root, "table"), columns=("filename",)):
        stem = row["filename"].removesuffix(".png")
        image = ImageRef(paths=(root / f"training_set/{stem}.png",))
        yield Case(key=stem, images=(image,))

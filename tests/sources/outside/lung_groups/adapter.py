"""The scans of COVID-CT-MD: one case for each patient, whose group is the folder above."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from medrcube.facts import Case, ImageRef, Label
from medrcube.sources._formats.tables.tables import natural_key
from medrcube.sources._framework.raw_tree.raw_tree import RawTree


def cases(root: RawTree, layout: str) -> Iterator[Case]:
    """Yield one case for every folder of a patient."""
    del layout
    files = sorted(root.part("slices"), key=natural_key)
    for folder, slices in groupby(files, key=lambda file: file.parent):
        group = folder.parent.name.removesuffix(" subjects")
        yield Case(
            key=folder.name,
            images=(ImageRef(paths=tuple(slices)),),
            patient=folder.name,
            labels=(Label(field="group", value=group, evidence=f"{folder.parent.name}/"),),
        )

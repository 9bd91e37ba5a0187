"""The source datasets as a table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from medrcube.api.arguments import listed, path_of
from medrcube.sources.registry import find_sources

__all__ = ["SOURCE_COLUMNS", "list_sources"]

SOURCE_COLUMNS = {
    "id": "name of the source, as ``medrcube.toml`` uses it",
    "title": "title of the dataset",
    "anatomy": "anatomical region of most images",
    "modality": "imaging modality of most images",
    "images": "number of images in the full dataset",
    "access": "how the data are obtained: open, form, account or credentialed",
    "licence": "SPDX identifier, or a ``LicenseRef``",
    "redistribute": "whether a release may contain the images",
    "tasks": "tasks that the source supports, a list",
}
"""Columns of the table returned by ``list_sources``, with their meaning."""


def list_sources(extra: str | Path | Iterable[str | Path] = ()) -> pd.DataFrame:
    """List the sources that can be built, one row each, sorted by id.

    The columns are ``SOURCE_COLUMNS``.

    Args:
        extra: one or more folders that contain your own source folders.

    Raises:
        MedrcubeError: a folder contains no source, or a card is invalid.

    Example:
        >>> import medrcube
        >>> sources = medrcube.list_sources()
        >>> ultrasound = sources[sources["modality"] == "Ultrasound"]
        >>> ultrasound.loc[ultrasound["id"] == "busi", ["id", "anatomy"]].values.tolist()
        [['busi', 'Breast']]
    """
    folders = [
        path_of("extra", each) for each in listed("extra", extra, "a path or a list of paths")
    ]
    cards = [source.card for source in find_sources(folders).values()]
    rows = [
        (
            card.id,
            card.title,
            str(card.anatomy),
            str(card.modality),
            card.images,
            str(card.access.mode),
            card.access.licence,
            card.access.redistribute,
            [str(task) for task in card.tasks],
        )
        for card in cards
    ]
    return pd.DataFrame(rows, columns=list(SOURCE_COLUMNS))

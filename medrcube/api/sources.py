"""The source datasets as a table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from medrcube.sources.registry import find_sources

__all__ = ["SOURCE_COLUMNS", "list_sources"]

SOURCE_COLUMNS = {
    "id": "name of the source, as ``medrcube.toml`` uses it",
    "title": "title of the dataset",
    "anatomy": "anatomical region",
    "modality": "imaging modality",
    "images": "number of images that the whole dataset holds",
    "access": "how the data are obtained: open, registration, agreement or credentialed",
    "licence": "SPDX identifier, or a ``LicenseRef``",
    "redistribute": "whether a release may hold the images",
    "tasks": "tasks that the source can be asked, a list",
}
"""Column -> meaning, of the table that ``list_sources`` returns."""


def list_sources(extra: Iterable[str | Path] = ()) -> pd.DataFrame:
    """The sources that can be built, one row each, in order of id.

    The columns are those of ``SOURCE_COLUMNS``.

    Args:
        extra: folders that hold source folders of your own.

    Raises:
        MedrcubeError: a folder holds no source, or a card is wrong.

    Example:
        >>> import medrcube
        >>> sources = medrcube.list_sources()
        >>> ultrasound = sources[sources["modality"] == "Ultrasound"]
        >>> ultrasound.loc[ultrasound["id"] == "busi", ["id", "anatomy"]].values.tolist()
        [['busi', 'Breast']]
    """
    cards = [source.card for source in find_sources(map(Path, extra)).values()]
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

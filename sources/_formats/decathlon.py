"""``dataset.json`` of the Medical Segmentation Decathlon and nnU-Net: class check."""

from __future__ import annotations

from collections.abc import Mapping

from medrcube.errors import SourceError
from medrcube.sources._formats.tables.contents import read_json
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

__all__ = ["check_classes"]


def check_classes(root: RawTree, expected: Mapping[str, int]) -> None:
    """Check the meaning of label values against ``dataset.json``, the part ``classes`` of a copy.

    The Decathlon writes ``{"1": "cancer"}``, nnU-Net version 2 ``{"cancer": 1}``.

    Args:
        root: raw root.
        expected: class name -> label value.

    Raises:
        SourceError: there is no such file or more than one, it is not valid JSON, or it has other
            classes.
    """
    files = root.part("classes")
    if len(files) != 1:
        raise SourceError(
            f"{root}: {len(files)} files named dataset.json; expected one: choose the folder of "
            "one task as root"
        )
    try:
        labels = read_json(files[0])["labels"]
        pairs = [(str(a), str(b)) for a, b in labels.items()]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(
            f"{files[0]}: holds no object 'labels' with names of classes ({error!r})"
        ) from error
    for name, value in expected.items():
        if (name, str(value)) not in pairs and (str(value), name) not in pairs:
            raise SourceError(
                f"{files[0]}: expected the label {value} to be {name!r}, found {labels}; is this "
                "another task?"
            )

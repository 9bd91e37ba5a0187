"""FETAL_PLANES_DB: the table names the plane; numbers in file names do not."""

from __future__ import annotations

from collections.abc import Iterator

from medrcube.errors import SourceError
from medrcube.records import Case, ImageRef, Skip
from medrcube.sources.raw_tree import RawTree
from medrcube.sources.tables import index_names, read_csv
from medrcube.taxonomy import Anatomy

TABLE = "FETAL_PLANES_DB_data.csv"
COLUMNS = ("Image_name", "Patient_num", "Plane", "Brain_plane", "US_Machine", "Train")
ANATOMY = {"Fetal brain": Anatomy.BRAIN, "Fetal thorax": Anatomy.CHEST}
OUTSIDE = ("Fetal abdomen", "Fetal femur", "Maternal cervix", "Other")
SPLIT = {"1": "train", "0": "test"}


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the rows in table order; planes outside the five anatomies are set aside."""
    del layout
    files = index_names(root)
    for row in read_csv(files.get(TABLE, root / TABLE), columns=COLUMNS):
        key, plane = row["Image_name"], row["Plane"]
        path = files.get(f"{key}.png", root / "Images" / f"{key}.png")
        if plane in OUTSIDE:
            reason = f"the plane {plane!r} lies outside the five anatomies"
            yield Skip(key=key, reason=reason, paths=(path,))
            continue
        if plane not in ANATOMY or row["Train"] not in SPLIT:
            known = ", ".join((*ANATOMY, *OUTSIDE))
            raise SourceError(
                f"{row.cite('Plane')} Train={row['Train']!r}: expected a plane of {known} and a "
                "Train of 0 or 1; is this another edition of the table?"
            )
        yield Case(
            key=key,
            images=(ImageRef(paths=(path,)),),
            patient=row["Patient_num"],
            labels=(
                row.label("Plane", field="target"),
                row.label("Brain_plane", field="brain_plane"),
            ),
            split=SPLIT[row["Train"]],
            anatomy=ANATOMY[plane],
            facts=row.facts(machine="US_Machine"),
        )

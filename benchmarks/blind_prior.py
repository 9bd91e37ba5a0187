"""How often does a constant box, point or length pass, without an image?

Usage: ``python benchmarks/blind_prior.py DATA [--iou 0.5] [--tolerance 0.2] [--csv FILE]``, on any
workspace that was built, or on ``BBox_List_2017.csv`` of ChestX-ray14. Prints one row per source,
concept and view, best constant first; the constant is chosen on the other patients
(``medrcube.build.audit.shortcuts.blind_priors``).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from medrcube.build.audit.shortcuts.blind_priors import blind_priors, priors_to_frame

SIDE = 1024
"""Pixels of a film of ChestX-ray14."""


def main() -> None:
    """Print the table, and write it where a file is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--iou", type=float, default=0.5)
    parser.add_argument("--tolerance", type=float, default=0.2)
    parser.add_argument("--csv", type=Path)
    args = parser.parse_args()
    if args.data.is_dir():
        geometry = pd.read_parquet(args.data / "geometry.parquet")
    else:
        geometry = _chest_boxes(args.data)
    priors = blind_priors(geometry, iou=args.iou, tolerance=args.tolerance)
    table = priors_to_frame(priors).sort_values(["box", "regions"], ascending=False)
    print(table.to_string(index=False, float_format="{:.2f}".format, na_rep="-"))
    if args.csv is not None:
        table.to_csv(args.csv, index=False)


def _chest_boxes(path: Path) -> pd.DataFrame:
    """The boxes of ChestX-ray14 on films of 1024 x 1024 pixels, of which no length is known."""
    boxes = pd.read_csv(path).iloc[:, :6]
    boxes.columns = pd.Index(["sample", "concept", "x0", "y0", "width", "height"])
    return boxes.assign(
        source="nih-chestxray14",
        case=boxes["sample"],
        patient=boxes["sample"].str[:8],
        view="",
        x1=boxes["x0"] + boxes["width"],
        y1=boxes["y0"] + boxes["height"],
        width=SIDE,
        height=SIDE,
        shape="box",
        pieces=1,
        cut=False,
        partial=False,
        scale="",
        mm_per_pixel=float("nan"),
        longest=float("nan"),
    )


if __name__ == "__main__":
    main()

"""How often does a constant box, point or length pass, without a picture?

Usage: ``python benchmarks/blind_prior.py WORKSPACE [--iou 0.5] [--tolerance 0.2] [--csv FILE]``, on
any workspace that was built. Prints one row per source, concept and view, best constant first; the
constant is chosen on the other patients (``medrcube.build.audit.blind_priors``).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from medrcube.build.audit.blind_priors import blind_priors, priors_to_frame


def main() -> None:
    """Print the table, and write it where a file is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--iou", type=float, default=0.5)
    parser.add_argument("--tolerance", type=float, default=0.2)
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args()
    geometry = pd.read_parquet(given.workspace / "geometry.parquet")
    priors = blind_priors(geometry, iou=given.iou, tolerance=given.tolerance)
    table = priors_to_frame(priors).sort_values(["box", "regions"], ascending=False)
    print(table.to_string(index=False, float_format="{:.2f}".format, na_rep="-"))
    if given.csv is not None:
        table.to_csv(given.csv, index=False)


if __name__ == "__main__":
    main()

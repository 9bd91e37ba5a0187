"""Six synthetic pictures with their table."""

from __future__ import annotations

from pathlib import Path

from medrcube.sources._synthetic.any_format import write_example
from medrcube.sources._synthetic.images import write_lines

NAMES = ("000_HC", "001_HC", "010_HC", "010_2HC", "014_HC", "014_2HC")


def build(root: Path, layout: str) -> None:
    """Write pictures and table."""
    del layout
    for seed, name in enumerate(NAMES):
        write_example(root / f"training_set/{name}.png", seed=seed)
    rows = [f"{name}.png,0.1,{170 + seed}.0" for seed, name in enumerate(NAMES)]
    header = "filename,pixel size(mm),head circumference (mm)"
    write_lines(root / "training_set_pixel_size_and_HC.csv", [header, *rows])

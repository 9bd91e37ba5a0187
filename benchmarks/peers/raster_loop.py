"""Pillow: a JPEG or PNG opened and saved as grey PNG, at its default level and at level 1."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import timing
from PIL import Image


def main() -> None:
    parser = timing.arguments()
    parser.add_argument("--best", action="store_true")
    args = parser.parse_args()
    level = 1 if args.best else 6

    def work() -> int:
        with Image.open(args.data) as image:
            image.save(args.out / "image.png", compress_level=level)
        return 1

    timing.serve(work, args.out)


main()

"""Ours: what a worker of a build does for one case, ``python ours_once.py DATA OUT --window W``.

``render_job``: SHA-256 of every raw file, reading, orientation, window, PNG, pixel hash, perceptual
hash, atomic write and recipe of each image.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import ours
import timing

from medrcube.build.readers.detect_format import module_of
from medrcube.build.stages.rendering.render import render_job


def main() -> None:
    parser = timing.arguments()
    parser.add_argument("--window", default="header")
    parser.add_argument("--colour", default="keep", help="colour policy of the card")
    args = parser.parse_args()
    ours.load_source()
    for reader in ours.readers_of(args.data):
        module_of(reader)
    job = ours.job_of(args.data, window=args.window, colour=args.colour)

    def work() -> int:
        rendered = render_job(job, args.out)
        for problem in rendered.problems:
            sys.exit(problem.message)
        return len(rendered.pictures)

    timing.serve(work, args.out)


if __name__ == "__main__":
    main()

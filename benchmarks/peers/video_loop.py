"""OpenCV: every frame of a video as PNG, grey or in colour; at its best with PNG level 1."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import cv2
import timing


def main() -> None:
    parser = timing.arguments()
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--colour", default="grey", help="grey or keep")
    args = parser.parse_args()
    options = (cv2.IMWRITE_PNG_COMPRESSION, 1) if args.best else ()

    def work() -> int:
        film, count = cv2.VideoCapture(str(args.data)), 0
        while True:
            there, frame = film.read()
            if not there:
                return count
            if args.colour == "grey":
                frame = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
            cv2.imwrite(str(args.out / f"{count:04}.png"), frame, options)
            count += 1

    timing.serve(work, args.out)


main()

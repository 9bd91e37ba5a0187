"""dicom2jpg, to PNG, in one process as everything that is compared here."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import dicom2jpg
import timing


def main() -> None:
    args = timing.arguments().parse_args()

    def work() -> int:
        dicom2jpg.dicom2png(
            str(args.data), target_root=str(args.out), anonymous=True, multiprocessing=False
        )
        return len(list(args.out.rglob("*.png")))

    timing.serve(work, args.out)


main()

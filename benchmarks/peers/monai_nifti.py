"""MONAI: LoadImage, Orientation, a window, and SaveImage of every axial slice as PNG."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import timing
from monai.transforms import LoadImage, Orientation, SaveImage, ScaleIntensityRange


def work(data: Path, out: Path) -> int:
    image = LoadImage(image_only=True, ensure_channel_first=True)(data)
    image = Orientation(axcodes="LPS", labels=None)(image)
    image = ScaleIntensityRange(-160, 240, 0.0, 1.0, clip=True)(image)
    save = SaveImage(
        output_dir=out,
        output_ext=".png",
        output_postfix="",
        resample=False,
        scale=255,
        separate_folder=False,
        print_log=False,
        writer="PILWriter",
    )
    count = int(image.shape[-1])
    for k in range(count):
        save(image[..., k].as_tensor(), filename=str(out / f"{k:04}"))
    return count


_ARGUMENTS = timing.arguments().parse_args()
timing.serve(lambda: work(_ARGUMENTS.data, _ARGUMENTS.out), _ARGUMENTS.out)

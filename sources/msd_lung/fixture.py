"""A few synthetic lung volumes with one tumour each, in the two forms of the copies."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.chest_ct import chest, tumour
from medrcube.sources._synthetic.images import CANARY, write_lines, write_nifti

NUMBERS = {"original": (53, 1, 96), "nnunet": (4, 11)}
FOLDERS = {"original": "Task06_Lung", "nnunet": "Dataset006_Lung"}


def build(root: Path, layout: str) -> None:
    """Write volumes whose affine runs either way, their labels, and an unlabelled test volume."""
    folder = root / FOLDERS[layout]
    suffix = ".nii.gz"
    channel = "_0000" if layout == "nnunet" else ""
    for place, number in enumerate(NUMBERS[layout]):
        image = f"lung_{number:03}{channel}{suffix}"
        mirrored = place % 2 == 1
        mask = tumour(seed=number)
        volume = chest(seed=number, tumour=mask)
        _write(folder / "imagesTr" / image, volume, mirrored=mirrored)
        label = mask.astype(np.float32 if mirrored else np.uint8)
        _write(folder / "labelsTr" / f"lung_{number:03}{suffix}", label, mirrored=mirrored)
        if layout == "original":
            (folder / "imagesTr" / f"._{image}").write_bytes(CANARY.encode())
    _write(folder / "imagesTs" / f"lung_002{channel}{suffix}", chest(seed=2), mirrored=False)
    labels: dict[str, str] | dict[str, int] = {"0": "background", "1": "cancer"}
    if layout == "nnunet":
        labels = {"background": 0, "cancer": 1}
    text = {"name": "Lung", "description": CANARY, "modality": {"0": "CT"}, "labels": labels}
    write_lines(folder / "dataset.json", [json.dumps(text)])


def _write(path: Path, volume: np.ndarray, *, mirrored: bool) -> None:
    """Store a volume in display order along an affine that is LPS or RAS."""
    voxels = volume if mirrored else volume[:, ::-1, ::-1]
    signs = (-1, -1, 1) if mirrored else (1, 1, 1)
    write_nifti(path, voxels, spacing=(2.0, 2.0, 3.0), signs=signs)

"""Every real DICOM file against dcmtk: other code, by other people, for the same standard."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image
from pydicom import dcmread

from medrcube.build.pixels.windowing.transform import modality_values
from medrcube.build.readers import read
from medrcube.errors import ReadError
from medrcube.facts import ImageRef

pytestmark = [
    pytest.mark.real,
    pytest.mark.untraced,
    pytest.mark.skipif(shutil.which("dcml2pnm") is None, reason="dcmtk is not installed"),
]

DEPENDS = {"JPEG": "dcmj2pnm", "JPEG-LS": "dcml2pnm"}
MOST = {"grey": 1.01, "colour": 4}
"""Grey values of 255: rounding, and for colour the conversion from YCbCr."""

EXPLAINED = {
    # Decoders of lossy JPEG may differ by one stored value, which the narrow range stretches.
    "CT0012.fragmented_no_bot_jpeg_baseline.51.dcm": 2,
}


def tool_for(syntax):
    if "2000" in syntax.name:
        return None  # dcmtk has no JPEG 2000
    coding = next((name for name in ("JPEG-LS", "JPEG") if syntax.name.startswith(name)), "")
    return DEPENDS.get(coding, "dcm2pnm")


def by_dcmtk(tool, path, target):
    """First frame from its lowest to its highest value, or ``None`` where dcmtk refuses it."""
    arguments = ["--write-raw-pnm", "+Wm", "+F", "1", path, target]
    process = subprocess.run([shutil.which(tool), *arguments], capture_output=True, check=False)
    entry = next(iter(sorted(target.parent.glob(f"{target.name}*"))), None)
    if process.returncode or entry is None:
        return None
    with Image.open(entry) as picture:
        pixels = np.asarray(picture).astype(float)
    entry.unlink()
    return pixels


def ours(path):
    volume = read(ImageRef(paths=(path,), frame=0))
    pixels = volume.slices[0]
    if volume.colour:
        return pixels.astype(float)
    values = modality_values(volume.greys, pixels)
    shades = (values - values.min()) * 255 / max(np.ptp(values), 1)
    return 255 - shades if volume.greys.inverted else shades


def difference(first, second):
    if first.ndim != second.ndim:
        first, second = (
            entry if entry.ndim == 3 else entry[..., None] for entry in (first, second)
        )
    return float(np.abs(first - second).max()) if first.shape[:2] == second.shape[:2] else np.inf


def test_dcmtk_shows_every_real_file_as_we_do(real_raw, tmp_path):
    compared, odd = 0, {}
    for path in sorted(real_raw.rglob("*")):
        if not path.is_file() or path.read_bytes()[128:132] != b"DICM":
            continue
        tool = tool_for(dcmread(path, stop_before_pixels=True).file_meta.TransferSyntaxUID)
        try:
            mine = ours(path)
        except ReadError:
            continue
        theirs = by_dcmtk(tool, path, tmp_path / "picture") if tool else None
        if theirs is None:
            continue
        compared += 1
        apart = difference(mine, theirs)
        if apart > MOST["colour" if mine.ndim == 3 else "grey"]:
            odd[path.name] = round(apart, 1)
    assert odd.keys() == EXPLAINED.keys()
    assert all(apart <= EXPLAINED[name] for name, apart in odd.items())
    assert compared > 40

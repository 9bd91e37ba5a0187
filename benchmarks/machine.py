"""What the figures depend on: processor, memory, system, load, versions. No names, no paths."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from medrcube.build.execution.progress import usable_cores
from medrcube.build.pixels.png_encoder import ENCODER

OWN = ("deflate", "nibabel", "numpy", "pillow", "pydicom", "pylibjpeg-openjpeg")
"""Packages of ours that decide the figures."""


def describe() -> Mapping[str, str]:
    """The machine at this moment, in words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "processor": _processor(),
        "cores": str(usable_cores()),
        "memory": f"{memory:.0f} GB",
        "system": f"{platform.system()}, {platform.machine()}",
        "python": platform.python_version(),
        "load": f"{os.getloadavg()[0]:.1f}",
        "encoder": ENCODER,
    }


def _processor() -> str:
    table = Path("/proc/cpuinfo")
    if table.exists():
        for line in table.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or "unknown"

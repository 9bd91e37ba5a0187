"""One virtual environment for each group of peers, made once into the cache folder.

Versions follow ``constraints.txt`` where it names the package; others are the newest that pip
finds, and the page says which. Nothing of ours is installed there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

ENVIRONMENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "monai": ("monai", "nibabel", "pillow", "torch"),
        "dicom2jpg": ("dicom2jpg", "pillow", "pydicom"),
        "loops": (
            *("av", "nibabel", "numpy", "opencv-python-headless", "pillow", "pydicom"),
            *("pylibjpeg", "pylibjpeg-libjpeg", "pylibjpeg-openjpeg", "pylibjpeg-rle"),
        ),
        "encoders": (
            *("deflate", "imagecodecs", "isal", "numpy", "opencv-python-headless", "pillow"),
            *("pyvips[binary]", "zlib-ng"),
        ),
    }
)
_CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"
_VERSIONS = """
import json, sys
from importlib.metadata import version
print(json.dumps({name: version(name) for name in sys.argv[1:]}))
"""


class EnvironmentFailedError(Exception):
    """An environment could not be made; its peers are left out and the page says so."""


def python_of(name: str, folder: Path) -> Path:
    """The Python of an environment; makes it first where it is not there.

    Raises:
        EnvironmentFailedError: pip fails, for example without a network.
    """
    place = folder / name
    python = place / "bin" / "python"
    mark = place / ".complete"
    if not mark.exists():
        _run(sys.executable, "-m", "venv", "--clear", str(place))
        install = (str(python), "-m", "pip", "--disable-pip-version-check", "install", "-qq")
        try:
            _run(*install, "--constraint", str(_CONSTRAINTS), *ENVIRONMENTS[name])
        except EnvironmentFailedError:
            # A peer that insists on other versions gets what it wants.
            _run(*install, *ENVIRONMENTS[name])
        mark.touch()
    return python


def versions_of(python: Path, names: tuple[str, ...]) -> str:
    """Versions of packages, for people: ``monai 1.6.0, nibabel 5.4.2``."""
    plain = [name.partition("[")[0] for name in names]
    listing = subprocess.run(  # noqa: S603
        [python, "-c", _VERSIONS, *plain], capture_output=True, text=True, check=True
    )
    return ", ".join(f"{name} {version}" for name, version in json.loads(listing.stdout).items())


def _run(*command: str) -> None:
    process = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if process.returncode:
        raise EnvironmentFailedError(process.stderr.strip().splitlines()[-1:] or [command[0]])

"""``python -m build`` in the checkout: runs PyPA's build, which this package shadows."""

import runpy
import sys
from pathlib import Path


def main() -> None:
    """Run PyPA's build with the given arguments."""
    checkout = Path(__file__).resolve().parent.parent
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != checkout]
    sys.modules.pop("build", None)
    runpy.run_module("build", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    if __package__ != "build":
        sys.exit("medrcube.build is a package; the command is  medrcube build")
    main()

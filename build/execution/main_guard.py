"""Check that the program can be imported again by worker processes.

A spawned process imports the main module first. A script without the usual guard would start the
whole build again in every worker.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from medrcube.errors import MedrcubeError

__all__ = ["require_main_guard"]


def require_main_guard(main: ModuleType | None = None) -> None:
    """Refuse to start workers from a script that has no ``__main__`` guard.

    Args:
        main: the main module; by default that of this process.

    Raises:
        MedrcubeError: the script does not look at its ``__name__``.
    """
    module = main or sys.modules["__main__"]
    file = getattr(module, "__file__", None)
    spec = getattr(module, "__spec__", None)
    if not file or (spec is not None and spec.name.endswith("__main__")):
        return  # a console or a notebook, or  python -m PACKAGE: not imported by workers
    try:
        source = Path(file).read_bytes()
    except OSError:
        return
    if b"__name__" not in source and b"\0" not in source:
        raise MedrcubeError(
            f'{file}: has no  if __name__ == "__main__":  and each worker process would run the '
            "script again; put the calls below that line, or use workers=1"
        )

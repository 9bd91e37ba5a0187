"""Load Python files outside the package by path: adapters, fixtures and rules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["load_python_file"]


def load_python_file(file: Path, name: str) -> ModuleType:
    """Execute a file as a module, once per module name; a failed import leaves nothing behind.

    Args:
        file: path of the file.
        name: module name; must be derived from the content of the file, so that a changed file is
            loaded again under a different name.

    Raises:
        ImportError: it is not a Python file.
        Exception: whatever its code raises.
    """
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file that can be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module

"""Rebuild, extend and run medical-imaging benchmarks for multimodal models.

The names below are the public interface (``medrcube.api``). Each is imported on first use, so
``import medrcube`` itself loads nothing.
"""

from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medrcube.api.release import ModelSettings, Release, load_release
    from medrcube.api.run import Run, load_run, write_report
    from medrcube.api.sources import list_sources
    from medrcube.api.workspace import BuildReport, Workspace, create_workspace, open_workspace
    from medrcube.errors import MedrcubeError

__all__ = [
    "BuildReport",
    "MedrcubeError",
    "ModelSettings",
    "Release",
    "Run",
    "Workspace",
    "__version__",
    "create_workspace",
    "list_sources",
    "load_release",
    "load_run",
    "open_workspace",
    "write_report",
]

__version__ = version("medrcube")

_checkout = Path(__file__).resolve().parent.parent
if (_checkout / "pyproject.toml").is_file():
    # In a checkout this folder hides an installed package; its other parts lie beside it.
    __path__.append(str(_checkout))

_MODULES = {
    "BuildReport": "api.workspace",
    "MedrcubeError": "errors",
    "ModelSettings": "api.release",
    "Release": "api.release",
    "Run": "api.run",
    "Workspace": "api.workspace",
    "create_workspace": "api.workspace",
    "list_sources": "api.sources",
    "load_release": "api.release",
    "load_run": "api.run",
    "open_workspace": "api.workspace",
    "write_report": "api.run",
}
_EXTRAS = {"api.workspace": "build", "api.release": "evaluate", "api.run": "evaluate"}


def __getattr__(name: str) -> object:
    """Lazily import a public name from the module that defines it.

    Raises:
        MissingExtraError: the module needs an optional extra that is not installed.
    """
    if name not in _MODULES:
        raise AttributeError(f"module 'medrcube' has no attribute {name!r}")
    module = _MODULES[name]
    try:
        value: object = getattr(import_module(f"medrcube.{module}"), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in {"", "medrcube"}:
            raise
        errors = import_module("medrcube.errors")
        raise errors.MissingExtraError(missing, _EXTRAS.get(module, "evaluate")) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

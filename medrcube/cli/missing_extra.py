"""Which extra of medrcube installs a missing package."""

from __future__ import annotations

from traceback import walk_tb

from medrcube.errors import MissingExtraError

__all__ = ["EXTRA_OF", "missing_extra"]

EXTRA_OF = {
    **dict.fromkeys(
        (
            *("av", "deflate", "h5py", "nibabel", "numpy", "openpyxl", "pandas", "PIL"),
            *("pyarrow", "pydicom", "scipy", "SimpleITK", "xlrd"),
        ),
        "build",
    ),
    "distributed": "dask",
    **dict.fromkeys(("oxrdflib", "pronto", "pyoxigraph", "rdflib"), "ontologies"),
    **dict.fromkeys(("aiohttp", "httpx2", "openai"), "evaluate"),
    **dict.fromkeys(
        (
            *("argon2", "authlib", "cryptography", "csp", "django", "django_otp", "joserfc"),
            *("requests", "segno", "waitress", "whitenoise", "zxcvbn"),
        ),
        "review",
    ),
    "psycopg": "postgresql",
    "great_expectations": "validate",
    **dict.fromkeys(("num2words", "torch", "torchvision", "transformers"), "local"),
}
"""Import name -> extra."""


def missing_extra(error: ModuleNotFoundError) -> MissingExtraError | None:
    """What to install, for the part of medrcube that failed; ``None`` for a foreign package."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRA_OF:
        return None
    modules = [frame.f_globals["__name__"] for frame, _ in walk_tb(error.__traceback__)]
    extra = EXTRA_OF[package]
    if package == "httpx2" and any(name.startswith("medrcube.sources") for name in modules):
        extra = "get"
    elif extra == "build" and any(name.startswith("medrcube.evaluate") for name in modules):
        extra = "evaluate"
    return MissingExtraError(package, extra)

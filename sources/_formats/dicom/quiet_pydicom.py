"""pydicom without warnings and logs, which quote header values."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["silent_pydicom"]


@contextmanager
def silent_pydicom() -> Iterator[None]:
    """Silence warnings and log of pydicom; also a decorator, ``@silent_pydicom()``."""
    log = logging.getLogger("pydicom")
    before = log.disabled
    log.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.disabled = before

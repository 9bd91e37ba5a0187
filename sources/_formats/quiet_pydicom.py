"""Reading DICOM without a word of it in warnings or logs: pydicom quotes what it finds odd."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent_pydicom() -> Iterator[None]:
    """Silence the warnings and the log of pydicom; also a decorator, as ``@discreet()``."""
    log = logging.getLogger("pydicom")
    before = log.disabled
    log.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.disabled = before

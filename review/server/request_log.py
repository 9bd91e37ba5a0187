"""Request log: one line without a traceback for errors that are not bugs.

An unreachable database, a foreign host name or a missing page needs no traceback of Django's own
code; errors in our code keep theirs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from http import HTTPStatus

from django.core.exceptions import SuspiciousOperation

__all__ = ["shorten_log"]

_REQUESTS = "django.request"


def shorten_log() -> None:
    """Shorten Django's log; idempotent."""
    logger = logging.getLogger(_REQUESTS)
    # Missing and forbidden pages are of no interest to the operator.
    logger.setLevel(logging.ERROR)
    logger.addFilter(_without_traceback)
    for kind in _kinds(SuspiciousOperation):
        logging.getLogger(f"django.security.{kind}").addFilter(_without_traceback)


def _kinds(error: type[Exception]) -> Iterator[str]:
    yield error.__name__
    for kind in error.__subclasses__():
        yield from _kinds(kind)


def _without_traceback(record: logging.LogRecord) -> bool:
    away = getattr(record, "status_code", 0) == HTTPStatus.SERVICE_UNAVAILABLE
    if away:
        record.msg, record.args = "%s: the database cannot be reached", (record.getMessage(),)
    if away or record.name != _REQUESTS:
        record.exc_info = record.exc_text = None
    return True

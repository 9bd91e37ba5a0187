"""Model endpoints: base URL checks, ``Retry-After``, and keys kept out of messages."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Collection, Mapping
from urllib.parse import parse_qsl, urlsplit

from medrcube.errors import ModelError

__all__ = ["OFFICIAL_URL", "checked_url", "is_official", "printable_line", "retry_after", "scrub"]

OFFICIAL_URL = "https://api.openai.com/v1"
_SHORTEST_SECRET = 8


def checked_url(url: str, *, query: Collection[str] = ()) -> str:
    """Validate a base URL; URLs with credentials are refused, since logs would expose them.

    Args:
        url: the URL.
        query: allowed query fields, known to contain no secret.

    Raises:
        ModelError: it is not a URL, or contains a user, a password or a query; these are not
            shown.
    """
    parts = urlsplit(url)
    fields = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    hidden = bool(parts.query) and (not fields or not set(fields) <= set(query))
    if parts.username or parts.password or hidden:
        raise ModelError(
            "the base URL contains a user, a password or a query; expected a bare address such as "
            "http://localhost:8000/v1, with the key in an environment variable"
        )
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ModelError(f"base URL {url!r} is not an address; expected http://HOST:PORT/v1")
    return url if parts.query else url.rstrip("/")


def is_official(url: str) -> bool:
    """Whether the URL is OpenAI's own, which needs a key and different parameter names."""
    return urlsplit(url).hostname == urlsplit(OFFICIAL_URL).hostname


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the ``Retry-After`` delay in seconds (RFC 9110, 10.2.3: seconds or an HTTP date)."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * scale)
        except (KeyError, ValueError):
            continue
    try:
        date = email.utils.parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, date.timestamp() - time.time())


def scrub(text: str, secret: str) -> str:
    """Remove a secret from a text; servers repeat keys in error messages."""
    return text.replace(secret, "[key]") if len(secret) >= _SHORTEST_SECRET else text


def printable_line(text: str, longest: int = 300) -> str:
    """Return a server message as one truncated line without terminal control characters."""
    printable = "".join(char if char.isprintable() else " " for char in text[: 4 * longest])
    return " ".join(printable.split())[:longest]

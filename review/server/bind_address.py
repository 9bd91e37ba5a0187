"""Validation of the server's host and origin before Django is loaded."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from medrcube.review.errors import ReviewError

__all__ = ["check_address"]


def check_address(host: str, origin: str) -> None:
    """Reject settings that would send passwords in clear text, or accept no host name.

    Raises:
        ReviewError: the address is reachable by others but there is no https origin, or the origin
            is invalid.
    """
    if origin:
        try:
            parts = urlsplit(origin)
            plain = origin == f"https://{parts.netloc}" and parts.port != 0
        except ValueError:
            plain = False
        if not plain or not parts.hostname or "@" in parts.netloc:
            raise ReviewError(
                f"--origin {origin}: expected https:// and a name, without a path, such as "
                "https://review.example.org"
            )
        return
    if not _is_loopback(host):
        raise ReviewError(
            f"--host {host} can be reached by others, and passwords would be sent unencrypted; "
            "put an https proxy in front and give --origin https://NAME, or omit --host"
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

"""Validation of the host and origin of a server, before Django is loaded."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from medrcube.review.errors import ReviewError

__all__ = ["check_address"]


def check_address(host: str, origin: str) -> None:
    """Refuse what would send passwords through a network in clear, or answer to no name.

    Raises:
        ReviewError: an address that others reach without an https origin, or an origin that is
            none.
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
            f"--host {host} can be reached by others, and passwords would travel in clear; put a "
            "proxy with https before it and say  --origin https://NAME, or leave --host away"
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

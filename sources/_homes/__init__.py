"""Downloads of raw data: ``medrcube sources get``.

The host ("home") of a source is declared in ``[home]`` of its card (``card_parts.home``). A home
either lists its files, which are then downloaded over HTTPS (``listings``, ``transfer``), or has
its own command-line client (``clients``). Downloaded files are recorded in a manifest
(``manifest``).
"""

__all__ = ["get", "protocol"]

"""Downloads of raw data: ``medrcube sources get``.

What is known of the home of a source stands in ``[home]`` of its card (``facts``). A home either
lists files, which are then brought over HTTPS (``listing``, ``transfer``), or has a client of its
own that is called (``clients``). What was brought is written down beside it (``manifest``).
"""

__all__ = ["get", "protocol"]

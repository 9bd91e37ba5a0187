"""``medrcube review migrate`` and ``check``."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from medrcube.cli.options.shared import Here
from medrcube.cli.review.origin import Origin
from medrcube.cli.review.queue import prepare_queue

__all__ = ["check", "migrate"]


def migrate(directory: Here = Path()) -> None:
    """Create or upgrade the tables of the queue."""
    from medrcube.console.progress import Reporter
    from medrcube.workspace import open_workspace

    copy = prepare_queue(open_workspace(directory.resolve()).root, new=True)
    Reporter().result(
        "up to date" + (f"; a copy of the previous database is {copy}" if copy else "")
    )


def check(directory: Here = Path(), origin: Origin = "") -> None:
    """Check the deployment of the server.

    Checks the settings and the single sign-on secret; the exit status is 1 if something must be
    fixed.
    """
    from medrcube.review.server.bind_address import check_address

    check_address("127.0.0.1", origin.rstrip("/"))
    prepare_queue(directory.resolve(), new=False, origin=origin.rstrip("/"))
    from django.conf import settings
    from django.core.management import call_command
    from django.core.management.base import SystemCheckError

    if settings.SITE.single_sign_on:
        settings.SITE.single_sign_on.secret()
    try:
        call_command("check", deploy=bool(origin), fail_level="WARNING")
    except SystemCheckError as error:
        sys.stderr.write(f"{error}\n")
        raise typer.Exit(1) from None

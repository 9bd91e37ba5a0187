"""``medrcube review serve``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medrcube.cli.options.shared import Here
from medrcube.cli.review.origin import Origin
from medrcube.cli.review.passwords import PASSWORD, ask, password_of
from medrcube.cli.review.queue import prepare_queue
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter

__all__ = ["serve"]


def serve(
    directory: Here = Path(),
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port; 0 selects a free one.")
    ] = 8321,
    origin: Origin = "",
    proxy: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address of the proxy, with --origin.")
    ] = "127.0.0.1",
    threads: Annotated[
        int, typer.Option(metavar="N", min=1, max=256, help="Concurrent requests per process.")
    ] = 8,
    processes: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=64, help="Worker processes; 0: one per core, at most 4."
        ),
    ] = 0,
    admin_email: Annotated[
        str,
        typer.Option(
            metavar="EMAIL", help=f"First administrator; reads the password from {PASSWORD}."
        ),
    ] = "",
) -> None:
    """Serve the review queue to browsers.

    On first use, creates the database and prompts for the first administrator.
    """
    from medrcube.console.progress import Reporter
    from medrcube.review.server.bind_address import check_address
    from medrcube.workspace import open_workspace

    origin = origin.rstrip("/")
    check_address(host, origin)
    workspace = open_workspace(directory.resolve())
    if workspace.review.single_sign_on:
        workspace.review.single_sign_on.secret()
    reporter = Reporter()
    prepare_queue(workspace.root, new=True, origin=origin)
    from medrcube.review.exchange.import_items import ensure_project
    from medrcube.review.server.serve import PROCESSES, count_ahead, has_administrator, listening

    ensure_project(workspace)
    if not has_administrator():
        _first_administrator(admin_email, reporter)
    with listening(
        host,
        port,
        threads=threads,
        processes=processes or PROCESSES,
        proxy=proxy if origin else "",
    ) as (server, address):
        count_ahead()
        reporter.result(f"the review queue is at {origin or address}   (stop with Ctrl-C)")
        server.run()
    reporter.result("stopped; nothing was lost")


def _first_administrator(email: str, reporter: Reporter) -> None:
    from medrcube.review.accounts.accounts import add_account
    from medrcube.review.server.serve import console_user
    from medrcube.review.views.sent_text import email_of

    if not email:
        if not sys.stdin.isatty():
            raise MedrcubeError(
                f"there is no administrator yet; give --admin-email ADDRESS with {PASSWORD} set, "
                f"or run this in a terminal"
            )
        reporter.note("there is no account yet; creating the first administrator")
        email = ask("E-mail address", email_of)
    add_account(
        console_user(),
        email=email,
        role="administrator",
        specialties=(),
        password=password_of(email),
        temporary=False,
    )
    reporter.note(f"{email} can now sign in and create accounts")

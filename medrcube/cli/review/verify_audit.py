"""``medrcube review verify-audit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Here, Json
from medrcube.cli.review.queue import open_queue
from medrcube.errors import MedrcubeError

__all__ = ["verify_audit"]


def verify_audit(
    directory: Here = Path(),
    head: Annotated[
        str,
        typer.Option(
            metavar="NUMBER:SHA256", help="Head noted earlier, as shown by review status."
        ),
    ] = "",
    json_output: Json = False,
) -> None:
    """Verify the audit trail and the tables.

    Replays the events against the tables; the exit status is 1 if anything was altered.
    """
    from dataclasses import asdict

    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.audit_trail.event_chain import ChainHead
    from medrcube.review.audit_trail.replay import verify_trail

    reporter = Reporter(json_output=json_output)
    number, colon, digest = head.partition(":")
    if head and not (colon and number.isdecimal() and len(digest) == 64):
        raise MedrcubeError(f"--head {head}: expected NUMBER:SHA256, as shown by review status")
    verdict = verify_trail(ChainHead(number=int(number), sha256=digest.lower()) if head else None)
    if verdict.fault:
        reporter.result(f"BROKEN {verdict.fault}")
    else:
        reporter.result(
            f"intact: {verdict.events:,} events, head {verdict.head.number}:{verdict.head.sha256}"
        )
    reporter.data(asdict(verdict))
    raise typer.Exit(1 if verdict.fault else 0)

"""``medrcube review policy``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Here, Json, Wide
from medrcube.cli.review.queue import open_queue

__all__ = ["policy"]


def policy(
    directory: Here = Path(),
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Rule to change; repeatable."),
    ] = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Show or change the rules of the project.

    The audit trail records every change.
    """
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.reviewing.policy import MEANINGS, current_policy
    from medrcube.review.reviewing.policy_change import change_policy, parse_changes
    from medrcube.review.server.serve import console_user

    changes = parse_changes(change or [])
    rules = change_policy(console_user().pseudonym, changes) if changes else current_policy()
    reporter = Reporter(json_output=json_output, wide=wide)
    reporter.table(
        ("rule", "value", "meaning"),
        [(name, value, MEANINGS[name]) for name, value in rules.to_json().items()],
    )
    reporter.data(rules.to_json())

"""The application ``medrcube review``: the clinician review queue."""

from __future__ import annotations

from collections.abc import Callable

import typer

from medrcube.cli.review.accounts import add_user, add_users, reset_second_factor
from medrcube.cli.review.assign import assign_app
from medrcube.cli.review.backup import backup, restore
from medrcube.cli.review.deployment import check, migrate
from medrcube.cli.review.errata import write_errata
from medrcube.cli.review.gold import gold
from medrcube.cli.review.human_run import human_run
from medrcube.cli.review.items import export, freeze, import_items
from medrcube.cli.review.labelstudio import labelstudio_app
from medrcube.cli.review.policy import policy
from medrcube.cli.review.remarks import remarks
from medrcube.cli.review.reviewers import reviewers
from medrcube.cli.review.serve import serve
from medrcube.cli.review.status import status
from medrcube.cli.review.verify_audit import verify_audit

__all__ = ["review_app"]

_QUEUE: tuple[Callable[..., None], ...] = (serve, status, export, freeze)
_PROJECT: tuple[Callable[..., None], ...] = (
    *(reset_second_factor, policy, gold),
    *(reviewers, human_run, remarks),
)
_SERVER: tuple[Callable[..., None], ...] = (verify_audit, backup, restore, migrate, check)

review_app = typer.Typer(help="Run the clinician review queue.", no_args_is_help=True)
review_app.command("import")(import_items)
for command in _QUEUE:
    review_app.command()(command)
review_app.command("adduser")(add_user)
review_app.command("addusers")(add_users)
for command in _PROJECT:
    review_app.command()(command)
review_app.command("errata")(write_errata)
for command in _SERVER:
    review_app.command()(command)
review_app.add_typer(assign_app, name="assign")
review_app.add_typer(labelstudio_app, name="labelstudio")

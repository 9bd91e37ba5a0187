"""``medrcube review adduser``, ``addusers`` and ``reset-second-factor``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from medrcube.cli.options.shared import Directory, Json, Wide
from medrcube.cli.review.passwords import password_of
from medrcube.cli.review.queue import open_queue
from medrcube.console.counts import counted

__all__ = ["add_user", "add_users", "reset_second_factor"]


def add_user(
    directory: Directory,
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="E-mail address for signing in.")],
    role: Annotated[
        Literal["reviewer", "adjudicator", "manager", "administrator"],
        typer.Option(help="Role of the person."),
    ] = "reviewer",
    specialty: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Specialty, such as radiology:chest; repeatable."),
    ] = None,
    json_output: Json = False,
) -> None:
    """Create an account.

    Prompts for the password, or reads it from MEDRCUBE_REVIEW_PASSWORD.
    """
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.accounts.accounts import add_account
    from medrcube.review.server.serve import console_user
    from medrcube.review.views.sent_text import email_of

    reporter = Reporter(json_output=json_output)
    email = email_of(email)
    password = password_of(email)
    user = add_account(
        console_user(), email=email, role=role, specialties=specialty or (), password=password
    )
    reporter.result(f"{email} is {user.pseudonym} in exports, role {user.role}")
    reporter.data({"pseudonym": user.pseudonym, "role": str(user.role)})


def add_users(
    directory: Directory,
    table: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV file with the columns email, role, specialties."),
    ],
    passwords: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Output file for the initial passwords, readable only by you."
        ),
    ],
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Create accounts for a team.

    Each person must change the password at the first sign-in. If any row is invalid, no account is
    created.
    """
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.accounts.bulk_accounts import enrol, read_applicants
    from medrcube.review.server.serve import console_user

    users = enrol(console_user(), read_applicants(table), passwords)
    reporter = Reporter(json_output=json_output, wide=wide)
    reporter.table(
        ("e-mail address", "role", "name in exports"),
        [(user.email, str(user.role), user.pseudonym) for user in users],
        empty="no rows in the table",
    )
    reporter.result(f"{counted(len(users), 'account')}; initial passwords: {passwords}")
    reporter.data([{"pseudonym": user.pseudonym, "role": str(user.role)} for user in users])


def reset_second_factor(
    directory: Directory,
    email: Annotated[
        str, typer.Argument(metavar="EMAIL", help="Account whose authenticator is lost.")
    ],
) -> None:
    """Remove the second factor of an account.

    The person signs in without a code until they set up a new one.
    """
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.accounts.accounts import account_of
    from medrcube.review.accounts.second_factor import remove_second_factor
    from medrcube.review.server.serve import console_user

    user = account_of(email)
    remove_second_factor(console_user(), user)
    Reporter().result(f"{user.email} signs in without a code until they set up a new second factor")

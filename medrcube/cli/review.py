"""The commands of ``medrcube review``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from medrcube.cli.options.shared import Json
from medrcube.cli.review_assign import assign_app
from medrcube.cli.review_exchange import labelstudio_app, open_queue, ready, register
from medrcube.cli.review_quality import register as register_readers
from medrcube.cli.review_release import register as register_release
from medrcube.console.counts import counted
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from medrcube.console.progress import Reporter

PASSWORD = "MEDRCUBE_REVIEW_PASSWORD"  # noqa: S105  (the name of a variable)
"""Environment variable for a password where no terminal is; never a command line, which every
process of the machine can read."""

review_app = typer.Typer(
    help="The queue in which clinicians accept, revise or reject items.", no_args_is_help=True
)
register(review_app)
register_release(review_app)
register_readers(review_app)
review_app.add_typer(labelstudio_app, name="labelstudio")
review_app.add_typer(assign_app, name="assign")

Directory = Annotated[Path, typer.Argument(metavar="WORKSPACE")]
Origin = Annotated[
    str,
    typer.Option(
        envvar="MEDRCUBE_REVIEW_ORIGIN",
        metavar="https://NAME",
        help="Address that people type, where a proxy speaks https.",
    ),
]


@review_app.command()
def serve(
    directory: Directory = Path(),
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8321,
    origin: Origin = "",
    proxy: Annotated[
        str, typer.Option(metavar="ADDR", help="Address of the proxy, where there is an origin.")
    ] = "127.0.0.1",
    threads: Annotated[
        int, typer.Option(min=1, max=256, help="Requests that a process answers at once.")
    ] = 8,
    processes: Annotated[
        int,
        typer.Option(min=0, max=64, help="One for each processor; 0 is that, up to 4."),
    ] = 0,
    admin_email: Annotated[
        str, typer.Option(help=f"First administrator; the password stands in {PASSWORD}.")
    ] = "",
) -> None:
    """Open the queue in a browser; makes its database and asks for the first administrator."""
    from medrcube.console.progress import Reporter
    from medrcube.review.server.bind_address import check_address
    from medrcube.workspace import open_workspace

    origin = origin.rstrip("/")
    check_address(host, origin)
    workspace = open_workspace(directory.resolve())
    if workspace.review.single_sign_on:
        workspace.review.single_sign_on.secret()
    reporter = Reporter()
    ready(workspace.root, new=True, origin=origin)
    from medrcube.review.exchange.import_items import make_project
    from medrcube.review.server.serve import PROCESSES, count_ahead, has_administrator, listening

    make_project(workspace)
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
        reporter.result(f"the review queue is at {origin or address}   (Ctrl-C ends it)")
        server.run()
    reporter.result("stopped; nothing was lost")


@review_app.command()
def adduser(
    directory: Directory,
    email: Annotated[str, typer.Argument(help="What the person signs in with.")],
    role: Annotated[
        Literal["reviewer", "adjudicator", "manager", "administrator"], typer.Option()
    ] = "reviewer",
    specialty: Annotated[
        list[str] | None,
        typer.Option(help="Such as radiology:chest; repeat."),
    ] = None,
    json_output: Json = False,
) -> None:
    """Make an account; asks for its password, or takes it from MEDRCUBE_REVIEW_PASSWORD."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.accounts.accounts import add
    from medrcube.review.server.serve import console
    from medrcube.review.views.sent_text import email_of

    reporter = Reporter(json_output=json_output)
    email = email_of(email)
    password = _password(email)
    user = add(console(), email=email, role=role, specialties=specialty or (), password=password)
    reporter.result(f"{email} is {user.pseudonym} in exports, role {user.role}")
    reporter.data({"pseudonym": user.pseudonym, "role": str(user.role)})


@review_app.command("addusers")
def add_users(
    directory: Directory,
    table: Annotated[Path, typer.Argument(metavar="FILE", help="CSV: email, role, specialties.")],
    passwords: Annotated[
        Path, typer.Option(metavar="FILE", help="New file for the first passwords, yours alone.")
    ],
    json_output: Json = False,
) -> None:
    """Make accounts for a team; each person changes the password at the first sign-in."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.accounts.bulk_accounts import enrol, read_applicants
    from medrcube.review.server.serve import console

    users = enrol(console(), read_applicants(table), passwords)
    reporter = Reporter(json_output=json_output)
    reporter.table(
        ("e-mail address", "role", "name in exports"),
        [(user.email, str(user.role), user.pseudonym) for user in users],
    )
    reporter.result(f"{len(users)} accounts; their first passwords are in {passwords}")
    reporter.data([{"pseudonym": user.pseudonym, "role": str(user.role)} for user in users])


@review_app.command("reset-second-factor")
def reset_second_factor(
    directory: Directory,
    email: Annotated[str, typer.Argument(help="Whose authenticator is lost.")],
) -> None:
    """Ask a person for no code until they set a second factor up again."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.accounts.accounts import of_address
    from medrcube.review.accounts.second_factor import remove
    from medrcube.review.server.serve import console

    user = of_address(email)
    remove(console(), user)
    Reporter().result(f"{user.email} is asked for no code until they set one up again")


@review_app.command()
def status(directory: Directory = Path(), json_output: Json = False) -> None:
    """How far the reviews are, by state, by kind of item and by reviewer."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.server.serve import standing

    reporter = Reporter(json_output=json_output)
    told = standing()
    reporter.table(("state", "items"), list(told["states"].items()))
    names = list(told["states"])
    reporter.table(
        ("anatomy", "modality", "task", *names),
        [
            (
                row["anatomy"],
                row["modality"],
                row["task"],
                *(row["states"].get(n, 0) for n in names),
            )
            for row in told["voxels"]
        ],
    )
    reporter.table(
        ("reviewer", "reviews", "median seconds"),
        [(row["reader"], row["reviews"], row["median_seconds"] or "") for row in told["readers"]],
    )
    reporter.result(f"{counted(told['in_hand'], 'item')} in hand now")
    reporter.result(f"head of the trail: {told['head']['number']}:{told['head']['sha256']}")
    reporter.data(told)


@review_app.command()
def policy(
    directory: Directory = Path(),
    change: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="May be repeated.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Show the rules of the project, or change some; the trail keeps every change."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.reviewing.policy import current_policy
    from medrcube.review.reviewing.policy_change import change_policy, parse_changes
    from medrcube.review.server.serve import console

    changes = parse_changes(change or [])
    rules = change_policy(console().pseudonym, changes) if changes else current_policy()
    reporter = Reporter(json_output=json_output)
    reporter.table(("rule", "value"), list(rules.to_json().items()))
    reporter.data(rules.to_json())


@review_app.command()
def verify_audit(
    directory: Directory = Path(),
    head: Annotated[str, typer.Option(metavar="N:SHA", help="A head that was noted earlier.")] = "",
    json_output: Json = False,
) -> None:
    """Check the trail, and the tables against it; exit status 1 when something was changed."""
    from dataclasses import asdict

    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.audit_trail.event_chain import Head
    from medrcube.review.audit_trail.replay import verify

    reporter = Reporter(json_output=json_output)
    number, colon, digest = head.partition(":")
    if head and not (colon and number.isdecimal() and len(digest) == 64):
        raise MedrcubeError(f"--head {head}: expected NUMBER:SHA256, as review status shows it")
    verdict = verify(Head(number=int(number), sha256=digest.lower()) if head else None)
    if verdict.fault:
        reporter.result(f"BROKEN {verdict.fault}")
    else:
        reporter.result(
            f"whole: {verdict.events:,} events, head {verdict.head.number}:{verdict.head.sha256}"
        )
    reporter.data(asdict(verdict))
    raise typer.Exit(1 if verdict.fault else 0)


@review_app.command()
def backup(
    directory: Directory,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, such as q.tar.")],
    json_output: Json = False,
) -> None:
    """Write database and pictures into one file, while people work."""
    from medrcube.console.progress import Reporter
    from medrcube.review.server.backup import back_up
    from medrcube.review.server.bootstrap import place_of

    made = back_up(place_of(directory.resolve()), out)
    reporter = Reporter(json_output=json_output)
    reporter.result(
        f"{made.path}: {counted(made.files, 'picture')}, head {made.events}:{made.head_sha256}"
    )
    reporter.data(_told(made))


@review_app.command()
def restore(
    directory: Directory,
    archive: Annotated[Path, typer.Argument(metavar="FILE", help="A back-up.")],
    json_output: Json = False,
) -> None:
    """Put a back-up where there is no queue; overwrites nothing."""
    from medrcube.console.progress import Reporter
    from medrcube.review.server.backup import restore as put_back
    from medrcube.review.server.bootstrap import place_of
    from medrcube.workspace import CONFIG

    root = directory.resolve()
    made = put_back(archive, place_of(root))
    reporter = Reporter(json_output=json_output)
    reporter.result(f"restored as of {made.made_at}, head {made.events}:{made.head_sha256}")
    if not (root / CONFIG).is_file():
        reporter.note(f"{root} has no {CONFIG}: copy the workspace there too before you serve it")
    reporter.data(_told(made))


@review_app.command()
def migrate(directory: Directory = Path()) -> None:
    """Make the tables, or bring those of an older version up to date."""
    from medrcube.console.progress import Reporter
    from medrcube.workspace import open_workspace

    copy = ready(open_workspace(directory.resolve()).root, new=True)
    Reporter().result("up to date" + (f"; the database as it was is {copy}" if copy else ""))


@review_app.command()
def check(directory: Directory = Path(), origin: Origin = "") -> None:
    """Check a deployment, and the secret of single sign-on; silent where all is well."""
    from medrcube.review.server.bind_address import check_address

    check_address("127.0.0.1", origin.rstrip("/"))
    ready(directory.resolve(), new=False, origin=origin.rstrip("/"))
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


def _first_administrator(email: str, reporter: Reporter) -> None:
    from medrcube.review.accounts.accounts import add
    from medrcube.review.server.serve import console
    from medrcube.review.views.sent_text import email_of

    if not email:
        if not sys.stdin.isatty():
            raise MedrcubeError(
                f"there is no administrator yet; say  --admin-email ADDRESS  with {PASSWORD} set, "
                "or run this in a terminal"
            )
        reporter.note("there is no account yet: this makes the first administrator")
        email = _asked("E-mail address", email_of)
    add(
        console(),
        email=email,
        role="administrator",
        specialties=(),
        password=_password(email),
        temporary=False,
    )
    reporter.note(f"{email} may now sign in and make accounts")


def _password(email: str) -> str:
    from medrcube.review.accounts.accounts import check_password
    from medrcube.review.models import User

    given = os.environ.get(PASSWORD, "")
    if given:
        return given
    if not sys.stdin.isatty():
        raise MedrcubeError(f"no terminal to ask for a password; set {PASSWORD}")

    def strong(typed: str) -> str:
        check_password(typed, User(email=email))
        return typed

    name = "Password, 12 characters or more"
    return _asked(name, strong, hide_input=True, confirmation_prompt="Once more")


def _asked(name: str, check: Callable[[str], str], **how: Any) -> str:
    """What is typed in the terminal; asked again, with the reason, until it will do."""
    while True:
        try:
            return check(str(typer.prompt(name, **how)))
        except MedrcubeError as error:
            typer.echo(str(error), err=True)


def _told(made: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(made), "path": str(made.path)}

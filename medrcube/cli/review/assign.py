"""``medrcube review assign``: items to reviewers, and specialties of reviewers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from medrcube.cli.examples import examples
from medrcube.cli.options.shared import Directory, Here, Json, Wide
from medrcube.cli.review.queue import NO_REVIEWERS, open_queue
from medrcube.console.counts import counted

if TYPE_CHECKING:
    from medrcube.review.models import User

__all__ = ["assign_app"]

assign_app = typer.Typer(help="Assign items to reviewers.", no_args_is_help=True)

Reviewer = Annotated[
    list[str] | None,
    typer.Option("--reviewer", metavar="WHO", help="E-mail address or pseudonym; repeatable."),
]


@assign_app.command("list")
def show(directory: Here = Path(), wide: Wide = False, json_output: Json = False) -> None:
    """List assignments and waiting items."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.assigning import outstanding
    from medrcube.review.assigning.specialties import all_specialties
    from medrcube.review.reviewing.policy import current_policy

    rules, queued = current_policy(), outstanding.queued_groups()
    waiting, gaps = outstanding.specialist_backlog(queued), outstanding.staffing_gaps(queued, rules)
    assignments, people = _assignments(), _people()
    reporter = Reporter(json_output=json_output, wide=wide)
    if rules.specialists:
        reviews = counted(rules.reviews, "review")
        reporter.result(
            f"at least {rules.specialists} of {reviews} of an item must come from a specialist"
        )
    else:
        reporter.result("no review of an item has to come from a specialist")
    reporter.table(
        ("no.", "items", "go", "to"),
        [
            (row["assignment"], row["items"], row["mode"], ", ".join(row["to"]))
            for row in assignments
        ],
        empty="no assignments yet; make one with  medrcube review assign add",
    )
    reporter.table(
        ("reviewer", "specialties"),
        [(who, ", ".join(names)) for who, names in people.items()],
        empty=NO_REVIEWERS,
    )
    reporter.table(
        ("anatomy", "modality", "wait for a specialist", "specialists"),
        [(row.anatomy, row.modality, row.items, ", ".join(row.reviewers)) for row in waiting],
        empty="no items wait for a specialist",
    )
    for gap in gaps:
        items = counted(gap.items, "item")
        reporter.note(f"CANNOT BE FINISHED: {items} of {gap.anatomy}, {gap.modality}: {gap.why}")
    reporter.data(
        {
            "reviews": rules.reviews,
            "specialists": rules.specialists,
            "assignments": assignments,
            "reviewers": people,
            "specialties": sorted(all_specialties()),
            "waiting": [asdict(row) for row in waiting],
            "gaps": [asdict(gap) for gap in gaps],
        }
    )


@assign_app.command(epilog=examples("review assign add"))
def add(
    directory: Directory,
    mode: Annotated[
        Literal["only", "first"],
        typer.Argument(
            metavar="only|first",
            help="only: to these reviewers only; first: to them before others.",
        ),
    ],
    reviewer: Reviewer = None,
    specialty: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Also all current and future reviewers with this specialty."
        ),
    ] = "",
    source: Annotated[str, typer.Option(metavar="ID", help="Only items of this source.")] = "",
    task: Annotated[str, typer.Option(metavar="NAME", help="Only items of this task.")] = "",
    anatomy: Annotated[str, typer.Option(metavar="NAME", help="Only items of this region.")] = "",
    modality: Annotated[
        str, typer.Option(metavar="NAME", help="Only items of this modality.")
    ] = "",
    json_output: Json = False,
) -> None:
    """Assign items, exclusively or with priority."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.assigning.assignment import AssignmentScope, create_assignment
    from medrcube.review.server.serve import console_user

    assignment = create_assignment(
        console_user(),
        AssignmentScope(source=source, task=task, anatomy=anatomy, modality=modality),
        [_person(who).pk for who in reviewer or ()],
        mode=mode,
        specialty=specialty,
    )
    row = next(entry for entry in _assignments() if entry["assignment"] == assignment.pk)
    reporter = Reporter(json_output=json_output)
    to = ", ".join(row["to"])
    scope = row["items"].removesuffix(" items")
    reporter.result(f"assignment {assignment.pk}: {scope} items go {mode} to {to}")
    reporter.data(row)


@assign_app.command()
def end(
    directory: Directory,
    number: Annotated[
        int, typer.Argument(metavar="NUMBER", help="Number of the assignment, as shown by list.")
    ],
    json_output: Json = False,
) -> None:
    """End an assignment."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.assigning.assignment import end_assignment
    from medrcube.review.server.serve import console_user

    ended = end_assignment(console_user(), number)
    reporter = Reporter(json_output=json_output)
    reporter.result(f"assignment {ended.pk} has ended")
    reporter.data({"assignment": ended.pk})


@assign_app.command()
def specialist(
    directory: Directory,
    who: Annotated[str, typer.Argument(metavar="WHO", help="E-mail address or pseudonym.")],
    specialty: Annotated[
        list[str] | None,
        typer.Argument(metavar="SPECIALTY", help="Specialties of the reviewer; default: none."),
    ] = None,
    extend: Annotated[
        bool, typer.Option("--add", help="Keep the specialties that the reviewer has.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Set the specialties of a reviewer.

    They replace the previous ones, also those of adduser, unless --add is given.
    """
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.assigning.assignment import set_specialties
    from medrcube.review.server.serve import console_user

    person = _person(who)
    base = person.specialties if extend else []
    user = set_specialties(console_user(), person.pk, [*base, *(specialty or ())])
    losses = [name for name in person.specialties if name not in user.specialties]
    reporter = Reporter(json_output=json_output)
    note = f" (removed: {', '.join(losses)})" if losses else ""
    reporter.result(f"{user.pseudonym}: {', '.join(user.specialties) or 'no specialty'}{note}")
    reporter.data({"reviewer": user.pseudonym, "specialties": user.specialties, "removed": losses})


@assign_app.command("specialty")
def new_specialty(
    directory: Directory,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the specialty, such as radiology:abdomen."),
    ],
    anatomy: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Region it covers; repeatable.")
    ] = None,
    modality: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Modality it covers; repeatable.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Add a specialty to the project."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.assigning.assignment import add_specialty
    from medrcube.review.server.serve import console_user

    specialty = add_specialty(
        console_user(), name, anatomies=anatomy or (), modalities=modality or ()
    )
    reporter = Reporter(json_output=json_output)
    reporter.result(f"{specialty.name} can now be assigned to reviewers")
    summary = {
        "specialty": specialty.name,
        "anatomies": specialty.anatomies,
        "modalities": specialty.modalities,
    }
    reporter.data(summary)


def _assignments() -> list[dict[str, Any]]:
    from medrcube.review.assigning.assignment import active_assignments, scope_of

    return [
        {
            "assignment": row.pk,
            "items": str(scope_of(row)),
            "source": row.source,
            "task": row.task,
            "anatomy": row.anatomy,
            "modality": row.modality,
            "mode": row.mode,
            "specialty": row.specialty,
            "reviewers": reviewers,
            "to": [*([f"specialists in {row.specialty}"] if row.specialty else []), *reviewers],
        }
        for row, reviewers in active_assignments()
    ]


def _people() -> dict[str, list[str]]:
    from medrcube.review.models import Role, User

    reviewers = User.objects.filter(role=Role.REVIEWER, is_active=True).order_by("pseudonym")
    return {user.pseudonym: list(user.specialties) for user in reviewers}


def _person(who: str) -> User:
    from django.db.models import Q

    from medrcube.review.errors import InvalidAnswerError
    from medrcube.review.models import Role, User
    from medrcube.review.nearest_name import nearest_names

    user = User.objects.filter(Q(pseudonym=who) | Q(email=who.casefold())).first()
    if user is None:
        names = User.objects.filter(role=Role.REVIEWER).values_list("pseudonym", "email")
        raise InvalidAnswerError(
            f"{who}: no account has this e-mail address or pseudonym"
            f"{nearest_names(who, (name for row in names for name in row))}; "
            "they are listed by  medrcube review assign list"
        )
    return user

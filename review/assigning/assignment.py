"""Assignments of items to reviewers, and specialties of reviewers.

Every change is recorded in the trail. A reviewer who holds an item when an assignment is created
may complete the review.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from medrcube.errors import UnknownNameError
from medrcube.review.assigning import specialties
from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Assignment, Item, Role, Specialty, User
from medrcube.review.nearest_name import nearest_names
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = [
    "MODES",
    "AssignmentScope",
    "active_assignments",
    "add_specialty",
    "create_assignment",
    "end_assignment",
    "scope_of",
    "set_specialties",
]

MODES = ("only", "first")
_MOST = 100
"""Maximum number of active assignments; each is a condition in the SQL of every claim."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 :._-]{0,47}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentScope:
    """Scope of an assignment; a blank value matches everything."""

    source: str = ""
    task: str = ""
    anatomy: str = ""
    modality: str = ""

    def __str__(self) -> str:
        values = [getattr(self, field.name) for field in fields(self)]
        return ", ".join(filter(None, values)) or "all items"


def create_assignment(
    actor: User,
    scope: AssignmentScope,
    reviewers: Sequence[int] = (),
    *,
    mode: str,
    specialty: str = "",
    now: datetime | None = None,
) -> Assignment:
    """Assign items to certain reviewers exclusively or preferentially.

    If several exclusive assignments match an item, the reviewers of any of them may review it.

    Args:
        actor: user who creates the assignment.
        scope: items that it applies to.
        reviewers: accounts of reviewers.
        mode: ``only`` or ``first``.
        specialty: everybody with this specialty, now or later, is also included.
        now: time of the change.

    Raises:
        InvalidAnswerError: an unknown name, no reviewer named, or somebody who does not review.
        ConflictError: the same assignment is already active, or too many are.
    """
    now = now or timezone.now()
    if mode not in MODES:
        raise InvalidAnswerError(f"mode {mode!r}; expected one of {', '.join(MODES)}")
    scope = _checked_scope(scope)
    if specialty:
        specialties.check_specialties([specialty])
    people = list(User.objects.filter(pk__in=list(reviewers)).order_by("pseudonym"))
    strange = [user for user in people if user.role != Role.REVIEWER or not user.is_active]
    if len(people) < len(set(reviewers)) or strange:
        who = strange[0].pseudonym if strange else "an account that does not exist"
        raise InvalidAnswerError(f"{who} is not an active reviewer; name active reviewers")
    if not people and not specialty:
        raise InvalidAnswerError("name at least one reviewer or a specialty")
    with transaction.atomic():
        same = Assignment.objects.select_for_update().filter(ended_at=None)
        if same.count() >= _MOST:
            raise ConflictError(f"{_MOST} assignments are in force; end one first")
        assignees = {user.pk for user in people}
        for other in same.filter(mode=mode, specialty=specialty, **asdict(scope)):
            if {*other.reviewers.values_list("pk", flat=True)} == assignees:
                raise ConflictError(f"assignment {other.pk} is already the same")
        assignment = Assignment.objects.create(
            mode=mode, specialty=specialty, made_at=now, **asdict(scope)
        )
        assignment.reviewers.set(people)
        body = {
            "mode": mode,
            **asdict(scope),
            "specialty": specialty,
            "reviewers": [user.pseudonym for user in people],
        }
        record_events(now, _assignment_event(actor, "made", assignment, body))
    return assignment


def end_assignment(actor: User, number: int, now: datetime | None = None) -> Assignment:
    """End an assignment, which stays on record.

    Raises:
        ConflictError: there is no active assignment of that number.
    """
    now = now or timezone.now()
    with transaction.atomic():
        row = Assignment.objects.select_for_update().filter(pk=number, ended_at=None).first()
        if row is None:
            raise ConflictError(f"no assignment {number} is in force; reload the list")
        row.ended_at = now
        row.save(update_fields=["ended_at"])
        record_events(now, _assignment_event(actor, "ended", row, {}))
    return row


def active_assignments() -> list[tuple[Assignment, list[str]]]:
    """Return the active assignments, oldest first, with the pseudonyms of their named reviewers."""
    assignments = (
        Assignment.objects.filter(ended_at=None).prefetch_related("reviewers").order_by("pk")
    )
    return [(row, sorted(str(user) for user in row.reviewers.all())) for row in assignments]


def scope_of(row: Assignment) -> AssignmentScope:
    """Return the scope of an assignment."""
    return AssignmentScope(
        source=row.source, task=row.task, anatomy=row.anatomy, modality=row.modality
    )


def set_specialties(actor: User, user_id: int, names: Sequence[str]) -> User:
    """Set the specialties of a reviewer; earlier reviews are not affected.

    Raises:
        InvalidAnswerError: a name is unknown, the person does not review, or nothing changes.
        ConflictError: there is no such account.
    """
    codes = specialties.check_specialties(names)
    with transaction.atomic():
        user = User.objects.select_for_update(of=("self",)).filter(pk=user_id).first()
        if user is None:
            raise ConflictError("there is no such account; reload the list")
        if user.role != Role.REVIEWER:
            raise InvalidAnswerError(
                f"{user.pseudonym} is {user.role}; only reviewers have specialties"
            )
        if user.specialties == codes:
            raise InvalidAnswerError("nothing was changed")
        body = {
            "before": {"role": user.role, "specialties": user.specialties},
            "after": {"role": user.role, "specialties": codes},
        }
        user.specialties = codes
        user.save(update_fields=["specialties"])
        changed = NewEvent(
            actor=actor.pseudonym,
            kind="person.changed",
            object=f"person:{user.pseudonym}",
            body=body,
        )
        record_events(timezone.now(), changed)
    return user


def add_specialty(
    actor: User,
    name: str,
    *,
    anatomies: Sequence[str] = (),
    modalities: Sequence[str] = (),
    now: datetime | None = None,
) -> Specialty:
    """Add a specialty to the vocabulary of the project.

    Raises:
        InvalidAnswerError: unknown anatomy or modality, neither given, or the name is invalid or
            already in use.
    """
    name = name.strip()
    if _NAME.fullmatch(name) is None:
        raise InvalidAnswerError(
            f"{name[:60]!r}: expected a name of up to 48 letters, digits, blanks, colons, dots and "
            "dashes, such as radiology:abdomen"
        )
    if name.casefold() in map(str.casefold, specialties.all_specialties()):
        raise InvalidAnswerError(f"the specialty {name!r} already exists; choose another name")
    parts = [_member(Anatomy, text) for text in anatomies]
    kinds = [_member(Modality, text) for text in modalities]
    if not parts and not kinds:
        raise InvalidAnswerError("name the anatomies or modalities that the specialty covers")
    with transaction.atomic():
        specialty = Specialty.objects.create(name=name, anatomies=parts, modalities=kinds)
        entry = NewEvent(
            actor=actor.pseudonym,
            kind="specialty.added",
            object=f"specialty:{name}",
            body={"anatomies": parts, "modalities": kinds},
        )
        record_events(now or timezone.now(), entry)
    return specialty


def _checked_scope(scope: AssignmentScope) -> AssignmentScope:
    if scope.source and not Item.objects.filter(source=scope.source).exists():
        sources = Item.objects.order_by("source").values_list("source", flat=True).distinct()
        raise InvalidAnswerError(
            f"no item is of the source {scope.source!r}{nearest_names(scope.source, sources)}; "
            "use the name that the items have"
        )
    return AssignmentScope(
        source=scope.source,
        task=scope.task and _member(Task, scope.task),
        anatomy=scope.anatomy and _member(Anatomy, scope.anatomy),
        modality=scope.modality and _member(Modality, scope.modality),
    )


def _member(axis: type[Anatomy | Modality | Task], text: str) -> str:
    try:
        return axis.parse(text).value
    except UnknownNameError as error:
        raise InvalidAnswerError(str(error)) from error


def _assignment_event(
    actor: User, what: str, assignment: Assignment, body: Mapping[str, object]
) -> NewEvent:
    return NewEvent(
        actor=actor.pseudonym,
        kind=f"assignment.{what}",
        object=f"assignment:{assignment.pk}",
        body=body,
    )

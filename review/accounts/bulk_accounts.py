"""Bulk creation of accounts from a CSV table."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from medrcube.review.accounts import accounts
from medrcube.review.errors import InvalidAnswerError, ReviewError
from medrcube.review.models import Role, User

__all__ = ["Applicant", "enrol", "read_applicants"]

_COLUMNS = ("email", "role", "specialties")


@dataclass(frozen=True, slots=True)
class Applicant:
    """A row: sign-in address, role, and the regions and modalities that the person reads."""

    email: str
    role: str
    specialties: tuple[str, ...]


def read_applicants(table: Path) -> list[Applicant]:
    """Read a CSV with a header; ``role`` is reviewer where it is left out or blank.

    Raises:
        ReviewError: the file cannot be read, or a column is missing or unknown.
    """
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            table_rows = csv.DictReader(file)
            names = tuple(table_rows.fieldnames or ())
            rows = list(table_rows)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReviewError(f"{table}: cannot be read as CSV ({error})") from error
    unknown = sorted({str(name) for name in names} - {*_COLUMNS})
    if unknown or "email" not in names:
        columns = ", ".join(map(str, names)) or "nothing"
        raise ReviewError(
            f"{table}: columns {columns}; expected email and, if you like, role and specialties "
            "(separated by ;)"
        )
    return [
        Applicant(
            email=(row.get("email") or "").strip(),
            role=(row.get("role") or "").strip() or Role.REVIEWER.value,
            specialties=tuple(
                name.strip() for name in (row.get("specialties") or "").split(";") if name.strip()
            ),
        )
        for row in rows
    ]


def enrol(actor: User, applicants: Sequence[Applicant], passwords: Path) -> list[User]:
    """Make all accounts or none; first passwords go to a new file that its owner alone reads.

    Args:
        actor: who makes them.
        applicants: of them every fault is told at once.
        passwords: CSV to write, email and password; each is changed at the first sign-in.

    Raises:
        InvalidAnswerError: rows that cannot be accounts, each with its reason.
        ReviewError: ``passwords`` exists already, or cannot be written.
    """
    try:
        descriptor = os.open(passwords, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ReviewError(f"{passwords} exists already; name a new file") from None
    except OSError as error:
        raise ReviewError(f"{passwords}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file, transaction.atomic():
            users, secrets = _add_all(actor, applicants)
            csv.writer(file).writerows([("email", "password"), *secrets])
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        passwords.unlink(missing_ok=True)
        raise
    return users


def _add_all(
    actor: User, applicants: Sequence[Applicant]
) -> tuple[list[User], list[tuple[str, str]]]:
    """The accounts, and address and first password of each."""
    users, secrets, faults = [], [], []
    for number, applicant in enumerate(applicants, start=2):
        password = accounts.random_password()
        try:
            users.append(_add(actor, applicant, password))
            secrets.append((users[-1].email, password))
        except InvalidAnswerError as error:
            faults.append(f"row {number}: {error}")
    if faults:
        raise InvalidAnswerError("nobody was added: " + "; ".join(faults))
    return users, secrets


def _add(actor: User, applicant: Applicant, password: str) -> User:
    return accounts.add_account(
        actor,
        email=applicant.email,
        role=applicant.role,
        specialties=applicant.specialties,
        password=password,
    )

"""Bulk creation of accounts from a CSV table."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from medrcube.errors import failure_text
from medrcube.review.accounts import accounts
from medrcube.review.errors import InvalidAnswerError, ReviewError
from medrcube.review.models import Role, User

__all__ = ["Applicant", "enrol", "read_applicants"]

_COLUMNS = ("email", "role", "specialties")


@dataclass(frozen=True, slots=True)
class Applicant:
    """A table row: sign-in address, role and specialties."""

    email: str
    role: str
    specialties: tuple[str, ...]


def read_applicants(table: Path) -> list[Applicant]:
    """Read a CSV file with a header; a missing or blank ``role`` means reviewer.

    Raises:
        ReviewError: the file cannot be read, or a column is missing or unknown.
    """
    try:
        text = table.read_bytes().decode("utf-8-sig")
        table_rows = csv.DictReader(io.StringIO(text, newline=""))
        names = tuple(table_rows.fieldnames or ())
        rows = list(table_rows)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReviewError(f"{table}: cannot be read as CSV: {failure_text(error)}") from error
    unknown = sorted({str(name) for name in names} - {*_COLUMNS})
    if unknown or "email" not in names:
        columns = ", ".join(map(str, names)) or "nothing"
        raise ReviewError(
            f"{table}: columns {columns}; expected email, and optionally role and specialties "
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
    """Create all accounts or none; initial passwords are written to a new private file.

    Args:
        actor: administrator who creates them.
        applicants: rows; all their errors are reported at once.
        passwords: CSV file to write (email, password); passwords must be changed at first sign-in.

    Raises:
        InvalidAnswerError: invalid rows, each with its reason.
        ReviewError: ``passwords`` already exists or cannot be written.
    """
    try:
        descriptor = os.open(passwords, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ReviewError(f"{passwords} already exists; choose a new file") from None
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
    """Return the accounts, and the address and initial password of each."""
    users, secrets, faults = [], [], []
    for number, applicant in enumerate(applicants, start=2):
        password = accounts.random_password()
        try:
            users.append(_add(actor, applicant, password))
            secrets.append((users[-1].email, password))
        except InvalidAnswerError as error:
            faults.append(f"row {number}: {error}")
    if faults:
        raise InvalidAnswerError("no account was created: " + "; ".join(faults))
    return users, secrets


def _add(actor: User, applicant: Applicant, password: str) -> User:
    return accounts.add_account(
        actor,
        email=applicant.email,
        role=applicant.role,
        specialties=applicant.specialties,
        password=password,
    )

"""Specialties of reviewers: the anatomies and modalities that each one covers.

The vocabulary consists of ``specialties.toml``, every anatomy and modality of the taxonomy, and
names that the project has added (``models.Specialty``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import Specialty
from medrcube.review.nearest_name import nearest_names
from medrcube.taxonomy import Anatomy, Modality

__all__ = [
    "NOTHING",
    "SpecialtyCoverage",
    "SqlCondition",
    "all_specialties",
    "check_specialties",
    "coverage_condition",
    "coverage_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialtyCoverage:
    """Coverage of a specialty; an empty set means every anatomy, or every modality."""

    name: str
    anatomies: frozenset[str]
    modalities: frozenset[str]

    def covers(self, anatomy: str, modality: str) -> bool:
        """Whether it covers items of this anatomy and modality."""
        return (not self.anatomies or anatomy in self.anatomies) and (
            not self.modalities or modality in self.modalities
        )


class SqlCondition(NamedTuple):
    """SQL condition on a row ``i`` of the items, and its parameters."""

    sql: str
    values: tuple[object, ...] = ()


NOTHING = SqlCondition("1 = 0")


def all_specialties() -> dict[str, SpecialtyCoverage]:
    """Return all specialties by name: the declared ones, then those of the project."""
    return {**_declared_specialties(), **_project_specialties()}


def coverage_of(names: Iterable[str]) -> list[SpecialtyCoverage]:
    """Return the coverage of specialties; a name that no longer exists covers nothing."""
    names = sorted(names)
    declared = _declared_specialties()
    every = declared if all(name in declared for name in names) else all_specialties()
    return [every[name] for name in names if name in every]


def check_specialties(names: Sequence[str]) -> list[str]:
    """Return the names without duplicates, in the order of the vocabulary.

    Raises:
        InvalidAnswerError: a name is not in the vocabulary.
    """
    every = all_specialties()
    unknown = sorted(set(names) - set(every))
    if unknown:
        raise InvalidAnswerError(
            f"{unknown[0]!r} is not a specialty{nearest_names(unknown[0], every)}; "
            f"expected one of {', '.join(every)}"
        )
    return [name for name in every if name in names]


def coverage_condition(fields: Sequence[SpecialtyCoverage]) -> SqlCondition:
    """Return the SQL condition for items covered by any of these specialties."""
    parts, values = [], []
    for field in fields:
        both = [
            (column, sorted(names_of_field))
            for column, names_of_field in (
                ("anatomy", field.anatomies),
                ("modality", field.modalities),
            )
            if names_of_field
        ]
        sides = (f"i.{column} IN ({', '.join(['%s'] * len(names))})" for column, names in both)
        parts.append(" AND ".join(sides))
        values += [name for _, names in both for name in names]
    if not parts:
        return NOTHING
    return SqlCondition(
        "(" + " OR ".join(f"({part or '1 = 1'})" for part in parts) + ")", (*values,)
    )


def _declared_specialties() -> Mapping[str, SpecialtyCoverage]:
    """Return each active region and modality, then the specialties of the package."""
    none: frozenset[str] = frozenset()
    return {
        **{
            part.value: SpecialtyCoverage(
                name=part.value, anatomies=frozenset({part.value}), modalities=none
            )
            for part in Anatomy
        },
        **{
            kind.value: SpecialtyCoverage(
                name=kind.value, anatomies=none, modalities=frozenset({kind.value})
            )
            for kind in Modality
        },
        **_shipped_specialties(),
    }


@cache
def _shipped_specialties() -> Mapping[str, SpecialtyCoverage]:
    text = files("medrcube.review").joinpath("specialties.toml").read_text(encoding="utf-8")
    return {
        name: SpecialtyCoverage(
            name=name,
            anatomies=frozenset(Anatomy(part).value for part in row["anatomies"]),
            modalities=frozenset(Modality(kind).value for kind in row["modalities"]),
        )
        for name, row in tomllib.loads(text).items()
    }


def _project_specialties() -> dict[str, SpecialtyCoverage]:
    return {
        row.name: SpecialtyCoverage(
            name=row.name,
            anatomies=frozenset(row.anatomies),
            modalities=frozenset(row.modalities),
        )
        for row in Specialty.objects.order_by("name")
    }

"""``errata.csv`` of a release: items withdrawn after publication.

A release is immutable, so withdrawn items are listed in a separate file that no digest of the
release covers. Scoring, comparisons, reports and exports exclude these items and say so.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from datetime import date
from pathlib import Path

from medrcube.errors import ReleaseError
from medrcube.files.atomic import write_text
from medrcube.release_format.tree import open_file, safe_repr, stat_file

__all__ = [
    "FILE",
    "Erratum",
    "add_errata",
    "errata_digest",
    "errata_text",
    "parse_errata",
    "read_errata",
]

FILE = "errata.csv"

LONGEST_WHY = 500
LONGEST_REFERENCE = 300

_ROLE = re.compile(r"[A-Za-z][A-Za-z0-9 ()/._-]{0,59}")
_LARGEST = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """One withdrawn item.

    Attributes:
        dataset: source folder in the release.
        id: id of the item.
        by: role of whoever withdrew it, such as ``maintainer`` or ``adjudicator``; never a person.
        on: date, ``YYYY-MM-DD``.
        why: what is wrong, in one line.
        reference: where to read more, such as an issue URL; may be empty.
    """

    dataset: str
    id: str
    by: str
    on: str
    why: str
    reference: str = ""

    @property
    def name(self) -> str:
        """Dataset and id, as runs name the item."""
        return f"{self.dataset}/{self.id}"

    def problem(self) -> str | None:
        """Return what is wrong with the row itself, or ``None``."""
        if not self.dataset or not self.id:
            return "has no item; expected dataset and id"
        if _ROLE.fullmatch(self.by) is None:
            return (
                f"by is {safe_repr(self.by)}; expected a role, such as maintainer, and no address"
            )
        try:
            date.fromisoformat(self.on)
        except ValueError:
            return f"on is {safe_repr(self.on)}; expected a day, YYYY-MM-DD"
        for name, most in (("why", LONGEST_WHY), ("reference", LONGEST_REFERENCE)):
            text = getattr(self, name)
            if len(text) > most or (text and not text.isprintable()):
                return (
                    f"{name} is {safe_repr(text)}; expected one line of at most {most} characters"
                )
        return None if self.why.strip() else "why is empty; expected what is wrong with the item"


COLUMNS = tuple(column.name for column in fields(Erratum))


def read_errata(root: Path) -> tuple[Erratum, ...]:
    """Read the errata in file order; empty if the release has no such list.

    Raises:
        ReleaseError: the file is not a valid list; names the line.
    """
    path = root / FILE
    if stat_file(root, path) is None:
        return ()
    with open_file(root, path, largest=_LARGEST) as file:
        return parse_errata(file.read(), str(path))


def parse_errata(data: bytes, where: str) -> tuple[Erratum, ...]:
    """Parse the rows of a file.

    Raises:
        ReleaseError: a row is invalid or repeats an item; names the line.
    """
    errata: dict[str, Erratum] = {}
    try:
        reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        columns = tuple(next(reader, ()))
        if columns != COLUMNS:
            raise ReleaseError(f"{where}: expected the columns {', '.join(COLUMNS)}")
        for row in reader:
            line = f"{where} line {reader.line_num}"
            if len(row) != len(COLUMNS):
                raise ReleaseError(f"{line}: has {len(row)} values; expected {len(COLUMNS)}")
            erratum = Erratum(**dict(zip(COLUMNS, row, strict=True)))
            if problem := erratum.problem():
                raise ReleaseError(f"{line}: {problem}")
            if erratum.name in errata:
                raise ReleaseError(f"{line}: withdraws {erratum.name} a second time")
            errata[erratum.name] = erratum
    except (csv.Error, UnicodeDecodeError) as error:
        raise ReleaseError(f"{where}: cannot be read: {error}") from None
    return tuple(errata.values())


def errata_text(errata: Iterable[Erratum]) -> str:
    """Format errata as a file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(astuple, errata))
    return text.getvalue()


def add_errata(
    root: Path, new: Iterable[Erratum], item_names: Collection[str]
) -> tuple[Mapping[str, Erratum], tuple[str, ...]]:
    """Withdraw items of a release, each once.

    Args:
        root: folder of the release.
        new: errata to add.
        item_names: names of all items of the release.

    Returns:
        The added errata by name, and the names that were already withdrawn, which are unchanged.

    Raises:
        ReleaseError: a row is invalid, or names an item that is not in the release; nothing is
            written.
    """
    errata = {erratum.name: erratum for erratum in read_errata(root)}
    added: dict[str, Erratum] = {}
    before: list[str] = []
    for erratum in new:
        if erratum.name not in item_names:
            raise ReleaseError(
                f"{root}: has no item {safe_repr(erratum.name)}; nothing was written"
            )
        if problem := erratum.problem():
            raise ReleaseError(f"{erratum.name}: {problem}; nothing was written")
        if erratum.name in errata:
            before.append(erratum.name)
        else:
            added[erratum.name] = errata[erratum.name] = erratum
    if added:
        write_text(root / FILE, errata_text(errata.values()))
    return added, tuple(before)


def errata_digest(names: Iterable[str]) -> str:
    """SHA-256 of the names of withdrawn items, independent of order."""
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()

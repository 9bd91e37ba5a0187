"""Profile: target number of items by task, modality and anatomy, read from TOML.

A profile is a TOML file. It states margins, not cells: how the cells are filled depends on the
user's sources (see ``margin_fit``). Inconsistent margins are rejected here, so that a distance to
them always means missing data and never a mistake in the file.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from medrcube.errors import MedrcubeError, UnknownNameError
from medrcube.files.toml_reader import TomlTable, read_toml
from medrcube.taxonomy import Anatomy, Modality, Task, Voxel
from medrcube.vocabulary.word import shipped_words

__all__ = [
    "AXES",
    "NOT_IN_CUBE",
    "OFF",
    "Profile",
    "ProfileError",
    "load_profile",
    "profile_names",
    "require_sources",
]

AXES: tuple[tuple[str, type[Task | Modality | Anatomy]], ...] = (
    ("task", Task),
    ("modality", Modality),
    ("anatomy", Anatomy),
)
"""Margins in display order."""

PER_PATIENT = 4

NOT_IN_CUBE = "a word that the profile does not name"
"""Reason under which questions outside the cube of a profile are counted."""

OFF = "switched-off"
"""Reason under which the questions of sources that a profile leaves out are counted."""


class ProfileError(MedrcubeError):
    """A profile is missing, malformed, or has margins that no benchmark can satisfy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Target of a build.

    Attributes:
        name: for display and for ``audit.json``.
        description: one sentence.
        total: total number of items.
        margins: axis (``task``, ``modality``, ``anatomy``) -> value -> items; an axis that the file
            omits is free, and a value that a given axis omits gets no items.
        outside: tasks that count only in the margin of tasks.
        per_patient: most items of one patient in one cell (task, modality, region).
        sources_per_key: number of sources that each key should come from, if the workspace has that
            many.
        off: sources that are switched off.
        options: most options of an item, or ``None`` for the workspace's setting.
        file: path of the file.
        fingerprint: hash of its content.
    """

    name: str
    description: str
    total: int
    margins: Mapping[str, Mapping[str, int]]
    outside: frozenset[Task]
    per_patient: int
    sources_per_key: int
    off: frozenset[str]
    options: int | None
    file: str
    fingerprint: str = field(repr=False)

    def bounds(self, cell: Voxel) -> tuple[tuple[str, str], ...]:
        """Return the margins, as (axis, value), in which an item of the cell counts."""
        axes = ("task",) if cell.task in self.outside else tuple(axis for axis, _ in AXES)
        return tuple((axis, str(getattr(cell, axis))) for axis in axes if axis in self.margins)

    def holds(self, cell: Voxel) -> bool:
        """Whether each word of the cell is one of the package, or named in the margin of its axis.

        A profile excludes words of other layers that it does not name, whatever the task.
        """
        words = ((axis, str(getattr(cell, axis))) for axis, _ in AXES if axis in self.margins)
        kinds = dict(AXES)
        return all(
            word in self.margins[axis] or word in shipped_words(kinds[axis]) for axis, word in words
        )

    def wants(self, cell: Voxel) -> bool:
        """Whether no margin requires the cell to be empty."""
        return self.holds(cell) and all(
            self.margins[axis].get(value) for axis, value in self.bounds(cell)
        )

    def times(self, factor: int) -> Profile:
        """Return the same mix with ``factor`` times as many items."""
        margins = {
            axis: {value: count * factor for value, count in margin.items()}
            for axis, margin in self.margins.items()
        }
        return replace(self, total=self.total * factor, margins=margins)

    def switch_on(self, sources: Iterable[str]) -> Profile:
        """Return the profile with some of its switched-off sources enabled.

        Raises:
            ProfileError: one of them is not switched off.
        """
        for name in sources:
            if name not in self.off:
                raise ProfileError(
                    f"--switch-on {name}: profile {self.name!r} does not switch it off; "
                    f"switched off: {', '.join(sorted(self.off)) or 'none'}"
                )
        return replace(self, off=self.off - set(sources))


def load_profile(name: str) -> Profile:
    """Read a profile of the package by name, or any other by its path, which ends in ``.toml``.

    Raises:
        ProfileError: it does not exist or is malformed, or its margins are inconsistent.
    """
    if name.endswith(".toml"):
        return _read(Path(name), Path(name))
    shipped = profile_names()
    if name not in shipped:
        near = difflib.get_close_matches(name, shipped, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ProfileError(
            f"no profile is called {name!r}; {hint}expected one of: {', '.join(shipped)}, or "
            "a file of your own, whose name ends in .toml"
        )
    return _read(_folder() / f"{name}.toml", Path(f"{name}.toml"))


def profile_names() -> tuple[str, ...]:
    """Return the names of the profiles shipped with the package."""
    names = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name[:-5] for name in names if name.endswith(".toml")))


def require_sources(profile: Profile, sources: Iterable[str]) -> None:
    """Reject a profile that switches off an unknown source, which is most likely a typo.

    Raises:
        ProfileError: names the entry and the nearest source.
    """
    names = sorted(sources)
    for name in sorted(profile.off):
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; see  medrcube sources list"
            raise ProfileError(f"{profile.file}: key 'sources.off': no source {name!r}{hint}")


def _folder() -> Traversable:
    return files("medrcube.build") / "profiles"


def _read(path: Traversable, file: Path) -> Profile:
    data = read_toml(path, ProfileError)
    table = TomlTable(file, data, error=ProfileError)
    items = table.table("items", optional=True)
    sources = table.table("sources", optional=True)
    margins = table.table("margins", optional=True)
    data_margins = data.get("margins", {})
    margins_by_axis = {
        axis: _margin(margins, axis, kind, data_margins[axis])
        for axis, kind in AXES
        if axis in data_margins
    }
    for axis, _ in AXES:
        if axis not in data_margins:
            margins.table(axis, optional=True)
    outside = _outside(margins, margins_by_axis)
    profile = Profile(
        name=table.text("name"),
        description=table.text("description", default=""),
        total=_total(table, file, margins_by_axis, outside),
        margins=margins_by_axis,
        outside=outside,
        per_patient=items.integer("per_patient", default=PER_PATIENT),
        sources_per_key=items.integer("sources_per_key", default=1),
        off=frozenset(sources.texts("off", default=())),
        options=items.integer("options") if "options" in data.get("items", {}) else None,
        file=str(file),
        fingerprint=hashlib.sha256(json.dumps(data, default=str).encode()).hexdigest(),
    )
    table.finish()
    if profile.per_patient < 1:
        items.fail("per_patient", "a whole number, one or more", profile.per_patient)
    if profile.sources_per_key < 1:
        items.fail("sources_per_key", "a whole number, one or more", profile.sources_per_key)
    if profile.options is not None and not 2 <= profile.options <= 4:
        items.fail("options", "2, 3 or 4", profile.options)
    return profile


def _margin(
    margins: TomlTable, axis: str, kind: type[Task | Modality | Anatomy], values: Any
) -> dict[str, int]:
    """Return one margin, keyed by the taxonomy's own names."""
    table = margins.table(axis)
    if not values:
        margins.fail(axis, f"at least one {axis} = number of items", values)
    counts: dict[str, int] = {}
    for name in values:
        count = table.integer(name)
        try:
            value = str(kind.parse(name))
        except UnknownNameError as error:
            table.fail(name, str(error).partition("expected ")[2], name)
        if value in counts:
            table.fail(name, "each value once", f"two spellings of {value!r}")
        counts[value] = count
    return counts


def _outside(
    margins: TomlTable, margins_by_axis: Mapping[str, Mapping[str, int]]
) -> frozenset[Task]:
    names = margins.texts("outside", default=())
    outside = margins.choices("outside", Task) if names else []
    for task in outside:
        if task.value not in margins_by_axis.get("task", {}):
            margins.fail("outside", "tasks that [margins.task] counts", task.value)
    return frozenset(outside)


def _total(
    table: TomlTable,
    file: Path,
    margins: Mapping[str, Mapping[str, int]],
    outside: Collection[Task],
) -> int:
    """Return the total number of items; rejects margins with different sums."""
    apart = sum(margins["task"][task.value] for task in outside)
    sums = {axis: sum(counts.values()) for axis, counts in margins.items()}
    if "task" in sums:
        sums["task"] -= apart
    if len(set(sums.values())) > 1:
        without = f" without {', '.join(sorted(outside))}" if outside else ""
        listed = ", ".join(f"margins.{axis} {count:,}" for axis, count in sums.items())
        raise ProfileError(
            f"{file}: the margins cannot all hold: {listed}{without}; each must sum to the same "
            "number of items"
        )
    if not sums:
        total = table.integer("total")
    else:
        margin_sum = next(iter(sums.values())) + apart
        total = table.integer("total", default=margin_sum)
        if total != margin_sum:
            table.fail("total", f"{margin_sum}, to which the margins sum", total)
    if total < 1:
        table.fail("total", "at least one item", total)
    return total

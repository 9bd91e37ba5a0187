"""Taxonomy: the three axes of the cube (anatomy, modality, task) and their known spellings.

Spellings are those of the MedRCube release, its README, figures and code (arXiv 2604.13756,
``F1mc/MedRCube`` at 33d0ac9). A name that is not known is an error: the published evaluator
counts it silently as a low-level task.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Self

from medrcube.errors import MedrcubeError

__all__ = ["Anatomy", "Level", "Modality", "Task", "UnknownNameError", "Voxel"]


class UnknownNameError(MedrcubeError, ValueError):
    """A word names no member of an axis; lists the members."""


class _Axis(StrEnum):
    """A closed vocabulary that can be read from any known spelling."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the member that ``text`` names, by value or known alias, ignoring case.

        Raises:
            UnknownNameError: no member has that name.
        """
        if text in cls._value2member_map_:
            return cls(text)
        word = _fold(text)
        for member in cls:
            if word == _fold(member.value) or word in _ALIASES.get(member.value, ()):
                return member
        names = {_fold(member.value): member.value for member in cls}
        near = get_close_matches(word[:200], names, n=1)
        hint = f"; did you mean {names[near[0]]!r}?" if near else ""
        raise UnknownNameError(
            f"{text!r} is no {cls.__name__.lower()} of the taxonomy; expected one of: "
            f"{', '.join(names.values())}{hint}"
        )


class Anatomy(_Axis):
    """Anatomical region: the release field ``parts``."""

    BRAIN = "Brain"
    BREAST = "Breast"
    CHEST = "Chest"
    HEART = "Heart"
    LUNGS = "Lungs"


class Modality(_Axis):
    """Imaging modality."""

    XRAY = "X-ray"
    CT = "CT"
    MRI = "MRI"
    ULTRASOUND = "Ultrasound"


class Level(StrEnum):
    """Tier of a task: what is seen, what is located, what it means."""

    LOW = "low"
    MID = "mid"
    HIGH = "high"


class Task(_Axis):
    """One of the eight tasks."""

    MODALITY_RECOGNITION = "Modality Recognition"
    VIEW_RECOGNITION = "View Recognition"
    IMAGING_PROTOCOLS_RECOGNITION = "Imaging Protocols Recognition"
    ORGAN_RECOGNITION = "Organ Recognition"
    ROI_GROUNDING = "ROI Grounding"
    ABNORMALITY_DIAGNOSIS = "Abnormality Diagnosis"
    DISEASE_DIAGNOSIS = "Disease Diagnosis"
    SEVERITY_GRADING = "Severity Grading"

    @property
    def level(self) -> Level:
        """Tier of the task."""
        return _LEVELS[self]

    @property
    def abbreviation(self) -> str:
        """Two or three letters, as in the published result table: MR, VR, IPR ..."""
        return "".join(word[0] if word != "ROI" else "R" for word in self.value.split())

    @property
    def release_name(self) -> str:
        """Spelling in a release tree, which keeps the one of the published data."""
        if self is Task.ABNORMALITY_DIAGNOSIS:
            return "Abnormity Diagnosis"
        return self.value


_LEVELS = {
    Task.MODALITY_RECOGNITION: Level.LOW,
    Task.VIEW_RECOGNITION: Level.LOW,
    Task.IMAGING_PROTOCOLS_RECOGNITION: Level.LOW,
    Task.ORGAN_RECOGNITION: Level.MID,
    Task.ROI_GROUNDING: Level.MID,
    Task.ABNORMALITY_DIAGNOSIS: Level.HIGH,
    Task.DISEASE_DIAGNOSIS: Level.HIGH,
    Task.SEVERITY_GRADING: Level.HIGH,
}

_ALIASES: dict[str, frozenset[str]] = {
    "Lungs": frozenset({"lung"}),
    "X-ray": frozenset({"xray", "x ray", "radiography", "cr", "dx"}),
    "CT": frozenset({"computed tomography"}),
    "MRI": frozenset({"mr", "magnetic resonance imaging"}),
    "Ultrasound": frozenset({"us", "ultrasonography"}),
    "Modality Recognition": frozenset({"mr"}),
    "View Recognition": frozenset(
        {"vr", "view/plane recognition", "view identification", "plane recognition"}
    ),
    "Imaging Protocols Recognition": frozenset(
        {"ipr", "imaging protocol recognition", "protocol recognition", "protocols recognition"}
    ),
    "Organ Recognition": frozenset({"or"}),
    "ROI Grounding": frozenset({"rg"}),
    "Abnormality Diagnosis": frozenset({"ad", "abnormity diagnosis"}),
    "Disease Diagnosis": frozenset({"dd"}),
    "Severity Grading": frozenset({"sg"}),
}


@dataclass(frozen=True, slots=True, order=True)
class Voxel:
    """One cell of the cube."""

    anatomy: Anatomy
    modality: Modality
    task: Task

    def __str__(self) -> str:
        return f"{self.anatomy} / {self.modality} / {self.task}"


def _fold(text: str) -> str:
    return " ".join(text.replace("_", " ").split()).casefold()

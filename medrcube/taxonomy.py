"""Taxonomy: the three axes of the cube (anatomy, modality, task).

Regions and modalities are words of the vocabulary (``vocabulary/words.toml``). Spellings are those
of the MedRCube release, its README, figures and code (arXiv 2604.13756, ``F1mc/MedRCube`` at
33d0ac9). A name that is not known is an error: the published evaluator counts it silently as a
low-level task.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Self

from medrcube.errors import UnknownNameError
from medrcube.files.toml_reader import TomlTable
from medrcube.vocabulary.word import Word, fold

__all__ = ["Anatomy", "Level", "Modality", "Task", "Voxel"]


class Anatomy(Word):
    """Anatomical region: the release field ``parts``."""

    axis = "anatomy"


class Modality(Word):
    """Imaging modality.

    Attributes:
        concept: its concept in the term table.
        image: an image of it in words that name no part of the body.
        projection: whether one image stands for its study, whose others a reader does not see.
        volume: whether an image is one slice of a volume.
        hounsfield: whether stored values are Hounsfield units.
        burnt_in: the detector of burnt-in marks made for it; empty where there is none.
    """

    axis = "modality"
    concept: str
    image: str
    projection: bool
    volume: bool
    hounsfield: bool
    burnt_in: str

    @classmethod
    def read(cls, table: TomlTable) -> dict[str, object]:
        """What else a layer declares of a modality."""
        return {
            "concept": table.text("concept"),
            "image": table.text("image"),
            "projection": table.flag("projection", default=False),
            "volume": table.flag("volume", default=False),
            "hounsfield": table.flag("hounsfield", default=False),
            "burnt_in": table.text("burnt_in", default="", choices=("film", "ultrasound")),
        }


class Level(StrEnum):
    """Tier of a task: what is seen, what is located, what it means."""

    LOW = "low"
    MID = "mid"
    HIGH = "high"


class Task(StrEnum):
    """One of the eight tasks."""

    MODALITY_RECOGNITION = "Modality Recognition"
    VIEW_RECOGNITION = "View Recognition"
    IMAGING_PROTOCOLS_RECOGNITION = "Imaging Protocols Recognition"
    ORGAN_RECOGNITION = "Organ Recognition"
    ROI_GROUNDING = "ROI Grounding"
    ABNORMALITY_DIAGNOSIS = "Abnormality Diagnosis"
    DISEASE_DIAGNOSIS = "Disease Diagnosis"
    SEVERITY_GRADING = "Severity Grading"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the task that ``text`` names, by value or known alias, ignoring case.

        Raises:
            UnknownNameError: no task has that name.
        """
        if text in cls._value2member_map_:
            return cls(text)
        word = fold(text)
        for member in cls:
            if word == fold(member.value) or word in _ALIASES.get(member.value, ()):
                return member
        names = {fold(member.value): member.value for member in cls}
        near = get_close_matches(word[:200], names, n=1)
        hint = f"; did you mean {names[near[0]]!r}?" if near else ""
        raise UnknownNameError(
            f"{text!r} is no {cls.__name__.lower()} of the taxonomy; expected one of: "
            f"{', '.join(names.values())}{hint}"
        )

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

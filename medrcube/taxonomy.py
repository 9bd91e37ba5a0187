"""Taxonomy: the three axes of the cube (anatomy, modality, task).

Their members are words of the vocabulary (``vocabulary/words.toml``, ``tasks``). Spellings are
those of the MedRCube release, its README, figures and code (arXiv 2604.13756, ``F1mc/MedRCube`` at
33d0ac9). A name that is not known is an error: the published evaluator counts it silently as a
low-level task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from medrcube.files.toml_reader import TomlTable
from medrcube.tasks.declaration import TaskDeclaration
from medrcube.tasks.registry import layer_tasks
from medrcube.vocabulary.layers import Layer
from medrcube.vocabulary.word import Word, fold

__all__ = ["Anatomy", "Level", "Modality", "Task", "Voxel", "cube_tasks"]


class Anatomy(Word):
    """Anatomical region: the release field ``parts``."""

    axis = "anatomy"


class Modality(Word):
    """Imaging modality.

    Attributes:
        concept: its concept in the term table.
        image: an image of it in words that name no part of the body.
        words: further words by which a question names it.
        projection: whether one image stands for its study, whose others a reader does not see.
        volume: whether an image is one slice of a volume.
        hounsfield: whether stored values are Hounsfield units.
        dicom: values of the DICOM element Modality.
        burnt_in: the detector of burnt-in marks made for it; empty where there is none.
    """

    axis = "modality"
    concept: str
    image: str
    words: tuple[str, ...]
    projection: bool
    volume: bool
    hounsfield: bool
    dicom: tuple[str, ...]
    burnt_in: str

    @classmethod
    def read(cls, table: TomlTable) -> dict[str, object]:
        """What else a layer declares of a modality."""
        words = table.texts("words", default=())
        if not all(map(str.strip, words)):
            table.fail("words", "words that are not empty", list(words))
        return {
            "concept": table.text("concept"),
            "image": table.text("image"),
            "words": words,
            "projection": table.flag("projection", default=False),
            "volume": table.flag("volume", default=False),
            "hounsfield": table.flag("hounsfield", default=False),
            "dicom": table.texts("dicom", default=()),
            "burnt_in": table.text("burnt_in", default="", choices=("film", "ultrasound")),
        }


class Level(Word):
    """Tier of a task: what is seen, what is located, what it means.

    Attributes:
        meaning: what a reader does.
        rests_on: levels whose answers about the same image make an answer of this one credible.
    """

    axis = "level"
    meaning: str
    rests_on: tuple[str, ...]

    @classmethod
    def read(cls, table: TomlTable) -> dict[str, object]:
        """What else a layer declares of a level."""
        return {
            "meaning": table.text("meaning"),
            "rests_on": table.texts("rests_on", default=()),
        }


class Task(Word):
    """What is asked; a folder below ``tasks`` of a layer declares it.

    Attributes:
        declaration: what its folder declares of it.
    """

    axis = "task"
    declaration: TaskDeclaration

    @classmethod
    def layer_words(cls, layer: Layer) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Name and facts of each task of one layer, by level and by place in it.

        Raises:
            TaskError: a declaration is wrong.
        """
        for task in layer_tasks(layer, [str(level) for level in Level]):
            spellings = (task.abbreviation, task.release, *task.aliases)
            aliases = dict.fromkeys(map(fold, spellings))
            aliases.pop(fold(task.name), None)
            yield task.name, {"aliases": tuple(aliases), "declaration": task}

    def __reduce__(self) -> tuple[object, ...]:
        # Where the folder lies is known to the process that reads it.
        facts = {**vars(self), "declaration": replace(self.declaration, folder=None)}
        return (type(self), (str(self), facts))

    def declared(self) -> dict[str, object]:
        """What a layer has to declare for this task."""
        return dict(self.declaration.table)

    @property
    def level(self) -> Level:
        """Tier of the task."""
        return Level.recorded(self.declaration.level)

    @property
    def abbreviation(self) -> str:
        """Two or three letters, as in the published result table: MR, VR, IPR ..."""
        return self.declaration.abbreviation

    @property
    def release_name(self) -> str:
        """Spelling in a release tree, which keeps the one of the published data."""
        return self.declaration.release


def cube_tasks() -> tuple[Task, ...]:
    """The tasks that cards name and whose items have options in ``test.json``: all without a rule.

    Those with a rule lie beyond the published cube; their items stand in ``open.json``.
    """
    return tuple(task for task in Task if not task.declaration.rule)


@dataclass(frozen=True, slots=True, order=True)
class Voxel:
    """One cell of the cube."""

    anatomy: Anatomy
    modality: Modality
    task: Task

    def __str__(self) -> str:
        return f"{self.anatomy} / {self.modality} / {self.task}"

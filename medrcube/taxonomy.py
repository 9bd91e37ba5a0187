"""Taxonomy: the three axes of the cube (anatomy, modality, task).

Members are words of the vocabulary (``vocabulary/words.toml``, ``tasks``). Spellings are those of
the MedRCube release, its README, figures and code (arXiv 2604.13756, ``F1mc/MedRCube`` at 33d0ac9).
An unknown name is an error: the published evaluator silently counts it as a low-level task.
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
        image: a phrase for an image of it that names no body part.
        words: further words by which a question refers to it.
        projection: whether one image represents its study, whose other images a reader does not
            see.
        volume: whether an image is one slice of a volume.
        hounsfield: whether stored values are Hounsfield units.
        dicom: values of the DICOM element Modality.
        burnt_in: the detector for burnt-in annotations of this modality; empty if none.
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
        """Read the remaining fields that a layer declares for a modality."""
        words = table.texts("words", default=())
        if not all(map(str.strip, words)):
            table.fail("words", "non-empty words", list(words))
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
    """Level of a task: what is seen, where it is, what it means.

    Attributes:
        meaning: what a reader does at this level.
        rests_on: levels whose answers about the same image support an answer at this level.
    """

    axis = "level"
    meaning: str
    rests_on: tuple[str, ...]

    @classmethod
    def read(cls, table: TomlTable) -> dict[str, object]:
        """Read the remaining fields that a layer declares for a level."""
        return {
            "meaning": table.text("meaning"),
            "rests_on": table.texts("rests_on", default=()),
        }


class Task(Word):
    """A task; declared by a folder below ``tasks`` in a layer.

    Attributes:
        declaration: the declaration from its folder.
    """

    axis = "task"
    declaration: TaskDeclaration

    @classmethod
    def layer_words(cls, layer: Layer) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield name and facts of each task of one layer, by level and by order within it.

        Raises:
            TaskError: a declaration is wrong.
        """
        for task in layer_tasks(layer, [str(level) for level in Level]):
            spellings = (task.abbreviation, task.release, *task.aliases)
            aliases = dict.fromkeys(map(fold, spellings))
            aliases.pop(fold(task.name), None)
            yield task.name, {"aliases": tuple(aliases), "declaration": task}

    def __reduce__(self) -> tuple[object, ...]:
        # The folder's location is known only to the process that reads it.
        facts = {**vars(self), "declaration": replace(self.declaration, folder=None)}
        return (type(self), (str(self), facts))

    def declared(self) -> dict[str, object]:
        """What a layer must declare for this task."""
        return dict(self.declaration.table)

    @property
    def level(self) -> Level:
        """Level of the task."""
        return Level.recorded(self.declaration.level)

    @property
    def abbreviation(self) -> str:
        """Two or three letters, as in the published result table: MR, VR, IPR ..."""
        return self.declaration.abbreviation

    @property
    def release_name(self) -> str:
        """Spelling in a release tree, which keeps that of the published data."""
        return self.declaration.release


def cube_tasks() -> tuple[Task, ...]:
    """Return the tasks without a rule: those that cards name and whose items are in ``test.json``.

    Tasks with a rule are beyond the published cube; their items are in ``open.json``.
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

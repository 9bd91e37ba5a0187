"""Kinds of facts, an axis of the vocabulary."""

from __future__ import annotations

from medrcube.files.toml_reader import TomlTable
from medrcube.vocabulary.word import Word

__all__ = ["FactKind"]


class FactKind(Word):
    """Kind of fact that a field states; determines which tasks may ask about it.

    An attribute, such as breast density, is a fact that no task asks about: it is not a finding,
    and a higher grade is not worse.

    Attributes:
        view: whether it describes how an image was acquired, which varies between images of a
            patient.
        structure: whether it names an anatomical structure, which occurs only once.
        abnormal: whether it states an abnormality.
        several: whether one image may show several facts of this kind.
    """

    axis = "kind"
    view: bool
    structure: bool
    abnormal: bool
    several: bool

    @classmethod
    def read(cls, table: TomlTable) -> dict[str, object]:
        """Read the remaining fields that a layer declares for a kind."""
        names = ("view", "structure", "abnormal", "several")
        return {name: table.flag(name, default=False) for name in names}

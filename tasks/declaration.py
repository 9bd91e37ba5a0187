"""Declaration of a task: ``task.toml``, read strictly.

Everything that the package knows about a task is declared here: its names and level, the facts it
asks about, on which images, what its wordings may say, and what reviewers are told.
Code uses these properties and never the name of a task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medrcube.errors import VocabularyError
from medrcube.fact_kind import FactKind
from medrcube.files.toml_reader import TomlTable, read_toml
from medrcube.forms import OPEN_FORMS, OPTION

__all__ = [
    "ARTEFACTS",
    "AUDITS",
    "VALUES",
    "BlindBar",
    "Guideline",
    "TaskDeclaration",
    "TaskError",
    "load_task",
    "parse_task",
    "slug_of",
]

ARTEFACTS = ("clean", "outline", "boxes", "numbered", "scale-bar", "mirrored", "compared")
"""Kinds of image: nothing drawn on it; one region outlined; numbered boxes; numbered images; one
region outlined above a scale bar; nothing drawn, left and right exchanged; numbered
images of a case that no task without a rule asks."""

VALUES = (
    *("shown", "about", "subject", "normal"),
    *("scale", "one_of", "marked", "numbered", "target"),
)
"""Values that a wording may use; ``medrcube.templates`` says what each holds."""

WHOLES = ("volume", "breast", "study", "patient")
"""Scopes wider than an image."""

AUDITS = (
    *("place-prior", "scale-prior", "text-prior", "constant"),
    *("pair-split", "pair-size"),
)
"""Audits of a batch that a task with a rule may ask for."""

_SETS = ("none", "pair")
_RULE = "rule.py"
_OWN_VALUE = re.compile("[a-z][a-z_]*")
_TOLD_BY = ("nothing", "words", "marks")
_CONSTANT = ("never", "single", "always")
_ORIGINALS = ("hide", "tell in stacks", "tell")
_NEEDS_SCALE = frozenset({"scale", "one_of"})


class TaskError(VocabularyError):
    """A task's folder breaks the contract; names file, key and expectation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guideline:
    """Guideline for reviewers of a task, in three sentences that hold for every item."""

    asks: str
    accept: str
    refuse: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindBar:
    """How often the best constant answer of other patients may be right.

    Attributes:
        drop: above it the questions of a cell are not asked.
        warn: above it the build warns.
    """

    drop: float = 0.5
    warn: float = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDeclaration:
    """One task.

    Attributes:
        folder: where it stands; ``None`` for one that came with a release.
        table: what ``task.toml`` holds, for a release that carries the task.
        name: its name in tables and reports.
        abbreviation: two or three letters.
        release: spelling in a release tree.
        aliases: other spellings that are read, in lower case.
        level: tier.
        place: order among the tasks of its level.
        form: how it is answered.
        measures: what it asks, as a clause.
        example: questions with their key in bold, as Markdown.
        kinds: kinds of facts that it asks about.
        axis: axis of the cube whose word for the image it asks; empty where it asks facts.
        artefacts: kinds of image that it asks of.
        told_by: what in an image gives the answer away: words, any mark of a reader, or nothing.
        constant: whether a source has one answer by its nature: never, if it has a single one, or
            always; answers are then compared over all sources.
        ordered: whether the options are steps of a scale.
        model_proposals: whether a language model may propose options.
        values: what its wordings may use, of ``VALUES``.
        scale: what the options are, in the singular, where their group does not say.
        names_region: whether the words for the image name the part of the body.
        wholes: scopes wider than the image that its wordings name.
        guideline: what reviewers are told.
        original_pixels: whether the stored pixels, which reviewers may look at, tell the answer.
        published_margins: whether the published counts of modality and region include it.
        published_credibility: whether the published credibility script was meant to count it.
        rule: file of its rule, ``rule.py``, for a task beyond the published cube; empty where its
            questions follow from the facts of cards.
        sets: ``pair`` where its items are dealt into sets of two, else ``none``.
        blind: how often an answer without a look at the image may be right.
        per_patient: most items, or sets, of each patient, evenly over what they ask about; ``None``
            for as many as there are.
        audits: audits of a batch of its items, of ``AUDITS``.
        settings: what its rule reads of the table ``[settings]``.
    """

    folder: Path | None = field(compare=False, repr=False)
    table: Mapping[str, Any] = field(compare=False, repr=False)
    name: str
    abbreviation: str
    release: str
    aliases: tuple[str, ...]
    level: str
    place: int
    form: str
    measures: str
    example: str
    kinds: tuple[str, ...]
    axis: str
    artefacts: tuple[str, ...]
    told_by: str
    constant: str
    ordered: bool
    model_proposals: bool
    values: tuple[str, ...]
    scale: str
    names_region: bool
    wholes: tuple[str, ...]
    guideline: Guideline
    original_pixels: str
    published_margins: bool
    published_credibility: bool
    rule: str = ""
    sets: str = "none"
    blind: BlindBar = field(default_factory=BlindBar)
    per_patient: int | None = None
    audits: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def slug(self) -> str:
        """Its name as folders and files bear it."""
        return slug_of(self.name)

    @property
    def questions(self) -> Path:
        """File of its question templates.

        Raises:
            TaskError: the task came with a release or from another process, without its folder.
        """
        if self.folder is None:
            raise TaskError(f"the task {self.name!r} has no folder here, so nothing can be built")
        return self.folder / "questions.j2"


def slug_of(name: str) -> str:
    """A name as folders and files bear it."""
    return name.casefold().replace(" ", "_")


def load_task(folder: Path, levels: Sequence[str]) -> TaskDeclaration:
    """Read and check the ``task.toml`` of a folder.

    Args:
        folder: folder of the task; its name is the task's, in lower case with underscores.
        levels: names of the levels.

    Raises:
        TaskError: the file is missing, is not valid TOML, or breaks the schema.
    """
    path = folder / "task.toml"
    return parse_task(path, read_toml(path, TaskError), levels, folder)


def parse_task(
    path: Path, data: Mapping[str, Any], levels: Sequence[str], folder: Path | None = None
) -> TaskDeclaration:
    """Check a declaration.

    Args:
        path: where it stands, for messages.
        data: the declaration.
        levels: names of the levels.
        folder: folder of the task, if it has one here.

    Raises:
        TaskError: it breaks the schema.
    """
    table = TomlTable(path, data, error=TaskError)
    facts, wording = table.table("facts"), table.table("wording")
    review, published = table.table("review"), table.table("published", optional=True)
    name, rule = table.text("name"), table.text("rule", default="", choices=(_RULE,))
    task = TaskDeclaration(
        folder=folder,
        table=data,
        name=name,
        abbreviation=table.text("abbreviation", pattern=r"[A-Z]{2,4}"),
        release=table.text("release", default=name),
        aliases=tuple(alias.casefold() for alias in table.texts("aliases", default=())),
        level=table.text("level", choices=levels),
        place=table.integer("place"),
        form=table.text("form", choices=(OPTION, *OPEN_FORMS)),
        measures=table.text("measures"),
        example=table.text("example").strip(),
        kinds=tuple(facts.choices("kinds", FactKind)) if facts.has("kinds") else (),
        axis=facts.text("axis", default="", choices=("modality",)),
        artefacts=_choices(facts, "artefacts", ARTEFACTS),
        told_by=facts.text("told_by", default="nothing", choices=_TOLD_BY),
        constant=facts.text("constant", default="never", choices=_CONSTANT),
        ordered=facts.flag("ordered", default=False),
        model_proposals=facts.flag("model_proposals", default=False),
        values=_own_values(wording) if rule else _choices(wording, "values", VALUES, least=0),
        scale=wording.text("scale", default=""),
        names_region=wording.flag("names_region", default=True),
        wholes=_choices(wording, "wholes", WHOLES) if wording.has("wholes") else WHOLES,
        guideline=Guideline(
            asks=review.text("asks"), accept=review.text("accept"), refuse=review.text("refuse")
        ),
        original_pixels=review.text("original_pixels", default="hide", choices=_ORIGINALS),
        published_margins=published.flag("margins", default=True),
        published_credibility=published.flag("credibility", default=True),
        rule=rule,
        sets=table.text("set", default="none", choices=_SETS),
        blind=_blind_bar(table.table("blind", optional=True)),
        per_patient=_per_patient(table) if table.has("per_patient") else None,
        audits=_choices(table, "audits", AUDITS, least=0) if table.has("audits") else (),
        settings=table.content("settings"),
    )
    _check(table, facts, wording, task)
    table.finish()
    return task


def _choices(
    table: TomlTable, key: str, choices: Sequence[str], *, least: int = 1
) -> tuple[str, ...]:
    names: tuple[str, ...] = table.texts(key, least=least)
    if len(set(names)) < len(names) or not set(names) <= set(choices):
        table.fail(key, f"different ones of {', '.join(choices)}", list(names))
    return names


def _own_values(table: TomlTable) -> tuple[str, ...]:
    """Values of the wordings of a task with a rule, which gives more than ``VALUES`` has."""
    names: tuple[str, ...] = table.texts("values", least=0)
    if len(set(names)) < len(names) or not all(map(_OWN_VALUE.fullmatch, names)):
        table.fail("values", "different names in small letters", list(names))
    return names


def _blind_bar(table: TomlTable) -> BlindBar:
    default = BlindBar()
    bar = BlindBar(
        drop=table.number("drop", default=default.drop),
        warn=table.number("warn", default=default.warn),
    )
    if not 0 < bar.warn <= bar.drop <= 1:
        table.fail("warn", "a share above 0 and not above drop, which is at most 1", bar.warn)
    return bar


def _per_patient(table: TomlTable) -> int:
    most: int = table.integer("per_patient")
    if most < 1:
        table.fail("per_patient", "1 or more items or sets of a patient", most)
    return most


def _check(table: TomlTable, facts: TomlTable, wording: TomlTable, task: TaskDeclaration) -> None:
    """Check what several keys say together."""
    if task.folder is not None and task.slug != task.folder.name:
        table.fail("name", f"the name of its folder, {task.folder.name!r}, in words", task.name)
    if task.rule and task.axis:
        facts.fail("axis", "no axis of the cube beside a rule", task.axis)
    if not task.rule and bool(task.kinds) == bool(task.axis):
        facts.fail("kinds", "either kinds of facts, or an axis of the cube", list(task.kinds))
    if not task.rule:
        _check_without_rule(table, task)
    if task.axis and task.artefacts != ("clean",):
        facts.fail("artefacts", 'only "clean" where an axis is asked', list(task.artefacts))
    if not task.rule and bool(task.scale) != bool(_NEEDS_SCALE & set(task.values)):
        wording.fail("scale", "a phrase if, and only if, values hold scale or one_of", task.scale)


def _check_without_rule(table: TomlTable, task: TaskDeclaration) -> None:
    """Refuse what only a rule can give."""
    if task.form != OPTION:
        table.fail("form", f'"{OPTION}" of a task without a rule', task.form)
    for key, is_set in (
        ("set", task.sets != "none"),
        ("blind", task.blind != BlindBar()),
        ("audits", task.audits),
        ("settings", task.settings),
    ):
        if is_set:
            table.fail(key, f'this key only beside rule = "{_RULE}"', task.table[key])

"""Adapter contract, and the checks that enforce it.

``adapter.py`` has one required function::

    def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]: ...

It finds files through ``root`` alone, by the names of the parts that the card gives them, or among
all that fits a glob of the layout (see ``raw_tree``); opens no pixel
file and writes nothing; yields in an order that does not depend on the order of directory
listings; gives unique keys and only paths under ``root``. A ``Case`` may name
images that are absent from this copy: the build counts them. A ``Skip`` sets something aside
with a reason. Optional hooks, for what the core cannot know::

    def read(image: ImageRef) -> Volume: ...              # a format of this source alone
    def frames(case: Case, volume: Volume) -> list[int]: ...  # where no slice policy fits

``frames`` gets its case without the patient, whose name differs from one workspace to the next.

What it has to know of the dataset, it asks its card for (see ``own_card``).

``fixture.py`` has one function that writes a tiny synthetic raw tree in the source's true
layout, with ``phantoms.CANARY`` wherever real data hold an identifier::

    def build(root: Path, layout: str) -> None: ...
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from medrcube.errors import CardError, MedrcubeError, RowError, SourceError, TableError
from medrcube.facts import BAD_ROW, Case, Label, Quantity, Region, Skip
from medrcube.files.python_file import load_python_file
from medrcube.regions import has_foreign_mask
from medrcube.sources._formats.tables.notices import collect_notices
from medrcube.sources._formats.tables.redaction import (
    evidence_place,
    redact_cell,
    redact_evidence,
    redact_exception,
    redact_reason,
)
from medrcube.sources._formats.tables.rows import OLDER_EDITION, cases_or_skip, skip_unusable_table
from medrcube.sources._framework.card import WINDOWS, Card, Quirk, load_card
from medrcube.sources._framework.card_parts.drawn_in import with_frame
from medrcube.sources._framework.card_parts.fields import CardField
from medrcube.sources._framework.card_parts.layout import Layout
from medrcube.sources._framework.card_parts.measures import Measure
from medrcube.sources._framework.own_card import unused_keys
from medrcube.sources._framework.raw_tree.opened_files import files_opened
from medrcube.sources._framework.raw_tree.raw_tree import RawTree, newest_edition
from medrcube.sources._framework.settled_cases import collect_doubts, merge_by_key, with_doubts
from medrcube.vocabulary.layers import adding_vocabulary, tables_digest

__all__ = [
    "Source",
    "concept_of",
    "field_of",
    "load_source",
    "measure_of",
    "missing_regions",
    "quirk_of",
    "undeclared_files",
    "unused_card_keys",
]

_SEVERAL = 3
"""Patients of whom a value is said that names none of them."""


@dataclass(frozen=True, slots=True)
class Source:
    """A folder with ``card.toml``, ``adapter.py`` and ``fixture.py``; code loads on first use."""

    folder: Path
    card: Card

    @property
    def id(self) -> str:
        """Identity of the source, as in its card."""
        return self.card.id

    def scan(self, root: Path | RawTree, layout: str) -> Iterator[Case | Skip]:
        """Yield what the adapter finds, checked against the contract and the card.

        Paths are those of the files in this copy; see ``RawTree.resolve``.

        Raises:
            SourceError: a field is not in the card, or a table is not what the adapter expects. A
                case whose raw value the card does not know is set aside; so are cases that share a
                key and do not say the same, and those that name a file which is none of the
                dataset: tables hold such names.
        """
        copy = RawTree(root) if isinstance(root, Path) else root
        for entry in self._scan(copy, layout):
            yield redact_reason(entry, copy.names)

    def _scan(self, copy: RawTree, layout: str) -> Iterator[Case | Skip]:
        tree, whole = self._whole(copy, self.card.layout(layout))
        doubts = collect_doubts(whole)
        shared = functools.cache(functools.partial(_shared, self.card, whole))
        for entry in whole:
            files = entry.paths if isinstance(entry, Skip) else entry.files()
            strange = _strange(files, copy, tree, layout)
            inside = tuple(path for path in files if tree.name_of(path))
            if isinstance(entry, Skip):
                own = not strange or entry.code in {BAD_ROW, OLDER_EDITION}
                named = entry if own else replace(entry, reason=strange, code=BAD_ROW)
                yield replace(named, paths=inside)
                continue
            _check_case(self.card, entry)
            if strange:
                yield Skip(key=entry.key, reason=strange, paths=inside, code=BAD_ROW)
                continue
            case = with_frame(self.card.drawn_in, entry) if self.card.drawn_in else entry
            case = with_doubts(self.card, case, doubts) if doubts else case
            yield from cases_or_skip(
                functools.partial(_check_values, self.card, case, shared),
                key=case.key,
                paths=case.files(),
            )

    def _whole(self, copy: RawTree, layout: Layout) -> tuple[RawTree, list[Case | Skip]]:
        """What the adapter finds, and the tree in which it does.

        A table that a copy may lack and that cannot be used is named, and all is found anew as in
        a copy without it.

        Raises:
            TableError: a copy may not lack it.
        """
        lost: list[Skip] = []
        while True:
            tree = copy.of_layout(layout, self.card.parts)
            try:
                cases = (entry.moved(tree.resolve) for entry in self._cases(tree, layout.name))
                with collect_notices() as notices:
                    whole = merge_by_key(cases)
            except TableError as error:
                rest = copy.without(error.path)
                older = _older(tree, layout, error.path)
                if older is None and not _may_lack(layout, copy, rest):
                    raise
                lost.append(skip_unusable_table(error, older))
                copy = rest
            else:
                return tree, [*lost, *notices, *whole]

    def _cases(self, tree: RawTree, layout: str) -> Iterator[Case | Skip]:
        """Cases that the adapter yields; an exception in its code names file and line."""
        try:
            yield from self.hook("cases")(tree, layout)
        except (MedrcubeError, ModuleNotFoundError, MemoryError):
            raise
        except Exception as error:
            raise SourceError(
                f"{self.id}: layout {layout!r}: the adapter raised {_where(error)}; mend "
                "adapter.py, or report this copy"
            ) from error

    def build_fixture(self, root: Path, layout: str) -> None:
        """Write the synthetic raw tree of one layout into ``root``.

        Raises:
            SourceError: an exception in its code; names file and line.
        """
        root.mkdir(parents=True, exist_ok=True)
        module = _load(self.folder / "fixture.py")
        try:
            module.build(root, layout)
        except (MedrcubeError, ModuleNotFoundError, MemoryError, OSError):
            raise
        except Exception as error:
            raise SourceError(
                f"{self.id}: layout {layout!r}: the fixture raised {_where(error)}; mend fixture.py"
            ) from error

    def hook(self, name: str) -> Callable[..., Any]:
        """A function of the adapter.

        Raises:
            CardError: the adapter lacks it.
        """
        function = self.find_hook(name)
        if function is None:
            raise CardError(f"{self.folder / 'adapter.py'}: function {name}() is missing")
        return function

    def find_hook(self, name: str) -> Callable[..., Any] | None:
        """An optional function of the adapter, or ``None``."""
        return getattr(_load(self.folder / "adapter.py"), name, None)


def load_source(folder: Path) -> Source:
    """Read the card of a source folder; its name is the id with underscores.

    Raises:
        CardError: the card is wrong or the folder does not carry its id.
    """
    with adding_vocabulary([folder]):
        card = load_card(folder / "card.toml")
    if folder.name != card.id.replace("-", "_"):
        raise CardError(
            f"{folder / 'card.toml'}: id {card.id!r} belongs in a folder named "
            f"{card.id.replace('-', '_')!r}, found {folder.name!r}"
        )
    own = tables_digest(folder)
    if own:
        fingerprint = sha256(f"{card.fingerprint}\0{own}".encode()).hexdigest()
        card = replace(card, fingerprint=fingerprint)
    return Source(folder, card)


def undeclared_files(source: Source, root: Path, layout: str) -> list[str]:
    """Files of a raw tree that the adapter opens although no glob of the layout matches them."""
    real = root.resolve()
    copy = RawTree(real)
    declared = copy.of_layout(source.card.layout(layout)).known
    with files_opened() as opened:
        for _ in source.scan(copy, layout):
            pass
    names = {path.relative_to(real).as_posix() for path in opened if path.is_relative_to(real)}
    return sorted(names - declared)


def unused_card_keys(source: Source) -> list[str]:
    """Keys of ``[numbers]``, ``[names]`` and ``[patterns]`` that the adapter never reads."""
    return unused_keys(_load(source.folder / "adapter.py"), source.folder / "card.toml")


def quirk_of(card: Card, key: str, action: str) -> Quirk | None:
    """The first quirk of that action whose globs name the case."""
    for quirk in card.quirks:
        if quirk.action == action and quirk.names(key):
            return quirk
    return None


def missing_regions(card: Card, case: Case) -> str:
    """Why regions of a case may be missing in this copy; empty if all are there."""
    quirk = quirk_of(card, case.key, "regions")
    if quirk is None or len(case.regions) >= quirk.regions:
        return ""
    return (
        f"{len(case.regions)} of {quirk.regions} marked regions are in this copy; get the other "
        f"files: {quirk.reason} ({quirk.evidence})"
    )


def field_of(card: Card, statement: Label | Region) -> CardField:
    """The card's field that a label or region refers to."""
    try:
        return card.fields[statement.field]
    except KeyError:
        raise SourceError(
            f"{card.id}: {evidence_place(statement.evidence)}: field {statement.field!r} is not in "
            f"the card (fields: {', '.join(card.fields)})"
        ) from None


def measure_of(card: Card, quantity: Quantity) -> Measure:
    """The card's field of kind ``measure`` that a quantity refers to.

    Raises:
        SourceError: the card has none of that name.
    """
    try:
        return card.measures[quantity.field]
    except KeyError:
        raise SourceError(
            f"{card.id}: {evidence_place(quantity.evidence)}: measure {quantity.field!r} is not in "
            f"the card (measures: {', '.join(card.measures) or 'none'})"
        ) from None


def concept_of(card: Card, statement: Label | Region, shared: Collection[str] = ()) -> str | None:
    """Concept that the card gives to a raw value; ``None`` for values that are not used.

    Args:
        card: of the source.
        statement: with the value.
        shared: values that cannot be personal; of any other a reason may show the shape alone.

    Raises:
        RowError: the value is not in the card: a label is never guessed.
        SourceError: the field has one constant concept, which no statement repeats.
    """
    field = field_of(card, statement)
    if field.constant is not None:
        raise SourceError(
            f"{card.id}: {evidence_place(statement.evidence)}: field {field.name!r} is the "
            f"constant {field.constant!r}, which holds for every case without a label or region; "
            "yield none of it in adapter.py, or give the field values in the card"
        )
    try:
        return field.concept(statement.value)
    except (KeyError, ValueError):
        values = ", ".join(repr(value) for value in field.values) or "numeric bands"
        known_values = (*field.values, *shared)
        place = redact_evidence(statement.evidence, known_values)
        value = redact_cell(statement.value, known_values)
        raw = json.dumps(value) if value == statement.value else "what stands there"
        raise RowError(
            f"{card.id}: {place}: value {value!r} of field {field.name!r} is not in the card "
            f"(known: {values}); say in medrcube.toml what it "
            f'means, or "" for nothing:  [values.{card.id}.{field.name}]  {raw} = ""'
        ) from None


def _may_lack(layout: Layout, copy: RawTree, rest: RawTree) -> bool:
    """Whether the files that ``copy`` has beyond ``rest`` are optional."""
    lost = copy.known - rest.known
    spare = (*layout.optional, *layout.one_of)
    optional = any(not lost.isdisjoint(copy.match(glob)) for glob in spare)
    return optional and not layout.missing([glob for glob in layout.expect if rest.holds(glob)])


def _older(tree: RawTree, layout: Layout, path: Path) -> Path | None:
    """The edition of a table that is read where a newer one cannot be used."""
    for part in layout.editions:
        editions = tree.part(part)
        rest = [edition for edition in editions if edition != path]
        if path in editions and rest:
            return newest_edition(rest)
    return None


def _check_case(card: Card, case: Case) -> None:
    if not case.images or not all(image.paths for image in case.images):
        raise SourceError(f"{card.id}: case {case.key!r} names no image file")
    if case.window is not None and not re.fullmatch(WINDOWS, case.window):
        raise SourceError(
            f"{card.id}: case {case.key!r} has the window {case.window!r}; expected a value of "
            "[pixels] window"
        )
    if case.redistribute and card.access.passed_on == "no":
        raise SourceError(
            f"{card.id}: case {case.key!r} may be redistributed by its row, and not by the card; "
            "name under access.rows what decides, or leave Case.redistribute out"
        )
    if card.carried is None and any(has_foreign_mask(shape) for shape in case.shapes()):
        raise SourceError(
            f"{card.id}: case {case.key!r} has a mask that was drawn on another image; expected "
            "one on the grid of its own: if both lie in one space, say so in the card, with "
            "reason and evidence, under [carried]"
        )
    if case.panels and (
        not 2 <= len(case.images) == len(case.panels) <= 4
        or len({label.field for label in case.panels}) > 1
    ):
        raise SourceError(
            f"{card.id}: case {case.key!r} has {len(case.images)} image(s) and labels of "
            f"{len(case.panels)} panel(s); expected two to four images and one label for each, all "
            "of one field"
        )
    if case.compared and (not case.panels or case.labels or case.regions):
        raise SourceError(
            f"{card.id}: case {case.key!r} is made for comparison, with {len(case.panels)} "
            f"panel(s), {len(case.labels)} label(s) and {len(case.regions)} region(s); expected "
            "panels alone: what else is known belongs to the cases of its images"
        )


def _strange(files: Iterable[Path], copy: RawTree, tree: RawTree, layout: str) -> str:
    """Why a file does not belong to the dataset; empty if all do."""
    for path in files:
        if not path.is_relative_to(tree.path):
            return f"names {path}, which lies outside the raw root; expected a file below it"
        name = tree.name_of(path)
        if name not in tree.known and name in copy.known:
            return (
                f"names {name}, which is not a file name of this dataset: it is there, and no "
                f"glob of layout {layout!r} fits it; correct the name in the table and of the "
                "file, or, where the source is your own, add the glob to its card"
            )
    return ""


def _check_values(card: Card, case: Case, shared: Callable[[], Collection[str]]) -> tuple[Case]:
    """The case, when the card knows every value that it states.

    Raises:
        RowError: names the first value that it does not know.
    """
    for statement in _statements(case):
        try:
            concept_of(card, statement)
        except RowError:
            concept_of(card, statement, shared())
    return (case,)


def _statements(case: Case) -> tuple[Label | Region, ...]:
    return (*case.labels, *case.panels, *case.regions)


def _shared(card: Card, entries: Iterable[Case | Skip]) -> frozenset[str]:
    """Values unknown to the card that several patients share, so that none is a person's name."""
    people: dict[str, set[str]] = {}
    for case in entries:
        if isinstance(case, Case) and case.patient:
            for statement in _statements(case):
                field = card.fields.get(statement.field)
                if field is not None and statement.value not in field.values:
                    people.setdefault(statement.value, set()).add(case.patient)
    return frozenset(value for value, own in people.items() if len(own) >= _SEVERAL)


def _where(error: Exception) -> str:
    """An exception in the code of a source, with its file and line."""
    frame = extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}, in {frame.name}"
    return f"{redact_exception(error)} ({place})"


def _load(file: Path) -> ModuleType:
    """Import a file of a source folder, ours or a user's, once for each content of it and card."""
    try:
        contents = (path.read_bytes() for path in (file, file.with_name("card.toml")))
        identity = b"\0".join((str(file).encode(), *contents))
    except OSError as error:
        raise CardError(f"{file}: is missing ({error.strerror}); a source needs it") from error
    name = f"medrcube_source_{sha256(identity).hexdigest()[:12]}_{file.stem}"
    return load_python_file(file, name)

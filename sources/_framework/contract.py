"""Adapter contract, and the checks that enforce it.

``adapter.py`` has one required function::

    def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]: ...

It finds files only through ``root``: by the name of a part in the card, or with a glob, which
searches the files that match the layout (see ``raw_tree``). It opens no pixel file, writes nothing,
yields in an order that does not depend on the order of directory listings, and returns unique keys
and only paths under ``root``. A ``Case`` may refer to images that are absent from this copy; the
build counts them. A ``Skip`` excludes something, with a reason. Optional hooks, for what the core
cannot know::

    def read(image: ImageRef) -> Volume: ...              # a format that only this source uses
    def frames(case: Case, volume: Volume) -> list[int]: ...  # if no slice policy fits

``frames`` receives the case without the patient, whose pseudonym differs between workspaces.

An adapter reads the constants of its dataset from its card (see ``own_card``).

``fixture.py`` has one function that writes a tiny synthetic raw tree in the source's true
layout, with ``phantoms.CANARY`` wherever real data hold an identifier::

    def build(root: Path, layout: str) -> None: ...
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from medrcube.errors import CardError, MedrcubeError, SourceError, TableError
from medrcube.facts import BAD_ROW, Case, Skip
from medrcube.files.python_file import load_python_file
from medrcube.sources._formats.tables.notices import collect_notices
from medrcube.sources._formats.tables.redaction import redact_exception, redact_reason
from medrcube.sources._formats.tables.rows import OLDER_EDITION, cases_or_skip, skip_unusable_table
from medrcube.sources._framework.card import Card, load_card
from medrcube.sources._framework.card_parts.drawn_in import with_frame
from medrcube.sources._framework.card_parts.layout import Layout
from medrcube.sources._framework.case_checks import (
    check_case,
    check_values,
    foreign_file,
    shared_values,
)
from medrcube.sources._framework.own_card import unused_keys
from medrcube.sources._framework.packed_entries import PackedEntries
from medrcube.sources._framework.raw_tree.opened_files import files_opened
from medrcube.sources._framework.raw_tree.raw_tree import RawTree, newest_edition
from medrcube.sources._framework.settled_cases import collect_doubts, merge_by_key, with_doubts
from medrcube.sources._framework.unit_labels import UnitLabels
from medrcube.vocabulary.layers import adding_vocabulary, tables_digest

__all__ = [
    "Source",
    "load_source",
    "undeclared_files",
    "unused_card_keys",
]

_SETTLED = 2_000_000_000
"""Nanoseconds after which a change of a file shows in its time: FAT counts in steps of two seconds.
"""


@dataclass(frozen=True, slots=True)
class Source:
    """Folder with ``card.toml``, ``adapter.py`` and ``fixture.py``; code is imported lazily."""

    folder: Path
    card: Card

    @property
    def id(self) -> str:
        """Id of the source, as in its card."""
        return self.card.id

    def scan(self, root: Path | RawTree, layout: str) -> Iterator[Case | Skip]:
        """Yield the cases and skips of the adapter, checked against the contract and the card.

        Paths are resolved to the files of this copy; see ``RawTree.resolve``.

        Raises:
            SourceError: a field is not in the card, or a table is not what the adapter expects. No
                error, but a ``Skip``: a case with a raw value that the card does not list, cases
                that share a key but differ, and a case that refers to a file outside the dataset
                (tables contain such names).
        """
        copy = RawTree(root) if isinstance(root, Path) else root
        for entry in self._scan(copy, layout):
            yield redact_reason(entry, copy.names)

    def _scan(self, copy: RawTree, layout: str) -> Iterator[Case | Skip]:
        units = UnitLabels(self.card)
        tree, whole = self._whole(copy, self.card.layout(layout), units)
        doubts = collect_doubts(whole)
        shared = functools.cache(functools.partial(shared_values, self.card, whole))
        for entry in whole:
            files = entry.paths if isinstance(entry, Skip) else entry.files()
            strange = foreign_file(files, copy, tree, layout)
            inside = tuple(path for path in files if tree.name_of(path))
            if isinstance(entry, Skip):
                own = not strange or entry.code in {BAD_ROW, OLDER_EDITION}
                record = entry if own else replace(entry, reason=strange, code=BAD_ROW)
                yield replace(record, paths=inside)
                continue
            check_case(self.card, entry)
            if strange:
                yield Skip(key=entry.key, reason=strange, paths=inside, code=BAD_ROW)
                continue
            case = with_frame(self.card.drawn_in, entry) if self.card.drawn_in else entry
            case = with_doubts(self.card, case, doubts) if doubts else case
            case = units.settle(case)
            yield from cases_or_skip(
                functools.partial(check_values, self.card, case, shared),
                key=case.key,
                paths=case.files(),
            )

    def _whole(
        self, copy: RawTree, layout: Layout, units: UnitLabels
    ) -> tuple[RawTree, PackedEntries]:
        """Return the tree that was scanned and the entries of the adapter.

        An unusable optional table is reported as a ``Skip``, and the copy is scanned again without
        it.

        Raises:
            TableError: the unusable table is not optional.
        """
        lost: list[Skip] = []
        while True:
            tree = copy.of_layout(layout, self.card.parts)
            try:
                cases = (entry.moved(tree.resolve) for entry in self._cases(tree, layout.name))
                with collect_notices() as notices:
                    whole = merge_by_key(units.watch(cases))
            except TableError as error:
                rest = copy.without(error.path)
                older = _older(tree, layout, error.path)
                if older is None and not _may_lack(layout, copy, rest):
                    raise
                lost.append(skip_unusable_table(error, older))
                copy = rest
            else:
                whole.first = (*lost, *notices)
                return tree, whole

    def _cases(self, tree: RawTree, layout: str) -> Iterator[Case | Skip]:
        """Yield the adapter's entries; an exception in its code is re-raised with file and line."""
        try:
            yield from self.hook("cases")(tree, layout)
        except (MedrcubeError, ModuleNotFoundError, MemoryError):
            raise
        except Exception as error:
            raise SourceError(
                f"{self.id}: layout {layout!r}: the adapter raised {_where(error)}; "
                "correct adapter.py, or report this copy"
            ) from error

    def build_fixture(self, root: Path, layout: str) -> None:
        """Write the synthetic raw tree of one layout into ``root``.

        Raises:
            SourceError: the fixture code raised an exception; names file and line.
        """
        root.mkdir(parents=True, exist_ok=True)
        module = _load(self.folder / "fixture.py")
        try:
            module.build(root, layout)
        except (MedrcubeError, ModuleNotFoundError, MemoryError, OSError):
            raise
        except Exception as error:
            raise SourceError(
                f"{self.id}: layout {layout!r}: the fixture raised {_where(error)}; "
                "correct fixture.py"
            ) from error

    def hook(self, name: str) -> Callable[..., Any]:
        """Return a function of the adapter.

        Raises:
            CardError: the adapter has no such function.
        """
        function = self.find_hook(name)
        if function is None:
            raise CardError(f"{self.folder / 'adapter.py'}: function {name}() is missing")
        return function

    def find_hook(self, name: str) -> Callable[..., Any] | None:
        """Return an optional function of the adapter, or ``None``."""
        return getattr(_load(self.folder / "adapter.py"), name, None)


def load_source(folder: Path) -> Source:
    """Load a source from its folder, whose name is the id with underscores.

    Raises:
        CardError: the card is invalid, or the folder is not named after its id.
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
    """Return the files that the adapter opens although no glob of the layout matches them."""
    real = root.resolve()
    copy = RawTree(real)
    declared = copy.of_layout(source.card.layout(layout)).files_below
    with files_opened() as opened:
        for _ in source.scan(copy, layout):
            pass
    names = {path.relative_to(real).as_posix() for path in opened if path.is_relative_to(real)}
    return sorted(names - declared)


def unused_card_keys(source: Source) -> list[str]:
    """Return keys of ``[numbers]``, ``[names]`` and ``[patterns]`` that the adapter never reads."""
    return unused_keys(_load(source.folder / "adapter.py"), source.folder / "card.toml")


def _may_lack(layout: Layout, copy: RawTree, rest: RawTree) -> bool:
    """Whether the files of ``copy`` that ``rest`` lacks are optional in the layout."""
    lost = copy.files_below - rest.files_below
    spare = (*layout.optional, *layout.one_of)
    optional = any(not lost.isdisjoint(copy.match(glob)) for glob in spare)
    return optional and not layout.missing([glob for glob in layout.expect if rest.holds(glob)])


def _older(tree: RawTree, layout: Layout, path: Path) -> Path | None:
    """Return the older edition of a table to read if ``path`` cannot be used, or ``None``."""
    for part in layout.editions:
        editions = tree.part(part)
        rest = [edition for edition in editions if edition != path]
        if path in editions and rest:
            return newest_edition(rest)
    return None


def _where(error: Exception) -> str:
    """Describe an exception in the code of a source, with its file and line."""
    frame = extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}, in {frame.name}"
    return f"{redact_exception(error)} ({place})"


def _load(file: Path) -> ModuleType:
    """Import a Python file of a source folder; cached by the content of the file and the card."""
    read_by = (file, file.with_name("card.toml"))
    try:
        status = [path.stat() for path in read_by]
        states = tuple(
            (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in status
        )
        settled = time.time_ns() - max(max(state[2:]) for state in states) > _SETTLED
        name = (_module_name if settled else _module_name.__wrapped__)(read_by, states)
    except OSError as error:
        raise CardError(f"{file}: is missing ({error.strerror}); a source needs it") from error
    return load_python_file(file, name)


@functools.lru_cache(maxsize=256)
def _module_name(read_by: tuple[Path, ...], _states: Hashable) -> str:
    """Return a name derived from the content of the files; they are read once for each state."""
    content = (path.read_bytes() for path in read_by)
    identity = b"\0".join((str(read_by[0]).encode(), *content))
    return f"medrcube_source_{sha256(identity).hexdigest()[:12]}_{read_by[0].stem}"

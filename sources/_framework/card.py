"""Parser of ``card.toml``, which declares every fact about a source.

The dataclasses below are the schema; `docs/reference/card.md` lists every table and key. An unknown
or missing key, or one of the wrong type, is an error that names the file, the key and the expected
value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from medrcube.errors import CardError
from medrcube.facts import Scope
from medrcube.files.toml_reader import TomlTable, parse_toml, read_toml_text
from medrcube.sources._formats.report_text.phrases import FreeText, parse_free_text
from medrcube.sources._framework.card_parts.access import Access, parse_access
from medrcube.sources._framework.card_parts.counts import AnswerCount, parse_count
from medrcube.sources._framework.card_parts.drawn_in import DrawnIn, parse_drawn_in
from medrcube.sources._framework.card_parts.fields import (
    CardField,
    CitedReason,
    missing_lines,
    parse_field,
    parse_reason,
)
from medrcube.sources._framework.card_parts.gate import Gate, parse_gate
from medrcube.sources._framework.card_parts.geometry import GeometryTrust, parse_geometry
from medrcube.sources._framework.card_parts.home import HomeFacts, parse_home
from medrcube.sources._framework.card_parts.layout import Layout, parse_layout
from medrcube.sources._framework.card_parts.measures import KIND as MEASURE
from medrcube.sources._framework.card_parts.measures import Measure, parse_measure
from medrcube.sources._framework.card_parts.pixels import PixelPolicy, pixel_policy
from medrcube.sources._framework.card_parts.quirks import Quirk, parse_quirk
from medrcube.sources._framework.card_parts.self_checks import (
    Enclosed,
    Side,
    parse_enclosed,
    parse_side,
)
from medrcube.sources._framework.card_parts.values import parse_names, parse_numbers, parse_patterns
from medrcube.sources._framework.upstream_names import PublishedNameRule, parse_published_name_rule
from medrcube.taxonomy import Anatomy, Modality, Task, Voxel
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary

__all__ = [
    "Card",
    "load_card",
]

ROI = (0.005, 0.5)
"""Default of ``roi``: below 0.5 % a region is a few pixels at the image size that models see; above
half of the image, pointing at the centre finds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Images shared with another source, which are never sampled as independent."""

    source: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraCells:
    """Additional region or modality of some images of a source, with its tasks."""

    anatomy: Anatomy
    modality: Modality
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """All facts about one source; ``fingerprint`` covers everything but home and geometry.

    ``unfit`` maps globs of unusable copies to the reason and what to get instead.
    ``roi`` is the minimum and maximum share of the image that a region may cover to be asked about.
    ``anatomy``, ``modality`` and ``tasks`` apply to most cases; ``also`` lists those of cases for
    which the adapter states others. ``counts`` gives the number of images per answer in the
    complete dataset, if known. ``measures`` are the fields of kind ``measure``, whose values are
    numbers with a unit. ``texts`` lists phrases of free text that affirm or deny labels. ``adopt``
    maps names of the published release to cases. ``carried`` is the reason why masks drawn on one
    image are valid on another image of the same person with another grid; without it, masks stay on
    their own grid.
    ``numbers`` (a single number is a tuple of one), ``names`` and ``patterns`` are constants of the
    adapter (see ``own_card``).
    ``enclosed`` and ``side`` are anatomical checks of the masks. ``drawn_in`` is the size of the
    images that boxes refer to, if it is the same for all; ``gate`` the tolerated share of lost
    cases if it is not the default. ``geometry`` states whether images establish the patient's sides
    and physical lengths.
    """

    id: str
    title: str
    homepage: str
    release: str
    images: int
    citation: str
    access: Access
    home: HomeFacts | None
    layouts: tuple[Layout, ...]
    unfit: Mapping[str, str]
    anatomy: Anatomy
    modality: Modality
    patient: str
    shows: Scope
    roi: tuple[float, float]
    tasks: tuple[Task, ...]
    also: tuple[ExtraCells, ...]
    pixels: PixelPolicy
    fields: Mapping[str, CardField]
    measures: Mapping[str, Measure]
    texts: tuple[FreeText, ...]
    counts: tuple[AnswerCount, ...]
    quirks: tuple[Quirk, ...]
    overlaps: tuple[Overlap, ...]
    adopt: tuple[PublishedNameRule, ...]
    carried: CitedReason | None
    enclosed: Enclosed | None
    side: Side | None
    drawn_in: DrawnIn | None
    gate: Gate | None
    geometry: GeometryTrust
    numbers: Mapping[str, tuple[float, ...]]
    names: Mapping[str, tuple[str, ...]]
    patterns: Mapping[str, str]
    fingerprint: str

    @property
    def voxels(self) -> frozenset[Voxel]:
        """Return every cell of the cube that the source claims to reach."""
        cells = [(self.anatomy, self.modality, self.tasks)]
        cells += [(cell.anatomy, cell.modality, cell.tasks) for cell in self.also]
        return frozenset(Voxel(a, m, task) for a, m, tasks in cells for task in tasks)

    @property
    def parts(self) -> frozenset[str]:
        """Return the part names of all layouts."""
        return frozenset(name for layout in self.layouts for name in layout.parts)

    def layout(self, name: str) -> Layout:
        """Return the layout of that name."""
        return next(layout for layout in self.layouts if layout.name == name)


def load_card(path: Path) -> Card:
    """Parse and check one ``card.toml``.

    Raises:
        CardError: the file is missing, is not valid TOML, or violates the schema.
    """
    return _parse_card(path, read_toml_text(path, CardError), active_vocabulary())


@lru_cache(maxsize=128)
def _parse_card(path: Path, text: str, _words: Vocabulary) -> Card:
    data = parse_toml(text, str(path), CardError)
    _require_reasons(path, data)
    table = TomlTable(path, data, error=CardError)
    card = _card(table, hashlib.sha256(_canonical(_what_is_asked(data))).hexdigest())
    table.finish()
    return card


def _require_reasons(path: Path, data: Mapping[str, Any]) -> None:
    """Check that every claim of a field has a reason; report all missing ones at once.

    Raises:
        CardError: lists what to add to each field.
    """
    entries = data.get("field", ())
    entries = (
        [entry for entry in entries if isinstance(entry, Mapping) and entry.get("kind") != MEASURE]
        if isinstance(entries, list)
        else []
    )
    missing = {str(entry.get("name", "?")): list(missing_lines(entry)) for entry in entries}
    if any(missing.values()):
        lines = [
            f'  to the [[field]] named "{name}":\n' + "".join(f"    {line}\n" for line in lacks)
            for name, lacks in missing.items()
            if lacks
        ]
        raise CardError(
            f"{path}: every field must state what its truth rests on and whether a single "
            "image shows it, each with a reason (docs/how-to/add-a-source.md); add\n"
            + "".join(lines)
        )


def _card(table: TomlTable, fingerprint: str) -> Card:
    case = table.table("case")
    entries = table.tables("field")
    fields = [parse_field(entry) for entry in entries if not _is_measure(entry)]
    names = [entry.name for entry in fields]
    concepts = {entry.name: entry.concepts() for entry in fields}
    measures = [parse_measure(entry, concepts) for entry in entries if _is_measure(entry)]
    _check_panels(table, fields)
    card = Card(
        id=table.text("id", pattern=r"[a-z0-9][a-z0-9-]*"),
        title=table.text("title"),
        homepage=table.text("homepage"),
        release=table.text("release"),
        images=table.integer("images"),
        citation=table.text("citation"),
        access=parse_access(table.table("access")),
        home=parse_home(table.table("home")) if table.has("home") else None,
        layouts=tuple(parse_layout(entry) for entry in table.tables("layout", least=1)),
        unfit=table.mapping("unfit", default={}),
        anatomy=case.choice("anatomy", Anatomy),
        modality=case.choice("modality", Modality),
        patient=case.text("patient", choices=("known", "unknown")),
        shows=case.choice("shows", Scope, default=Scope.IMAGE),
        roi=case.span("roi", default=ROI),
        tasks=_tasks(case),
        also=tuple(_cell(entry) for entry in case.tables("also")),
        pixels=pixel_policy(table.table("pixels", optional=True)),
        fields={entry.name: entry for entry in fields},
        measures={entry.name: entry for entry in measures},
        texts=tuple(parse_free_text(entry, concepts) for entry in table.tables("text")),
        counts=tuple(parse_count(entry, concepts) for entry in table.tables("count")),
        quirks=tuple(parse_quirk(entry, names) for entry in table.tables("quirk")),
        overlaps=tuple(_overlap(entry) for entry in table.tables("overlap")),
        adopt=tuple(parse_published_name_rule(entry) for entry in table.tables("adopt")),
        enclosed=_enclosed(table, concepts),
        side=parse_side(table.table("side")) if table.has("side") else None,
        drawn_in=parse_drawn_in(table.table("drawn_in")) if table.has("drawn_in") else None,
        gate=parse_gate(table.table("gate")) if table.has("gate") else None,
        geometry=parse_geometry(table.table("geometry", optional=True)),
        carried=parse_reason(table.table("carried")) if table.has("carried") else None,
        numbers=parse_numbers(table.table("numbers", optional=True)),
        names=parse_names(table.table("names", optional=True)),
        patterns=parse_patterns(table.table("patterns", optional=True)),
        fingerprint=fingerprint,
    )
    table.unique("layout", [layout.name for layout in card.layouts])
    table.unique("field", [*names, *(measure.name for measure in measures)])
    table.unique("count", [f"{count.field} {count.shown}" for count in card.counts])
    return card


def _is_measure(entry: TomlTable) -> bool:
    return entry.text("kind", default="") == MEASURE


def _enclosed(table: TomlTable, concepts: Mapping[str, tuple[str, ...]]) -> Enclosed | None:
    if not table.has("enclosed"):
        return None
    names = dict.fromkeys(name for names in concepts.values() for name in names)
    return parse_enclosed(table.table("enclosed"), names)


def _check_panels(table: TomlTable, fields: Sequence[CardField]) -> None:
    """Check that references between fields name existing fields."""
    sized = [entry.name for entry in fields if entry.larger]
    concepts = {name for entry in fields for name in entry.concepts()}
    for entry in fields:
        if entry.rests_on and entry.rests_on not in sized:
            expected = f"rests_on names a field with larger ({', '.join(sized) or 'none'})"
            table.fail("field", expected, entry.rests_on)
        if entry.larger and entry.larger.part not in concepts:
            table.fail(
                "field", "larger.part is a concept of a field of the card", entry.larger.part
            )


def _tasks(table: TomlTable) -> tuple[Task, ...]:
    tasks = tuple(table.choices("tasks", Task))
    for task in tasks:
        if task.declaration.rule:
            table.fail("tasks", "no task with a rule, which is asked of every source", task.value)
    return tasks


def _cell(table: TomlTable) -> ExtraCells:
    return ExtraCells(
        anatomy=table.choice("anatomy", Anatomy),
        modality=table.choice("modality", Modality),
        tasks=_tasks(table),
    )


def _overlap(table: TomlTable) -> Overlap:
    return Overlap(source=table.text("source"), note=table.text("note"))


def _what_is_asked(data: Mapping[str, object]) -> Mapping[str, object]:
    """Return a card without the tables that change no existing image: home and geometry."""
    return {key: value for key, value in data.items() if key not in ("home", "geometry")}


def _canonical(data: Mapping[str, object]) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=str).encode()

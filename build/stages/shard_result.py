"""Result of one shard: images, regions and questions of consecutive cases of a source.

It depends only on these cases and on the source's card, adapter and vocabulary; see
``build.incremental.shards``. Results are packed as they are made: columns stay in memory, texts are
read back from the cache when tables are written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from medrcube.build.asked_columns import PackedQuestions, pack_questions
from medrcube.build.column_blocks import Spool, SpoolRange
from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.open_items.asking import OpenAsked
from medrcube.build.questions.fact_rules import CaseFactsCache, QuestionCandidate, derive_questions
from medrcube.build.stages.geometry_table import GEOMETRY, Geometry, geometry_of_case
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.raw_files import digests_of, files_of_images
from medrcube.build.stages.rendering.recipe import recipe_id
from medrcube.build.stages.rendering.rendered_picture import RenderedPicture, RenderResult
from medrcube.build.stages.samples import SAMPLES, Sample
from medrcube.build.stages.scan import holds_pixels
from medrcube.facts import Case, QuarantineRow
from medrcube.sources._formats.licences import licence_id
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.contract import Source

__all__ = [
    "ShardBuild",
    "ShardBuilder",
    "ShardTables",
    "ShardTexts",
    "TablesInSpool",
    "UnreadableCase",
    "origin_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableCase:
    """A case whose files could not be read; every build retries it."""

    job: RenderJob
    rendered: RenderResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardTables:
    """Tables of a shard.

    Attributes:
        samples: samples of its cases, packed by ``samples.SAMPLES``.
        geometry: geometry of the regions on them, packed by ``geometry_table.GEOMETRY``.
    """

    samples: bytes
    geometry: bytes

    def to_spool(self, spool: Spool) -> TablesInSpool:
        """Write the tables to a spool."""
        return TablesInSpool(samples=spool.add(self.samples), geometry=spool.add(self.geometry))


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesInSpool:
    """``ShardTables`` in a spool."""

    samples: SpoolRange
    geometry: SpoolRange


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardTexts:
    """Table lines of a shard, stored as text.

    Attributes:
        recipes: recipes of the images, one JSON object a line.
        files: name and table line of each raw file that the images are made of, sorted by name.
    """

    recipes: str
    files: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardBuild:
    """Result of consecutive cases of a source, except ``ShardTables`` and ``ShardTexts``.

    Attributes:
        span: first and last name of the raw files that the images are made of; empty if there are
            none.
        other_files: those of these files whose suffix is not one of a pixel format.
        problems: rendering problems.
        rule_problems: cases for which the rule of an open task failed.
        queries: all question candidates.
        open_questions: questions made by the rules of open tasks.
        open_barred: ``task: reason`` -> number of questions that these rules barred.
        unread: cases to retry.
    """

    span: tuple[str, ...]
    other_files: tuple[str, ...]
    problems: tuple[QuarantineRow, ...]
    rule_problems: tuple[QuarantineRow, ...]
    queries: PackedQuestions
    open_questions: PackedQuestions
    open_barred: Mapping[str, int]
    unread: tuple[UnreadableCase, ...]

    def sharing(self, records: dict[bytes, bytes]) -> ShardBuild:
        """Return the same result with kinds of questions as objects shared by all shards."""
        return replace(
            self,
            queries=self.queries.sharing(records),
            open_questions=self.open_questions.sharing(records),
        )


class ShardBuilder:
    """Builds shard results of one source; equal facts are shared by all its cases."""

    def __init__(self, source: Source, layout: str, tree: TreeSnapshot) -> None:
        """Create the builder of a source.

        Args:
            source: the source.
            layout: layout of the copy.
            tree: the scanned raw tree.
        """
        self._card = source.card
        self._grounds = CaseFactsCache(card=self._card)
        self._origin = origin_of(source, layout)
        self._tree = tree
        self._kinds: dict[bytes, bytes] = {}

    def build(
        self,
        cases: Sequence[Case],
        results: Mapping[str, RenderResult],
        unread: Sequence[UnreadableCase],
    ) -> tuple[ShardBuild, ShardTables, ShardTexts]:
        """Build the result of consecutive cases.

        Args:
            cases: the cases.
            results: render result of each, by case key.
            unread: cases to retry.

        Raises:
            SourceError: a label or region names a field or value that the card lacks.
            TermError: the card names a concept or group that is in no table.
        """
        card, grounds = self._card, self._grounds
        samples: list[Sample] = []
        geometry: list[Geometry] = []
        recipes: list[str] = []
        queries: list[QuestionCandidate] = []
        open_asked = OpenAsked()
        problems: list[QuarantineRow] = []
        digests: dict[str, str] = {}
        for case in cases:
            result = results[case.key]
            digests.update(digests_of(result.pictures))
            pairs = [(_sample(card, case, picture), picture.recipe) for picture in result.pictures]
            samples.extend(sample for sample, _ in pairs)
            recipes.extend(_line(sample, recipe, self._origin) for sample, recipe in pairs)
            problems.extend(result.problems)
            mine = [sample for sample, _ in pairs]
            regions = tuple(geometry_of_case(card, case, mine, result.geometry))
            geometry.extend(regions)
            queries.extend(derive_questions(card, case, mine, grounds=grounds))
            open_asked.ask(card, case, grounds.of(case), mine, regions)
        rows = {sample.id: row for row, sample in enumerate(samples)}
        files = tuple(
            (name, file.line()) for name, file in files_of_images(card.id, digests, self._tree)
        )
        shard = ShardBuild(
            span=(files[0][0], files[-1][0]) if files else (),
            other_files=tuple(name for name in sorted(digests) if not holds_pixels(name)),
            problems=tuple(problems),
            rule_problems=tuple(open_asked.problems),
            queries=pack_questions(queries, rows),
            open_questions=pack_questions(open_asked.questions, rows),
            open_barred=dict(open_asked.bar_counts),
            unread=tuple(unread),
        )
        tables = ShardTables(
            samples=SAMPLES.table(samples).pack(), geometry=GEOMETRY.table(geometry).pack()
        )
        texts = ShardTexts(recipes="".join(recipes), files=files)
        return shard.sharing(self._kinds), tables, texts


def origin_of(source: Source, layout: str) -> dict[str, Any]:
    """Return what determines a source's images besides its raw files; part of every recipe."""
    adapter = (source.folder / "adapter.py").read_bytes()
    return {
        "layout": layout,
        "card": source.card.fingerprint[:16],
        "adapter": hashlib.sha256(adapter).hexdigest()[:16],
        "policy": asdict(source.card.pixels),
    }


def _line(sample: Sample, recipe: Mapping[str, Any], origin: Mapping[str, Any]) -> str:
    entry = {"sample": sample.id, "image": sample.image, "origin": origin, **recipe}
    return json.dumps(entry, sort_keys=True) + "\n"


def _sample(card: Card, case: Case, picture: RenderedPicture) -> Sample:
    artefact = picture.artefact
    identity = [card.id, case.key, artefact.kind, artefact.field, artefact.concept, picture.frames]
    return Sample(
        id=hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16],
        source=card.id,
        case=case.key,
        artefact=artefact.kind,
        field=artefact.field,
        marked=artefact.concept,
        truth=str(picture.truth or ""),
        choices=picture.choices,
        area=picture.area,
        regions=picture.regions,
        image=f"images/{picture.path}",
        pixel_sha256=picture.pixel_sha256,
        perceptual_hash=picture.perceptual_hash,
        graphics=picture.graphics,
        width=picture.width,
        height=picture.height,
        anatomy=case.anatomy or card.anatomy,
        modality=case.modality or card.modality,
        patient=case.patient or "",
        split=case.split or "",
        scope=(case.shows or card.shows).name.lower(),
        licence=licence_id(case.licence) if case.licence else card.access.licence,
        redistribute=_may_pass_on(card, case),
        frames=picture.frames,
        reason=picture.reason,
        recipe=recipe_id(picture.recipe),
        file_bytes=picture.bytes,
        grey=picture.grey,
        colour=picture.colour,
        boxes=", ".join(" ".join(map(str, box)) for box in picture.boxes),
    )


def _may_pass_on(card: Card, case: Case) -> bool:
    return card.access.redistribute if case.redistribute is None else case.redistribute

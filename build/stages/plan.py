"""Render planning: jobs, artefacts and file names of verified cases."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from medrcube.build.questions.task_rules import fact_rules
from medrcube.facts import Case
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_lookup import concept_of, field_of
from medrcube.sources._framework.card_parts.fields import CardField, Larger
from medrcube.sources._framework.card_parts.pixels import PixelPolicy
from medrcube.sources._framework.card_parts.self_checks import Enclosed, Side
from medrcube.sources._framework.contract import Source
from medrcube.taxonomy import Task
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary

__all__ = [
    "REGION_MARKS",
    "Artefact",
    "RenderJob",
    "artefacts_of",
    "is_drawn",
    "picture_name",
    "picture_names",
    "pixel_policy_of",
    "plan_jobs",
]

REGION_MARKS = ("outline", "boxes", "scale-bar")
"""Kinds of artefact on which a region is marked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """One image to make of a case: the clean one, or one with a region marked.

    Attributes:
        kind: ``clean``, ``outline``, ``boxes``, ``numbered``, ``scale-bar``, ``mirrored`` or
            ``compared``.
        field: card field of the marked region, or empty.
        concept: concept of the marked region, or empty.
    """

    kind: str
    field: str = ""
    concept: str = ""

    @property
    def suffix(self) -> str:
        """File-name suffix that distinguishes the image from the clean one."""
        if not self.concept:
            return "" if self.kind == "clean" else f".{self.kind}"
        return f".{self.kind}-{_slug(self.concept).lower()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderJob:
    """Everything that a worker needs to render one case.

    Attributes:
        source: id of the source.
        folder: folder of the source, for adapters with their own hooks.
        root: raw root.
        case: the case.
        concepts: concept of each of the case's regions, in order.
        panels: concept that each image alone shows, in order; empty if none is stated.
        larger: what the masks must show before the panels may be asked about, or ``None``.
        structures: numbers of the regions that are anatomical structures.
        policy: how stored values become an image.
        plane: slice plane.
        artefacts: images to make.
        name: unique name of the case's images within the source.
        hooks: digest of the adapter if it reads pixels itself, else empty.
        enclosed: what the masks of every image must show, or ``None``.
        side: which fact states the side on which the marks lie, or ``None``.
        frames: slices to show if they are already chosen; if empty, the card's rule selects them.
        windows: window of each image if a recipe states it; if empty, the policy decides.
        vocabulary: vocabulary layers that are active where the job is planned.
    """

    source: str
    folder: Path
    root: Path
    case: Case
    concepts: tuple[str | None, ...]
    policy: PixelPolicy
    plane: str
    artefacts: tuple[Artefact, ...]
    name: str
    structures: frozenset[int] = frozenset()
    hooks: str = ""
    panels: tuple[str | None, ...] = ()
    larger: Larger | None = None
    enclosed: Enclosed | None = None
    side: Side | None = None
    frames: tuple[int, ...] = ()
    windows: tuple[Mapping[str, Any], ...] = ()
    vocabulary: Vocabulary = field(default_factory=active_vocabulary)

    @property
    def place(self) -> str:
        """Subfolder and name of the case's images in the folder of the source.

        The subfolder is the start of a hash of the name, so each of the 256 holds a similar number
        of images, and adding a case moves no image of another one.
        """
        return f"{hashlib.sha256(self.name.encode()).hexdigest()[:2]}/{self.name}"


def pixel_policy_of(policy: PixelPolicy, case: Case) -> PixelPolicy:
    """The pixel policy of a card, with the window that a case needs."""
    return policy if case.window is None else replace(policy, window=case.window)


def plan_jobs(
    source: Source, root: Path, cases: Sequence[Case], names: Mapping[str, str] | None = None
) -> list[RenderJob]:
    """Turn cases of one source into jobs, in the order of the cases.

    Args:
        source: the source.
        root: its raw tree.
        cases: the cases.
        names: case key -> name of its images; required if these are not all cases of the source;
            see ``picture_names``.
    """
    names = names or picture_names(case.key for case in cases)
    hooks = _hooks(source)
    return [
        RenderJob(
            source=source.id,
            folder=source.folder,
            root=root,
            case=case,
            concepts=tuple(concept_of(source.card, region) for region in case.regions),
            panels=tuple(concept_of(source.card, label) for label in case.panels),
            larger=field_of(source.card, case.panels[0]).larger if case.panels else None,
            policy=pixel_policy_of(source.card.pixels, case),
            plane=case.plane or source.card.pixels.plane,
            artefacts=artefacts_of(source.card, case),
            name=names[case.key],
            structures=frozenset(
                number
                for number, region in enumerate(case.regions)
                if field_of(source.card, region).kind.structure
            ),
            hooks=hooks,
            enclosed=source.card.enclosed,
            side=source.card.side,
        )
        for case in cases
    ]


def artefacts_of(card: Card, case: Case) -> tuple[Artefact, ...]:
    """Return the clean image, and a marked one for every concept that a task may ask about.

    A case made for comparison only has its numbered images, if a task asks for them.
    """
    if case.compared:
        is_asked = any("compared" in task.declaration.artefacts for task in Task)
        return tuple(_panels(card, case, "compared")) if is_asked else ()
    artefacts = [Artefact(kind="clean"), *_numbered(card, case)]
    for region in case.regions:
        field, concept = field_of(card, region), concept_of(card, region)
        if concept is None or len(case.images) > 1:
            continue
        artefacts += [
            Artefact(kind=kind, field=field.name, concept=concept)
            for kind in REGION_MARKS
            if _is_asked(card, field, kind) or _is_measured(card, field, kind)
        ]
    if _is_mirrored(card, case):
        artefacts.append(Artefact(kind="mirrored"))
    return tuple(dict.fromkeys(artefacts))


def _numbered(card: Card, case: Case) -> Iterator[Artefact]:
    if case.panels and _is_asked(card, field_of(card, case.panels[0]), "numbered"):
        yield from _panels(card, case, "numbered")


def _panels(card: Card, case: Case, kind: str) -> Iterator[Artefact]:
    """Yield the numbered image; a random draw decides which panel it asks for."""
    concepts = [concept_of(card, label) for label in case.panels]
    single = [name for name in dict.fromkeys(concepts) if name and concepts.count(name) == 1]
    if None in concepts or not single:
        return
    seed = f"{card.id}/{case.key}" + ("/compared" if case.compared else "")
    lots = {name: _short_hash(f"{seed}/{name}") for name in single}
    field = field_of(card, case.panels[0])
    yield Artefact(kind=kind, field=field.name, concept=min(single, key=lots.__getitem__))


def _is_mirrored(card: Card, case: Case) -> bool:
    """Whether a mirror image is needed: for slices with two regions and no burnt-in side letter."""
    concepts = {concept_of(card, region) for region in case.regions} - {None}
    return (
        len(case.images) == 1
        and len(concepts) > 1
        and (case.modality or card.modality).volume
        and any("mirrored" in task.declaration.artefacts for task in Task)
    )


def is_drawn(card: Card, artefact: str) -> bool:
    """Whether a kind of artefact is drawn for a source; a scale bar needs a trusted scale."""
    return artefact != "scale-bar" or card.geometry.scale == "object"


def _is_asked(card: Card, field: CardField, artefact: str) -> bool:
    rules = fact_rules(card.tasks)
    return is_drawn(card, artefact) and any(
        rule.kind == field.kind and rule.artefact == artefact for rule in rules
    )


def _is_measured(card: Card, field: CardField, artefact: str) -> bool:
    return is_drawn(card, artefact) and any(
        measure.of == field.name and artefact in measure.task_settings.task.declaration.artefacts
        for measure in card.measures.values()
        if measure.task_settings
    )


def picture_names(keys: Iterable[str]) -> Mapping[str, str]:
    """Return a file name without suffix for every key; ``benign (277)`` becomes ``benign_277``.

    Keys whose names would collide, also on case-insensitive file systems (``image (42)`` and
    ``image(42)`` are different keys), get a short hash of the key.
    """
    slugs = {key: picture_name(key) for key in keys}
    shared = Counter(slug.lower() for slug in slugs.values())
    return {
        key: slug if shared[slug.lower()] == 1 else picture_name(key, shared=True)
        for key, slug in slugs.items()
    }


def picture_name(key: str, *, shared: bool = False) -> str:
    """Return the name for one key, with a hash if other keys share it; see ``picture_names``."""
    return f"{_slug(key)}-{_short_hash(key)}" if shared else _slug(key)


def _hooks(source: Source) -> str:
    """Hash of all that an adapter's hooks depend on: its code and the card entries it reads."""
    if source.find_hook("read") or source.find_hook("frames"):
        card = source.card
        entries = repr(
            [sorted(table.items()) for table in (card.numbers, card.names, card.patterns)]
        )
        code = (source.folder / "adapter.py").read_bytes()
        return hashlib.sha256(entries.encode() + b"\0" + code).hexdigest()
    return ""


def _slug(text: str) -> str:
    # A key can be as long as a path, but file systems limit names to 255 bytes, including marker
    # and suffix.
    slug = re.sub(r"[^A-Za-z0-9.-]+", "_", text).strip("_.") or "case"
    return slug if len(slug) <= 120 else f"{slug[:110]}-{_short_hash(text)}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]

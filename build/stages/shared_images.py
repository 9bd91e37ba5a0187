"""Images shared between sources: declared in cards, or with equal pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medrcube.build.stages.samples import Sample
from medrcube.sources._framework.card import Card

__all__ = ["SharedImages", "shared_images"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedImages:
    """Two sources that are not independent.

    Attributes:
        sources: their ids, sorted.
        note: what the cards state; empty if no card declares it.
        equal_pictures: number of clean images of one source whose pixels equal those of an image of
            the other.
    """

    sources: tuple[str, str]
    note: str
    equal_pictures: int

    def describe(self) -> str:
        """Describe the pair in one sentence for display."""
        a, b = self.sources
        count = f"{self.equal_pictures} equal images in this build"
        if self.note:
            return f"{a} and {b} share images ({self.note}); {count}"
        return f"{a} and {b} share images, which no card declares; {count}"


def shared_images(cards: Sequence[Card], samples: Sequence[Sample]) -> tuple[SharedImages, ...]:
    """Return every pair of sources that share images, by declaration or by pixels."""
    notes = _declared_overlaps(cards)
    hashes: dict[str, set[str]] = {card.id: set() for card in cards}
    for sample in samples:
        if sample.artefact == "clean":
            hashes[sample.source].add(sample.pixel_sha256)
    pairs: list[SharedImages] = []
    names = sorted(hashes)
    for index, a in enumerate(names):
        for b in names[index + 1 :]:
            note, equal = notes.get((a, b), ""), len(hashes[a] & hashes[b])
            if note or equal:
                pairs.append(SharedImages(sources=(a, b), note=note, equal_pictures=equal))
    return tuple(pairs)


def _declared_overlaps(cards: Sequence[Card]) -> dict[tuple[str, str], str]:
    notes: dict[tuple[str, str], str] = {}
    for card in cards:
        for overlap in card.overlaps:
            first, second = sorted((card.id, overlap.source))
            notes.setdefault((first, second), overlap.note)
    return notes

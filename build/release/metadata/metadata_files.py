"""Metadata files of a release: card, licence, citations, PROV, Parquet, Croissant."""

from __future__ import annotations

from pathlib import Path

from medrcube.build.release.editions.hugging_face import front_matter, write_parquet_edition
from medrcube.build.release.metadata.citations import CITATIONS, bibliography
from medrcube.build.release.metadata.croissant import write_croissant
from medrcube.build.release.metadata.limitations import faults_of, limits_of
from medrcube.build.release.metadata.provenance import write_provenance
from medrcube.build.release.metadata.release_facts import ReleaseFacts
from medrcube.build.release.open_facts import asked_text
from medrcube.release_format.shards import read_shards
from medrcube.release_format.tree import OPEN_TABLE
from medrcube.templates import render_card

__all__ = ["write_metadata_files"]

CARD = "README.md"
LICENCE = "LICENSE.md"
"""Name of the licence file, as the Hugging Face hub expects it."""


def write_metadata_files(tree: Path, facts: ReleaseFacts, report: object) -> None:
    """Write card, licences, citations, provenance, the Parquet edition and Croissant.

    Call this when all other files except the checksum lists exist, since Croissant names each by
    its digest. The output is the same for both editions, and reproducible.

    Args:
        tree: a new release.
        facts: metadata of the release.
        report: the other counts that the card shows (``write.ReleaseReport``).

    Raises:
        ReleaseError: a citation is not valid BibTeX.
    """
    citations = bibliography(facts)
    (tree / CITATIONS).write_text(citations, encoding="utf-8")
    licence = render_card("release_licence.md", facts=facts)
    (tree / LICENCE).write_text(licence, encoding="utf-8")
    card = render_card(
        "dataset.md",
        front=front_matter(facts, with_open=any(tree.glob(f"*/{OPEN_TABLE}"))),
        facts=facts,
        name=facts.name,
        version=facts.software,
        report=report,
        sources=facts.sources,
        pictures=len(facts.places),
        shards=len(read_shards(tree)),
        restricted=facts.withheld,
        editions=facts.editions,
        review=facts.review,
        citations=citations,
        limits=limits_of(facts),
        open_tasks=facts.open_tasks,
        asked=asked_text(facts.open_tasks),
        faults={source.card.id: faults_of(source.card) for source in facts.sources},
    )
    (tree / CARD).write_text(card, encoding="utf-8")
    write_provenance(tree, facts)
    write_parquet_edition(tree, facts.places)
    write_croissant(tree, facts)

"""Ontology editions that a build depends on, with licence statements.

Every item table holds ids of HPO, RadLex and ICD-11, so licence statements are included even if no
index was used: the ids were then checked against ``CHECKED_EDITIONS``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.knowledge_protocol import CHECKED_EDITIONS
from medrcube.ontologies.licences import LICENCES

__all__ = ["editions_used"]

INDEX = "index"
"""The build uses names, synonyms and the hierarchy of this edition."""

IDS = "ids"
"""The build uses only ids; they were checked against this edition."""


def editions_used(index: Path | None) -> dict[str, Any]:
    """Return the statement on ontologies in ``audit.json`` and the card of a release.

    Args:
        index: the index of the workspace, or ``None``.

    Returns:
        ``digest`` of the index, or ``None``; and ``editions``, each with ``use``, ``ontology``,
        ``version``, ``licence`` and ``statement``, those of the index with ``file`` and ``sha256``.

    Raises:
        IndexFileError: the index is missing, of another schema, or damaged.
    """
    digest, editions = None, []
    if index is not None:
        with OntologyIndex(index) as opened:
            digest = opened.digest
            editions = [
                {
                    "use": INDEX,
                    "ontology": edition.ontology,
                    "version": edition.version,
                    "licence": edition.licence,
                    "statement": edition.statement,
                    "file": edition.file,
                    "sha256": edition.sha256,
                }
                for edition in opened.editions
            ]
    ontologies = {edition["ontology"] for edition in editions}
    editions += [
        {
            "use": IDS,
            "ontology": ontology,
            "version": version,
            "licence": LICENCES[ontology].name,
            "statement": LICENCES[ontology].statement(version),
        }
        for ontology, version in CHECKED_EDITIONS.items()
        if ontology not in ontologies
    ]
    return {"digest": digest, "editions": editions}

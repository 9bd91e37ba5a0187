"""The sources of a workspace: those of the package and of its own folders, with its own values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from medrcube.errors import WorkspaceError
from medrcube.ontologies.terms import load_terms
from medrcube.sources.contract import Source
from medrcube.sources.registry import find_sources, get_source
from medrcube.workspace import CONFIG, Values, Workspace


def sources_of(workspace: Workspace, extra: Iterable[Path] = ()) -> Mapping[str, Source]:
    """All sources that the workspace can name, by id.

    Args:
        workspace: names folders of source folders, and values that a card does not know.
        extra: further folders of source folders.

    Raises:
        MedrcubeError: a source of the workspace does not exist, or a folder holds no source.
        WorkspaceError: ``[values]`` names no field with values, or a concept that is in no table.
    """
    folders = dict.fromkeys(it.resolve() for it in (*workspace.source_folders, *extra))
    found = dict(find_sources(folders))
    for name in (*workspace.sources, *workspace.values):
        get_source(found, name)
    for name, fields in workspace.values.items():
        found[name] = _with_values(found[name], fields)
    return found


def _with_values(source: Source, added: Mapping[str, Values]) -> Source:
    """The source with raw values that its card does not know."""
    card, terms = source.card, load_terms()
    fields = dict(card.fields)
    for name, values in added.items():
        key = f"{CONFIG}: [values.{source.id}.{name}]"
        if name not in fields or not fields[name].values:
            known = ", ".join(it.name for it in fields.values() if it.values)
            raise WorkspaceError(f"{key}: is no field with values; expected one of {known}")
        for raw, concept in values.items():
            if raw in fields[name].values:
                raise WorkspaceError(f"{key}: the card gives {raw!r} a meaning; remove it here")
            if concept and concept not in terms:
                raise WorkspaceError(f"{key}: {concept!r} is no term; see  docs/reference/terms.md")
        fields[name] = replace(fields[name], values={**fields[name].values, **values})
    mark = json.dumps(added, sort_keys=True, default=dict)
    fingerprint = hashlib.sha256(f"{card.fingerprint}\0{mark}".encode()).hexdigest()
    return replace(source, card=replace(card, fields=fields, fingerprint=fingerprint))

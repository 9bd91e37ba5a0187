"""Sources of a workspace: those of the package and its own folders, with added raw values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from medrcube.errors import WorkspaceError
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.contract import Source
from medrcube.sources.registry import find_sources, get_source
from medrcube.workspace import CONFIG, ValueMap, WorkspaceFolder

__all__ = ["workspace_sources"]


def workspace_sources(
    workspace: WorkspaceFolder, extra: Iterable[Path] = ()
) -> Mapping[str, Source]:
    """Return all sources that the workspace can name, by id.

    Args:
        workspace: names its own source folders, and raw values that a card does not list.
        extra: further folders that contain source folders.

    Raises:
        MedrcubeError: a source of the workspace does not exist, or a folder holds no source.
        WorkspaceError: ``[values]`` names no field with values, or a concept that is in no table.
    """
    folders = dict.fromkeys(folder.resolve() for folder in (*workspace.source_folders, *extra))
    sources = dict(find_sources(folders, vocabulary=[workspace.vocabulary]))
    for name in (*workspace.sources, *workspace.values):
        get_source(sources, name)
    for name, fields in workspace.values.items():
        sources[name] = _with_values(sources[name], fields)
    return sources


def _with_values(source: Source, added: Mapping[str, ValueMap]) -> Source:
    """Return the source with raw values added that its card does not list."""
    card, terms = source.card, load_terms()
    fields = dict(card.fields)
    for column, values in added.items():
        key = f"{CONFIG}: [values.{source.id}.{column}]"
        name = _field_of(card, column, key)
        for raw, concept in values.items():
            card_concept = fields[name].values.get(raw, concept)
            if card_concept != concept:
                meaning = repr(card_concept) if card_concept else "nothing"
                raise WorkspaceError(f"{key}: to the card {raw!r} means {meaning}; remove it here")
            if concept and concept not in terms:
                raise WorkspaceError(
                    f"{key}: {concept!r} is not a term; see  docs/reference/terms.md"
                )
        fields[name] = replace(fields[name], values={**fields[name].values, **values})
    mark = json.dumps(added, sort_keys=True, default=dict)
    fingerprint = hashlib.sha256(f"{card.fingerprint}\0{mark}".encode()).hexdigest()
    return replace(source, card=replace(card, fields=fields, fingerprint=fingerprint))


def _field_of(card: Card, name: str, key: str) -> str:
    """Return the field with that name, or the one whose raw values are in the column named so.

    Raises:
        WorkspaceError: there is none, or a column holds values of several fields.
    """
    value_fields = [field for field in card.fields.values() if field.values]
    if any(entry.name == name for entry in value_fields):
        return name
    folded = name.casefold()
    filled = [
        entry.name
        for entry in value_fields
        if folded in (column.casefold() for column in entry.columns)
    ]
    if len(filled) == 1:
        return filled[0]
    if filled:
        raise WorkspaceError(
            f"{key}: the column holds values of the fields {', '.join(filled)}; name one of them"
        )
    names = {
        entry.casefold(): entry for field in value_fields for entry in (*field.columns, field.name)
    }
    near = [names[match] for match in get_close_matches(folded, names, n=1)]
    hint = f"did you mean {near[0]!r}? " if near else ""
    choices = ", ".join(" or ".join((entry.name, *entry.columns)) for entry in value_fields)
    raise WorkspaceError(f"{key} is not a field with values; {hint}expected one of {choices}")

"""Reference page of all sources and SVG figure of the cube, generated from the cards alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Anatomy, Modality, Voxel, cube_tasks
from medrcube.templates import render_card
from medrcube.vocabulary.word import with_shipped

__all__ = ["cube_picture", "sources_page"]

_LABELS, _CELL, _ROW, _TOP, _GAP = 196, 58, 26, 50, 28
_SHADES = ("#f6f8fa", "#d8efe9", "#a9dccf", "#6fc3b0", "#35a08b", "#0b7a67")
"""Fill colours for 0, 1, 2, 3 and 4 or more sources; on the last two the text is white."""


def sources_page(cards: Sequence[Card], items: Mapping[str, str], section: str) -> str:
    """Return the Markdown page: access, licence and content of each source, and cells of the cube.

    Args:
        cards: cards of all sources.
        items: source -> expected number of items, as text.
        section: text that explains how the expected numbers are obtained.
    """
    reach = {voxel for card in cards for voxel in card.voxels}
    regions, modalities = _axes(cards)
    tables = [
        (
            modality,
            [
                (task, [_names(cards, Voxel(anatomy, modality, task)) for anatomy in regions])
                for task in cube_tasks()
            ],
        )
        for modality in modalities
    ]
    return render_card(
        "sources.md",
        cards=sorted(cards, key=lambda card: card.id),
        gives=_gives,
        items=items,
        section=section,
        tables=tables,
        anatomies=regions,
        reached=len(reach),
        total=len(regions) * len(modalities) * len(cube_tasks()),
    )


def cube_picture(cards: Sequence[Card]) -> str:
    """Return an SVG heat map of the number of sources per cell, with one panel per modality."""
    regions, modalities = _axes(cards)
    panel_width = _LABELS + _CELL * len(regions)
    panel_height = _TOP + _ROW * len(cube_tasks())
    rows = -(-len(modalities) // 2)
    panels = []
    for number, modality in enumerate(modalities):
        column, row = number % 2, number // 2
        panels.append(
            {
                "name": modality,
                "x": _GAP + column * (panel_width + _GAP),
                "y": _GAP + row * (panel_height + _GAP),
                "label": _LABELS - 10,
                "columns": [
                    (anatomy, _LABELS + _CELL * n + _CELL // 2) for n, anatomy in enumerate(regions)
                ],
                "rows": [(task, _TOP + _ROW * n + 17) for n, task in enumerate(cube_tasks())],
                "cells": [
                    _cell(cards, x, Voxel(a, modality, t))
                    for (x, a), t in product(enumerate(regions), cube_tasks())
                ],
            }
        )
    return render_card(
        "cube.svg",
        panels=panels,
        width=2 * panel_width + 3 * _GAP,
        height=rows * panel_height + (rows + 1) * _GAP,
    )


def _axes(cards: Sequence[Card]) -> tuple[list[Anatomy], list[Modality]]:
    """Return the regions and modalities of the package and of the cards, in display order."""
    voxels = [voxel for card in cards for voxel in card.voxels]
    return (
        list(map(Anatomy, with_shipped(Anatomy, (voxel.anatomy for voxel in voxels)))),
        list(map(Modality, with_shipped(Modality, (voxel.modality for voxel in voxels)))),
    )


def _cell(cards: Sequence[Card], column: int, voxel: Voxel) -> object:
    count = sum(voxel in card.voxels for card in cards)
    shade = min(count, len(_SHADES) - 1)
    x = _LABELS + _CELL * column
    y = _TOP + _ROW * cube_tasks().index(voxel.task)
    return {
        "x": x + 1,
        "y": y + 1,
        "w": _CELL - 2,
        "h": _ROW - 2,
        "cx": x + _CELL // 2,
        "cy": y + 17,
        "count": count,
        "fill": _SHADES[shade],
        "ink": "#ffffff" if shade >= len(_SHADES) - 2 else "#1b1f24",
        "title": f"{voxel}: {_names(cards, voxel) or 'no source'}",
    }


def _names(cards: Sequence[Card], voxel: Voxel) -> str:
    return ", ".join(sorted(card.id for card in cards if voxel in card.voxels))


def _gives(card: Card) -> str:
    cells: dict[str, list[str]] = {}
    for voxel in sorted(card.voxels, key=lambda voxel: cube_tasks().index(voxel.task)):
        place = f"{voxel.anatomy} {voxel.modality}"
        cells.setdefault(place, []).append(voxel.task.abbreviation)
    return "; ".join(f"{place}: {' '.join(tasks)}" for place, tasks in sorted(cells.items()))

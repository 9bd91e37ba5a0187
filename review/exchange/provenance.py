"""Provenance of an item as stored in the queue, without dates or identifiers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.samples import Sample
from medrcube.review.exchange.item_requirements import UNFIT
from medrcube.review.exchange.open_rows import OpenRow
from medrcube.review.exchange.workspace_items import IncomingItem

__all__ = ["options_of", "provenance_of"]

# DICOM UIDs and dates may identify a patient.
_TELLING = re.compile(r"\d+(?:\.\d+){4,}|(?<!\d)(?:19|20)\d\d-?(?:0[1-9]|1[0-2])-?[0-3]\d(?!\d)|@")


def provenance_of(incoming: IncomingItem, titles: Mapping[str, str]) -> dict[str, str]:
    """Return the provenance that a reviewer sees after the key is shown.

    The case key is included only if nothing in it looks like a date or an identifier; the patient
    hash never is.
    """
    item, sample = incoming.item, incoming.overlay or incoming.picture
    key = item.options[item.key]
    title = titles.get(item.source, "")
    columns = {
        "source": f"{item.source}: {title}" if title else item.source,
        "case": "" if _TELLING.search(sample.case) else sample.case,
        "split": sample.split,
        "slice": sample.frames,
        "slice_reason": sample.reason,
        "marked": _mark_text(sample),
        "evidence": _evidence(item, key.word),
        "concept": item.concept,
        "group": item.group,
        "strategy": item.strategy,
        "difficulty": item.difficulty,
        "licence": sample.licence,
        "wording": f"{item.variant} ({item.template})",
        "sample": item.sample,
        "fingerprint": incoming.fingerprint,
    }
    return {name: UNFIT.sub("\ufffd", value) for name, value in columns.items() if value}


def options_of(item: ChoiceItem) -> list[dict[str, Any]]:
    """Return the options with all their attributes, as JSON."""
    options = []
    for option in item.options:
        row = asdict(option)
        similarity = row["similarity"]
        if similarity is not None and not math.isfinite(similarity):
            row["similarity"] = None
        options.append({name: list(v) if isinstance(v, tuple) else v for name, v in row.items()})
    return options


def _mark_text(sample: Sample) -> str:
    if not sample.marked:
        return ""
    box = f", box {sample.truth} of {sample.choices}" if sample.truth else ""
    return f"{sample.marked} ({sample.field}){box}"


def _evidence(item: ChoiceItem, word: str) -> str:
    what = "what is right" if isinstance(item, OpenRow) else "wrong options"
    parts: Iterable[str] = (
        f"field {item.field}" if item.field else "",
        word,
        f"about the {item.scope}" if item.scope else "",
        f"{what} by evidence {item.grade}" if item.grade else "",
    )
    return "; ".join(filter(None, parts))

"""Release audit: ``audit.json`` and ``audit.html`` over the released items only.

Figures on items and images are recomputed for the released ones; data that only the build has
(quarantine, dropped facts, ontologies, overlapping sources) are copied. Nothing depends on whether
the release is private, so both editions have the same audit.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from medrcube.build.audit.batch_audit import audit_batch
from medrcube.build.audit.html_page import audit_page
from medrcube.build.audit.open_rules import open_rules
from medrcube.build.execution.progress import usable_cores
from medrcube.build.open_items.table import OpenItem
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.release.contact_sheets import make_gallery
from medrcube.build.similarity.near_duplicates import NearDuplicate, clean_pictures, find_duplicates
from medrcube.build.stages.samples import Sample
from medrcube.files.atomic import write_text

__all__ = ["patient_overlap", "release_audit", "write_audit"]

JSON, PAGE = "audit.json", "audit.html"


def write_audit(
    tree: Path,
    build_audit: Mapping[str, Any],
    items: Sequence[ChoiceItem],
    samples: Iterable[Sample],
    root: Path,
    *,
    open_items: Sequence[OpenItem] = (),
) -> None:
    """Write ``audit.json`` and ``audit.html`` into a release.

    Args:
        tree: the release.
        build_audit: audit of the build, with ``release`` (its name) and ``review``.
        items: all items of the release.
        samples: all images of the workspace.
        root: folder of the workspace.
        open_items: all items of the release beyond the cube.

    Raises:
        ReleaseError: an image is missing or damaged.
        WorkspaceError: the tree cannot be written.
    """
    workers = usable_cores()
    everything = list(samples)
    released: tuple[ChoiceItem | OpenItem, ...] = (*items, *open_items)
    used = {item.sample for item in released}
    pictures = {sample.id: sample for sample in everything if sample.id in used}
    content, near = release_audit(
        build_audit, items, everything, root, open_items=open_items, workers=workers
    )
    gallery = make_gallery(released, pictures, near, root, workers)
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
    write_text(tree / JSON, text + "\n")
    write_text(tree / PAGE, audit_page(content, gallery))


def release_audit(
    build_audit: Mapping[str, Any],
    items: Sequence[ChoiceItem],
    samples: Sequence[Sample],
    root: Path,
    *,
    open_items: Sequence[OpenItem] = (),
    workers: int = 1,
) -> tuple[dict[str, Any], Sequence[NearDuplicate]]:
    """Return the content of ``audit.json`` of a release, and all near-duplicate pairs.

    Raises:
        ReleaseError: an image is missing or damaged.
    """
    sample_ids = {item.sample for item in items}
    pictures = {sample.id: sample for sample in samples if sample.id in sample_ids}
    used = list(pictures.values())
    duplicates = find_duplicates(clean_pictures(samples, used), root, workers)
    figures = audit_batch(used, items, [], {})
    build_figures = {
        name: build_audit[name] for name in ("absent", "quarantine") if name in build_audit
    }
    content = {
        **build_audit,
        **figures,
        **build_figures,
        "duplicate_pictures": duplicates.exact,
        "duplicates": duplicates.as_dict(),
        "by_difficulty": _count(item.difficulty or "not graded" for item in items),
        "by_mark": _count(sample.artefact for sample in used),
        "by_item_grade": _count(item.grade for item in items if item.grade),
        "sources": _sources(items, pictures),
        "licences": _licences(items, pictures),
        "patient_overlap": patient_overlap(items, pictures),
        "open_rules": open_rules(open_items, samples),
    }
    if build_audit.get("profile"):
        content["profile"] = _profile(build_audit["profile"], items)
    return content, duplicates.near


def patient_overlap(items: Iterable[ChoiceItem], pictures: Mapping[str, Sample]) -> dict[str, Any]:
    """Return how items share patients, without any patient identifier, hashed or not.

    Returns:
        ``items`` on images of a known patient, ``unknown`` on others; ``patients``; ``spread``:
        number of items -> number of patients with that many; ``sources``: for each source its
        patients, the items of the patient with the most, and their share of the source.
    """
    counts: dict[str, Counter[str]] = {}
    totals: Counter[str] = Counter()
    unknown = 0
    for item in items:
        sample = pictures[item.sample]
        totals[sample.source] += 1
        if sample.patient:
            counts.setdefault(sample.source, Counter())[sample.patient] += 1
        else:
            unknown += 1
    spread = Counter(number for patients in counts.values() for number in patients.values())
    rows = {
        source: {
            "patients": len(patients),
            "most": max(patients.values()),
            "share": max(patients.values()) / totals[source],
        }
        for source, patients in sorted(counts.items())
    }
    return {
        "items": sum(totals.values()) - unknown,
        "unknown": unknown,
        "patients": sum(len(patients) for patients in counts.values()),
        "most": max(spread, default=0),
        "spread": {str(number): spread[number] for number in sorted(spread)},
        "sources": rows,
    }


def _sources(
    items: Iterable[ChoiceItem], pictures: Mapping[str, Sample]
) -> dict[str, dict[str, int]]:
    """Return source -> items, images, and number of images that may not be redistributed."""
    items_of = Counter(item.source for item in items)
    pictures_of = Counter(sample.source for sample in pictures.values())
    restricted = Counter(
        picture.source for picture in pictures.values() if not picture.redistribute
    )
    return {
        source: {
            "items": items_of[source],
            "pictures": pictures_of[source],
            "restricted": restricted[source],
        }
        for source in sorted(items_of)
    }


def _licences(items: Iterable[ChoiceItem], pictures: Mapping[str, Sample]) -> list[dict[str, Any]]:
    """Return a row for each licence and whether it permits redistribution of images."""
    rows: dict[tuple[str, bool], tuple[set[str], set[str], list[str]]] = {}
    for item in items:
        sample = pictures[item.sample]
        sources, picture_ids, ids = rows.setdefault(
            (sample.licence, sample.redistribute), (set(), set(), [])
        )
        sources.add(sample.source)
        picture_ids.add(sample.id)
        ids.append(item.id)
    return [
        {
            "licence": licence,
            "redistribute": redistribute,
            "sources": sorted(sources),
            "pictures": len(picture_ids),
            "items": len(ids),
        }
        for (licence, redistribute), (sources, picture_ids, ids) in sorted(rows.items())
    ]


def _profile(profile: Mapping[str, Any], items: Iterable[ChoiceItem]) -> dict[str, Any]:
    """Return the build's statement on its profile, with the released number of each value."""
    outside = set(profile["outside"])
    counts: Counter[tuple[str, str]] = Counter()
    for item in items:
        counts["task", item.task] += 1
        if item.task not in outside:
            counts["modality", item.modality] += 1
            counts["anatomy", item.anatomy] += 1
    margins = [
        {**margin, "released": counts[margin["axis"], margin["value"]]}
        for margin in profile["margins"]
    ]
    return {**profile, "margins": margins}


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))

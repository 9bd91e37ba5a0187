"""Item files of a release: ``test.json`` per source, proofs, vocabulary and facts."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medrcube.build.build_tables import write_parquet
from medrcube.build.open_items.table import OpenItem
from medrcube.build.questions.item_table import ChoiceItem, items_to_frame
from medrcube.build.release.open_tables import write_open_items
from medrcube.build.release.picture_places import picture_path, picture_place
from medrcube.build.release.raw_files_table import SourceUse, write_raw_files
from medrcube.build.release.review_verdicts import ReleaseSelection, ReviewResults
from medrcube.build.stages.samples import Sample
from medrcube.release_format.item_facts import ItemFacts, write_item_facts
from medrcube.release_format.tree import dataset_name
from medrcube.release_format.vocabulary_file import VOCABULARY, added_words
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.word import Word
from medrcube.workspace import WorkspaceFolder, patient_key

__all__ = ["fact_id", "keyed_unit_id", "write_items"]

LETTERS = "ABCD"


def write_items(
    workspace: WorkspaceFolder,
    tree: Path,
    selection: ReleaseSelection,
    beyond: Sequence[OpenItem],
    pictures: Mapping[str, Sample],
    *,
    reviewed: ReviewResults | None,
) -> None:
    """Write the tables of all items, with their proofs, vocabulary and facts."""
    _write_sources(tree, selection.items, pictures)
    write_open_items(tree, beyond, pictures, reviewed)
    _write_proofs(workspace, tree, selection, pictures)
    released: tuple[ChoiceItem | OpenItem, ...] = (*selection.items, *beyond)
    _write_vocabulary(tree, released)
    secret = patient_key(workspace)
    write_item_facts(tree, (_facts(item, pictures[item.sample], secret) for item in released))


def keyed_unit_id(sample: Sample, secret: bytes) -> str:
    """Return a keyed id for the patient of an image, or its case if the source names no patient.

    Equal units have equal ids in every edition of a workspace. Without the key, which never leaves
    the workspace, no id can be computed from a name, so ids cannot be reversed by guessing names.
    """
    kind, name = ("patient", sample.patient) if sample.patient else ("case", sample.case)
    text = f"unit\0{kind}\0{sample.source}\0{name}"
    return f"{kind}-{hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()[:16]}"


def fact_id(item: ChoiceItem | OpenItem) -> str:
    """Return the identity of the fact that an item asks about, whatever its wording and options."""
    text = f"{item.sample}\0{item.task}\0{item.field}\0{item.concept}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _write_sources(tree: Path, items: Sequence[ChoiceItem], pictures: Mapping[str, Sample]) -> None:
    by_source: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        sample = pictures[item.sample]
        record = _record(item, sample, restricted=not sample.redistribute)
        by_source.setdefault(item.source, []).append(record)
    for source, records in sorted(by_source.items()):
        folder = tree / dataset_name(source)
        folder.mkdir(parents=True)
        text = json.dumps(records, indent=2, ensure_ascii=False)
        (folder / "test.json").write_text(text + "\n", encoding="utf-8")


def _write_vocabulary(tree: Path, items: Sequence[ChoiceItem | OpenItem]) -> None:
    """Write the vocabulary of the items that the package lacks; no file if there is none."""
    cells = {(item.anatomy, item.modality, item.task) for item in items}
    words: list[Word] = []
    for anatomy, modality, task in cells:
        words += [Anatomy(anatomy), Modality(modality), Task(task)]
    if added := added_words(words):
        text = json.dumps(added, indent=2, ensure_ascii=False)
        (tree / VOCABULARY).write_text(text + "\n", encoding="utf-8")


def _record(item: ChoiceItem, sample: Sample, *, restricted: bool) -> dict[str, Any]:
    options = {
        f"option_{letter}": option.text
        for letter, option in zip(LETTERS, item.options, strict=False)
    }
    return {
        "id": item.id,
        "dataset": dataset_name(item.source),
        "image_path": picture_path(sample),
        "question": item.question,
        **options,
        "gt_answer": item.options[item.key].text,
        "correct_index": item.key,
        "task": Task(item.task).release_name,
        "modality": item.modality,
        "parts": item.anatomy,
        "original_task": sample.field or "classification",
        "restricted": restricted,
    }


def _facts(item: ChoiceItem | OpenItem, sample: Sample, secret: bytes) -> ItemFacts:
    return ItemFacts(
        dataset=dataset_name(item.source),
        id=item.id,
        visible=item.visible,
        block=item.block if isinstance(item, ChoiceItem) else "",
        unit=keyed_unit_id(sample, secret),
        fact=fact_id(item),
    )


def _write_proofs(
    workspace: WorkspaceFolder,
    tree: Path,
    selection: ReleaseSelection,
    pictures: Mapping[str, Sample],
) -> None:
    files: dict[str, set[str]] = {}
    cases: dict[str, set[str]] = {}
    with (tree / "recipes.jsonl").open("w", encoding="utf-8") as file:
        for line in workspace.recipes.read_text(encoding="utf-8").splitlines():
            recipe = json.loads(line)
            sample = pictures.get(recipe["sample"])
            if sample is not None:
                restricted = not sample.redistribute
                row = {**recipe, "image": picture_place(sample), "restricted": restricted}
                files.setdefault(sample.source, set()).update(recipe["files"])
                cases.setdefault(sample.source, set()).add(sample.case)
                file.write(json.dumps(row, sort_keys=True, ensure_ascii=False) + "\n")
    used = {
        source: SourceUse(files=frozenset(files[source]), cases=frozenset(cases[source]))
        for source in files
    }
    write_raw_files(tree, workspace.raw_files, used)
    frame = items_to_frame(selection.items)
    frame["version"] = [selection.versions.get(name, 0) for name in frame["id"]]
    frame["reviewers"] = [selection.reviewers.get(name, 0) for name in frame["id"]]
    write_parquet(tree / "items.parquet", frame)

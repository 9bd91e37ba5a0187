"""Scaffold of a source folder for a raw tree, with TODOs for what a person decides.

The folder loads, its layout fits the tree and its fixture can be built at once. It claims no
more than the modality: a person decides what the labels mean.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from medrcube.errors import MedrcubeError, SourceError
from medrcube.ontologies.nearest_concepts import nearest_concepts
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.contract import load_source
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._framework.raw_tree.survey import (
    DICOMS,
    MASK,
    MASK_FOLDER,
    VIDEOS,
    VOLUMES,
    Survey,
    SurveyColumn,
    SurveyTable,
    stem_of,
    suffix_of,
    survey,
)
from medrcube.sources._synthetic.images import CANARY
from medrcube.taxonomy import Anatomy, Modality
from medrcube.templates import render_card

__all__ = ["new_source"]

_ADAPTERS = {"table": "table", "series": "series", "classes": "files", "files": "files"}
_SPLITS = frozenset({"train", "training", "val", "valid", "validation", "test", "testing"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CardDraft:
    """Values for the templates of a new source.

    Attributes:
        id: identity of the source.
        found: what the tree holds.
        table: the table that names pictures, or ``None``.
        shape: ``table``, ``classes``, ``series`` or ``files``: where cases come from.
        suffixes: of the pictures, in lower case.
        anatomy: that of BodyPartExamined, or a guess.
        modality: best guess.
        window: best guess.
        flags: columns with one label each.
        fields: name of a field -> column whose values it maps.
        patient: column that tells patients apart, or ``None``.
        split: column that names the split, or ``None``.
        examples: picture files that the fixture writes, relative.
        lines: lines of the table that the fixture writes.
        mask: pattern of the mask of a picture with ``{parent}`` and ``{stem}``, or empty
            where masks cannot be told apart by their names.
        mask_pattern: regular expression for the end of the name of a mask.
        mask_folder: regular expression for the name of a folder of masks.
    """

    id: str
    found: Survey
    table: SurveyTable | None
    shape: str
    suffixes: tuple[str, ...]
    anatomy: str
    modality: str
    window: str
    flags: tuple[SurveyColumn, ...]
    fields: Mapping[str, SurveyColumn]
    patient: str | None
    split: str | None
    examples: tuple[str, ...]
    lines: tuple[str, ...]
    mask: str
    mask_pattern: str
    mask_folder: str


def new_source(source_id: str, root: Path, destination: Path) -> Path:
    """Write a source folder for a raw tree and check that its layout fits that tree.

    Args:
        source_id: lower-case letters, digits and hyphens.
        root: the raw tree; nothing is written there.
        destination: folder of source folders, made if need be.

    Returns:
        The new folder, named as the id with underscores.

    Raises:
        MedrcubeError: the id is malformed or the folder exists.
        SourceError: the tree holds no picture that medrcube reads.
    """
    if not re.fullmatch(r"[a-z][a-z0-9-]*", source_id):
        raise MedrcubeError(
            f"{source_id!r} cannot be the id of a source; expected lower-case letters, digits and "
            "hyphens, a letter first, such as 'my-source'"
        )
    folder = destination / source_id.replace("-", "_")
    if folder.exists():
        raise MedrcubeError(f"{folder}: exists already; remove it or choose another id")
    draft = _draft(source_id, survey(root))
    templates = {
        "card.toml": "scaffold_card.toml",
        "adapter.py": f"scaffold_adapter_{_ADAPTERS[draft.shape]}.py",
        "fixture.py": "scaffold_fixture.py",
    }
    destination.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=destination, prefix=".new-") as place:
        draft_folder = Path(place) / folder.name
        draft_folder.mkdir()
        for file, template in templates.items():
            text = render_card(
                template,
                draft=draft,
                toml=_toml,
                py=_python,
                near=_near,
                anatomies=list(Anatomy),
                modalities=list(Modality),
            )
            (draft_folder / file).write_text(text, encoding="utf-8")
        report = inspect_copy(load_source(draft_folder).card, root)
        if not report.fits:
            raise SourceError(f"the new card does not fit its own tree: {report.describe()}")
        shutil.move(draft_folder, folder)
    return folder


def _draft(source_id: str, contents: Survey) -> CardDraft:
    named = [table for table in contents.tables if table.key is not None]
    table = max(named, key=lambda table: table.rows, default=None)
    columns = [] if table is None else [c for c in table.columns if c.name != table.key]
    split = next((c.name for c in columns if _is_split(c)), None)
    mapped = [c for c in columns if any(c.values) and not c.flags and c.name != split]
    shape = _shape(contents, table)
    examples = tuple(_examples(contents, shape))
    return CardDraft(
        id=source_id,
        found=contents,
        table=table,
        shape=shape,
        suffixes=tuple(sorted({suffix_of(name) for name in contents.pictures})),
        anatomy=_anatomy(contents),
        modality=_modality(contents),
        window=_window(contents),
        flags=tuple(c for c in columns if c.flags),
        fields=_field_names(mapped),
        patient=next((c.name for c in columns if c.patient), None),
        split=split,
        examples=examples,
        lines=tuple(_lines(table, examples)),
        mask=_mask_pattern(contents),
        mask_pattern=MASK.pattern,
        mask_folder=MASK_FOLDER.pattern,
    )


def _near(value: str) -> str:
    """A comment that names the concepts nearest to a value, or nothing."""
    concepts = nearest_concepts(value, load_terms())
    return f" # nearest concepts: {', '.join(map(_toml, concepts))}" if concepts else ""


def _toml(text: str) -> str:
    """A TOML string; its escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False)


def _python(value: object) -> str:
    """A Python literal; strings in double quotes."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_python, value))}{',' * (len(value) == 1)})"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _is_split(column: SurveyColumn) -> bool:
    return bool(column.values) and {value.lower() for value in column.values} <= _SPLITS


def _shape(contents: Survey, table: SurveyTable | None) -> str:
    if table is not None:
        return "table"
    dicom = [name for name in contents.pictures if suffix_of(name) in {*DICOMS, ""}]
    several = len(dicom) > len({PurePosixPath(name).parent for name in dicom})
    bare = any(not suffix_of(name) for name in dicom)
    if len(dicom) == len(contents.pictures) and (
        bare or contents.series or (several and not contents.classes)
    ):
        return "series"
    return "classes" if contents.classes else "files"


def _anatomy(contents: Survey) -> str:
    """A region that a header of the tree names; a person decides in any case."""
    notes = " ".join(contents.notes).upper()
    named = (
        region.value
        for region in Anatomy
        if f"BODYPARTEXAMINED {region.value.upper().removesuffix('S')}" in notes
    )
    return next(named, "Chest")


def _modality(contents: Survey) -> str:
    by_code = {code: modality.value for modality in Modality for code in modality.dicom}
    for name in contents.modalities:
        if name in by_code:
            return by_code[name]
    suffixes = {suffix_of(name) for name in contents.pictures}
    if suffixes & set(VIDEOS):
        return "Ultrasound"
    return "MRI" if suffixes & set(VOLUMES) else "X-ray"


def _window(contents: Survey) -> str:
    suffixes = {suffix_of(name) for name in contents.pictures}
    if suffixes & {*DICOMS, ""}:
        return "header"
    if suffixes & set(VOLUMES):
        return "percentile:0.5-99.5"
    return "bits" if any("mode I" in note for note in contents.notes) else "none"


def _field_names(columns: Iterable[SurveyColumn]) -> dict[str, SurveyColumn]:
    names: dict[str, SurveyColumn] = {}
    for column in columns:
        words = "_".join(re.findall(r"[a-z0-9]+", column.name.lower()))
        name = words if words[:1].isalpha() else f"column_{words}".rstrip("_")
        while name in {*names, "finding", "folder", "mask"}:
            name = f"{name}_column"
        names[name] = column
    return names


def _examples(contents: Survey, shape: str) -> Iterator[str]:
    """Names as in the tree, but of its own words only those of folders that are classes."""
    folders = contents.classes if shape == "classes" else ("series001", "series002")
    for glob in contents.globs:
        if not any(_has_shape_of(glob, name) for name in contents.pictures):
            continue
        *parts, file = glob.split("/")
        for folder in folders if parts[-1:] == ["*"] else ("",):
            for number in range(1, 4):
                fixed = [part.replace("*", f"folder{place}") for place, part in enumerate(parts)]
                if folder:
                    fixed[-1] = folder
                stem = "-".join(filter(None, ("case", "" if shape == "classes" else folder)))
                yield "/".join([*fixed, file.replace("*", f"{stem}{number:03}")])


def _has_shape_of(glob: str, name: str) -> bool:
    """Whether a glob of the survey was made of names like this one."""
    wild, parts = glob.split("/"), name.split("/")
    same = len(wild) == len(parts) and wild[-1] == f"*{_ending(name)}"
    return same and all(a in {"*", b} for a, b in zip(wild[:-1], parts[:-1], strict=True))


def _ending(name: str) -> str:
    return PurePosixPath(name).name[len(stem_of(name)) :]


def _lines(table: SurveyTable | None, examples: Iterable[str]) -> Iterator[str]:
    """A table of the same columns about the examples."""
    if table is None:
        return
    yield _row([column.name for column in table.columns], table.delimiter)
    for number, name in enumerate(examples):
        file = PurePosixPath(name).name
        key = stem_of(name) if table.suffix else file
        cells = []
        for column in table.columns:
            values = sorted(column.values, key=lambda value: (not value, value))
            cell = values[number % len(values)] if values else f"{CANARY}{number}"
            cells.append(key if column.name == table.key else cell)
        yield _row(cells, table.delimiter)


def _row(cells: Iterable[str], delimiter: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="").writerow(cells)
    return text.getvalue()


def _mask_pattern(contents: Survey) -> str:
    """Where the mask of a picture lies; empty when no example shows it, or names are not unique."""
    pictures = {stem_of(name): PurePosixPath(name) for name in contents.pictures}
    for name in contents.masks:
        path, stem = PurePosixPath(name), MASK.sub("", stem_of(name))
        tail = path.name[len(stem) :]
        if path.with_name(f"{stem}{_ending(name)}").as_posix() in contents.pictures:
            return "{parent}/{stem}" + _literal(tail)
        if stem in pictures and len(pictures) == len(contents.pictures):
            return f"{_literal(path.parent.as_posix())}/{{stem}}{_literal(tail)}"
    return ""


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")

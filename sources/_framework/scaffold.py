"""Scaffold of a source folder for a raw tree, with TODOs for the decisions of a person.

The generated folder loads, its layout fits the tree, and its fixture builds immediately. It claims
only the modality; a person decides what the labels mean.
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
from medrcube.sources._framework.raw_tree.pixel_files import (
    DICOMS,
    VIDEOS,
    VOLUMES,
    stem_of,
    suffix_of,
)
from medrcube.sources._framework.raw_tree.survey import Survey, survey
from medrcube.sources._framework.raw_tree.survey_tables import SurveyColumn, SurveyTable
from medrcube.sources._synthetic.images import CANARY
from medrcube.taxonomy import Anatomy, Modality
from medrcube.templates import render_card

__all__ = ["new_source"]

_ADAPTERS = {"table": "table", "series": "series", "classes": "files", "files": "files"}
_LIST_LIMIT = 3
_SPLITS = frozenset({"train", "training", "val", "valid", "validation", "test", "testing"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CardDraft:
    """Template values for a new source.

    Attributes:
        id: id of the source.
        survey: survey of the tree.
        table: table that names images or folders of series, or ``None``.
        shape: ``table``, ``classes``, ``series`` or ``files``: origin of the cases.
        suffixes: suffixes of the images, in lower case.
        anatomy: region from BodyPartExamined, or a guess.
        modality: best guess.
        window: best guess.
        flags: columns with one label each.
        fields: field name -> column whose values it maps.
        patient: column that identifies patients, or ``None``.
        split: column with the split, or ``None``.
        examples: relative paths of the image files that the fixture writes.
        cells: rows of the table that the fixture writes, header first.
        mask: path pattern of the mask of an image, with ``{parent}`` and ``{stem}``; empty if
            masks cannot be paired by name.
        unpaired: why masks cannot be paired by name, for the person; empty if they can.
        labels: stored values of masks with several values other than 0; else empty.
        parts: part of the layout -> its globs with their number of files. The table names the
            files of the part ``files``.
    """

    id: str
    survey: Survey
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
    cells: tuple[tuple[str, ...], ...]
    mask: str
    unpaired: str
    labels: tuple[int, ...]
    parts: Mapping[str, Mapping[str, int]]


def new_source(source_id: str, root: Path, destination: Path) -> Path:
    """Write a source folder for a raw tree and check that its layout fits the tree.

    Args:
        source_id: lower-case letters, digits and hyphens.
        root: the raw tree, which is only read.
        destination: folder of source folders, created if necessary.

    Returns:
        The new folder, named after the id with underscores.

    Raises:
        MedrcubeError: the id is malformed or the folder exists.
        SourceError: the tree contains no image that medrcube can read.
    """
    if not re.fullmatch(r"[a-z][a-z0-9-]*", source_id):
        raise MedrcubeError(
            f"{source_id!r} cannot be the id of a source; expected lower-case letters, digits and "
            "hyphens, starting with a letter, such as 'my-source'"
        )
    folder = destination / source_id.replace("-", "_")
    if folder.exists():
        raise MedrcubeError(f"{folder}: already exists; remove it or choose another id")
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
                csv_row=_row,
                read=_read(draft.table),
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
    table = _table_of_images(contents)
    shape = _shape(contents, table)
    key = None if table is None else table.series_key if shape == "series" else table.key
    columns = [] if table is None else [c for c in table.columns if c.name != key]
    split = next((c.name for c in columns if _is_split(c)), None)
    mapped = [c for c in columns if any(c.values) and not c.flags and c.name != split]
    parts = _parts(contents, table)
    mask = _mask_pattern(contents)
    examples = tuple(_examples(contents, shape, mask))
    names = [name for name in examples if any(_within_glob(glob, name) for glob in parts["files"])]
    return CardDraft(
        id=source_id,
        survey=contents,
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
        cells=tuple(_cells(table, key, names)),
        mask=mask,
        unpaired="" if mask else _unpaired(contents),
        labels=_labels(contents),
        parts=parts,
    )


def _table_of_images(contents: Survey) -> SurveyTable | None:
    """Return the longest table that names images, or else the longest that names series folders."""
    by_rows = sorted(contents.tables, key=lambda table: -table.rows)
    images = (table for table in by_rows if table.key is not None)
    series = (table for table in by_rows if table.series_key is not None)
    return next(images, None) or next(series, None)


def _parts(contents: Survey, table: SurveyTable | None) -> dict[str, dict[str, int]]:
    """Group the globs into images that the table names, with their masks, and other images."""
    if table is None or table.key is None or table.folder is None:
        return {"files": dict(contents.globs)}
    folder = table.folder
    own = {glob for glob in contents.globs if _within_glob(glob, f"{folder}/x")}
    rest = {glob: count for glob, count in contents.globs.items() if glob not in own}
    files = {glob: contents.globs[glob] for glob in contents.globs if glob in own}
    return {"files": files, "rest": rest} if rest else {"files": files}


def _within_glob(glob: str, name: str) -> bool:
    """Whether a glob of the survey covers the folder of a name."""
    wild, parts = glob.split("/")[:-1], name.split("/")[:-1]
    return len(wild) == len(parts) and all(a in {"*", b} for a, b in zip(wild, parts, strict=True))


def _near(value: str) -> str:
    """Return a comment with the concepts nearest to a value, or empty."""
    concepts = nearest_concepts(value, load_terms())
    return f" # nearest concepts: {', '.join(map(_toml, concepts))}" if concepts else ""


def _toml(text: str) -> str:
    """Return a TOML string; its escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False)


def _python(value: object) -> str:
    """Return a Python literal, with strings in double quotes."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_python, value))}{',' * (len(value) == 1)})"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _read(table: SurveyTable | None) -> str:
    """Return the Python call that reads the rows of the table."""
    if table is None:
        return ""
    if table.sheet is None:
        how = f"read_csv({{}}, columns=columns, encoding={_python(table.encoding)})"
    else:
        header = f", header={table.header}" if table.header > 1 else ""
        how = f"read_sheet({{}}, columns=columns, sheet={_python(table.sheet)}{header})"
    return how.format('find_table(root, "table")')


def _is_split(column: SurveyColumn) -> bool:
    return bool(column.values) and {value.lower() for value in column.values} <= _SPLITS


def _shape(contents: Survey, table: SurveyTable | None) -> str:
    if table is not None and table.key is not None:
        return "table"
    dicom = [name for name in contents.pictures if suffix_of(name) in {*DICOMS, ""}]
    several = len(dicom) > len({PurePosixPath(name).parent for name in dicom})
    bare = any(not suffix_of(name) for name in dicom)
    if len(dicom) == len(contents.pictures) and (
        bare or contents.series or (several and not contents.classes)
    ):
        return "series"
    if table is not None:
        return "series"
    return "classes" if contents.classes else "files"


def _anatomy(contents: Survey) -> str:
    """Return the region named in a DICOM header of the tree; a person decides in any case."""
    notes = " ".join(contents.notes).upper()
    regions = (
        region.value
        for region in Anatomy
        if f"BODYPARTEXAMINED {region.value.upper().removesuffix('S')}" in notes
    )
    return next(regions, "Chest")


def _modality(contents: Survey) -> str:
    by_code = {code: modality.value for modality in Modality for code in modality.dicom}
    for name in contents.modalities:
        if name in by_code:
            return by_code[name]
    suffixes = {suffix_of(name) for name in contents.pictures}
    if suffixes & set(VIDEOS):
        return "Ultrasound"
    if all("ct" in re.split(r"[-_ .]", stem_of(name).lower()) for name in contents.pictures):
        return "CT"
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


def _examples(contents: Survey, shape: str, mask: str) -> Iterator[str]:
    """Yield example names as in the tree, in which only class folders keep their own words.

    Masks are included if their path cannot be derived from that of an image.
    """
    folders = contents.classes if shape == "classes" else ("series001", "series002")
    for glob in contents.globs:
        if mask and not any(_has_shape_of(glob, name) for name in contents.pictures):
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
    """Whether a glob of the survey was derived from names like this one."""
    wild, parts = glob.split("/"), name.split("/")
    same = len(wild) == len(parts) and wild[-1] == f"*{_ending(name)}"
    return same and all(a in {"*", b} for a, b in zip(wild[:-1], parts[:-1], strict=True))


def _ending(name: str) -> str:
    return PurePosixPath(name).name[len(stem_of(name)) :]


def _cells(
    table: SurveyTable | None, key_column: str | None, examples: Iterable[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table with the same columns about the examples."""
    if table is None:
        return
    yield tuple(column.name for column in table.columns)
    keys = list(dict.fromkeys(_name_in_table(table, name) for name in examples))
    for number in range(max(len(keys), *(len(column.values) for column in table.columns))):
        key = keys[number % len(keys)]
        cells = []
        for column in table.columns:
            values = sorted(column.values, key=lambda value: (not value, value))
            cell = values[number % len(values)] if values else f"{CANARY}{number}"
            cells.append(key if column.name == key_column else cell)
        yield tuple(cells)


def _name_in_table(table: SurveyTable, name: str) -> str:
    """Return the name that a table uses for an image or its series folder."""
    if table.key is None:
        return PurePosixPath(name).parts[table.level]
    return stem_of(name) if table.suffix else PurePosixPath(name).name


def _row(cells: Iterable[str], delimiter: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="").writerow(cells)
    return text.getvalue()


def _mask_pattern(contents: Survey) -> str:
    """Return the mask path pattern; empty if no example shows one or names are not unique."""
    pictures = {stem_of(name): PurePosixPath(name) for name in contents.pictures}
    for name in contents.masks:
        path = PurePosixPath(name)
        stem = re.sub(contents.mask_pattern, "", stem_of(name), flags=re.IGNORECASE)
        tail = path.name[len(stem) :]
        if path.with_name(f"{stem}{_ending(name)}").as_posix() in contents.pictures:
            return "{parent}/{stem}" + _literal(tail)
        if stem in pictures and len(pictures) == len(contents.pictures):
            return f"{_literal(path.parent.as_posix())}/{{stem}}{_literal(tail)}"
    return ""


def _unpaired(contents: Survey) -> str:
    """Return why the first mask cannot be paired: no image has its name, or several have."""
    if not contents.masks:
        return ""
    first = contents.masks[0]
    stem = re.sub(contents.mask_pattern, "", stem_of(first), flags=re.IGNORECASE)
    called = [name for name in contents.pictures if stem_of(name) == stem]
    if called:
        return f"several images are named as {first}: {', '.join(called[:_LIST_LIMIT])}"
    return f"no image is named as {first}: expected {stem!r}, with any extension"


def _labels(contents: Survey) -> tuple[int, ...]:
    values = [value for value in contents.mask_values if value]
    whole = len(values) > 1 and all(value.is_integer() for value in values)
    return tuple(int(value) for value in values) if whole else ()


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")

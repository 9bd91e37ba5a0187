"""Edits that turn the fixture of a source into a copy as users have it."""

import csv
import gzip
import re
import zipfile
from pathlib import Path

from PIL import Image
from pydicom import dcmread

from medrcube.sources._formats.tables.spreadsheets import read_cells
from medrcube.sources._framework.raw_tree.globs import compile_glob
from medrcube.sources._framework.raw_tree.raw_tree import walk_files


def edit(root, line):
    """Make one edit, such as ``move | images/*.png | flat/{name}``; the folder given, if named."""
    verb, *words = line.split(" | ")
    return _VERBS[verb](root, *words)


def _match(root, glob):
    pattern = compile_glob(glob)
    result = [name for name in walk_files(root) if pattern.fullmatch(name)]
    assert result, f"no file of the fixture fits {glob}"
    return result


def _move(root, glob, target):
    """``target`` may hold {name}, {stem}, {parent} and {folder}: name of the folder, whole path."""
    for name in _match(root, glob):
        path = Path(name)
        words = {"name": path.name, "stem": path.stem}
        words |= {"parent": path.parent.name, "folder": path.parent.as_posix()}
        _put(root / name, root / target.format(**words))


def _rename(root, pattern, name):
    """Rename the files whose whole path fits a regular expression; ``name`` may hold its groups."""
    pairs = [(file, re.fullmatch(pattern, file)) for file in list(walk_files(root))]
    assert any(match for _, match in pairs), f"no file of the fixture fits {pattern}"
    for old, match in pairs:
        if match:
            _put(root / old, root / match.expand(name))


def _put(path, place):
    assert not place.exists(), place
    aside = path.rename(path.with_name(f"{path.name}.aside"))  # a folder may get the file's name
    place.parent.mkdir(parents=True, exist_ok=True)
    aside.rename(place)


def _header(root, pattern, keyword, value):
    """Write a header element of the DICOM files whose whole path fits; ``value`` has its groups."""
    for name in list(walk_files(root)):
        if match := re.fullmatch(pattern, name):
            data = dcmread(root / name)
            setattr(data, keyword, match.expand(value))
            data.save_as(root / name)


def _drop(root, glob):
    for name in _match(root, glob):
        (root / name).unlink()


def _wrap(root, folder):
    inner = root.with_name("inner")
    root.rename(inner)
    place = root / folder
    place.parent.mkdir(parents=True)
    inner.rename(place)


def _give(root, folder):
    folder_given = (root / folder).resolve()
    assert folder_given.is_dir()
    return folder_given


def _gzip(root, glob):
    for name in _match(root, glob):
        (root / f"{name}.gz").write_bytes(gzip.compress((root / name).read_bytes()))
        (root / name).unlink()


def _gunzip(root, glob):
    for name in (entry for entry in _match(root, glob) if entry.lower().endswith(".gz")):
        (root / name.removesuffix(".gz")).write_bytes(gzip.decompress((root / name).read_bytes()))
        (root / name).unlink()


def _pack(root, glob, archive):
    (root / archive).parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(root / archive, "w") as packed:
        for name in _match(root, glob):
            packed.write(root / name, Path(name).name)
            (root / name).unlink()


def _encode(root, glob, extension):
    """Store pictures in another format, under its extension."""
    for name in _match(root, glob):
        path = root / name
        with Image.open(path) as picture:
            copy = picture.convert("RGB") if extension == ".jpg" else picture.copy()
        path.unlink()
        copy.save(path.with_suffix(extension))


def _csv(root, glob, sheet=None):
    """Store a sheet as a table of its own."""
    for name in _match(root, glob):
        path = root / name
        with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(read_cells(path, sheet=sheet))
        path.unlink()


def _text(root, glob, change):
    changes = {
        "bom": lambda text: "\ufeff" + text,
        "crlf": lambda text: text.replace("\n", "\r\n"),
        "semicolons": lambda text: text.replace(",", ";"),
        "commas": lambda text: text.replace(";", ","),
        "tabs": lambda text: text.replace(",", "\t"),
    }
    for name in _match(root, glob):
        text = (root / name).read_bytes().decode("utf-8")
        (root / name).write_bytes(changes[change](text).encode("utf-8"))


def _replace(root, glob, old, new):
    for name in _match(root, glob):
        text = (root / name).read_text(encoding="utf-8")
        assert old in text
        (root / name).write_text(text.replace(old, new), encoding="utf-8", newline="")


def _respell(root, glob, pattern, new):
    """Put ``new``, which may hold the groups of ``pattern``, in place of what fits in each line."""
    for name in _match(root, glob):
        text = (root / name).read_text(encoding="utf-8")
        new_text = re.sub(pattern, new, text, flags=re.MULTILINE)
        assert new_text != text, f"nothing in {name} fits {pattern}"
        (root / name).write_text(new_text, encoding="utf-8", newline="")


def _capitals(root, glob):
    for name in _match(root, glob):
        path = root / name
        path.rename(
            path.with_name(re.sub(r"(\.nii)?\.[^.]+$", lambda entry: entry[0].upper(), path.name))
        )


def _litter(root):
    for name in list(walk_files(root)):
        path = root / name
        (path.parent / f"._{path.name}").write_bytes(b"\0\5\x16\7")
        twin = root / "__MACOSX" / path.relative_to(root)
        twin.parent.mkdir(parents=True, exist_ok=True)
        (twin.parent / f"._{path.name}").write_bytes(b"\0\5\x16\7")
        twin.write_bytes(b"")
        for litter in (".DS_Store", "Thumbs.db", "desktop.ini", "SHA256SUMS.txt", "LICENSE.txt"):
            if not (path.parent / litter).exists():
                (path.parent / litter).write_bytes(b"left")


def _double(root):
    for folder in [path for path in root.iterdir() if path.is_dir()]:
        aside = root / "aside"
        folder.rename(aside)
        folder.mkdir()
        aside.rename(folder / folder.name)


_VERBS = {
    "move": _move,
    "rename": _rename,
    "header": _header,
    "drop": _drop,
    "wrap": _wrap,
    "give": _give,
    "gzip": _gzip,
    "gunzip": _gunzip,
    "pack": _pack,
    "encode": _encode,
    "csv": _csv,
    "text": _text,
    "replace": _replace,
    "respell": _respell,
    "capitals": _capitals,
    "litter": _litter,
    "double": _double,
}

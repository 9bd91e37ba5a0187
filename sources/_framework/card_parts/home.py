"""``[home]`` of a card: where the data are downloaded, and which files."""

from __future__ import annotations

from dataclasses import dataclass

from medrcube.files.toml_reader import TomlTable
from medrcube.release_format.tree import leaves_folder

__all__ = ["HomeFacts", "HomeFile", "parse_home"]

IDS = {
    "zenodo": r"[0-9]+",
    "figshare": r"[0-9]+/[0-9]+",
    "physionet": r"[a-z0-9-]+/[0-9.]+",
    "https": r"",
    "idc": r"[a-z0-9_]+",
    "kaggle": r"(datasets/[\w-]+/[\w.-]+|competitions/[\w-]+)",
    "git": r"https://github\.com/[\w.-]+/[\w.-]+",
}
"""Kind of a home -> form of its ``id``: record, article and version, project and version, nothing
but the files, collection, data set or competition, repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFile:
    """What is known of one file of a home.

    Attributes:
        name: where it goes below the folder of the copy.
        url: its address, for homes of kind ``https``.
        bytes: its size, or 0 where that is not known.
        md5: its MD5, or empty.
        into: folder that an archive is unpacked into, below that of the copy; empty for none.
    """

    name: str
    url: str
    bytes: int
    md5: str
    into: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFacts:
    """Where the data of a source lie.

    Attributes:
        kind: one of ``IDS``.
        id: which of the things of that kind.
        files: what is known of its files; where it is given for a home that lists its files
            itself, these are the only ones that are wanted.
        hosts: domains that a file may come from beside the home's own.
        then: what is left to do by hand, in order.
        evidence: where the facts stand.
    """

    kind: str
    id: str
    files: tuple[HomeFile, ...]
    hosts: tuple[str, ...]
    then: tuple[str, ...]
    evidence: str


def parse_home(table: TomlTable) -> HomeFacts:
    """Read and check ``[home]``.

    Raises:
        MedrcubeError: of the kind of the table; names the key.
    """
    kind = table.text("kind", choices=tuple(IDS))
    name = table.text("id", default="", pattern=IDS[kind], empty=kind == "https")
    files = tuple(_file(entry, kind) for entry in table.tables("file"))
    if kind == "https" and not files:
        table.fail("file", "the files of a home of kind 'https'", "none")
    table.unique("file", [file.name for file in files])
    return HomeFacts(
        kind=kind,
        id=name,
        files=files,
        hosts=table.texts("hosts", default=()),
        then=table.texts("then", default=()),
        evidence=table.text("evidence"),
    )


def _file(table: TomlTable, kind: str) -> HomeFile:
    file = HomeFile(
        name=table.text("name"),
        url=table.text("url", default="", pattern=r"https://\S+|", empty=True),
        bytes=table.integer("bytes", default=0),
        md5=table.text("md5", default="", pattern=r"[0-9a-f]{32}|", empty=True),
        into=table.text("into", default="", empty=True),
    )
    for key, path in (("name", file.name), ("into", file.into or ".")):
        if leaves_folder(path):
            table.fail(key, "a path below the folder of the copy", path)
    if bool(file.url) != (kind == "https"):
        table.fail("url", "an address, with a home of kind 'https' alone", file.url)
    return file

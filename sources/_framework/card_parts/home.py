"""``[home]`` of a card: the host from which the data are downloaded, and the files."""

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
"""Kind of host -> regular expression of its ``id``: record, article and version, project and
version, none (files only), collection, dataset or competition, repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFile:
    """Known facts about one file of a host.

    Attributes:
        name: destination path relative to the folder of the copy.
        url: address, for hosts of kind ``https``.
        bytes: size in bytes, or 0 if unknown.
        md5: MD5 digest, or empty.
        into: folder below the copy that an archive is unpacked into; empty if it is not unpacked.
    """

    name: str
    url: str
    bytes: int
    md5: str
    into: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFacts:
    """Download location of a source.

    Attributes:
        kind: kind of host, a key of ``IDS``.
        id: identifier of the record, project, collection or repository on that host.
        files: known files; for a host that lists its own files, only these are downloaded.
        hosts: domains that files may come from in addition to the host's own.
        then: manual steps that remain after the download, in order.
        evidence: source of these facts.
    """

    kind: str
    id: str
    files: tuple[HomeFile, ...]
    hosts: tuple[str, ...]
    then: tuple[str, ...]
    evidence: str


def parse_home(table: TomlTable) -> HomeFacts:
    """Parse and check ``[home]``.

    Raises:
        MedrcubeError: a key is wrong; the error class is that of ``table``.
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
        table.fail("url", "an address, only with a home of kind 'https'", file.url)
    return file

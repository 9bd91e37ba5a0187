"""Workspace: ``medrcube.toml`` and the paths of the files next to it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from medrcube.build_settings import (
    BuildSettings,
    LlmSettings,
    parse_build_settings,
    parse_llm_settings,
)
from medrcube.errors import WorkspaceError
from medrcube.files.atomic import PRIVATE, write_text
from medrcube.files.toml_reader import TomlTable, read_toml
from medrcube.names import name_to_text, text_to_name
from medrcube.review_settings import ReviewSettings, parse_review_settings

__all__ = [
    "CONFIG",
    "DEMO_MARK",
    "DEMO_RAW",
    "ValueMap",
    "WorkspaceFolder",
    "add_source_folders",
    "add_sources",
    "init_workspace",
    "open_workspace",
    "patient_key",
]

CONFIG = "medrcube.toml"
DEMO_MARK = ".medrcube-demo"
"""Empty file in the workspace of the demo, whose raw data are generated."""
DEMO_RAW = "raw"
"""Folder of the raw data in the workspace of the demo."""

TEMPLATE = """\
# A medrcube workspace. Paths are relative to this file.

[build]
seed = 0                 # seed of every random draw; the same seed gives the same items
options = 4              # options per item, if enough safe ones exist
evidence = "B"           # weakest accepted evidence that a distractor is false: A read as
                         # absent, B implied absent, C only not mentioned (not recommended)
least_visible = "partly" # how far the image must show the answer: yes, partly, or no (known only
                         # from the laboratory or the chart)
difficulty = "mixed"     # preferred wrong options: easy, medium or hard; mixed takes any
items_per_cell = 100     # maximum number of items per source and task; 0: all
two_option_share = 0.2   # maximum share of a task's items that have only two options
even_keys = true         # ask only questions in which no option is always or never right; false
                         # asks all that a source allows, for inspection: never released
viewer = true            # keep the original pixels of item images, for reviewers only
# profile = "medrcube"   # or a file of your own, such as "mine.toml"; replaces items_per_cell
# switched_on = []       # sources to build although the profile excludes them
# source_folders = ["../my_sources"]  # folders with your own source folders
# templates = "questions"  # folder of your own question templates, replacing built-in ones
# quarantine_gate = 0.05 # the build reports failure if a larger share of a source's cases fails;
                         # overrides the card; default without either: 0.05

# [ontologies]           # your own index of HPO, RadLex and ICD-11
# index = "ontologies.sqlite3"           # made by  medrcube ontologies index

# [llm]                  # a model that may propose wrong options if too few are safe
# model = "gpt-5-mini"   # the key is read from the environment variable OPENAI_API_KEY only
# base_url = "http://localhost:8000/v1"
# max_requests = 200     # maximum requests per build; replies are kept and reused

# [review]               # see the guide "Run the review server"
# second_factor = ["manager", "administrator"]  # roles that must have one
# [review.single_sign_on]                       # one OpenID Connect provider
# issuer = "https://login.example.org/realms/hospital"
# client_id = "medrcube" # its secret is read from MEDRCUBE_REVIEW_OIDC_SECRET only

# [values.padchest.Projection]  # column of the table or field of the card, and raw values that
# "OBLIQUE" = ""                # the card does not know: a term, or "" for nothing

[sources]                # id = folder with your own copy of the raw data
{sources}
"""

_FOLDERS = re.compile(r"^(?:# )?source_folders = .*$", re.MULTILINE)
_SOURCES = re.compile(r"^\[sources\].*\n", re.MULTILINE)

ValueMap = Mapping[str, str]
"""Raw values of one field and their concepts; an empty concept marks a value that is not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFolder:
    """Paths and settings of one benchmark.

    Attributes:
        root: its folder.
        settings: the table ``[build]``.
        sources: id -> raw root.
        source_folders: folders that contain source folders outside the package.
        values: id -> field -> raw values that the card does not know.
        llm: a language model that may propose distractors.
        ontology_index: the user's compiled ontologies.
        review: sign-in settings of the review queue.
    """

    root: Path
    settings: BuildSettings = field(default_factory=BuildSettings)
    sources: Mapping[str, Path] = field(default_factory=dict)
    source_folders: tuple[Path, ...] = ()
    values: Mapping[str, Mapping[str, ValueMap]] = field(default_factory=dict)
    llm: LlmSettings | None = None
    ontology_index: Path | None = None
    review: ReviewSettings = field(default_factory=ReviewSettings)

    @property
    def cache(self) -> Path:
        """Digests of raw files and records of rendered images."""
        return self.root / "cache" / "build.sqlite3"

    @property
    def images(self) -> Path:
        """Rendered images, one folder per source."""
        return self.root / "images"

    @property
    def viewer(self) -> Path:
        """Original pixels of item images, only for reviewers of this workspace."""
        return self.root / "viewer"

    @property
    def samples(self) -> Path:
        """Table of rendered images."""
        return self.root / "samples.parquet"

    @property
    def geometry(self) -> Path:
        """Table of the regions on the images."""
        return self.root / "geometry.parquet"

    @property
    def vocabulary(self) -> Path:
        """Folder of the workspace's own vocabulary layer."""
        return self.root / "vocabulary"

    @property
    def items(self) -> Path:
        """Table of items."""
        return self.root / "items.parquet"

    @property
    def open_items(self) -> Path:
        """Table of items of tasks beyond the cube."""
        return self.root / "open_items.parquet"

    @property
    def quarantine(self) -> Path:
        """Table of everything excluded, with reasons."""
        return self.root / "quarantine.parquet"

    @property
    def absent(self) -> Path:
        """Table of cases whose image is missing from this copy: ``source,case,file``."""
        return self.root / "absent.csv"

    @property
    def recipes(self) -> Path:
        """How each image was made, one JSON object per line."""
        return self.root / "recipes.jsonl"

    @property
    def raw_files(self) -> Path:
        """Raw files that the images and the copies' layouts depend on, one JSON object per line."""
        return self.root / "raw_files.jsonl"

    @property
    def proposals(self) -> Path:
        """Prompts to a language model and its replies, one JSON object per line."""
        return self.root / "proposals.jsonl"

    @property
    def audit(self) -> Path:
        """Counts and checks over samples and items."""
        return self.root / "audit.json"

    @property
    def is_synthetic(self) -> bool:
        """Whether all raw data were generated by the demo; false once a user adds a source."""
        generated = (self.root / DEMO_RAW).resolve()
        return (self.root / DEMO_MARK).is_file() and all(
            path.resolve().is_relative_to(generated) for path in self.sources.values()
        )

    def with_sources(self, sources: Mapping[str, Path]) -> WorkspaceFolder:
        """Return the same workspace with raw roots added or replaced."""
        return replace(self, sources={**self.sources, **sources})


def init_workspace(root: Path, sources: Mapping[str, Path] | None = None) -> WorkspaceFolder:
    """Create a workspace with a commented configuration; a new folder gets owner-only access.

    Raises:
        WorkspaceError: there is one already, or the folder cannot be written.
    """
    config = root / CONFIG
    if config.exists():
        raise WorkspaceError(f"{config}: already exists; edit it, or choose another folder")
    lines = [f"{name} = {_toml_string(path)}" for name, path in sorted((sources or {}).items())]
    text = TEMPLATE.format(sources="\n".join(lines) or '# busi = "/data/Dataset_BUSI_with_GT"')
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_text(config, text, mode=PRIVATE)
    except OSError as error:
        raise WorkspaceError(f"{config}: cannot be written ({error.strerror})") from error
    return open_workspace(root)


def add_source_folders(root: Path, folders: Iterable[Path]) -> None:
    """Add folders of source folders to the configuration, keeping the existing ones.

    Raises:
        WorkspaceError: the configuration cannot be written, or has no table ``[build]``.
    """
    earlier = open_workspace(root).source_folders
    all_folders = dict.fromkeys((*earlier, *(folder.resolve() for folder in folders)))
    if len(all_folders) == len(earlier):
        return
    config = root / CONFIG
    text = config.read_text(encoding="utf-8")
    line = f"source_folders = [{', '.join(map(_toml_string, all_folders))}]"
    if _FOLDERS.search(text):
        text = _FOLDERS.sub(lambda _: line, text, count=1)
    elif "[build]\n" in text:
        text = text.replace("[build]\n", f"[build]\n{line}\n", 1)
    else:
        text = f"[build]\n{line}\n\n{text}"
    write_text(config, text, mode=PRIVATE)


def add_sources(root: Path, sources: Mapping[str, Path]) -> None:
    """Add raw roots to the configuration, for sources it does not contain yet.

    Args:
        root: the workspace.
        sources: id -> raw root; relative paths are resolved against the workspace.

    Raises:
        WorkspaceError: there is no workspace, or its configuration is invalid.
    """
    configured = open_workspace(root).sources
    new = {name: path for name, path in sources.items() if name not in configured}
    if not new:
        return
    config = root / CONFIG
    text = config.read_text(encoding="utf-8")
    if not _SOURCES.search(text):
        text = f"{text}\n[sources]\n"
    lines = "".join(f"{json.dumps(name)} = {_toml_string(path)}\n" for name, path in new.items())
    text = _SOURCES.sub(lambda header: f"{header[0]}{lines}", text, count=1)
    write_text(config, text, mode=PRIVATE)


def open_workspace(root: Path) -> WorkspaceFolder:
    """Read the configuration of a workspace.

    Raises:
        WorkspaceError: there is no workspace, or its configuration is invalid.
    """
    root = root.resolve()
    config = root / CONFIG
    try:
        data = read_toml(config, WorkspaceError)
    except WorkspaceError as error:
        if not isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            raise
        raise WorkspaceError(
            f"{root} is not a workspace ({CONFIG} is missing); create one:  "
            f"medrcube.create_workspace(...)  or  medrcube init {root}"
        ) from None
    table = TomlTable(config, data, error=WorkspaceError)
    build = table.table("build", optional=True)
    folders = build.texts("source_folders", default=())
    sources = table.mapping("sources", default={})
    values = table.table("values", optional=True)
    workspace = WorkspaceFolder(
        root=root,
        settings=parse_build_settings(build, root),
        sources={name: (root / text_to_name(path)).resolve() for name, path in sources.items()},
        llm=parse_llm_settings(table.table("llm")) if "llm" in data else None,
        source_folders=tuple((root / text_to_name(folder)).resolve() for folder in folders),
        values={
            name: {field: entry.mapping(field) for field in entry.names()}
            for name, entry in ((name, values.table(name)) for name in values.names())
        },
        ontology_index=_index(root, table.table("ontologies", optional=True)),
        review=parse_review_settings(table.table("review", optional=True), root),
    )
    table.finish()
    return workspace


def patient_key(workspace: WorkspaceFolder) -> bytes:
    """Return the secret key for hashing patient identifiers; created once, never published.

    Keep the file: the same key gives the same hashes in the next build.
    """
    path = workspace.root / "cache" / "patient.key"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=path.parent)  # owner-only file mode
            with os.fdopen(handle, "wb") as file:
                file.write(secrets.token_bytes(32))
            with contextlib.suppress(FileExistsError):
                os.link(name, path)
            Path(name).unlink()
        return path.read_bytes()
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be written ({error.strerror})") from error


def _toml_string(path: Path) -> str:
    """Format a path as a TOML string, even if not valid UTF-8; read back with ``text_to_name``."""
    return json.dumps(name_to_text(str(path)), ensure_ascii=False).replace("\x7f", "\\u007f")


def _index(root: Path, table: TomlTable) -> Path | None:
    index = table.text("index", default="")
    return (root / index).resolve() if index else None

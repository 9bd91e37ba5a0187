"""``medrcube-get.json``: manifest of the downloaded files, with origins and digests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medrcube.errors import HomeError
from medrcube.files.atomic import write_text
from medrcube.sources._framework.card_parts.home import HomeFacts

__all__ = ["MANIFEST", "Manifest", "open_manifest"]

MANIFEST = "medrcube-get.json"


@dataclass(slots=True)
class Manifest:
    """What stands in the file; ``files`` is name -> size, digests and address of each file."""

    path: Path
    head: Mapping[str, Any]
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, name: str, **facts: Any) -> None:
        """Write down a file, on the disk too: a kill costs no digest."""
        self.files[name] = {key: value for key, value in facts.items() if value is not None}
        self.save()

    def save(self) -> None:
        """Write the file anew."""
        rows = {**self.head, "files": dict(sorted(self.files.items()))}
        write_text(self.path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def open_manifest(folder: Path, source: str, licence: str, home: HomeFacts) -> Manifest:
    """The manifest of a folder, with what earlier calls have written.

    Raises:
        HomeError: the folder holds the manifest of another source, or one that is damaged.
    """
    path = folder / MANIFEST
    head = {"source": source, "accepted": licence, "home": f"{home.kind} {home.id}".strip()}
    if not path.exists():
        return Manifest(path, head)
    try:
        rows = json.loads(path.read_bytes())
        files = {str(name): dict(facts) for name, facts in rows["files"].items()}
        owner = rows["source"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HomeError(
            f"{path}: cannot be read ({type(error).__name__}); remove it to begin anew"
        ) from None
    if owner != source:
        raise HomeError(f"{path}: {folder} holds {owner}; choose another folder for {source}")
    return Manifest(path, head, files)

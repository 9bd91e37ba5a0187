"""``medrcube-get.json``: manifest of the downloaded files with URLs and digests."""

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
    """Content of the manifest; ``files`` maps names to size, digests and URL."""

    path: Path
    head: Mapping[str, Any]
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, name: str, **facts: Any) -> None:
        """Add a file and save immediately, so that no digest is lost if the process is killed."""
        self.files[name] = {key: value for key, value in facts.items() if value is not None}
        self.save()

    def save(self) -> None:
        """Write the manifest file."""
        rows = {**self.head, "files": dict(sorted(self.files.items()))}
        write_text(self.path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def open_manifest(folder: Path, source: str, licence: str, home: HomeFacts) -> Manifest:
    """Open the manifest of a folder, with the entries of earlier calls.

    Raises:
        HomeError: the folder has the manifest of another source, or a damaged one.
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
            f"{path}: cannot be read ({type(error).__name__}); remove it to start over"
        ) from None
    if owner != source:
        raise HomeError(f"{path}: {folder} holds {owner}; choose another folder for {source}")
    return Manifest(path, head, files)

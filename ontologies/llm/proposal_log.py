"""``proposals.jsonl``: append-only log of prompts and replies, one JSON object per line.

A record counts as written after fsync; a line that was being written when the process died is
truncated at the next start. The first final record for a key remains its answer, so that a build
produces the same items again without any request. To get a new answer, delete the line.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, cast

from medrcube.errors import WorkspaceError
from medrcube.files.atomic import private_file

__all__ = ["FINAL", "REPLY", "TRUNCATED", "ProposalLog", "open_proposal_log", "request_key"]

REPLY = "reply"
TRUNCATED = "truncated"
FINAL = frozenset({REPLY, TRUNCATED, "refusal", "filtered", "empty", "too-large"})
"""Outcomes that a retry would not change; the next build retries all others."""


def request_key(model: str, base_url: str, prompt: str, parameters: Mapping[str, Any]) -> str:
    """Return the identity of a request: SHA-256 of everything that may change the reply."""
    content = json.dumps([model, base_url, prompt, dict(parameters)], sort_keys=True)
    return sha256(content.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ProposalLog:
    """The open file; see ``open_proposal_log``."""

    file: BinaryIO
    answers: dict[str, Mapping[str, Any]]
    """Key -> its final record."""

    spent: dict[str, Counter[str]]
    """Key -> requests and tokens of all its records, failed ones too."""

    def keep(self, record: Mapping[str, Any]) -> None:
        """Append one record durably (fsync)."""
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        # A lone surrogate in a reply cannot be encoded as UTF-8.
        self.file.write(line.encode("utf-8", "backslashreplace") + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        self.add(record)

    def add(self, record: Mapping[str, Any]) -> None:
        """Index a record that is already in the file."""
        spent = self.spent.setdefault(record["key"], Counter())
        spent.update({"requests": record.get("requests", 1), **record.get("usage", {})})
        if record["outcome"] in FINAL:
            self.answers.setdefault(record["key"], record)


@contextlib.contextmanager
def open_proposal_log(path: Path) -> Iterator[ProposalLog]:
    """Open the log of a workspace with owner-only access, and repair a truncated last line.

    Raises:
        WorkspaceError: a line is not a record, or the file cannot be read or written.
    """
    private_file(path)
    try:
        with path.open("a+b") as file:
            file.seek(0)
            data = file.read()
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                file.truncate(whole)
            store = ProposalLog(file, {}, {})
            for number, line in enumerate(data[:whole].splitlines(), start=1):
                store.add(_record(line, path, number))
            yield store
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be read and written ({error.strerror})") from error


def _record(line: bytes, path: Path, number: int) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not _is_record(record):
        raise WorkspaceError(
            f"{path}:{number} is not a record of a request; the file was modified by another "
            "program. Restore it, or delete that line to have its question asked again"
        )
    return cast("Mapping[str, Any]", record)


def _is_record(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    texts = (value.get(name) for name in ("key", "outcome", "reply"))
    usage = value.get("usage", {})
    counts = (value.get("requests", 1), *(usage.values() if isinstance(usage, dict) else ("",)))
    return all(isinstance(entry, str) for entry in texts) and all(
        type(entry) is int for entry in counts
    )

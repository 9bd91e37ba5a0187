"""Few-shot examples stored with a run, so that a resumed run keeps them.

``examples.json`` contains the names of the items that may be examples, and perceptual hashes of
images by the SHA-256 of their files; ``asked.jsonl`` contains the examples of each question.
Otherwise a release that gains images or withdraws items later would give different examples; and
hashing images takes longer than everything else that a run does before its first question.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from medrcube.evaluate.runner.run_folder import QUESTIONS, read_json_lines
from medrcube.files.atomic import write_text

__all__ = ["FILE", "StoredExamples", "read_examples", "write_examples"]

FILE = "examples.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExamples:
    """Few-shot examples of earlier sessions of a run.

    Attributes:
        pool: names of the items that may be examples; ``None`` for a new run.
        looks: perceptual hash of each image by the SHA-256 of its file.
        example_names: names of the examples of a question, by its item and the image shown.
    """

    pool: Sequence[str] | None = None
    looks: Mapping[str, int] = field(default_factory=dict)
    example_names: Mapping[tuple[str, str | None], Sequence[str]] = field(default_factory=dict)


def read_examples(run: Path) -> StoredExamples:
    """Return the stored examples of a run; empty if the files are missing or damaged."""
    try:
        data = json.loads((run / FILE).read_text(encoding="utf-8"))
        return StoredExamples(
            pool=[str(name) for name in data["pool"]],
            looks={str(digest): int(look, 16) for digest, look in data["looks"].items()},
            example_names={
                (row["item"], row["image"]): [name for name, _ in row["shots"]]
                for row in read_json_lines(run / QUESTIONS)
                if row.get("shots")
            },
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return StoredExamples()


def write_examples(run: Path, pool: Sequence[str], looks: Mapping[str, int]) -> None:
    """Store pool and perceptual hashes, unless the run already has them."""
    hashes = {digest: f"{look:016x}" for digest, look in sorted(looks.items())}
    text = json.dumps({"pool": list(pool), "looks": hashes}, ensure_ascii=False) + "\n"
    path = run / FILE
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)

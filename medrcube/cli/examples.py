"""Examples in the help of commands; a test parses each of them."""

from __future__ import annotations

__all__ = ["EXAMPLES", "examples"]

EXAMPLES = {
    "build": (
        "medrcube build bench --source busi=/data/BUSI --source acdc=/data/ACDC",
        "medrcube build bench --profile medrcube --workers 8",
    ),
    "release": (
        "medrcube release bench release --name v1",
        "medrcube release bench release-v2 --name v2 --since release",
    ),
    "reconstruct": (
        "medrcube reconstruct release --source vindr-cxr=/data/vindr-cxr",
        "medrcube reconstruct release --needed --out lists",
    ),
    "evaluate": (
        "medrcube evaluate release --model openai/NAME --base-url URL --out runs/a",
        "medrcube evaluate release --model hf/PATH --out runs/b --condition blind",
        "medrcube evaluate release --model anthropic/NAME --out runs/c --dry-run",
    ),
    "score": (
        "medrcube score runs/name --release release",
        "medrcube score --replies replies.jsonl --release release --out runs/theirs",
    ),
    "report": ("medrcube report runs/a runs/b --out report.html --release release",),
    "compare": ("medrcube compare runs/a runs/b --by modality --release release",),
    "export": (
        "medrcube export release --to vlmevalkit --out theirs",
        "medrcube export runs/a runs/b --to latex --out tables",
    ),
    "errata add": ('medrcube errata add release BUSI/busi-000123 --why "wrong key"',),
    "sources list": ("medrcube sources list --modality CT --access open",),
    "sources get": ("medrcube sources get busi --to /data/BUSI",),
    "ontologies index": ("medrcube ontologies index --hpo hp.obo --radlex RadLex.owl",),
    "review assign add": (
        "medrcube review assign add bench only --source busi --specialty Breast",
    ),
}
"""Command -> lines."""


def examples(command: str) -> str:
    """The epilog with the examples of a command; Click leaves its lines as they are."""
    return "Examples:\n\n\b\n" + "\n".join(f"    {line}" for line in EXAMPLES[command])

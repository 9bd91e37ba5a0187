"""How an interrupted or failed command ends, in text and JSON.

Imports nothing heavy: Ctrl-C may arrive while the command is still being imported.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

__all__ = ["INTERRUPTED", "Interrupted", "end_in_error", "end_interrupted"]

INTERRUPTED = 130
"""Status after Ctrl-C, as shells have it: 128 and the number of the signal."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a summary for programs of the work that was done before it."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        super().__init__()
        self.summary = summary


def end_interrupted(error: BaseException) -> NoReturn:
    """Report that the command was stopped, with the summary in ``error`` or its cause, and exit.

    Raises:
        SystemExit: always, with 130.
    """
    sys.stderr.write("\nstopped; run the same command again to resume\n")
    _tell_programs({"interrupted": True, **_summary_of(error)})
    sys.exit(INTERRUPTED)


def end_in_error(words: str, status: int) -> NoReturn:
    """Report why the command cannot run, and exit.

    Raises:
        SystemExit: always, with the status.
    """
    sys.stderr.write(f"medrcube: {words}\n")
    _tell_programs({"error": words})
    sys.exit(status)


def _tell_programs(value: Mapping[str, Any]) -> None:
    """Print one JSON object if ``--json`` was given, even if the command never started."""
    if "--json" in sys.argv[1:]:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")


def _summary_of(error: BaseException | None) -> Mapping[str, Any]:
    """Return the summary that the interrupt behind this error carries, or an empty one."""
    while error is not None and not isinstance(error, Interrupted):
        error = error.__cause__ or error.__context__
    return {} if error is None else error.summary

"""``medrcube sources check``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from medrcube.cli.options.shared import Json, SourcePath, source_ids

__all__ = ["check"]


def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Sources; default: all.", autocompletion=source_ids),
    ] = None,
    source_path: SourcePath = None,
    json_output: Json = False,
) -> None:
    """Check source adapters.

    Runs the contract checks on each source's synthetic fixture.
    """
    from dataclasses import asdict

    from medrcube.build.source_checks.source_check import check_source
    from medrcube.console.progress import Reporter
    from medrcube.sources.registry import find_sources, get_source

    reporter = Reporter(json_output=json_output)
    sources = find_sources(source_path or ())
    results = {}
    with reporter.stage("check", len(names or sources)) as advance:
        for name in names or sources:
            results[name] = check_source(get_source(sources, name))
            advance()
    broken = 0
    for name, checks in results.items():
        failures = [failure for entry in checks for failure in entry.failures]
        broken += bool(failures)
        reporter.result(f"{name}: {'FAILED' if failures else f'{len(checks)} checks hold'}")
        for failure in _folded(failures):
            reporter.result(f"  {failure}")
    reporter.data({name: [asdict(entry) for entry in checks] for name, checks in results.items()})
    raise typer.Exit(1 if broken else 0)


def _folded(failures: Iterable[str]) -> Iterator[str]:
    """Failures in order; those that differ only in numbers are shown once, with a count.

    One forgotten glob may leave hundreds of files without a case.
    """
    alike: dict[str, list[str]] = {}
    for failure in failures:
        alike.setdefault(re.sub(r"\d+", "0", failure), []).append(failure)
    for first, *others in alike.values():
        more = f" ({len(others):,} more differ only in numbers)" if others else ""
        yield f"{first}{more}"

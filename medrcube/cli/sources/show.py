"""``medrcube sources show``."""

from __future__ import annotations

from medrcube.cli.options.shared import SourceId, SourcePath

__all__ = ["show"]


def show(name: SourceId, source_path: SourcePath = None) -> None:
    """Show a source: access, layouts and tasks.

    Explains how to obtain the data, step by step, and which files a copy must contain.
    """
    from medrcube.console.progress import Reporter
    from medrcube.sources.registry import find_sources, get_source

    card = get_source(find_sources(source_path or ()), name).card
    reporter = Reporter()
    reporter.result(f"{card.id}: {card.title}\n{card.homepage}\nversion: {card.release}")
    reporter.result(
        f"access: {card.access.mode}; licence: {card.access.licence}; images may be "
        f"redistributed: {card.access.passed_on}"
    )
    reporter.result(f"rights: {card.access.describe()}")
    reporter.result("\nHow to get it")
    for number, step in enumerate(card.access.steps, 1):
        reporter.result(f"  {number}. {step}")
    if card.home is not None:
        reporter.result(f"  or:  medrcube sources get {card.id} --to DIR")
    reporter.result("\nLayouts")
    for layout in card.layouts:
        reporter.result(f"  {layout.name}")
        for glob, count in layout.expect.items():
            reporter.result(f"    {count:>7,}  {glob}")
        for glob, loss in layout.optional.items():
            if loss:
                reporter.result(f"    optional {glob}; without it: {loss}")
    reporter.result("\nTasks: " + ", ".join(card.tasks))
    if card.quirks:
        reporter.result("\nKnown issues")
        for quirk in card.quirks:
            kind = "Left out" if quirk.action == "drop" else quirk.action.capitalize()
            reporter.result(f"  {kind}: {quirk.reason}")
    reporter.result(f"\nCitation\n{card.citation.strip()}")

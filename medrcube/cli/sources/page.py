"""``medrcube sources page``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import SourcePath

__all__ = ["page"]


def page(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the documentation.")],
    source_path: SourcePath = None,
) -> None:
    """Write the generated reference pages.

    Writes the pages on sources, shared formats, tasks, item rules, terms and wordings, and the
    chart of the cube.
    """
    from medrcube.build.reference.audit_rules import rules_page
    from medrcube.build.reference.formats import formats_page
    from medrcube.build.reference.task_by_task import task_by_task_page
    from medrcube.build.reference.tasks import tasks_page
    from medrcube.build.reference.wordings import wordings_page
    from medrcube.build.reference.yields import yields_of
    from medrcube.console.progress import Reporter
    from medrcube.files.atomic import write_text
    from medrcube.ontologies.reference_page import terms_page
    from medrcube.sources._framework.reference_page import cube_picture, sources_page
    from medrcube.sources.registry import find_sources

    sources = find_sources(source_path or ())
    cards = [source.card for source in sources.values()]
    yields = yields_of(cards)
    text = sources_page(cards, yields.items, yields.section)
    write_text(directory / "reference" / "sources.md", text)
    write_text(directory / "reference" / "formats.md", formats_page(sources))
    write_text(directory / "images" / "cube.svg", cube_picture(cards))
    write_text(directory / "reference" / "tasks.md", tasks_page(cards))
    write_text(directory / "reference" / "task-by-task.md", task_by_task_page(cards))
    write_text(directory / "reference" / "item-rules.md", rules_page())
    write_text(directory / "reference" / "terms.md", terms_page())
    write_text(directory / "reference" / "wordings.md", wordings_page(cards))
    Reporter().result(f"wrote {directory / 'reference' / 'sources.md'}")

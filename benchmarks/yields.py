"""Expected items against items made: ``python yields.py [ID=RAW_TREE ...] [--build ID ...]``.

A raw tree may hold label tables alone: queries of its images are composed without rendering one,
so the figures show what sets of options cost and not what pixels take away. With ``--build`` the
fixture of a source is built, images and all, without a quota. Both are counted by the adapter
first, and what ``build.profile.yields`` expects of these counts stands beside what came out.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.profile.answerable import placeholder_samples
from medrcube.build.profile.raw_counts import as_counts, cases_of, count_answers
from medrcube.build.profile.yields import TWO_OPTION_SHARE, expected_items, two_option_room
from medrcube.build.questions.compose import compose
from medrcube.build.questions.fact_rules import CaseFactsCache, derive_questions
from medrcube.build.questions.item_table import items_from_frame
from medrcube.console.progress import Reporter
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.contract import Source
from medrcube.sources.registry import find_sources
from medrcube.workspace import init_workspace, open_workspace


def main() -> None:
    words = sys.argv[1:]
    at = words.index("--build") if "--build" in words else len(words)
    sources = find_sources()
    print("| Source | Task | Expected | Made | Ratio |\n|---|---|---:|---:|---:|")
    for word in words[:at]:
        name, _, root = word.partition("=")
        _show(sources[name], Path(root), _composed(sources[name], Path(root)))
    for name in words[at + 1 :]:
        with TemporaryDirectory() as folder:
            root = Path(folder) / "raw"
            sources[name].build_fixture(root, sources[name].card.layouts[0].name)
            _show(sources[name], root, _built(sources[name], root, Path(folder) / "workspace"))


def _composed(source: Source, root: Path) -> Counter[str]:
    """Items by task, of images that nobody rendered."""
    terms, relations = load_terms(), load_relations()
    grounds = CaseFactsCache(card=source.card, terms=terms)
    queries = [
        query
        for case in cases_of(source, root)
        for query in derive_questions(
            source.card,
            case,
            placeholder_samples(source.card, case),
            terms,
            relations,
            grounds=grounds,
        )
    ]
    return Counter(
        item.task
        for item in compose(queries, terms, relations, two_option_share=TWO_OPTION_SHARE).items
    )


def _built(source: Source, root: Path, folder: Path) -> Counter[str]:
    """Items by task, of a build without a quota."""
    init_workspace(folder)
    workspace = open_workspace(folder).with_sources({source.id: root})
    workspace = replace(workspace, settings=replace(workspace.settings, items_per_cell=0))
    build(workspace, {source.id: source}, LocalEngine(1), Reporter())
    return Counter(item.task for item in items_from_frame(pd.read_parquet(workspace.items)))


def _show(source: Source, root: Path, built: Mapping[str, int]) -> None:
    counts = as_counts(count_answers(source, root), "tree")
    card = replace(source.card, counts=counts, images=sum(1 for _ in cases_of(source, root)))
    for task, expected in expected_items(card).items():
        items = expected.items + two_option_room(expected.items, expected.two)
        if items or built.get(task.value, 0):
            ratio = f"{built.get(task.value, 0) / items:.2f}" if items else ""
            print(f"| {source.id} | {task} | {items} | {built.get(task.value, 0)} | {ratio} |")


if __name__ == "__main__":
    main()

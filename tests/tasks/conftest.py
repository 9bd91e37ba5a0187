"""Placeholder views of a source with a chosen geometry."""

from dataclasses import replace

import pytest

from medrcube.build.open_items.authoring.trial_views import trial_views
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task


@pytest.fixture
def view_of():
    """``view_of(task, source, concepts, {column: value}, ...)``: one change for each region."""
    sources = find_sources()

    def find(task, source, concepts, *changes):
        view = next(
            view
            for view in trial_views(Task(task), sources[source].card)
            if [row.concept for row in view.geometry] == list(concepts)
        )
        rows = zip(view.geometry, changes or ({},) * len(concepts), strict=True)
        return replace(view, geometry=tuple(replace(row, **change) for row, change in rows))

    return find

"""A queue with one item of every kind and a person of every role."""

import pytest
from stage.routes import every_route
from stage.world import stocked


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    """Where the first world is kept for the next tests."""
    return tmp_path_factory.mktemp("world")


@pytest.fixture
def world(database, cache_folder):
    """A ``World`` in the database of this test."""
    return stocked(database, cache_folder)


@pytest.fixture
def routes():
    """Names of all addresses."""
    return list(every_route())

"""Fixtures for the reviewer's pages."""

from contextlib import contextmanager

import pytest
from django.db import connection


@pytest.fixture
def django_queries():
    """The SQL that is run inside ``with django_queries() as queries``."""

    @contextmanager
    def watch():
        queries = []

        def note(execute, sql, params, many, context):
            queries.append(sql)
            return execute(sql, params, many, context)

        with connection.execute_wrapper(note):
            yield queries

    return watch

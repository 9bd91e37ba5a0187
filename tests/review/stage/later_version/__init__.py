"""Migrations of a later version: those of today, and one more, ``MIGRATION_MODULES["review"]``."""

from pathlib import Path

from medrcube.review import migrations

__path__ = [*migrations.__path__, *__path__]
TODAY = max(path.stem for path in Path(migrations.__path__[0]).glob("[0-9]*.py"))
"""The last one of today."""

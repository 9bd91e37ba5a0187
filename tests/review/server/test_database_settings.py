"""Addresses of databases, and servers that are not there."""

import os
import subprocess
import sys

import pytest
from django.db import OperationalError

from medrcube.review.errors import ReviewError
from medrcube.review.server.database_settings import database_settings, unreachable

CLOSED = "postgresql://clerk:s3cret@127.0.0.1:9/queue?sslmode=disable"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://u:p%40@h:1/n", {"USER": "u", "PASSWORD": "p@", "HOST": "h", "PORT": "1"}),
        ("postgresql:///n?port=5544&host=/run/x", {"HOST": "/run/x", "PORT": "5544"}),
        ("postgres://h1,h2:2/n", {"HOST": "h1,h2", "PORT": ",2"}),
        ("postgresql://h/?dbname=n", {"NAME": "n"}),
        ("postgresql:///?service=ours", {"NAME": "", "service": "ours"}),
        ("postgresql:///n?sslmode=verify-full&sslrootcert=ca", {"sslmode": "verify-full"}),
        ("postgresql:///n?options=-c%20search_path%3Da", {"options": "-c search_path=a"}),
        ("postgresql:///n?connect_timeout=3", {"connect_timeout": "3"}),
    ],
)
def test_every_parameter_of_libpq_arrives(address, expected):
    values = database_settings(address)
    flat = {**values, **values["OPTIONS"]}
    assert {name: flat[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("postgresql://u:s3cret@h/n?sslmod=require", "no parameter 'sslmod'"),
        ("postgresql://u:s3cret%zz@h/n", "cannot be read"),
        ("postgresql://u:s3cret@h/n?client_encoding=latin1", "client_encoding is always UTF8"),
        ("postgresql://u:s3cret@h", "has no database name"),
        ("mysql://u:s3cret@h/n", "begins with mysql://"),
    ],
)
def test_what_libpq_does_not_take_is_refused_by_name_and_without_the_password(address, says):
    with pytest.raises(ReviewError, match=says) as refused:
        database_settings(address)
    assert "s3cret" not in str(refused.value)


@pytest.mark.thorough
def test_a_port_in_the_query_is_the_port_that_is_tried(tmp_path):
    address = f"postgresql://clerk:s3cret@/queue?host={tmp_path}&port=5999"
    assert f"{tmp_path}/.s.PGSQL.5999" in status(tmp_path, address).stderr


@pytest.mark.thorough
def test_a_server_that_is_not_there_is_told_in_one_line(tmp_path):
    result = status(tmp_path, CLOSED)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "127.0.0.1:9, database 'queue', user 'clerk'" in result.stderr
    assert "MEDRCUBE_REVIEW_DATABASE" in result.stderr
    assert "s3cret" not in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_is_no_database_is_told_in_one_line(tmp_path):
    (tmp_path / "review.sqlite3").write_text("no database at all, but long enough to be read")
    result = status(tmp_path, "")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "cannot be opened (file is not a database)" in result.stderr


def test_a_service_is_named_where_there_is_no_host():
    settings = database_settings("postgresql:///?service=ours")
    assert "PostgreSQL at ours" in str(unreachable(settings, OperationalError("gone\n  away")))


def status(root, database):
    own = {name: value for name, value in os.environ.items() if "MEDRCUBE_REVIEW" not in name}
    return subprocess.run(
        [sys.executable, "-m", "medrcube", "review", "status", root],
        capture_output=True,
        text=True,
        check=False,
        env={**own, "COLUMNS": "1000", "MEDRCUBE_REVIEW_DATABASE": database},
    )

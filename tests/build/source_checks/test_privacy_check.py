"""An identifier is found wherever it may stand in what a build writes."""

import gzip
import json
import sqlite3
import zipfile
import zlib
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.source_checks.privacy_check import (
    FixtureCopy,
    holds_canary,
    leaks,
    secret_identifiers,
    unsearchable,
)
from medrcube.facts import Case, ImageRef
from medrcube.sources._synthetic.images import CANARY

WHO = "Müller-Lüdenscheidt 4711"


def _plain(path, text):
    path.write_text(text)


def _gzip(path, text):
    path.write_bytes(gzip.compress(text.encode()))


def _zip(path, text):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", text)


def _json(path, text):
    path.write_text(json.dumps({text: 1}))


def _parquet(path, text):
    pd.DataFrame({"column": [text] * 100}).to_parquet(path)


def _database(path, text):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE t (a, b)")
        database.execute("INSERT INTO t VALUES (1, ?)", (zlib.compress(text.encode()),))


def _name(path, text):
    (path.parent / f"{text}.png").write_bytes(b"")


def _folder(path, text):
    (path.parent / text).mkdir()


@pytest.mark.parametrize("write", [_plain, _gzip, _zip, _json, _parquet, _database, _name, _folder])
@pytest.mark.parametrize("text", [f"a {WHO} b", WHO.upper(), "müller_lüdenscheidt4711", CANARY])
def test_an_identifier_is_found_wherever_it_stands(tmp_path, write, text):
    write(tmp_path / "file", "nothing")
    assert list(leaks(tmp_path, [WHO])) == []
    write(tmp_path / "other", text)
    assert [value for _, value in leaks(tmp_path, [WHO])] == [WHO if "4711" in text else "CANARY"]


@pytest.mark.parametrize(
    ("patient", "file", "secret"),
    [
        ("P0", "film00.png", True),
        ("patient001", "patient001/frame.nii", False),
        ("00000013", "images/00000013_005.png", False),
        ("Erika Muster", "erika_muster.dcm", False),
        ("0162", "MCUCXR_0170_1.png", True),
    ],
)
def test_only_what_a_file_is_called_is_public(patient, file, secret):
    root = Path("raw")
    case = Case(key="k", images=(ImageRef(paths=(root / file,)),), patient=patient)
    assert secret_identifiers([FixtureCopy(root=root, cases=(case,))]) == (
        {patient} if secret else set()
    )


def test_a_name_in_one_layout_makes_it_public_in_another():
    def copied(root, file):
        case = Case(key="k", images=(ImageRef(paths=(root / file,)),), patient="P_00001")
        return FixtureCopy(root=root, cases=(case,))

    both = [copied(Path("a"), "Mass_P_00001_LEFT/1.dcm"), copied(Path("b"), "1.2.3/1-001.jpg")]
    assert secret_identifiers(both[1:]) == {"P_00001"}
    assert secret_identifiers(both) == set()


@given(st.integers(0, 99999))
def test_a_number_that_may_stand_anywhere_is_not_searched_for(number):
    assert list(unsearchable([str(number)])) == [str(number)]


def test_one_of_few_characters_is_not_searched_for_and_a_long_one_is():
    assert list(unsearchable(["00000001", "ID_CANARY^IDENTITY_0", "00013427"])) == ["00000001"]


def test_a_canary_is_found_in_packed_files_of_the_copy(tmp_path):
    _gzip(tmp_path / "a.nii.gz", "nothing")
    assert not holds_canary(FixtureCopy(root=tmp_path, cases=()))
    _gzip(tmp_path / "b.nii.gz", CANARY)
    assert holds_canary(FixtureCopy(root=tmp_path, cases=()))

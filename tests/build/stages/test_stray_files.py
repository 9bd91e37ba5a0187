"""Files that no case uses may be named after a patient; no output tells their names."""

import pandas as pd

from medrcube.build.source_checks.damaged_copies import damage_reports
from medrcube.build.source_checks.privacy_check import identifiers_in, leaks
from medrcube.build.stages.scan import scan
from medrcube.sources._framework.contract import load_source
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

SOURCES = find_sources()
PERSON = ("Zyxwvut", "Gertrude", "19310704", "7731942")


def _strays(raw):
    for name in ("Zyxwvut_Gertrude_19310704.jpg", "Zyxwvut_Gertrude_MRN7731942.txt"):
        (raw / name).touch()
    (raw / "x Zyxwvut.png").touch()  # the toy sets it aside


def test_a_stray_file_named_after_a_patient_is_in_no_row(toy, raw):
    _strays(raw)
    rows = scan(toy, raw, b"k" * 32).problems
    assert len(rows) == 3
    assert not [row for row in rows if identifiers_in(repr(row), PERSON)]


def test_a_packed_stray_is_in_no_message(toy, raw):
    for path in sorted(raw.glob("*.png"))[1:]:
        path.unlink()
    (raw / "Zyxwvut_Gertrude.zip").touch()
    message = inspect_copy(toy.card, raw).describe()
    assert "Zyxwvut" not in message
    assert "unpack with  unzip -q FILE -d FOLDER" in message


def test_the_check_of_a_source_plants_strays(toy, raw, tmp_path):
    text = (toy.folder / "adapter.py").read_text()
    leak = "\n    yield Skip(key='all', reason=' '.join(p.name for p in root.path.iterdir()))\n"
    (toy.folder / "adapter.py").write_text(text + leak)
    reports = dict(damage_reports(load_source(toy.folder), raw, tmp_path / "work"))
    assert "Canary_19310704" in reports["files named after a patient in every folder"]


def test_a_workspace_holds_no_name_of_a_stray_file(build_raw, tmp_path, capsys):
    SOURCES["busi"].build_fixture(tmp_path / "raw", "original")
    for folder in (tmp_path / "raw", *(tmp_path / "raw").rglob("normal")):
        _strays(folder)
    workspace = build_raw("busi", tmp_path / "raw", tmp_path / "w")
    assert list(leaks(workspace.root, PERSON)) == []
    assert not identifiers_in("".join(capsys.readouterr()), PERSON)
    cases = pd.read_parquet(workspace.quarantine)["case"]
    assert [case for case in cases if "25 characters, no. 1 of 1).jpg" in case]

"""``medrcube sources get``: licence, steps, statuses."""

import io
import json
import sys

import pytest

from medrcube.cli import app
from medrcube.sources._homes.get import HOMES
from medrcube.sources.registry import find_sources

ACCEPTED = ("--accept-licence", "CC-BY-4.0")


@pytest.fixture
def run(monkeypatch, capsys, web):
    """Run the command line in this process: ``run("sources", ...)`` -> (status, out, err)."""

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["medrcube", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            app.main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return run_command


@pytest.fixture
def record(zenodo):
    """The record of fetal-planes-db with any bytes, under the MD5 that the card knows."""
    home = find_sources()["fetal-planes-db"].card.home
    (file,) = home.files
    return lambda body: zenodo({file.name: body}, name=home.id, checksum=f"md5:{file.md5}")


def test_without_a_person_the_licence_must_be_accepted_by_name(run, tmp_path, server, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    status, _, err = run("sources", "get", "bus-bra", "--to", tmp_path / "x")
    assert status == 2
    assert "licence: CC-BY-4.0" in err
    assert "--accept-licence CC-BY-4.0" in err
    assert server.requests == []
    assert not (tmp_path / "x").exists()


def test_another_licence_than_that_of_the_source_is_refused(run, tmp_path, server):
    status, _, err = run(
        "sources", "get", "bus-bra", "--to", tmp_path / "x", "--accept-licence", "MIT"
    )
    assert status == 2
    assert "the licence of bus-bra is CC-BY-4.0" in err
    assert server.requests == []


@pytest.mark.parametrize(("answer", "status"), [("n\n", 2), ("\n", 2), ("y\n", 1)])
def test_a_person_is_asked_and_silence_is_no(run, tmp_path, server, monkeypatch, answer, status):
    typed = io.StringIO(answer)
    monkeypatch.setattr(typed, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", typed)
    result, _, _ = run("sources", "get", "bus-bra", "--to", tmp_path / "x")
    assert result == status
    assert bool(server.requests) == (status == 1)  # the record is not there


def test_a_source_without_an_open_home_is_told_by_its_steps(run, tmp_path):
    status, out, _ = run("sources", "get", "inbreast", "--to", tmp_path / "x")
    assert status == 1
    assert "1. Request the data from the Breast Research Group" in out
    assert f"Put the data into {tmp_path / 'x'}" in out
    assert "medrcube sources validate inbreast" in out


def test_another_file_than_the_card_knows_fails_and_is_told(run, record, tmp_path):
    record(b"not the archive")
    status, out, _ = run("sources", "get", "fetal-planes-db", "--to", tmp_path / "x", *ACCEPTED)
    assert status == 1
    assert "failed  FETAL_PLANES_ZENODO.zip" in out
    assert list((tmp_path / "x").glob("*.zip")) == []


def test_programs_get_one_object(run, server, tmp_path):
    for file in find_sources()["montgomery-tb"].card.home.files:
        server.put(file.url, b"PK")
    folder = tmp_path / "x"
    status, out, _ = run(
        *("sources", "get", "montgomery-tb", "--to", folder, "--json"),
        *("--accept-licence", "LicenseRef-NLM-Montgomery"),
    )
    assert status == 0
    data = json.loads(out)
    assert data["files"] == [
        {"name": "NLM-MontgomeryCXRSet.zip", "status": "fetched", "detail": ""}
    ]
    assert data["commands"] == [f"unzip -q -n {folder}/NLM-MontgomeryCXRSet.zip -d {folder}"]


def test_a_list_chooses_and_what_is_not_offered_is_told(run, server, tmp_path):
    (tmp_path / "list.txt").write_text("./IXI.xls\nnowhere.csv\n")
    status, out, _ = run(
        *("sources", "get", "ixi", "--to", tmp_path / "x", "--list", tmp_path / "list.txt"),
        *("--accept-licence", "CC-BY-SA-3.0"),
    )
    assert status == 1
    assert "unknown  nowhere.csv" in out
    assert [path for _, path, _ in server.requests] == ["/brain-development/downloads/IXI/IXI.xls"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("ixx", "--to", "x"), "did you mean"),
        (("ixi", "--to", "x", "--list", "none.txt"), "cannot be read"),
        (
            ("ixi", "--to", "x", "--list", "a", "--needed", "b"),
            "give only one of --needed and --list",
        ),
    ],
)
def test_wrong_use_is_status_2(run, options, message):
    status, _, err = run("sources", "get", *options)
    assert (status, message in err) == (2, True), err


def test_every_home_of_a_card_is_one_that_can_be_asked():
    cards = [source.card for source in find_sources().values()]
    homes = {card.id: card.home for card in cards if card.home}
    assert len(homes) >= 20
    assert all(home.kind in HOMES for home in homes.values())
    assert all(home.evidence for home in homes.values())

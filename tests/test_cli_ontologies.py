import json
import re
import sys
from pathlib import Path

import pytest

from medrcube.cli import app
from medrcube.ontologies.knowledge_protocol import CHECKED_EDITIONS
from medrcube.ontologies.licences import LICENCES
from medrcube.workspace import open_workspace

RADLEX = """\
everything,RID1,RID0
marsh-fog,RID2,RID1
cold marsh-fog,RID3,RID2
pleural effusion,RID34539,RID1
"""
ICD11 = "Foundation URI\tLinearization URI\tCode\tTitle\tClassKind"
ICD11 += "\nhttp://id.who.int/icd/entity/7\thttp://id.who.int/icd/release/11/mms/7\tMF10"
ICD11 += "\tMarsh fog\tcategory\n"
SSSOM = "subject_id\tpredicate_id\tobject_id\nRID2\tskos:exactMatch\ticd11.foundation:7\n"


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run the command line in an empty folder: ``run("search", ...)`` -> (status, out, err)."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["medrcube", "ontologies", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            app.main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return run_command


@pytest.fixture
def files(tmp_path):
    """Options that name small invented files of three kinds."""
    options = []
    for option, name, text in (
        ("--radlex", "radlex_2030-01.csv", RADLEX),
        ("--icd11", "icd_2030-01.txt", ICD11),
        ("--mapping", "map.sssom.tsv", SSSOM),
    ):
        (tmp_path / name).write_text(text)
        options += [option, tmp_path / name]
    return options


@pytest.fixture
def index(run, files):
    assert run("index", *files)[0] == 0
    return run


@pytest.mark.parametrize("command", [(), ("index",)])
def test_help_carries_every_statement_word_for_word(run, command):
    status, out, _ = run(*command, "--help")
    assert status == 0
    for ontology, licence in LICENCES.items():
        assert " ".join(licence.statement(CHECKED_EDITIONS[ontology]).split()) in " ".join(
            out.split()
        )


def test_an_index_is_made_and_says_what_is_in_it(run, files, tmp_path):
    status, out, err = run("index", *files)
    assert status == 0
    assert (tmp_path / "here" / "ontologies.sqlite3").is_file()
    assert LICENCES["radlex"].statement("2030-01") in " ".join(out.split())
    assert "no entry of their own" in " ".join(err.split())
    status, out, _ = run("index", *files, "--out", "other.sqlite3", "--json")
    report = json.loads(out)
    assert (report["index"], report["made"]) == ("other.sqlite3", True)
    concept_counts = {
        edition["ontology"]: (edition["version"], edition["concepts"])
        for edition in report["editions"]
    }
    assert concept_counts == {
        "radlex": ("2030-01", 5),
        "icd11": ("2030-01", 1),
        "sssom": concept_counts["sssom"],
    }


def test_the_same_files_again_do_nothing_and_a_changed_one_does(index, files, tmp_path):
    file = tmp_path / "here" / "ontologies.sqlite3"
    before = file.stat()
    status, out, _ = index("index", *files)
    assert (status, "up to date" in out) == (0, True)
    assert file.stat().st_ino == before.st_ino
    (tmp_path / "radlex_2030-01.csv").write_text(RADLEX + "more,RID9,RID1\n")
    report = json.loads(index("index", *files, "--json")[1])
    assert (report["made"], report["editions"][0]["concepts"]) == (True, 6)


def test_a_version_may_be_stated(index, files, tmp_path):
    report = json.loads(index("index", *files, "--version", "radlex=4.3", "--json")[1])
    assert (report["made"], report["editions"][0]["version"]) == (True, "4.3")
    report = json.loads(index("index", *files, "--version", "radlex=4.3", "--json")[1])
    assert not report["made"]


@pytest.mark.few(1)
@pytest.mark.parametrize("value", ["radlex", "radlex=", "snomed=1", "hpo=1"])
def test_a_version_of_nothing_is_refused(run, files, value):
    status, _, err = run("index", *files, "--version", value)
    assert (status, "expected ONTOLOGY=V" in err) == (2, True)


def test_wrong_files_are_refused_in_words(run, files, tmp_path):
    status, _, err = run("index")
    assert (status, "--hpo, --radlex and --icd11" in err) == (2, True)
    status, _, err = run("index", "--hpo", tmp_path / "none.obo")
    assert (status, "no such file" in err) == (2, True)
    status, _, err = run("index", "--icd11", tmp_path / "radlex_2030-01.csv")
    assert (status, "ICD-11" in err, "radlex" in err) == (2, True, True)
    mine = tmp_path / "thesis.sqlite3"
    mine.write_text("mine")
    status, _, err = run("index", *files, "--out", mine)
    assert (status, "is not an ontology index" in err, mine.read_text()) == (2, True, "mine")


def test_search_finds_by_a_beginning_for_people_and_programs(index):
    status, out, _ = index("search", "marsh", "fo")
    assert status == 0
    assert "MF10" in out
    assert "RID3" in out
    hits = json.loads(index("search", "marsh fo", "--json")[1])
    assert [hit["id"] for hit in hits[:2]] == ["http://id.who.int/icd/release/11/mms/7", "RID2"]
    only = json.loads(
        index("search", "marsh fo", "--ontology", "radlex", "--limit", 1, "--json")[1]
    )
    assert [hit["id"] for hit in only] == ["RID2"]


def test_a_search_without_a_hit_says_so(index):
    assert "no concept" in index("search", "zebra")[1]
    assert json.loads(index("search", "zebra", "--json")[1]) == []


def test_show_gives_neighbours_labels_relations_mappings_and_licence(index):
    status, out, _ = index("show", "RID2")
    assert status == 0
    text = " ".join(out.split())
    for part in ("marsh-fog", "everything", "cold marsh-fog", "skos:exactMatch"):
        assert part in text
    assert LICENCES["radlex"].statement("2030-01") in text
    page = json.loads(index("show", "rid34539", "--json")[1])
    assert {label["label"] for label in page["labels"]} == {"Effusion", "Pleural Effusion"}
    assert all(label["match"] == "exact" for label in page["labels"])
    assert "Atelectasis" in {row["label_b"] for row in page["relations"]}
    assert page["edition"]["licence"] == LICENCES["radlex"].name


def test_show_takes_codes_and_names_what_it_does_not_know(index):
    page = json.loads(index("show", "mf10", "--json")[1])
    assert (page["code"], page["name"]) == ("MF10", "Marsh fog")
    assert "mappings" in page
    status, _, err = index("show", "RID404")
    assert (status, "medrcube ontologies search RID404" in err) == (2, True)


def test_the_index_is_that_of_the_workspace_or_the_default_here(run, files, tmp_path):
    status, _, err = run("search", "fog")
    assert (status, "medrcube ontologies index" in err) == (2, True)
    run("index", *files, "--out", tmp_path / "elsewhere.sqlite3")
    (tmp_path / "here" / "medrcube.toml").write_text(
        '[ontologies]\nindex = "../elsewhere.sqlite3"\n'
    )
    assert run("show", "RID2")[0] == 0
    (tmp_path / "here" / "medrcube.toml").write_text("[build]\n")
    assert run("show", "RID2")[0] == 2
    assert run("show", "RID2", "--index", tmp_path / "elsewhere.sqlite3")[0] == 0


def test_the_page_for_people_shows_commands_and_settings_that_exist(run, tmp_path):
    page = (Path(__file__).parents[1] / "docs/how-to/use-ontologies.md").read_text("utf-8")
    commands = re.findall(r"^medrcube ontologies ([^#\n]+)", page, re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        status, _, err = run(*command.split(), "--help")
        assert (status, err) == (0, ""), command
    settings = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "medrcube.toml").write_text("".join(settings))
    assert open_workspace(tmp_path).ontology_index == tmp_path.resolve() / "ontologies.sqlite3"

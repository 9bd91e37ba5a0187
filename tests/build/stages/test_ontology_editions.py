import json
from dataclasses import replace

import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.release.write import release
from medrcube.build.stages.ontology_editions import editions_used
from medrcube.errors import MedrcubeError, WorkspaceError
from medrcube.ontologies.concept_records import Concept, Edition, Ontology
from medrcube.ontologies.index.compile import compile_index
from medrcube.ontologies.knowledge_protocol import CHECKED_EDITIONS
from medrcube.ontologies.licences import LICENCES


@pytest.fixture
def compiled(tmp_path):
    """Compile an index of one concept: ``compiled(version="9.9")`` -> its path."""

    def make(version="9.9"):
        edition = Edition(
            ontology="radlex",
            version=version,
            file="R.csv",
            sha256="ab" * 32,
            licence="its licence",
            statement="Say this, word for word.",
        )
        concepts = (Concept(id="RID1", label="fog"),)
        compile_index(tmp_path / "o.sqlite3", [Ontology(edition=edition, concepts=concepts)])
        return tmp_path / "o.sqlite3"

    return make


@pytest.fixture
def index(compiled):
    return compiled()


@pytest.fixture
def card(toy, workspace, quiet, tmp_path):
    """Build and release; gives the card and the audit of the release."""

    def make(index=None):
        at = replace(workspace, ontology_index=index)
        build(at, {"toy": toy}, LocalEngine(1), quiet)
        out = release(at, {"toy": toy}, tmp_path / "out", name="t", allow_unreviewed=True).out
        return (out / "README.md").read_text(), json.loads((out / "audit.json").read_text())

    return make


def test_without_an_index_the_checked_editions_and_their_statements_are_carried(card):
    text, audit = card()
    assert audit["ontologies"]["digest"] is None
    assert {
        edition["ontology"]: edition["version"] for edition in audit["ontologies"]["editions"]
    } == CHECKED_EDITIONS
    for ontology, version in CHECKED_EDITIONS.items():
        assert version in text
        assert LICENCES[ontology].statement(version) in text


def test_with_an_index_its_editions_are_named_and_only_the_others_as_checked(card, index):
    text, audit = card(index)
    used = {edition["ontology"]: edition["use"] for edition in audit["ontologies"]["editions"]}
    assert used == {"radlex": "index", "hpo": "ids", "icd11": "ids"}
    assert audit["ontologies"]["editions"][0]["sha256"] == "ab" * 32
    assert "Say this, word for word." in text
    assert "| RadLex | 9.9 | its licence |" in text
    assert LICENCES["radlex"].statement(CHECKED_EDITIONS["radlex"]) not in text
    assert LICENCES["hpo"].statement(CHECKED_EDITIONS["hpo"]) in text


def test_another_index_in_its_place_makes_the_next_build_go_through(
    toy, workspace, quiet, compiled
):
    at = replace(workspace, ontology_index=compiled("9.9"))
    for version in ("9.9", "9.10"):
        compiled(version)
        build(at, {"toy": toy}, LocalEngine(1), quiet)
        stated = json.loads(at.audit.read_text())["ontologies"]
        assert stated["editions"][0]["version"] == version


def test_a_missing_index_stops_the_build_before_it_changes_anything(
    toy, workspace, quiet, tmp_path
):
    at = replace(workspace, ontology_index=tmp_path / "gone.sqlite3")
    with pytest.raises(MedrcubeError, match=r"gone\.sqlite3.*medrcube ontologies index"):
        build(at, {"toy": toy}, LocalEngine(1), quiet)
    assert not workspace.items.exists()


def test_a_release_of_an_older_build_asks_for_a_new_one(toy, workspace, quiet, tmp_path):
    build(workspace, {"toy": toy}, LocalEngine(1), quiet)
    audit = json.loads(workspace.audit.read_text())
    del audit["ontologies"]
    workspace.audit.write_text(json.dumps(audit))
    with pytest.raises(WorkspaceError, match="build again"):
        release(workspace, {"toy": toy}, tmp_path / "out", name="t", allow_unreviewed=True)


def test_the_digest_of_the_index_is_told(index):
    assert len(editions_used(index)["digest"]) == 64

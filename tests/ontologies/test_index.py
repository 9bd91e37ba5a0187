import math
import sqlite3
from importlib.resources import files
from pathlib import Path

import pytest

from medrcube.errors import WorkspaceError
from medrcube.files.atomic import sha256_of
from medrcube.ontologies.concept_records import Edge, SynonymScope
from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.index.compile import (
    EPOCH_MODULES,
    OntologyInput,
    compile_index,
    up_to_date,
)
from medrcube.ontologies.index.schema import APPLICATION, SCHEMA, IndexFileError, NoIndexError


@pytest.fixture
def tree(compiled, concept):
    """A root with two branches; one leaf hangs under both."""
    return compiled(
        hpo=[
            concept("HP:0000001", "All"),
            concept("HP:0000002", "Warm things", "HP:0000001"),
            concept("HP:0000003", "Wet things", "HP:0000001"),
            concept("HP:0000004", "Tea", "HP:0000002", "HP:0000003"),
            concept("HP:0000005", "Sand in the sun", "HP:0000002"),
        ]
    )


def test_neighbours_are_direct_and_ancestors_are_all(tree):
    assert set(tree.parents("HP:0000004")) == {"HP:0000002", "HP:0000003"}
    assert tree.children("HP:0000002") == ("HP:0000005", "HP:0000004")
    assert tree.ancestors("HP:0000004") == {"HP:0000001", "HP:0000002", "HP:0000003"}
    assert tree.ancestors("HP:0000001") == frozenset()


def test_content_is_that_of_seco(tree):
    assert tree.content("HP:0000001") == pytest.approx(0)
    assert tree.content("HP:0000002") == pytest.approx(1 - math.log(3) / math.log(5))
    assert tree.content("HP:0000004") == pytest.approx(1)


def test_lin_takes_the_most_special_thing_that_both_are(tree):
    expected = 1 - math.log(3) / math.log(5)  # of "Warm things"; both leaves have content 1
    assert tree.lin("HP:0000004", "HP:0000005") == pytest.approx(expected)
    assert tree.lin("HP:0000002", "HP:0000003") == pytest.approx(0)
    assert tree.lin("HP:0000004", "HP:0000004") == 1


def test_lin_says_nothing_across_ontologies_or_of_unknown_ids(compiled, concept):
    index = compiled(hpo=[concept("HP:0000001", "a")], radlex=[concept("RID1", "a")])
    assert index.lin("HP:0000001", "RID1") is None
    assert index.lin("HP:0000001", "HP:0000009") is None


def test_unknown_ids_have_nothing(tree):
    assert tree.resolve("HP:0000009") is None
    assert tree.concept("HP:0000009") is None
    assert tree.edition_of("HP:0000009") is None
    assert tree.content("HP:0000009") is None
    assert tree.parents("HP:0000009") == ()
    assert tree.ancestors("HP:0000009") == frozenset()


def test_a_withdrawn_id_leads_along_every_step_to_its_heir(compiled, concept):
    index = compiled(
        hpo=[
            concept("HP:0000001", "old", obsolete=True, replaced_by=("HP:0000002",)),
            concept("HP:0000002", "newer", obsolete=True, replaced_by=("HP:0000003",)),
            concept("HP:0000003", "newest", alt_ids=("HP:0000004",)),
            concept("HP:0000005", "child of the old", "HP:0000001"),
        ]
    )
    for old in ("HP:0000001", "HP:0000002", "HP:0000004"):
        assert index.resolve(old) == "HP:0000003"
    assert index.parents("HP:0000005") == ("HP:0000003",)
    assert index.concept("HP:0000001").label == "newest"
    assert set(index.concept("HP:0000003").alt_ids) == {"HP:0000001", "HP:0000002", "HP:0000004"}


def test_a_withdrawn_concept_without_heir_stands_for_itself_outside_the_tree(compiled, concept):
    index = compiled(
        hpo=[
            concept("HP:0000001", "root"),
            concept("HP:0000002", "gone", "HP:0000001", obsolete=True),
            concept("HP:0000003", "orphan", "HP:0000002"),
        ]
    )
    assert index.concept("HP:0000002").obsolete
    assert index.ancestors("HP:0000002") == frozenset()
    assert index.ancestors("HP:0000003") == frozenset()
    assert "1 parents are withdrawn" in index.editions[0].remarks[0]


def test_an_alternative_id_that_is_a_concept_of_its_own_stays_one(compiled, concept):
    index = compiled(
        hpo=[
            concept("HP:0000001", "a", alt_ids=("HP:0000002",)),
            concept("HP:0000002", "b"),
        ]
    )
    assert index.resolve("HP:0000002") == "HP:0000002"
    assert any("alternative ids" in remark for remark in index.editions[0].remarks)


def test_redirects_in_a_circle_end(compiled, concept):
    index = compiled(
        hpo=[
            concept("HP:0000001", "a", obsolete=True, replaced_by=("HP:0000002",)),
            concept("HP:0000002", "b", obsolete=True, replaced_by=("HP:0000001",)),
        ]
    )
    assert index.resolve("HP:0000001") == "HP:0000001"
    assert any("circle" in remark for remark in index.editions[0].remarks)


def test_parents_without_a_row_or_of_another_ontology_are_left_out_with_a_remark(compiled, concept):
    index = compiled(
        hpo=[concept("HP:0000001", "a")],
        radlex=[concept("RID2", "b", "RID404"), concept("RID3", "c", "HP:0000001", "RID2")],
    )
    assert index.parents("RID2") == ()
    assert index.parents("RID3") == ("RID2",)
    remarks = " ".join(index.editions[1].remarks)
    assert "1 parents have no row and are left out (RID404)" in remarks
    assert "1 parents have another ontology and are left out (HP:0000001)" in remarks


def test_a_circle_of_is_a_ends_with_a_remark(compiled, concept):
    index = compiled(
        hpo=[
            concept("HP:0000001", "a", "HP:0000002"),
            concept("HP:0000002", "b", "HP:0000001"),
            concept("HP:0000003", "c", "HP:0000002"),
            concept("HP:0000004", "d", "HP:0000004"),
        ]
    )
    assert index.ancestors("HP:0000003") == {"HP:0000001", "HP:0000002"}
    assert index.ancestors("HP:0000001") == {"HP:0000002"}
    assert index.ancestors("HP:0000004") == frozenset()
    assert index.editions[0].remarks == (
        "2 concepts are their own ancestors by is_a (HP:0000001, HP:0000002)",
    )


def test_an_id_that_stands_twice_counts_once(compiled, concept):
    index = compiled(
        hpo=[concept("HP:0000001", "first"), concept("HP:0000001", "second")],
        radlex=[concept("HP:0000001", "third")],
    )
    assert index.concept("HP:0000001").label == "first"
    assert [holding.concepts for holding in index.holdings] == [1, 0]
    assert all("stand twice" in edition.remarks[0] for edition in index.editions)


def test_a_concept_comes_back_as_it_was_given(compiled, concept):
    original = concept(
        "RID1",
        "b",
        "RID2",
        also=("c",),
        scope=SynonymScope.NARROW,
        related=[("Part_Of", "RID3")],
        code="X1",
        residual=True,
    )
    index = compiled(radlex=[original, concept("RID2", "parent"), concept("RID3", "whole")])
    entry = index.concept("RID1")
    assert set(entry.edges) == {Edge(target="RID2"), Edge(target="RID3", relation="Part_Of")}
    assert (entry.label, entry.synonyms, entry.code) == ("b", original.synonyms, "X1")
    assert (entry.residual, entry.obsolete) == (True, False)
    assert index.edition_of("RID1").licence == "licence of radlex"
    assert index.parents("RID1") == ("RID2",)


@pytest.mark.parametrize(
    "form",
    [
        "RID34",
        "rid34",
        " RID34 ",
        "http://www.radlex.org/RID/RID34",
        "http://www.radlex.org/RID/#RID34",
        "http://radlex.org/RID/RID34",
        "HP:0000012",
        "hp:0000012",
        "HP_0000012",
        "http://purl.obolibrary.org/obo/HP_0000012",
        "http://id.who.int/icd/entity/56",
        "icd11.foundation:56",
        "AB10",
        "ab10",
    ],
)
def test_an_id_is_known_in_every_form_that_goes_round(compiled, concept, form):
    index = compiled(
        hpo=[concept("HP:0000012", "same")],
        radlex=[concept("RID34", "same")],
        icd11=[
            concept(
                "http://id.who.int/icd/release/11/mms/56",
                "same",
                code="AB10",
                alt_ids=("http://id.who.int/icd/entity/56",),
            )
        ],
    )
    assert index.concept(form).label == "same"


def test_mappings_name_concepts_by_their_own_ids(compiled, concept):
    mms = "http://id.who.int/icd/release/11/mms/56"
    index = compiled(
        hpo=[concept("HP:0000012", "a")],
        icd11=[concept(mms, "b", alt_ids=("http://id.who.int/icd/entity/56",))],
        sssom=[
            ("MONDO:1", "skos:exactMatch", "icd11.foundation:56"),
            ("MONDO:1", "skos:exactMatch", "HP:0000012"),
            ("MONDO:2", "skos:broadMatch", "icd11.foundation:56"),
        ],
    )
    assert [(entry.subject, entry.predicate) for entry in index.mapped(mms)] == [
        ("MONDO:2", "skos:broadMatch"),
        ("MONDO:1", "skos:exactMatch"),
    ]
    assert index.equivalents("HP:0000012") == {"HP:0000012", "MONDO:1", mms}
    assert index.holdings[-1].mappings == 3


def test_spellings_hold_labels_and_exact_synonyms_but_no_abbreviation(compiled, concept):
    index = compiled(
        hpo=[
            concept("HP:0000001", "Oedemas of the Sjögren-type", also=("OST", "β-oedema")),
            concept("HP:0000002", "b", also=("wider",), scope=SynonymScope.BROAD),
        ]
    )
    assert index.spellings("HP:0000001") == {"edema of the sjogren type", "beta edema"}
    assert index.spellings("HP:0000002") == {"b"}


def test_the_digest_tells_editions_apart_and_nothing_else(tmp_path, ontology, concept):
    def digest(name, **values):
        path = tmp_path / name
        compile_index(path, [ontology("hpo", [concept("HP:0000001", "a")], **values)])
        with OntologyIndex(path) as index:
            return index.digest

    assert digest("a") == digest("b")
    assert digest("a") != digest("b", version="2")
    assert digest("a") != digest("b", sha256="1" * 64)


def test_two_files_of_one_ontology_are_refused(tmp_path, ontology, concept):
    twice = [ontology("hpo", [concept("HP:0000001", "a")])] * 2
    with pytest.raises(WorkspaceError, match="holds a file of hpo already"):
        compile_index(tmp_path / "index", twice)


def test_an_index_appears_whole_or_not_at_all(tmp_path, ontology, concept):
    path = tmp_path / "index"
    compile_index(path, [ontology("hpo", [concept("HP:0000001", "a")])])
    before = path.read_bytes()

    def broken():
        yield ontology("hpo", [concept("HP:0000001", "b")])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compile_index(path, broken())
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


def test_reading_leaves_nothing_beside_the_file_whatever_its_name(tmp_path, ontology, concept):
    path = tmp_path / "a b?c#d%41.sqlite3"
    compile_index(path, [ontology("hpo", [concept("HP:0000001", "a")])])
    path.chmod(0o444)
    with OntologyIndex(path) as index:
        assert index.resolve("HP:0000001") == "HP:0000001"
        assert [file.name for file in tmp_path.iterdir()] == [path.name]


class TestRebuild:
    @pytest.fixture
    def named(self, tmp_path):
        named = [
            OntologyInput(ontology="hpo", path=tmp_path / "hp.obo"),
            OntologyInput(ontology="sssom", path=tmp_path / "map.tsv"),
        ]
        for file in named:
            file.path.write_text(file.ontology)
        return named

    @pytest.fixture
    def index(self, tmp_path, ontology, concept, named):
        hpo, table = (file.path for file in named)
        path = tmp_path / "index"
        compile_index(
            path,
            [
                ontology("hpo", [concept("HP:0000001", "a")], file=hpo.name, sha256=sha256_of(hpo)),
                ontology("sssom", file=table.name, sha256=sha256_of(table)),
            ],
        )
        return path

    def test_equal_files_need_none(self, index, named):
        assert up_to_date(index, named)

    def test_a_missing_index_does(self, tmp_path, named):
        assert not up_to_date(tmp_path / "other", named)

    def test_a_changed_renamed_or_missing_file_does(self, index, named, tmp_path):
        assert not up_to_date(index, named[:1])
        renamed = named[0].path.rename(tmp_path / "hp2.obo")
        assert not up_to_date(index, [OntologyInput(ontology="hpo", path=renamed), named[1]])
        renamed.rename(named[0].path).write_text("changed")
        assert not up_to_date(index, named)

    def test_another_stated_version_does(self, index, named):
        hpo = named[0].path
        assert up_to_date(index, [OntologyInput(ontology="hpo", path=hpo, version="1"), named[1]])
        assert not up_to_date(
            index, [OntologyInput(ontology="hpo", path=hpo, version="2"), named[1]]
        )

    def test_another_reader_or_schema_does(self, index, named, monkeypatch):
        monkeypatch.setattr("medrcube.ontologies.index.compile.epoch", lambda: "another")
        assert not up_to_date(index, named)
        monkeypatch.undo()
        _set(index, f"PRAGMA user_version = {SCHEMA + 1}")
        assert not up_to_date(index, named)

    def test_what_is_no_index_is_never_replaced(self, tmp_path, named, ontology):
        mine = tmp_path / "thesis.sqlite3"
        mine.write_text("not yours")
        with pytest.raises(NoIndexError, match="is not an ontology index"):
            up_to_date(mine, named)
        with pytest.raises(NoIndexError, match="is not an ontology index"):
            compile_index(mine, [ontology("hpo")])
        assert mine.read_text() == "not yours"

    def test_a_damaged_index_is_replaced(self, index, named, ontology):
        index.write_bytes(index.read_bytes()[:-5000])
        assert not up_to_date(index, named)
        compile_index(index, [ontology("hpo")])
        OntologyIndex(index).close()


class TestWrongFile:
    @pytest.fixture
    def path(self, compiled, concept):
        index = compiled(
            hpo=[concept(f"HP:{n:07}", f"name {n}", "HP:0000001") for n in range(1, 300)]
        )
        index.close()
        return index.path

    def test_a_missing_file_names_the_command(self, tmp_path):
        with pytest.raises(IndexFileError, match=r"no ontology index.*medrcube ontologies index"):
            OntologyIndex(tmp_path / "none")

    @pytest.mark.parametrize("content", [b"", b"id,label\n" * 100, b"SQLite format 3\0"])
    def test_another_file_is_named_as_such(self, tmp_path, content):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(NoIndexError, match="is not an ontology index"):
            OntologyIndex(tmp_path / "x")

    def test_another_database_is_named_as_such(self, tmp_path):
        _set(tmp_path / "x", "CREATE TABLE concept (key)")
        with pytest.raises(NoIndexError, match="is not an ontology index"):
            OntologyIndex(tmp_path / "x")

    def test_a_folder_is_an_error(self, tmp_path):
        with pytest.raises(IndexFileError, match="cannot be read"):
            OntologyIndex(tmp_path)

    def test_an_older_schema_is_named(self, path):
        _set(path, "PRAGMA user_version = 0")
        with pytest.raises(IndexFileError, match=f"schema 0, expected {SCHEMA}; make it again"):
            OntologyIndex(path)

    def test_a_shortened_file_is_damaged(self, path):
        path.write_bytes(path.read_bytes()[:-4096])
        with pytest.raises(IndexFileError, match=r"damaged .*delete it and make it again"):
            OntologyIndex(path)

    def test_a_destroyed_head_is_damaged(self, path):
        data = bytearray(path.read_bytes())
        data[100:4096] = b"\xff" * 3996
        path.write_bytes(data)
        with pytest.raises(IndexFileError, match="damaged"):
            OntologyIndex(path)

    def test_damage_inside_is_met_by_the_query(self, path):
        data = bytearray(path.read_bytes())
        data[8192:] = b"\xff" * (len(data) - 8192)
        path.write_bytes(data)
        with pytest.raises(IndexFileError, match="damaged"), OntologyIndex(path) as index:
            index.concept("HP:0000007")


def test_every_module_that_makes_an_index_counts_in_its_version():
    folder = Path(str(files("medrcube.ontologies")))
    for glob in EPOCH_MODULES:
        assert list(folder.glob(glob)), glob


def test_an_index_says_what_it_is(tree):
    assert tree.path.read_bytes()[68:72] == APPLICATION.to_bytes(4, "big")


def _set(path, statement):
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()

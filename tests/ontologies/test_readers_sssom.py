import pytest

from medrcube.ontologies.concept_records import ConceptMapping, OntologyError
from medrcube.ontologies.readers import open_ontology

HEADER = """\
# curie_map:
#   icd11.foundation: http://id.who.int/icd/entity/
#   RADLEX: http://www.radlex.org/RID/
# license: https://creativecommons.org/publicdomain/zero/1.0/
# mapping_set_version: http://example.org/releases/2031-02-03/x.sssom.tsv
"""
COLUMNS = "object_id\tpredicate_modifier\tsubject_id\tpredicate_id\n"
ROW = "icd11.foundation:777\t\tXY:1\tskos:exactMatch\n"


@pytest.fixture
def read_text(tmp_path):
    """Write a mapping table and read it."""

    def make(text, name="x.sssom.tsv"):
        path = tmp_path / name
        path.write_text(text)
        return open_ontology(path, "sssom")

    return make


def test_ids_are_those_that_concepts_carry(read_text):
    rows = ROW + "RADLEX:RID9901\t\tHP:9900001\tskos:broadMatch\n"
    assert read_text(HEADER + COLUMNS + rows).mappings == (
        ConceptMapping(
            subject="XY:1",
            predicate="skos:exactMatch",
            object="http://id.who.int/icd/entity/777",
        ),
        ConceptMapping(subject="HP:9900001", predicate="skos:broadMatch", object="RID9901"),
    )


def test_a_row_that_denies_a_match_is_left_out_and_remarked(read_text):
    denied = "XY:9\tNot\tXY:8\tskos:exactMatch\n"
    ontology = read_text(HEADER + COLUMNS + ROW + denied)
    assert [mapping.subject for mapping in ontology.mappings] == ["XY:1"]
    assert ontology.edition.remarks == ("1 rows say that two ids do not match and are left out.",)


def test_a_row_without_an_id_is_left_out_and_remarked(read_text):
    ontology = read_text(HEADER + COLUMNS + ROW + "\t\tXY:8\tskos:exactMatch\nshort\n")
    assert len(ontology.mappings) == 1
    assert ontology.edition.remarks == ("2 rows lack an id or the predicate and are left out.",)


def test_version_and_licence_are_those_of_the_header(read_text):
    edition = read_text(HEADER + COLUMNS + ROW).edition
    assert (edition.version, edition.licence) == ("2031-02-03", "CC0-1.0")


def test_a_table_without_a_header_says_what_it_does_not_know(read_text):
    edition = read_text(COLUMNS + ROW).edition
    assert (edition.version, edition.licence) == ("unknown", "unknown")
    assert any("no licence" in remark for remark in edition.remarks)


def test_a_table_without_mappings_is_refused(read_text):
    with pytest.raises(OntologyError, match="holds no mapping"):
        read_text(HEADER + COLUMNS)


def test_a_table_without_a_needed_column_names_it(tmp_path, read_text):
    with pytest.raises(OntologyError, match="has no column object_id"):
        read_text("# mapping_set_id: x\n" + "# " + "x" * 70_000 + "\nsubject_id\tpredicate_id\n")


@pytest.mark.real
def test_the_real_table_holds_what_was_counted(real_ontologies):
    name = "mondo_exactmatch_icd11_foundation_2026-08-04.sssom.tsv.gz"
    ontology = open_ontology(real_ontologies / name)
    assert len(ontology.mappings) == 4_633
    assert {mapping.predicate for mapping in ontology.mappings} == {"skos:exactMatch"}
    start = "http://id.who.int/icd/entity/"
    assert all(mapping.object.startswith(start) for mapping in ontology.mappings)
    assert (ontology.edition.version, ontology.edition.licence) == ("2026-08-04", "CC0-1.0")

"""Terms here are invented; ids in the HP:99... range belong to nobody."""

import gzip

import pytest

from medrcube.ontologies.concept_records import Edge, OntologyError, Synonym, SynonymScope
from medrcube.ontologies.readers import open_ontology
from medrcube.ontologies.readers.hpo_obo import read

HEADER = """\
format-version: 1.2
data-version: hp/releases/2031-02-03
synonymtypedef: layperson "layperson term"
ontology: hp.obo
"""
BODY = """\

[Term]
id: HP:9900001
name: Gloop

[Term]
id: HP:9900002
name: Purple gloop
alt_id: HP:9900010
alt_id: HP:9900009
synonym: "Gloop said \\"purple\\"" EXACT []
synonym: "Mauve" BROAD layperson []
synonym: "Lilac gloop" NARROW []
synonym: "Violet" RELATED []
is_a: HP:9900001 ! Gloop
is_a: HP:9900003 {source="x"} ! Sticky gloop

[Term]
id: HP:9900003
name: Sticky gloop
is_a: HP:9900001 ! Gloop

[Term]
id: HP:9900004
name: obsolete Gluup
is_obsolete: true
replaced_by: HP:9900002

[Term]
id: HP:9900005
name: obsolete Gloap
is_obsolete: true
consider: HP:9900002
consider: HP:9900003

[Typedef]
id: part_of
name: part of
"""


@pytest.fixture
def obo(tmp_path):
    """Write an OBO file and read it: ``obo(text)``."""

    def make(text, name="hp.obo"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read(path)

    return make


def by_id(ontology):
    return {concept.id: concept for concept in ontology.concepts}


def test_an_escaped_quote_is_a_quote(obo):
    term = by_id(obo(HEADER + BODY))["HP:9900002"]
    assert 'Gloop said "purple"' in {synonym.text for synonym in term.synonyms}


def test_a_comment_after_a_parent_is_no_part_of_its_id(obo):
    term = by_id(obo(HEADER + BODY))["HP:9900002"]
    assert term.edges == (Edge(target="HP:9900001"), Edge(target="HP:9900003"))


def test_synonyms_keep_scope_and_type(obo):
    term = by_id(obo(HEADER + BODY))["HP:9900002"]
    assert Synonym(text="Mauve", scope=SynonymScope.BROAD, type="layperson") in term.synonyms
    assert {synonym.scope for synonym in term.synonyms} == set(SynonymScope)


def test_ids_that_were_merged_are_kept(obo):
    assert by_id(obo(HEADER + BODY))["HP:9900002"].alt_ids == ("HP:9900009", "HP:9900010")


def test_a_replacement_is_no_suggestion_and_a_suggestion_no_replacement(obo):
    terms = by_id(obo(HEADER + BODY))
    assert terms["HP:9900004"].replaced_by == ("HP:9900002",)
    assert terms["HP:9900004"].consider == ()
    assert terms["HP:9900005"].replaced_by == ()
    assert terms["HP:9900005"].consider == ("HP:9900002", "HP:9900003")
    assert terms["HP:9900004"].obsolete
    assert not terms["HP:9900002"].obsolete


def test_a_parent_without_a_frame_is_kept_as_a_nameless_stub(obo):
    orphan = "\n[Term]\nid: HP:9900006\nname: Orphan\nis_a: HP:9977777 ! gone\n"
    ontology = obo(HEADER + BODY + orphan)
    stub = by_id(ontology)["HP:9977777"]
    assert stub.label == stub.id
    assert not stub.presentable
    assert by_id(ontology)["HP:9900006"].edges == (Edge(target="HP:9977777"),)
    (remark,) = ontology.edition.remarks
    assert "HP:9977777 (of HP:9900006)" in remark


def test_a_synonym_type_that_no_header_declares_is_read_and_remarked(obo):
    typed = '\n[Term]\nid: HP:9900006\nname: Blob\nsynonym: "Blub" EXACT novel_type []\n'
    ontology = obo(HEADER + BODY + typed)
    assert by_id(ontology)["HP:9900006"].synonyms == (Synonym(text="Blub", type="novel_type"),)
    assert any("novel_type" in remark for remark in ontology.edition.remarks)


def test_a_relation_that_no_frame_declares_is_an_edge(obo):
    related = "\n[Term]\nid: HP:9900006\nname: Blob\nrelationship: sits_on HP:9900001 ! Gloop\n"
    edges = by_id(obo(HEADER + BODY + related))["HP:9900006"].edges
    assert edges == (Edge(target="HP:9900001", relation="sits_on"),)


def test_what_pronto_warns_of_becomes_a_remark(obo):
    dated = "\n[Term]\nid: HP:9900006\nname: Blob\ncreation_date: 2010-01-01\n"
    assert any("creation date" in remark for remark in obo(HEADER + BODY + dated).edition.remarks)


def test_terms_of_other_ontologies_are_left_out_and_remarked(obo):
    foreign = "\n[Term]\nid: XY:1\nname: Foreign\n"
    ontology = obo(HEADER + BODY + foreign)
    assert "XY:1" not in by_id(ontology)
    assert any("1 of XY" in remark for remark in ontology.edition.remarks)


def test_an_obo_file_of_another_ontology_is_refused(obo):
    with pytest.raises(OntologyError, match=r"none with an id HP:.*expected the Human Phenotype"):
        obo("format-version: 1.2\n\n[Term]\nid: XY:1\nname: Foreign\n")


def test_imports_are_not_followed(obo):
    imported = HEADER + "import: http://127.0.0.1:9/nowhere.obo\n" + BODY
    assert len(by_id(obo(imported))) == 5


def test_letters_beyond_ascii_are_read_as_utf_8(obo):
    named = "\n[Term]\nid: HP:9900006\nname: Köhler-Gloop œdème\n"
    ontology = obo(HEADER + BODY + named)
    assert by_id(ontology)["HP:9900006"].label == "Köhler-Gloop œdème"
    assert ontology.edition.remarks == ()


def test_a_header_that_does_not_begin_with_the_format_version_is_read(tmp_path):
    path = tmp_path / "x"
    path.write_text("ontology: hp\n" + HEADER.replace("ontology: hp.obo\n", "") + BODY)
    assert len(open_ontology(path).concepts) == 5


def test_a_file_without_a_format_version_is_read(tmp_path):
    path = tmp_path / "x"
    path.write_text(BODY)
    assert len(open_ontology(path).concepts) == 5


def test_the_statement_names_the_version_of_the_header(obo):
    edition = obo(HEADER + BODY).edition
    assert edition.version == "2031-02-03"
    assert edition.statement == (
        "This service/product uses the Human Phenotype Ontology (version 2031-02-03). "
        "Find out more at http://www.human-phenotype-ontology.org"
    )


def test_without_a_data_version_the_version_info_counts(obo):
    header = HEADER.replace(
        "data-version: hp/releases/2031-02-03",
        'property_value: owl:versionInfo "2030-01-02" xsd:string',
    )
    assert obo(header + BODY).edition.version == "2030-01-02"


def test_a_version_that_nothing_states_is_unknown_and_asked_for(obo):
    edition = obo(BODY).edition
    assert edition.version == "unknown"
    assert any("pass the version" in remark for remark in edition.remarks)


def test_a_broken_line_is_named_with_its_number(obo):
    undeclared = HEADER.replace('synonymtypedef: layperson "layperson term"\n', "")
    broken = undeclared + BODY
    broken += '\n[Term]\nid: HP:9900006\nsynonym: "open EXACT []\n'
    line = broken.count("\n")
    with pytest.raises(OntologyError, match=rf"line {line} is not OBO .*open EXACT"):
        obo(broken)


def test_the_same_file_is_read_the_same_twice(obo):
    assert obo(HEADER + BODY) == obo(HEADER + BODY)


@pytest.mark.real
def test_the_real_file_holds_what_was_counted(real_ontologies):
    ontology = open_ontology(real_ontologies / "hp_2025-01-16.obo.gz", "hpo")
    concepts = ontology.concepts
    assert ontology.edition.version == "2025-01-16"
    assert ontology.edition.remarks == ()
    assert len(concepts) == 19_484
    assert sum(concept.obsolete for concept in concepts) == 450
    assert sum(len(concept.synonyms) for concept in concepts) == 23_519
    assert sum(len(concept.edges) for concept in concepts) == 23_392
    assert sum(len(concept.alt_ids) for concept in concepts) == 3_832
    assert sum(len(concept.replaced_by) for concept in concepts) == 357
    assert sum(len(concept.consider) for concept in concepts) == 82
    assert all(concept.presentable for concept in concepts)
    assert {"HP:6000012", "HP:4000042"} <= {concept.id for concept in concepts}


@pytest.mark.real
def test_pronto_agrees_with_the_lines_of_the_real_file(real_ontologies):
    path = real_ontologies / "hp_2025-01-16.obo.gz"
    names, term = {}, ""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            tag, _, value = line.rstrip("\n").partition(": ")
            if tag == "id":
                term = value
            elif tag == "name" and term.startswith("HP:"):
                names[term] = value
    assert {concept.id: concept.label for concept in read(path).concepts} == names

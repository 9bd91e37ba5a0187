"""Classes here are invented; RID99... belongs to nobody."""

import gzip

import pytest

from medrcube.ontologies.concept_records import Edge, OntologyError, Synonym
from medrcube.ontologies.readers import open_ontology, radlex_table

RDF = """\
<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [
  <!ENTITY owl "http://www.w3.org/2002/07/owl#">
]>
<rdf:RDF xmlns="http://www.radlex.org/RID/" xml:base="http://www.radlex.org/RID/"
  xmlns:RID="http://www.radlex.org/RID/" xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
<owl:Ontology rdf:about="http://www.radlex.org/RID/">
  <owl:versionInfo>9.9</owl:versionInfo>
</owl:Ontology>
%s
</rdf:RDF>
"""


def owl_class(rid, body, namespace="http://www.radlex.org/RID/"):
    return f'<owl:Class rdf:about="{namespace}{rid}">{body}</owl:Class>\n'


def label(text, language="en"):
    return f'<rdfs:label xml:lang="{language}">{text}</rdfs:label>'


def below(rid):
    return f'<rdfs:subClassOf rdf:resource="http://www.radlex.org/RID/{rid}"/>'


@pytest.fixture
def rdf(tmp_path):
    """Write classes as RDF/XML and read them: ``rdf(body)``."""

    def make(body):
        path = tmp_path / "RadLex.owl"
        path.write_text(RDF % body)
        return open_ontology(path, "radlex")

    return make


@pytest.fixture
def table(tmp_path):
    """Write a table and read it: ``table(text, name)``."""

    def make(text, name="radlex.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return open_ontology(path, "radlex")

    return make


def by_id(ontology):
    return {concept.id: concept for concept in ontology.concepts}


@pytest.mark.parametrize(
    "namespace",
    ["http://www.radlex.org/RID/", "http://www.radlex.org/RID/#", "http://radlex.org/RID/"],
)
def test_the_id_is_found_in_every_form_of_the_iri(rdf, namespace):
    assert by_id(rdf(owl_class("RID9901", label("bloop"), namespace))) == {
        "RID9901": rdf(owl_class("RID9901", label("bloop"))).concepts[0]
    }


def test_annotations_away_from_their_class_are_found(rdf):
    split = (
        '<rdf:Description rdf:about="http://www.radlex.org/RID/RID9901">'
        + label("bloop")
        + '<RID:Synonym xml:lang="en">bleep</RID:Synonym></rdf:Description>'
    )
    concepts = by_id(rdf(split + owl_class("RID9901", below("RID9902")) + owl_class("RID9902", "")))
    assert concepts["RID9901"].label == "bloop"
    assert concepts["RID9901"].synonyms == (Synonym(text="bleep"),)
    assert concepts["RID9901"].edges == (Edge(target="RID9902"),)


def test_only_english_texts_are_read(rdf):
    body = label("Blupp", "de") + label("bloop") + '<RID:Synonym xml:lang="de">X</RID:Synonym>'
    (concept,) = rdf(owl_class("RID9901", body)).concepts
    assert (concept.label, concept.synonyms) == ("bloop", ())


def test_a_class_with_a_german_label_alone_has_no_name(rdf):
    ontology = rdf(owl_class("RID9901", label("Blupp", "de")))
    assert not ontology.concepts[0].presentable
    assert any("no English name: RID9901" in remark for remark in ontology.edition.remarks)


def test_a_label_that_says_english_goes_before_one_without_a_language(rdf):
    body = "<rdfs:label>aaa</rdfs:label>" + label("bloop")
    (concept,) = rdf(owl_class("RID9901", body)).concepts
    assert (concept.label, concept.synonyms) == ("bloop", (Synonym(text="aaa"),))


def test_the_preferred_name_stands_in_where_the_label_is_the_rid(rdf):
    body = label("RID9901") + "<RID:Preferred_name>bloop</RID:Preferred_name>"
    (concept,) = rdf(owl_class("RID9901", body)).concepts
    assert (concept.label, concept.synonyms) == ("bloop", ())


def test_an_acronym_is_marked_as_an_abbreviation(rdf):
    (concept,) = rdf(
        owl_class("RID9901", label("bloop") + "<RID:Acronym>BL</RID:Acronym>")
    ).concepts
    assert concept.synonyms == (Synonym(text="BL", type="abbreviation"),)


def test_a_withdrawn_class_names_its_replacement(rdf):
    body = (
        label("RID9901")
        + "<RID:Preferred_Name_for_Obsolete>old bloop</RID:Preferred_Name_for_Obsolete>"
        + '<RID:Replaced_by rdf:resource="http://www.radlex.org/RID/RID9902"/>'
    )
    concept = by_id(rdf(owl_class("RID9901", body) + owl_class("RID9902", label("bloop"))))[
        "RID9901"
    ]
    assert concept.obsolete
    assert concept.label == "old bloop"
    assert concept.replaced_by == ("RID9902",)
    assert concept.edges == ()


def test_a_replacement_without_an_entry_is_remarked(rdf):
    body = label("old bloop") + "<RID:Replaced_by>RID9977</RID:Replaced_by>"
    ontology = rdf(owl_class("RID9901", body))
    assert ontology.concepts[0].replaced_by == ("RID9977",)
    assert any("RID9977 (for RID9901)" in remark for remark in ontology.edition.remarks)


def test_restrictions_are_edges_with_the_name_of_the_property(rdf):
    restriction = (
        "<rdfs:subClassOf><owl:Restriction>"
        '<owl:onProperty rdf:resource="http://www.radlex.org/RID/Part_Of"/>'
        '<owl:someValuesFrom rdf:resource="http://www.radlex.org/RID/RID9902"/>'
        "</owl:Restriction></rdfs:subClassOf>"
    )
    body = label("bloop") + restriction + below("RID9903")
    concepts = by_id(
        rdf(owl_class("RID9901", body) + owl_class("RID9902", "") + owl_class("RID9903", ""))
    )
    assert concepts["RID9901"].edges == (
        Edge(target="RID9903"),
        Edge(target="RID9902", relation="Part_Of"),
    )


def test_is_a_repeats_a_parent_and_plain_relations_are_edges(rdf):
    body = (
        label("bloop")
        + below("RID9902")
        + '<RID:Is_A rdf:resource="http://www.radlex.org/RID/RID9902"/>'
        + '<RID:Branch_Of rdf:resource="http://www.radlex.org/RID/RID9902"/>'
    )
    concept = by_id(rdf(owl_class("RID9901", body) + owl_class("RID9902", "")))["RID9901"]
    assert set(concept.edges) == {
        Edge(target="RID9902"),
        Edge(target="RID9902", relation="Branch_Of"),
    }


def test_a_parent_that_does_not_exist_is_kept_as_a_nameless_stub(rdf):
    ontology = rdf(owl_class("RID9901", label("bloop") + below("RID9977")))
    assert not by_id(ontology)["RID9977"].presentable
    assert any("RID9977 (of RID9901)" in remark for remark in ontology.edition.remarks)


def test_definitions_are_not_read(rdf):
    ontology = rdf(owl_class("RID9901", label("bloop") + "<RID:Definition>secret</RID:Definition>"))
    assert "secret" not in repr(ontology)


def test_the_version_and_the_terms_are_those_of_the_file(rdf):
    edition = rdf(owl_class("RID9901", label("bloop"))).edition
    assert edition.version == "9.9"
    assert "Radiological Society of North America" in edition.statement
    assert '"AS IS"' in edition.statement


def test_rdf_of_another_ontology_is_refused(rdf):
    with pytest.raises(OntologyError, match=r"no class with a RadLex id.*HPO is accepted as OBO"):
        rdf('<owl:Class rdf:about="http://example.org/HP_1"/>')


def test_rdf_is_read_the_same_twice(rdf):
    body = "".join(
        owl_class(f"RID99{n}", label(f"b{n}") + "".join(below(f"RID99{k}") for k in range(9)))
        for n in range(9)
    )
    assert rdf(body) == rdf(body)


ROWS = "bloop,RID9901,RID9900\nbleep,RID9902,RID9901\n"


def test_a_table_is_read_with_and_without_a_header_line(table):
    plain, headed = table(ROWS), table("Parent_RID,RID,Term\nRID9900,RID9901,bloop\n")
    assert by_id(plain)["RID9901"] == by_id(headed)["RID9901"]
    assert by_id(plain)["RID9902"].edges == (Edge(target="RID9901"),)
    assert len(plain.concepts) == 3


def test_a_parent_that_the_table_lacks_is_kept_as_a_nameless_stub(table):
    ontology = table(ROWS)
    assert not by_id(ontology)["RID9900"].presentable
    assert any("RID9900 (of RID9901)" in remark for remark in ontology.edition.remarks)


def test_a_term_under_two_rids_stays_two_concepts_and_is_remarked(table):
    ontology = table(ROWS + "bloop,RID9903,RID9901\n")
    assert by_id(ontology)["RID9903"].label == by_id(ontology)["RID9901"].label == "bloop"
    assert any("RID9901/RID9903" in remark for remark in ontology.edition.remarks)


def test_a_rid_under_two_parents_is_one_concept(table):
    ontology = table(ROWS + "bloup,RID9902,RID9900\n")
    assert by_id(ontology)["RID9902"].edges == (Edge(target="RID9901"), Edge(target="RID9900"))
    assert by_id(ontology)["RID9902"].synonyms == (Synonym(text="bloup"),)


@pytest.mark.parametrize("name", ["bl\N{REPLACEMENT CHARACTER}p", "1 o?clock bloop", "?20mm"])
def test_a_label_with_a_lost_character_is_never_shown(table, name):
    ontology = table(ROWS + f"{name},RID9903,RID9901\n")
    assert not by_id(ontology)["RID9903"].presentable
    assert any("broken character" in remark for remark in ontology.edition.remarks)


def test_a_table_in_windows_1252_is_read_and_remarked(table):
    ontology = table(
        (ROWS + "blöp 1 o\N{RIGHT SINGLE QUOTATION MARK}clock,RID9903,RID9901\n").encode("cp1252")
    )
    assert by_id(ontology)["RID9903"].label == "blöp 1 o\N{RIGHT SINGLE QUOTATION MARK}clock"
    assert any("Windows-1252" in remark for remark in ontology.edition.remarks)


def test_rows_that_hold_no_rid_are_left_out_and_named(table):
    ontology = table(ROWS + "bloop,none,RID9901\nshort\n,RID9904,RID9901\n")
    assert len(by_id(ontology)) == 3
    assert any(remark.startswith("3 rows") for remark in ontology.edition.remarks)


def test_everything_below_the_obsolete_branch_is_withdrawn(table):
    rows = "gone,RID9903,RID15849\nlong gone,RID9904,RID9903\n"
    ontology = table(ROWS + "Obsolete Radlex Term,RID15849,RID0\n" + rows)
    withdrawn = {concept.id for concept in ontology.concepts if concept.obsolete}
    assert withdrawn == {"RID15849", "RID9903", "RID9904"}


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("radlex_2017-01_term.csv", "2017-01"),
        ("RadLex-4.3.csv", "4.3"),
        ("radlex_2014.csv", "2014"),
        ("radlex.csv", "unknown"),
    ],
)
def test_a_table_takes_its_version_from_its_name_and_says_so(table, name, version):
    edition = table(ROWS, name).edition
    assert edition.version == version
    assert edition.remarks[-1].startswith("The file states no version")


def test_a_version_that_the_user_gives_needs_no_remark(tmp_path):
    path = tmp_path / "radlex_2017-01.csv"
    path.write_text(ROWS)
    edition = open_ontology(path, version="3.15").edition
    assert edition.version == "3.15"
    assert not any("version" in remark for remark in edition.remarks)


def test_a_header_without_a_term_column_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Word,RID,Parent_RID\nbloop,RID1,RID0\n")
    with pytest.raises(OntologyError, match="no column is named term"):
        radlex_table.read(path)


BIOPORTAL = (
    "Class ID,Preferred Label,Synonyms,Definitions,Obsolete,CUI,Semantic Types,Parents,"
    "http://www.radlex.org/RID/Acronym,http://www.radlex.org/RID/Part_Of,"
    "http://www.radlex.org/RID/Preferred_Name_for_Obsolete,http://www.radlex.org/RID/Replaced_by,"
    "http://www.radlex.org/RID/FMAID\n"
)
IRI = "http://www.radlex.org/RID/RID99"
CLASS = f"{IRI}01,bloop,bleep|blip,secret,false,,,{IRI}02|{IRI}03,BL,{IRI}02|{IRI}04,,,7\n"
OTHERS = "".join(f"{IRI}0{n},b{n},,,false,,,,,,,,\n" for n in (2, 3, 4))
WITHDRAWN = f"{IRI}05,RID9905,,,true,,,,,,old bloop,{IRI}01,\n"


def test_lists_of_bioportal_are_parted(table):
    concept = by_id(table(BIOPORTAL + CLASS + OTHERS))["RID9901"]
    assert [synonym.text for synonym in concept.synonyms] == ["bleep", "blip", "BL"]
    assert set(concept.edges) == {
        Edge(target="RID9902"),
        Edge(target="RID9903"),
        Edge(target="RID9902", relation="Part_Of"),
        Edge(target="RID9904", relation="Part_Of"),
    }


def test_a_withdrawn_class_of_bioportal_has_its_name_and_replacement(table):
    concept = by_id(table(BIOPORTAL + CLASS + OTHERS + WITHDRAWN))["RID9905"]
    assert concept.obsolete
    assert (concept.label, concept.replaced_by, concept.synonyms) == ("old bloop", ("RID9901",), ())
    assert concept.edges == ()


def test_bioportal_of_another_ontology_is_refused(table):
    with pytest.raises(OntologyError, match="no class with a RadLex id"):
        table(BIOPORTAL + "http://example.org/HP_1,x,,,false,,,,,,,,\n")


@pytest.mark.real
def test_the_real_table_holds_what_was_counted(real_ontologies):
    path = real_ontologies / "radlex_2017-01_term_rid_parent.csv.gz"
    ontology = open_ontology(path, "radlex")
    stubs = [concept for concept in ontology.concepts if concept.label == concept.id]
    assert len(ontology.concepts) - len(stubs) == 45_468
    assert len(stubs) == 44
    assert sum(not concept.presentable for concept in ontology.concepts) == 44 + 2 + 13
    labels = [concept.label for concept in ontology.concepts]
    blank_at_the_end = 3
    assert len(labels) - len(set(labels)) == 25 + blank_at_the_end
    assert ontology.edition.version == "2017-01"


@pytest.mark.real
def test_the_real_table_of_2014_loses_no_character(real_ontologies):
    path = real_ontologies / "radlex_2014_term_rid_parent.csv.gz"
    ontology = open_ontology(path, "radlex")
    named = [concept for concept in ontology.concepts if concept.label != concept.id]
    assert all(concept.presentable for concept in named)
    assert len(named) == 41_575
    assert by_id(ontology)["RID29058"].label == "Ahlbäck disease"


@pytest.mark.real
def test_the_real_rdf_agrees_with_the_table_that_it_was_made_of(real_ontologies):
    owl = by_id(open_ontology(real_ontologies / "radlex_2017_converted.owl.gz", "radlex"))
    rows = by_id(open_ontology(real_ontologies / "radlex_2017-01_term_rid_parent.csv.gz"))
    named = [concept for concept in rows.values() if concept.label != concept.id]
    assert all(owl[concept.id] == concept for concept in named)
    with gzip.open(real_ontologies / "radlex_2017_converted.owl.gz", "rt") as file:
        assert sum("<owl:Class rdf:about" in line for line in file) == 45_504


@pytest.mark.real
def test_every_oddity_of_the_layout_sample_is_survived(real_ontologies):
    ontology = open_ontology(real_ontologies / "radlex_4.3_layout_sample.owl", "radlex")
    concepts = by_id(ontology)
    assert sum(concept.presentable for concept in concepts.values()) == 115
    assert concepts["RID28493"].label == "atelectasis"
    assert concepts["RID28493"].edges == (Edge(target="RID28506"),)
    assert len(concepts["RID28493"].synonyms) == 1
    assert (concepts["RID10012"].label, concepts["RID10012"].synonyms) == (
        "palatine aponeurosis",
        (),
    )
    assert concepts["RID5598"].replaced_by == ("RID50361",)
    assert concepts["RID5598"].obsolete
    assert not concepts["RID48963"].presentable
    relations = {edge.relation for concept in concepts.values() for edge in concept.edges}
    assert relations == {"is_a", "Part_Of", "Anatomical_Site", "May_Cause"}

"""Entities here are invented; no title of ICD-11 stands in this file."""

import json

import pytest

from medrcube.ontologies.concept_records import Edge, OntologyError, Synonym, SynonymScope
from medrcube.ontologies.readers import open_ontology

ENTITY = "http://id.who.int/icd/entity/"
MMS = "http://id.who.int/icd/release/11/mms/"
COLUMNS = (
    "Foundation URI,Linearization URI,Code,BlockId,Title,ClassKind,DepthInKind,IsResidual,ChapterNo"
)
VERSION = "Version:2031 Feb 03 - 22:30 UTC"


def row(number, code, title, kind="category", *, residual="", chapter="99"):
    uri = f"{MMS}{number}/{residual}" if residual else f"{MMS}{number}"
    foundation = "" if residual else f"{ENTITY}{number}"
    return (foundation, uri, code, "", title, kind, "1", str(bool(residual)), chapter)


ROWS = [
    row(1, "", "Gloops", "chapter"),
    row(2, "", "- Sticky gloops", "block"),
    row(3, "ZG00", "- - Purple gloop"),
    row(3, "ZG00.Z", "- - - Purple gloop, unspecified", residual="unspecified"),
    row(4, "ZG01", "- - Mauve-coloured gloop"),
    row(5, "", "Bleeps", "chapter", chapter="98"),
    row(6, "ZH00", "- Bleep", chapter="98"),
]


def tsv(columns, rows, extra=VERSION):
    header = "\t".join([*columns.split(","), extra] if extra else columns.split(","))
    lines = ("\t".join(f'"{cell}"' if " " in cell else cell for cell in cells) for cells in rows)
    return "\r\n".join([header, *lines, ""]).encode("utf-8-sig")


@pytest.fixture
def read_bytes(tmp_path):
    """Write a file and read it: ``read_bytes(data, name)``."""

    def make(data, name="table.txt"):
        path = tmp_path / name
        path.write_bytes(data)
        return open_ontology(path, "icd11")

    return make


def by_id(ontology):
    return {concept.id.removeprefix(MMS): concept for concept in ontology.concepts}


def parents(ontology):
    return {
        number: [edge.target.removeprefix(MMS) for edge in concept.edges]
        for number, concept in by_id(ontology).items()
    }


HIERARCHY = {
    "1": [],
    "2": ["1"],
    "3": ["2"],
    "3/unspecified": ["3"],
    "4": ["2"],
    "5": [],
    "6": ["5"],
}


def test_the_parent_is_told_by_the_depth_of_the_title(read_bytes):
    assert parents(read_bytes(tsv(COLUMNS, ROWS))) == HIERARCHY


def test_titles_lose_the_marks_of_their_depth_and_no_other_hyphen(read_bytes):
    concepts = by_id(read_bytes(tsv(COLUMNS, ROWS)))
    assert concepts["4"].label == "Mauve-coloured gloop"
    assert concepts["1"].label == "Gloops"


def test_the_header_may_hold_one_name_more_than_the_rows_and_is_the_version(read_bytes):
    ontology = read_bytes(tsv(COLUMNS, ROWS))
    assert ontology.edition.version == "2031 Feb 03 - 22:30 UTC"
    assert ontology.edition.remarks == ()
    assert len(ontology.concepts) == 7


def test_columns_are_found_wherever_they_stand(read_bytes):
    columns = ",".join(reversed(COLUMNS.split(",")))
    moved = tsv(columns, [tuple(reversed(cells)) for cells in ROWS], extra="")
    assert read_bytes(moved, "2031-02.txt").concepts == read_bytes(tsv(COLUMNS, ROWS)).concepts


def test_groups_without_code_have_kind_and_chapter(read_bytes):
    concept = by_id(read_bytes(tsv(COLUMNS, ROWS)))["2"]
    assert (concept.code, concept.kind, concept.chapter) == ("", "block", "99")


def test_the_foundation_uri_is_another_id_of_a_class_but_not_of_a_rest_class(read_bytes):
    rows = [*ROWS, (f"{ENTITY}3", f"{MMS}3/other", *row(3, "ZG00.Y", "- - - Rest")[2:])]
    concepts = by_id(read_bytes(tsv(COLUMNS, rows)))
    assert concepts["3"].alt_ids == (f"{ENTITY}3",)
    assert concepts["3/other"].alt_ids == ()
    assert [number for number, c in concepts.items() if c.residual] == ["3/unspecified", "3/other"]


COLUMNS_2026 = COLUMNS.replace(",Title,", ",Title,TitleEN,CodingNote,Parent,")


def cells_2026(cells, parent, note=""):
    title = cells[4].replace("gloop", "глуп").replace("Gloop", "Глуп")
    return (*cells[:4], title, cells[4].lstrip("- "), note, parent, *cells[5:])


def test_a_parent_column_goes_before_the_depth(read_bytes):
    rows = [
        cells_2026(ROWS[0], "http://id.who.int/icd/release/11/2026-01/mms"),
        cells_2026(ROWS[1], f"{ENTITY}1"),
        cells_2026(ROWS[2], "http://id.who.int/icd/release/11/2026-01/mms/1"),
    ]
    ontology = read_bytes(tsv(COLUMNS_2026, rows))
    assert parents(ontology) == {"1": [], "2": ["1"], "3": ["1"]}


def test_the_english_title_goes_before_the_translated_one(read_bytes):
    rows = [cells_2026(cells, "") for cells in ROWS]
    ontology = read_bytes(tsv(COLUMNS_2026, rows))
    assert by_id(ontology)["3"].label == "Purple gloop"
    assert parents(ontology) == HIERARCHY


def test_a_note_with_line_breaks_does_not_break_the_row(read_bytes):
    rows = [cells_2026(cells, "", note="One line.\r\nAnother: - - line.") for cells in ROWS]
    assert parents(read_bytes(tsv(COLUMNS_2026, rows))) == HIERARCHY


def test_a_parent_that_the_table_lacks_is_replaced_by_the_depth_and_remarked(read_bytes):
    rows = [cells_2026(ROWS[0], ""), cells_2026(ROWS[1], f"{MMS}777")]
    ontology = read_bytes(tsv(COLUMNS_2026, rows))
    assert parents(ontology) == {"1": [], "2": ["1"]}
    assert any(
        "name a parent that the table lacks" in remark for remark in ontology.edition.remarks
    )


def test_the_mini_output_is_read_without_the_second_places_of_an_entity(read_bytes):
    columns = COLUMNS.replace("Linearization URI", "Linearization (release) URI")
    columns = columns.replace("IsResidual", "IsResidual,PrimaryLocation")
    rows = [(*cells[:8], "True", *cells[8:]) for cells in ROWS]
    again = row(6, "ZH00", "- Bleep")
    rows.insert(1, (*again[:8], "False", *again[8:]))
    ontology = read_bytes(tsv(columns, rows))
    assert parents(ontology) == HIERARCHY
    assert any("1 rows repeat an entity" in remark for remark in ontology.edition.remarks)


def test_without_a_version_in_the_header_the_uri_and_then_the_name_tell(read_bytes):
    released = tsv(COLUMNS, ROWS, extra="").replace(b"/11/mms/", b"/11/2031-01/mms/")
    assert read_bytes(released).edition.version == "2031-01"
    assert read_bytes(tsv(COLUMNS, ROWS, ""), "x-2031-05.txt").edition.version == "2031-05"
    unknown = read_bytes(tsv(COLUMNS, ROWS, ""), "x.txt").edition
    assert unknown.version == "unknown"
    assert "pass the version" in unknown.remarks[-1]


def test_a_table_without_its_rows_is_refused(read_bytes):
    with pytest.raises(OntologyError, match="has a header but no row"):
        read_bytes(tsv(COLUMNS, []))


def test_a_table_without_a_needed_column_names_it(read_bytes):
    columns = COLUMNS.replace("ClassKind", "Kind")
    with pytest.raises(OntologyError, match=r"no column for classkind \(columns: Foundation URI"):
        read_bytes(tsv(columns, ROWS))


def test_the_citation_and_the_licence_are_carried(read_bytes):
    edition = read_bytes(tsv(COLUMNS, ROWS)).edition
    assert edition.licence == "CC BY-ND 3.0 IGO"
    assert "World Health Organization (WHO) 2019" in edition.statement


API = "http://id.who.int/icd/release/11/2031-01/mms/"


def text(value, language="en"):
    return {"@language": language, "@value": value}


def entity(number, title, **more):
    return {"@id": f"{API}{number}", "title": text(title), "classKind": "category", **more}


GLOOP = entity(1, "Gloops", classKind="chapter", parent=[API.rstrip("/")])
PURPLE = entity(
    2,
    "Purple gloop",
    code="ZG00",
    source=f"{ENTITY}2",
    parent=[f"{API}1"],
    synonym=[{"label": text("Lilac gloop")}, {"label": text("Lila Glupp", "de")}],
    inclusion=[{"label": text("Violet gloop")}],
    exclusion=[{"label": text("Bleep"), "foundationReference": f"{ENTITY}3"}],
)
BLEEP = entity(3, "Bleep", code="ZH00", parent=[f"{API}1"])
ENTITIES = [GLOOP, PURPLE, BLEEP]
FORMS = {
    "list": json.dumps(ENTITIES, indent=1),
    "lines": "\n".join(json.dumps(entry) for entry in ENTITIES),
    "objects": "\n".join(json.dumps(entry, indent=2) for entry in ENTITIES),
}


def api_by_id(ontology):
    return {concept.id.removeprefix(API): concept for concept in ontology.concepts}


@pytest.mark.parametrize("form", FORMS)
def test_entities_are_read_from_every_form_of_file(read_bytes, form):
    ontology = read_bytes(FORMS[form].encode(), "api.json")
    assert list(api_by_id(ontology)) == ["1", "2", "3"]
    assert ontology.edition.version == "2031-01"
    assert ontology.edition.remarks == ()


def test_entities_are_read_from_a_folder_of_files(tmp_path, read_bytes):
    folder = tmp_path / "entities"
    folder.mkdir()
    for number, entry in enumerate(ENTITIES):
        (folder / f"{number}.json").write_text(json.dumps(entry))
    (folder / "notes.txt").write_text("not an entity")
    ontology = open_ontology(folder, "icd11")
    assert ontology.concepts == read_bytes(FORMS["list"].encode()).concepts
    before = ontology.edition.sha256
    (folder / "0.json").write_text(json.dumps(GLOOP) + " ")
    assert open_ontology(folder).edition.sha256 != before


def test_an_entity_has_title_code_parent_kind_and_foundation(read_bytes):
    concept = api_by_id(read_bytes(FORMS["list"].encode()))["2"]
    assert (concept.label, concept.code, concept.kind) == ("Purple gloop", "ZG00", "category")
    assert concept.alt_ids == (f"{ENTITY}2",)
    assert concept.edges[0] == Edge(target=f"{API}1")


def test_an_exclusion_is_an_edge_to_the_entity_of_this_file(read_bytes):
    concept = api_by_id(read_bytes(FORMS["list"].encode()))["2"]
    assert concept.edges[1:] == (Edge(target=f"{API}3", relation="exclusion"),)


def test_only_english_synonyms_are_read_and_inclusions_are_narrow(read_bytes):
    concept = api_by_id(read_bytes(FORMS["list"].encode()))["2"]
    assert concept.synonyms == (
        Synonym(text="Lilac gloop"),
        Synonym(text="Violet gloop", scope=SynonymScope.NARROW, type="inclusion"),
    )


def test_an_entity_without_an_english_title_has_no_name(read_bytes):
    foreign = {**GLOOP, "title": text("Gluppe", "de")}
    ontology = read_bytes(json.dumps(foreign).encode())
    assert not ontology.concepts[0].presentable
    assert any("no English title" in remark for remark in ontology.edition.remarks)


def test_a_parent_that_was_not_fetched_is_kept_as_a_nameless_stub(read_bytes):
    ontology = read_bytes(json.dumps(BLEEP).encode())
    assert not api_by_id(ontology)["1"].presentable
    assert any("no entry of their own" in remark for remark in ontology.edition.remarks)


def test_foundation_entities_keep_all_their_parents(read_bytes):
    both = [{"@id": f"{ENTITY}{n}", "title": text(f"T{n}")} for n in (1, 2)]
    child = {"@id": f"{ENTITY}3", "title": text("C"), "parent": [f"{ENTITY}1", f"{ENTITY}2"]}
    concept = read_bytes(json.dumps([*both, child]).encode()).concepts[2]
    assert concept.edges == (Edge(target=f"{ENTITY}1"), Edge(target=f"{ENTITY}2"))


def test_an_entity_that_stands_twice_is_read_once(read_bytes):
    ontology = read_bytes(json.dumps([GLOOP, GLOOP]).encode())
    assert len(ontology.concepts) == 1
    assert any("stand twice" in remark for remark in ontology.edition.remarks)


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (FORMS["list"][:-1], "a list that is cut short"),
        (FORMS["lines"][:-5], "line 3 is not JSON"),
        ("[" + json.dumps(GLOOP) + ", 5]", "holds int where an object was expected"),
        ('[{"a": ' + "[" * 100_000 + "]", "is not JSON"),
        ('{"a": ' + "9" * 5000 + "}", "is not JSON"),
        ('{"@context": "x", "title": "a thing"}', "no object with an ICD-11 entity"),
    ],
)
def test_what_is_no_answer_of_the_api_is_refused(read_bytes, damaged, message):
    with pytest.raises(OntologyError, match=message):
        read_bytes(damaged.encode())


@pytest.mark.real
def test_the_real_table_holds_what_was_counted(real_ontologies):
    ontology = open_ontology(real_ontologies / "SimpleTabulation-ICD-11-MMS-en_2024-01.zip")
    concepts = ontology.concepts
    kinds = [concept.kind for concept in concepts]
    codes = [concept.code for concept in concepts if concept.code]
    assert ontology.edition.version == "2024 Jan 21 - 22:30 UTC"
    assert ontology.edition.remarks == ()
    assert len(concepts) == 36_044
    assert (kinds.count("category"), kinds.count("block"), kinds.count("chapter")) == (
        34_663,
        1_353,
        28,
    )
    assert len(codes) == len(set(codes)) == 34_663
    assert sum(concept.residual for concept in concepts) == 5_217
    assert sum(not concept.edges for concept in concepts) == 28
    assert all(concept.presentable for concept in concepts)


@pytest.mark.real
def test_a_real_code_has_the_parent_that_its_code_tells(real_ontologies):
    ontology = open_ontology(real_ontologies / "SimpleTabulation-ICD-11-MMS-en_2024-01.zip")
    by_uri = {concept.id: concept for concept in ontology.concepts}
    checked = 0
    for concept in ontology.concepts:
        stem, dot, tail = concept.code.partition(".")
        if not dot or concept.chapter == "X":
            continue
        (edge,) = concept.edges
        above = by_uri[edge.target].code
        checked += 1
        assert above in {concept.code[:-1].rstrip("."), stem, ""}, (concept.code, above, tail)
    assert checked > 10_000

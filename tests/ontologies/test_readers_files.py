"""Files as they come: packed, cut short, hostile, or something else altogether."""

import gzip
import importlib
import io
import struct
import sys
import zipfile

import pytest

from medrcube.errors import MissingExtraError
from medrcube.ontologies.concept_records import OntologyError
from medrcube.ontologies.licences import LICENCES, licence_of
from medrcube.ontologies.readers import detect, open_ontology
from medrcube.ontologies.readers.bounded_files import LIMIT
from medrcube.ontologies.readers.detect_format import Format

OBO = "format-version: 1.2\n\n[Term]\nid: HP:9900001\nname: Gloop\n"
RADLEX = "bloop,RID9901,RID9900\n"
ICD = (
    "\N{ZERO WIDTH NO-BREAK SPACE}Foundation URI\tLinearization URI\tCode\tTitle\tClassKind\r\n"
    "\thttp://id.who.int/icd/release/11/mms/1\tZG00\tGloop\tcategory\r\n"
)
RDF = (
    '<?xml version="1.0"?>\n%s<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:owl="http://www.w3.org/2002/07/owl#">'
    '<owl:Class rdf:about="http://www.radlex.org/RID/RID9901">%s</owl:Class></rdf:RDF>'
)
LABEL = '<rdfs:label xml:lang="en">bloop</rdfs:label>'
OWL_XML = '<?xml version="1.0"?>\n<!-- x -->\n<Ontology xmlns="http://www.w3.org/2002/07/owl#"/>'
SSSOM = (
    "# license: https://creativecommons.org/publicdomain/zero/1.0/\n"
    "subject_id\tpredicate_id\tobject_id\nXY:1\tskos:exactMatch\tXZ:2\n"
)


@pytest.fixture
def put(tmp_path):
    """Write a file: ``put(content, name)`` returns its path."""

    def make(content, name="file"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def zipped(members, **options):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (OBO, Format.OBO),
        ("! a comment\n\n[Term]\nid: HP:9900001\n", Format.OBO),
        (RDF % ("", LABEL), Format.RDF_XML),
        (RDF % ("<!-- long -->\n<!DOCTYPE rdf:RDF [ <!ENTITY a 'b'> ]>\n", ""), Format.RDF_XML),
        (RADLEX, Format.RADLEX_TABLE),
        ('Term,RID,Parent_RID\n"a, b",RID2,RID1\n', Format.RADLEX_TABLE),
        ("Class ID,Preferred Label,Parents\n", Format.BIOPORTAL),
        (ICD, Format.ICD_TABLE),
        ('[{"@id": "x"}]', Format.ICD_API),
        ('\n{"@id": "x"}\n{"@id": "y"}', Format.ICD_API),
        (SSSOM, Format.SSSOM),
    ],
)
@pytest.mark.parametrize("packing", ["plain", "gzip", "zip"])
def test_the_content_tells_the_format_whatever_the_name_and_packing(
    put, content, expected, packing
):
    data = content.encode()
    packed = {
        "plain": data,
        "gzip": gzip.compress(data),
        "zip": zipped({"readme.txt": "Read me.", "inside": data}),
    }
    assert detect(put(packed[packing], "misleading.xlsx")) is expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "an empty file"),
        (" \n", "an empty file"),
        (bytes(range(256)) * 10, "binary data"),
        ("format-version: 1.2\n".encode("utf-16"), "UTF-16 text"),
        ("just words\n", "text that begins with 'just words"),
        ("<html><body/></html>", "XML with the root element <html>"),
        ("\n" * 60_000 + "x", "text that begins with 'x'"),
        ("#description: annotations\nid\tname\n", "text that begins with"),
    ],
)
def test_what_is_no_ontology_is_described_with_what_is_accepted(put, content, message):
    with pytest.raises(OntologyError, match=rf"file: found {message}.*expected one of: HPO as OBO"):
        open_ontology(put(content))


@pytest.mark.parametrize(
    ("ontology", "accepted"),
    [
        (None, "one of: HPO as OBO .*RadLex as RDF/XML"),
        ("radlex", "RadLex as RDF/XML"),
        ("hpo", "HPO as OBO"),
        ("icd11", "ICD-11 as WHO's SimpleTabulation"),
    ],
)
def test_owl_xml_is_refused_with_the_format_that_is_accepted(put, ontology, accepted):
    with pytest.raises(OntologyError, match=rf"is OWL/XML .*expected {accepted}"):
        open_ontology(put(OWL_XML, "RadLex.owl"), ontology)


def test_a_workbook_is_refused_with_the_table_that_is_accepted(put):
    book = zipped({"[Content_Types].xml": "<Types/>", "xl/workbook.xml": "<workbook/>"})
    with pytest.raises(OntologyError, match=r"is an Excel workbook; .*give the zip"):
        open_ontology(put(book, "SimpleTabulation.xlsx"))


def test_the_table_of_a_zip_is_taken_and_the_workbook_beside_it_left(put):
    book = zipped({"[Content_Types].xml": "<Types/>"})
    archive = zipped({"readme.txt": "Foundation URI :x", "t.xlsx": book, "t.txt": ICD})
    assert open_ontology(put(archive)).concepts[0].label == "Gloop"


@pytest.mark.parametrize("members", [{"a.csv": RADLEX, "b.csv": RADLEX}, {"readme.txt": "x"}])
def test_a_zip_without_exactly_one_ontology_is_refused(put, members):
    with pytest.raises(OntologyError, match=r"holds [02] ontology files .*expected one"):
        open_ontology(put(zipped(members)))


def test_another_ontology_than_the_one_asked_for_is_refused(put):
    with pytest.raises(OntologyError, match=r"is OBO, a format of hpo; expected RadLex as RDF"):
        open_ontology(put(OBO), "radlex")


def test_a_path_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(OntologyError, match=r"nowhere.obo: is not there"):
        open_ontology(tmp_path / "nowhere.obo")


def test_a_folder_without_entities_is_refused(tmp_path):
    with pytest.raises(OntologyError, match=r"folder without .json files"):
        open_ontology(tmp_path)


@pytest.mark.parametrize("content", [OBO * 500, RDF % ("", LABEL * 500), RADLEX * 500, ICD * 500])
def test_a_packed_file_that_is_cut_short_is_named(put, content):
    data = gzip.compress(content.encode(), 1)
    with pytest.raises(OntologyError, match=r"file: is damaged or cut short"):
        open_ontology(put(data[:-20]))


def test_a_zip_that_is_cut_short_or_broken_is_named(put):
    data = zipped({"t.txt": ICD})
    with pytest.raises(OntologyError, match=r"damaged or cut short"):
        open_ontology(put(data[:-40]))
    flipped = bytearray(zipped({"t.txt": ICD * 500}))
    flipped[60] ^= 0xFF
    with pytest.raises(OntologyError, match=r"damaged or cut short"):
        open_ontology(put(bytes(flipped)))


@pytest.mark.parametrize("content", [OBO, ICD, SSSOM])
def test_a_table_in_another_encoding_is_refused_with_the_byte(put, content):
    data = content.replace("Gloop", "Glöp").replace("XZ:2", "XZ:ö").encode().replace(b"\xc3", b"")
    with pytest.raises(OntologyError, match=r"is not UTF-8 text \(byte 0xb6\)"):
        open_ontology(put(data))


def test_a_zip_that_claims_a_gigabyte_is_refused_before_it_is_unpacked(put):
    data = bytearray(zipped({"hp.obo": OBO}))
    entry = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, entry + 24, 2**30)
    with pytest.raises(OntologyError, match=r"holds more than \d+ MiB unpacked"):
        open_ontology(put(bytes(data)))


@pytest.mark.parametrize("start", [OBO, ICD])
def test_a_decompression_bomb_is_refused(put, start):
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as file:
        file.write(start.encode())
        for _ in range(LIMIT // 2**20 + 1):
            file.write(b" " * 2**20)
    with pytest.raises(OntologyError, match=r"holds more than \d+ MiB unpacked"):
        open_ontology(put(buffer.getvalue()))


def laughs(levels):
    entities = ['<!ENTITY a "aaaaaaaaaa">']
    for level in range(levels):
        name, inner = chr(ord("b") + level), f"&{chr(ord('a') + level)};" * 10
        entities.append(f'<!ENTITY {name} "{inner}">')
    return f"<!DOCTYPE rdf:RDF [{''.join(entities)}]>\n"


@pytest.mark.parametrize(
    "prolog",
    [
        laughs(9),
        f'<!DOCTYPE rdf:RDF [<!ENTITY a "{"a" * 10_000}">]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY % a "b">]>',
        "<!DOCTYPE rdf:RDF [" + "".join(f'<!ENTITY e{n} "x">' for n in range(1001)) + "]>",
    ],
)
def test_entities_that_multiply_or_lie_outside_are_refused(put, prolog):
    with pytest.raises(OntologyError, match=r"declares the XML entity"):
        open_ontology(put(RDF % (prolog, LABEL)))


def test_endless_nesting_is_refused(put):
    with pytest.raises(OntologyError, match=r"nests XML elements deeper than 64"):
        open_ontology(put(RDF % ("", "<owl:a><owl:b>" * 100_000)))


def test_entities_for_namespaces_are_accepted(put):
    prolog = '<!DOCTYPE rdf:RDF [<!ENTITY owl "http://www.w3.org/2002/07/owl#">]>\n'
    assert open_ontology(put(RDF % (prolog, LABEL))).concepts[0].label == "bloop"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ((RDF % ("", LABEL))[:-15], "not well-formed XML"),
        (
            RDF % ("", LABEL.replace("rdfs:label xml", "rdfs:label rdf:bagID='1' xml")),
            "not RDF/XML",
        ),
    ],
)
def test_broken_rdf_is_named(put, content, message):
    with pytest.raises(OntologyError, match=message):
        open_ontology(put(content))


def test_a_cell_without_an_end_is_refused(put):
    with pytest.raises(OntologyError, match=r"line \d+ is not CSV .field larger"):
        open_ontology(put(RADLEX * 2 + '"' + "x" * 200_000))


@pytest.mark.parametrize(("module", "package"), [("hpo_obo", "pronto"), ("radlex_rdf", "oxrdflib")])
def test_a_missing_package_is_told_with_the_extra_to_install(monkeypatch, module, package):
    name = f"medrcube.ontologies.readers.{module}"
    for loaded in [key for key in sys.modules if key.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"medrcube\[ontologies\]"):
        importlib.import_module(name)


def test_every_statement_is_whole_for_every_version():
    for licence in LICENCES.values():
        assert licence.statement("9.9")
        assert "{" not in licence.statement("9.9")
    assert "(version 9.9)" in LICENCES["hpo"].statement("9.9")


def test_a_mapping_table_of_unknown_terms_says_so():
    assert licence_of("sssom").name == "unknown"
    assert licence_of("sssom", "https://example.org/terms").name == "https://example.org/terms"
    assert licence_of("sssom", "https://creativecommons.org/publicdomain/zero/1.0/").name == (
        "CC0-1.0"
    )

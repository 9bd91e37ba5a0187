import json

import pytest
from typer.testing import CliRunner

from medrcube.cli.ontologies.app import ontologies_app
from medrcube.ontologies.concept_records import SynonymScope
from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.relations import Relation, Relations
from medrcube.ontologies.term_validation import BROKEN, IssueKind, check_terms
from medrcube.ontologies.terms import Term, Terms, load_terms

IDS = {"hpo": "HP:9000000", "radlex": "RID990000", "icd11": "http://id.who.int/icd/entity/900"}


@pytest.fixture
def check(compiled, concept):
    """``check(terms, rows, hpo=[...])`` -> findings; ontologies not given hold one stranger."""

    def run(terms, rows=(), **concepts):
        table = Terms(terms)
        relations = Relations(
            (Relation(group="g", label_a=a, relation=r, label_b=b, reason="") for a, r, b in rows),
            table,
        )
        concepts_by_ontology = {
            name: [concept(identity, "stranger")] for name, identity in IDS.items()
        }
        index = compiled(**{**concepts_by_ontology, **concepts})
        return [
            (entry.kind, entry.label, entry.known, entry.detail)
            for entry in check_terms(table, index, relations)
        ]

    return run


def term(label, identity="", match="exact", **values):
    ids = {"hpo_id": identity, "hpo_match": match} if identity else {}
    return Term(label=label, kind="finding", name=values.pop("name", label), **ids, **values)


def test_an_id_that_means_the_term_is_no_finding(check, concept):
    assert check([term("knot", "HP:9000001")], hpo=[concept("HP:9000001", "Knot")]) == []


def test_an_unknown_id_is_missing(check):
    (entry,) = check([term("knot", "HP:9000001")])
    assert entry == (IssueKind.MISSING, "knot", False, "not in this edition of HPO")


def test_an_id_of_another_ontology_is_missing(check, concept):
    (entry,) = check(
        [
            Term(
                label="knot",
                kind="finding",
                name="knot",
                icd11_code="HP:9000001",
                icd11_match="exact",
            )
        ],
        hpo=[concept("HP:9000001", "Knot")],
    )
    assert entry[0] is IssueKind.MISSING


def test_a_withdrawn_id_names_its_successor(check, concept):
    (entry,) = check(
        [term("knot", "HP:9000001")],
        hpo=[
            concept("HP:9000001", "obsolete Knot", obsolete=True, replaced_by=("HP:9000002",)),
            concept("HP:9000002", "Knot"),
        ],
    )
    assert entry == (IssueKind.OBSOLETE, "knot", False, "replaced by HP:9000002 'Knot'")


def test_a_merged_id_names_what_it_was_merged_into(check, concept):
    (entry,) = check(
        [term("knot", "HP:9000001")],
        hpo=[concept("HP:9000002", "Knot", alt_ids=("HP:9000001",))],
    )
    assert entry == (IssueKind.OBSOLETE, "knot", False, "replaced by HP:9000002 'Knot'")


def test_an_id_withdrawn_without_successor_says_so(check, concept):
    (entry,) = check(
        [term("knot", "HP:9000001")],
        hpo=[concept("HP:9000001", "Knot", obsolete=True, consider=("HP:9000002",))],
    )
    assert entry[0] is IssueKind.OBSOLETE
    assert entry[3] == "withdrawn without a successor, was 'Knot'; consider HP:9000002"


def test_an_icd_code_is_found_by_its_code(check, concept):
    issues = check(
        [Term(label="knot", kind="finding", name="knot", icd11_code="ZZ00", icd11_match="exact")],
        icd11=[concept("http://id.who.int/icd/entity/901", "Knot", code="ZZ00")],
    )
    assert issues == []


@pytest.mark.parametrize(
    ("match", "note", "is_known"),
    [
        ("exact", "", False),
        ("exact", "ICD: residual category", False),
        ("close", "ICD: residual category", True),
    ],
)
def test_a_residual_category_is_known_when_a_note_says_so_of_an_id_that_is_not_exact(
    check, concept, match, note, is_known
):
    (entry,) = check(
        [term("knot", "HP:9000001", match, note=note)],
        hpo=[concept("HP:9000001", "Knot", residual=True)],
    )
    assert entry[0] is IssueKind.RESIDUAL
    assert entry[2] is is_known


def test_another_wording_of_an_exact_id_is_shown_with_both(check, concept):
    (entry,) = check([term("knot", "HP:9000001")], hpo=[concept("HP:9000001", "Tangle")])
    assert entry == (
        IssueKind.WORDING,
        "knot",
        False,
        "'knot' here, HP:9000001 'Tangle' there",
    )


def test_other_wording_of_an_id_that_is_not_exact_is_expected(check, concept):
    issues = check([term("knot", "HP:9000001", "broader")], hpo=[concept("HP:9000001", "Tangle")])
    assert issues == []


def test_an_exact_synonym_reads_the_same_and_a_broad_one_does_not(check, concept):
    names = {"also": ("Knot",)}
    exact = [concept("HP:9000001", "Tangle", **names)]
    broad = [concept("HP:9000001", "Tangle", scope=SynonymScope.BROAD, **names)]
    assert check([term("knot", "HP:9000001")], hpo=exact) == []
    assert [entry[0] for entry in check([term("knot", "HP:9000001")], hpo=broad)] == [
        IssueKind.WORDING
    ]


@pytest.mark.parametrize("name", ["knots (KN)", "knot", "Oedema"])
def test_plurals_spelling_and_abbreviations_in_brackets_do_not_matter(check, concept, name):
    issues = check(
        [term("knot", "HP:9000001", name=name)],
        hpo=[concept("HP:9000001", "Knot", also=("Edema",))],
    )
    assert issues == []


@pytest.mark.parametrize(
    ("note", "is_known"),
    [
        ("other wording in HPO", True),
        ("knotted; other wording in RadLex, HPO", True),
        ("other wording in RadLex", False),
        ("HPO", False),
    ],
)
def test_a_wording_is_known_for_the_ontologies_that_the_note_names(check, concept, note, is_known):
    (entry,) = check([term("knot", "HP:9000001", note=note)], hpo=[concept("HP:9000001", "Tangle")])
    assert entry[2] is is_known


@pytest.mark.parametrize(
    ("rows", "kinds"), [([], [IssueKind.SHARED]), ([("b", "same as", "a")], [])]
)
def test_two_labels_that_share_an_exact_id_are_the_same_only_when_the_table_says_so(
    check, concept, rows, kinds
):
    terms = [term("a", "HP:9000001", name="knot"), term("b", "HP:9000001", name="knot")]
    issues = check(terms, rows, hpo=[concept("HP:9000001", "Knot")])
    assert [issue[0] for issue in issues] == kinds


def test_labels_of_which_one_is_not_exact_share_nothing(check, concept):
    terms = [term("knot", "HP:9000001"), term("rope", "HP:9000001", "broader")]
    assert check(terms, hpo=[concept("HP:9000001", "Knot")]) == []


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        (("bow", "implies", "knot"), []),
        (("knot", "implies", "bow"), [IssueKind.TURNED]),
        (("bow", "excludes", "knot"), [IssueKind.EXCLUDED]),
        (("bow", "overlaps", "knot"), [IssueKind.PROPOSED]),
        (("bow", "overlaps", "rope"), [IssueKind.PROPOSED]),
    ],
)
def test_a_kind_of_in_the_ontology_is_held_against_the_table(check, concept, row, kinds):
    terms = [term("knot", "HP:9000001"), term("bow", "HP:9000003"), term("rope")]
    issues = check(
        terms,
        [row],
        hpo=[
            concept("HP:9000001", "Knot"),
            concept("HP:9000002", "Loop", "HP:9000001"),
            concept("HP:9000003", "Bow", "HP:9000002"),
        ],
    )
    assert [issue[0] for issue in issues] == kinds
    assert {issue[1] for issue in issues} <= {"bow"}


def test_an_ontology_that_the_index_lacks_is_reported_once(compiled, concept):
    index = compiled(hpo=[concept("HP:9000001", "Knot")])
    table = Terms([term("knot", "HP:9000001", radlex_id="RID99", radlex_match="exact")])
    terms = check_terms(table, index, Relations((), table))
    assert [(entry.kind, entry.ontology) for entry in terms] == [
        (IssueKind.UNCHECKED, "icd11"),
        (IssueKind.UNCHECKED, "radlex"),
    ]


def run(index, *options):
    return CliRunner().invoke(ontologies_app, ["check", "--index", str(index.path), *options])


def test_the_command_fails_when_ids_are_missing(compiled, concept):
    result = run(compiled(hpo=[concept("HP:9000001", "Knot")]), "--json")
    assert result.exit_code == 1
    findings = json.loads(result.stdout)["findings"]
    missing = [finding["label"] for finding in findings if finding["kind"] == "missing"]
    assert len(missing) == sum(bool(entry.hpo_id) for entry in load_terms().values())


def test_the_command_succeeds_when_nothing_is_missing(compiled):
    result = run(compiled(sssom=[("HP:9000001", "skos:exactMatch", "RID99")]))
    assert result.exit_code == 0
    assert "0 ids missing or withdrawn" in result.stdout


@pytest.mark.real
def test_the_shipped_tables_hold_against_the_real_editions(real_index):
    """Two kinds of the ontologies are look-alikes here, on purpose; see relations.csv."""
    with OntologyIndex(real_index) as index:
        findings = check_terms(load_terms(), index)
    assert [finding for finding in findings if finding.kind in BROKEN] == []
    assert {(finding.kind, finding.label) for finding in findings if not finding.known} == {
        (IssueKind.PROPOSED, "honeycombing"),
        (IssueKind.PROPOSED, "tracheostomy tube"),
    }
    judged = [finding for finding in findings if finding.known]
    assert {entry.kind for entry in judged} == {IssueKind.WORDING, IssueKind.RESIDUAL}
    stale = {label for label in load_terms() if "other wording" in load_terms()[label].note}
    assert stale == {entry.label for entry in judged if entry.kind is IssueKind.WORDING}

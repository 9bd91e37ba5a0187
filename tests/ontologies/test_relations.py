import csv
from itertools import combinations

import pytest

from medrcube.ontologies.relations import Relation, Relations, load_relations
from medrcube.ontologies.terms import Term, TermError, Terms, load_terms
from medrcube.ontologies.visibility import VisibilityTable

_SHARED = (
    "an abnormal right ventricle goes with other groups as well: it is not an option beside them"
)
DIFFERENCES = {
    **{(group, "excludes", "RV"): _SHARED for group in ("NOR", "MINF", "DCM", "HCM")},
    ("left", "excludes", "bilateral"): "a finding on both sides is on this side too: implied",
    ("right", "excludes", "bilateral"): "a finding on both sides is on this side too: implied",
    ("empyema", "suggests", "Pleural Effusion"): "implied: pus in the pleural space",
    ("intramammary lymph node", "implies", "BENIGN"): "overlaps: a cancer may spread to it",
}
"""Rows of the first relation table that relations.csv does not hold, and why."""


@pytest.fixture
def relations():
    return load_relations()


def make(*rows):
    labels = dict.fromkeys(label for a, _, b in rows for label in (a, b))
    terms = Terms(Term(label=label, kind="finding", name=label) for label in labels)
    return Relations(
        (Relation(group="g", label_a=a, relation=r, label_b=b, reason="") for a, r, b in rows),
        terms,
    )


def test_closure_climbs_through_every_step(relations):
    assert relations.closure("COVID-19 pneumonia") == {
        "COVID-19 pneumonia",
        "viral pneumonia",
        "Pneumonia",
        "Lung Opacity",
    }


def test_closure_crosses_synonyms():
    relations = make(("a", "same as", "b"), ("b", "implies", "c"))
    assert relations.closure("a") == {"a", "b", "c"}


def test_a_label_without_relations_implies_itself(relations):
    assert relations.closure("pneumoperitoneum") == {"pneumoperitoneum"}


def test_labels_that_share_an_exact_id_are_synonyms():
    terms = Terms(
        Term(label=label, kind="finding", name=label, hpo_id="HP:0000001", hpo_match=match)
        for label, match in (("a", "exact"), ("b", "exact"), ("c", "broader"))
    )
    assert Relations((), terms).synonyms("a") == {"a", "b"}


def test_exclusion_is_inherited_by_the_special(relations):
    assert relations.excludes("BI-RADS 4A", "BI-RADS 5")
    assert relations.excludes("laminar atelectasis", "No Finding")


def test_a_part_is_not_excluded_by_its_own_whole(relations):
    assert not relations.excludes("BI-RADS 4A", "BI-RADS 4")
    assert not relations.excludes("bilateral", "left")


def test_look_alikes_are_symmetric_and_inherited(relations):
    assert relations.alike("Infiltration", "Consolidation")
    assert relations.alike("Consolidation", "Infiltration")
    assert relations.alike("COVID-19 pneumonia", "Infiltration")
    assert not relations.alike("Cardiomegaly", "Pneumothorax")


def test_company_is_symmetric_inherited_by_the_special_and_no_likeness():
    relations = make(("a", "accompanies", "b"), ("z", "implies", "a"), ("b", "implies", "c"))
    assert relations.accompanies("a", "b")
    assert relations.accompanies("b", "z")
    assert not relations.accompanies("z", "a")
    assert not relations.accompanies("a", "c")
    assert not relations.alike("a", "b")


@pytest.mark.parametrize("relation", ["suggests", "overlaps"])
def test_a_look_alike_brings_what_it_implies(relation):
    relations = make(("a", relation, "b"), ("b", "implies", "c"), ("z", "implies", "a"))
    assert relations.alike("c", "a")
    assert relations.alike("z", "c")


def test_what_a_label_implies_is_not_its_look_alike_though_a_look_alike_implies_it_too():
    relations = make(("a", "overlaps", "b"), ("a", "implies", "c"), ("b", "implies", "c"))
    assert relations.alike("a", "b")
    assert not relations.alike("a", "c")
    assert not relations.alike("c", "b")


def test_what_a_look_alike_implies_does_not_bring_its_other_kinds():
    relations = make(
        ("sick heart", "suggests", "edema"),
        ("edema", "implies", "opacity"),
        ("nodule", "implies", "opacity"),
    )
    assert relations.alike("sick heart", "opacity")
    assert not relations.alike("sick heart", "nodule")


def test_two_kinds_of_one_thing_are_not_alike_because_it_has_a_look_alike_above():
    relations = make(
        ("infection", "overlaps", "opacity"),
        ("infection", "implies", "shadow"),
        ("one", "implies", "infection"),
        ("one", "implies", "opacity"),
        ("other", "implies", "infection"),
        ("other", "implies", "opacity"),
    )
    assert not relations.alike("one", "other")


def test_a_kind_of_two_look_alikes_is_alike_to_the_other_kinds_of_one():
    relations = make(
        ("nodule", "overlaps", "calcification"),
        ("solid nodule", "implies", "nodule"),
        ("calcified nodule", "implies", "nodule"),
        ("calcified nodule", "implies", "calcification"),
    )
    assert relations.alike("solid nodule", "calcified nodule")
    assert relations.alike("calcified nodule", "solid nodule")


@pytest.mark.parametrize(
    ("special", "general"),
    [
        ("malignant pleural effusion", "Pleural Effusion"),
        ("empyema", "Effusion"),
        ("Consolidation", "Lung Opacity"),
        ("Edema", "Lung Opacity"),
        ("Atelectasis", "Lung Opacity"),
        ("Lung Lesion", "Lung Opacity"),
        ("Nodule/Mass", "Lung Lesion"),
        ("solid nodule", "Nodule/Mass"),
        ("Cardiomegaly", "Enlarged Cardiomediastinum"),
        ("lung metastasis", "Lung Lesion"),
        ("epidural", "any"),
        ("hemorrhagic stroke", "any"),
        ("vestibular schwannoma", "brain tumor"),
        ("invasive ductal carcinoma", "breast lesion"),
        ("BI-RADS 6", "MALIGNANT"),
        ("SPICULATED", "breast mass"),
        ("LVEF < 30", "reduced ejection fraction"),
    ],
)
def test_the_special_implies_the_general(relations, special, general):
    assert general in relations.closure(special)
    assert special not in relations.closure(general)


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("Pneumonia", "Edema"),
        ("bacterial pneumonia", "COVID-19 pneumonia"),
        ("lung cancer", "Pneumonia"),
        ("Consolidation", "Lung tumor"),
        ("Tuberculosis", "Lung Opacity"),
        ("lung abscess", "Lung Opacity"),
        ("aortic atheromatosis", "Calcification"),
        ("heart insufficiency", "Consolidation"),
        ("acute infarct", "any"),
        ("fibroadenoma", "breast mass"),
    ],
)
def test_readers_may_take_one_for_the_other(relations, label, other):
    assert relations.alike(label, other)


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("Klebsiella pneumonia", "Mycoplasma pneumonia"),
        ("calcification type VASCULAR", "calcification type SKIN"),
        ("ARDS", "Cardiomegaly"),
        ("primary lung tumor", "ground glass pattern"),
        ("glioblastoma", "oligodendroglioma"),
    ],
)
def test_kinds_of_one_thing_are_not_alike_for_that(relations, label, other):
    assert not relations.alike(label, other)


def test_calcification_types_are_no_exclusive_group_as_readers_join_them(relations):
    """So a type that a reader did not name is never a wrong option beside one that was named."""
    types = [label for label in load_terms() if label.startswith("calcification type ")]
    assert len(types) == 14
    for label, other in combinations(types, 2):
        assert not relations.excludes(label, other)
        assert "breast calcification" in relations.closure(label) & relations.closure(other)


def test_no_look_alike_is_implied_as_well(relations):
    for row in relations.rows:
        if row.relation in ("overlaps", "suggests"):
            assert not relations.implied(row.label_a, row.label_b), row


def test_no_row_stands_twice_in_its_group(relations):
    keys = [(row.group, row.label_a, row.relation, row.label_b) for row in relations.rows]
    assert len(keys) == len(set(keys))


def test_every_row_has_a_reason(relations):
    assert [row for row in relations.rows if not row.reason.strip()] == []


@pytest.mark.real
def test_every_relation_of_the_first_table_is_kept_or_has_a_reason(relations, real_ontologies):
    file = real_ontologies.with_name("terms") / "label_relations.csv"
    if not file.is_file():
        pytest.skip(f"no relation table at {file}; set MEDRCUBE_SHARED to its parent folder")
    with file.open(encoding="utf-8", newline="") as opened:
        first = {
            (row["label_a"], row["relation"], row["label_b"]) for row in csv.DictReader(opened)
        }
    assert len(first) == 328
    triples = {(row.label_a, row.relation, row.label_b) for row in relations.rows}
    assert first - triples == DIFFERENCES.keys()
    for label_a, _, label_b in DIFFERENCES:
        holds = relations.alike if label_b == "BENIGN" else relations.implied
        assert holds(label_a, label_b) or label_b == "RV"


def test_members_of_a_scale_stand_in_scale_order(relations):
    assert relations.group_members("severity word") == ("minimal", "mild", "moderate", "severe")
    assert relations.rank("BI-RADS", "BI-RADS 4B") == relations.rank("BI-RADS", "BI-RADS 4")


def test_a_group_whose_labels_do_not_all_exclude_each_other_is_no_exclusive_group(relations):
    with pytest.raises(TermError, match="'chest' is not an exclusive group"):
        relations.group_members("chest")


def test_a_stranger_has_no_rank(relations):
    with pytest.raises(TermError, match="'Edema' is not a member"):
        relations.rank("BI-RADS", "Edema")


@pytest.mark.parametrize("ask", ["closure", "synonyms"])
def test_an_unknown_label_is_an_error(relations, ask):
    with pytest.raises(TermError, match="'Nonsense'"):
        getattr(relations, ask)("Nonsense")


def test_a_pair_both_implied_and_excluded_is_an_error():
    with pytest.raises(TermError, match="both implies and excludes"):
        make(("a", "implies", "b"), ("b", "implies", "c"), ("c", "excludes", "a"))


def test_two_labels_that_imply_each_other_are_an_error():
    with pytest.raises(TermError, match="imply each other"):
        make(("a", "implies", "b"), ("b", "implies", "a"))


def test_a_row_with_an_unknown_label_is_an_error():
    row = Relation(group="g", label_a="Edema", relation="implies", label_b="x", reason="")
    with pytest.raises(TermError, match="'x' is not a label"):
        Relations([row], load_terms())


def test_a_row_with_an_unknown_relation_is_an_error():
    with pytest.raises(TermError, match="relation must be one of"):
        make(("a", "causes", "b"))


def test_a_review_of_a_row_needs_a_name_and_a_day():
    row = Relation(
        group="g", label_a="Edema", relation="implies", label_b="Mass", reason="", reviewed="yes"
    )
    with pytest.raises(TermError, match=r"'Edema' implies 'Mass': reviewed is 'yes'"):
        Relations([row], load_terms())


def test_a_review_of_what_a_picture_shows_needs_a_name_and_a_day():
    row = {"concept": "lung", "anatomy": "Chest", "modality": "*", "shown": "yes", "reviewed": "me"}
    with pytest.raises(TermError, match="visible: 'lung': reviewed is 'me'"):
        VisibilityTable([row], load_terms())


def test_every_scale_with_a_wording_is_an_exclusive_group(relations):
    assert set(relations._scales) <= set(relations.groups())

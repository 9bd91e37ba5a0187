"""Concepts, relations and groups that lie beside the card of a source outside the package."""

from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.source_checks.source_check import check_source
from medrcube.build.source_checks.vocabulary_check import missing_words
from medrcube.errors import MedrcubeError
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.contract import load_source
from medrcube.sources.registry import find_sources
from medrcube.vocabulary.layers import activate_vocabulary, using_vocabulary

TERMS = (
    "label,kind,name,hpo_id,hpo_match,radlex_id,radlex_match,icd11_code,icd11_match,note,reviewed\n"
)
RELATIONS = "group,label_a,relation,label_b,reason,reviewed\n"
GROUPS = "group,ordered,phrase,of\n"
HEAD = (
    "fetal head phantom,anatomy,fetal head phantom,,,,,,,"
    "no term: the ontologies have the organ at any age only,\n"
)
PNEUMONIA = "phantom pneumonia,disease,phantom pneumonia,,,,,,,no term: not looked up,\n"
PARTS = ("fetal head phantom", "fetal thorax", "fetal abdomen")
ONE_PART = "".join(
    f"phantom part,{a},excludes,{b},one part an image,\n"
    for number, a in enumerate(PARTS)
    for b in PARTS[number + 1 :]
)


@pytest.fixture(autouse=True)
def shipped_tables_after():
    yield
    activate_vocabulary([])


@pytest.fixture
def outside(toy):
    """The toy source with other text in its card and tables beside it."""

    def write(*, concept="glioma", group="brain tumor class", **tables):
        path = toy.folder / "card.toml"
        text = path.read_text().replace('g = "glioma"', f'g = "{concept}"')
        path.write_text(text.replace('group = "brain tumor class"', f'group = "{group}"'))
        for name, rows in tables.items():
            (toy.folder / f"{name}.csv").write_text(rows)
        return load_source(toy.folder)

    return write


def test_everything_that_is_missing_is_said_at_once_with_what_is_nearest(outside):
    source = outside(concept="fetal braim", group="brain tumour klass")
    (check,) = check_source(source)
    text = "\n".join(check.failures)
    assert "field 'tumour': no table has the concept 'fetal braim' (nearest: 'fetal brain'" in text
    assert "field 'region': no table has the concept 'fetal braim'" in text
    assert "'brain tumour klass' is not an exclusive group (nearest: 'brain tumor class'" in text


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        (
            {"terms": TERMS + HEAD.replace("anatomy", "anatomi")},
            "'anatomi' (nearest: 'anatomy'",
        ),
        ({"terms": TERMS + HEAD.replace("no term: ", "")}, 'begins with "no term: "'),
        ({"terms": TERMS + HEAD.replace("phantom,,", "phantom,HP:1,")}, "each id has a match"),
        (
            {"terms": TERMS + HEAD.replace("fetal head phantom", "glioma", 1)},
            "of the package already",
        ),
        ({"terms": "label,name\n"}, "header is"),
        ({"terms": TERMS + "a,b\n"}, "2 cells, expected"),
        ({"terms": TERMS + HEAD + HEAD.replace("organ", "part")}, "stands in two rows"),
        ({"relations": RELATIONS + "x,glioma,implys,edema,why,\n"}, "relation must be one of"),
        (
            {"relations": RELATIONS + "x,fetal heat,implies,glioma,why,\n"},
            "no table has 'fetal heat'",
        ),
        ({"relations": RELATIONS + "x,glioma,excludes,meningioma,,\n"}, "needs a reason"),
        ({"relations": RELATIONS + "x,glioma,implies,Edema,why,\n"}, "says something new of two"),
        (
            {"groups": GROUPS + "phantom part,no,part,\n"},
            "is not an exclusive group of relations.csv",
        ),
    ],
)
def test_tables_beside_a_card_keep_the_rules_of_the_shipped_ones(outside, tables, says):
    failures = list(missing_words(outside(**tables)))
    assert any(says in failure for failure in failures), failures


def test_a_word_of_a_source_holds_where_the_source_is_found_and_nowhere_else(outside):
    source = outside(
        concept="fetal head phantom",
        group="phantom part",
        terms=TERMS + HEAD,
        relations=RELATIONS + ONE_PART,
    )
    assert list(missing_words(source)) == []
    find_sources([source.folder.parent])
    assert load_terms()["fetal head phantom"].kind == "anatomy"
    assert load_relations().excludes("fetal head phantom", "fetal thorax")
    assert load_relations().group_members("phantom part") == PARTS
    find_sources()
    assert "fetal head phantom" not in load_terms()
    with pytest.raises(MedrcubeError, match="nearest: 'fetal head'"):
        load_terms()["fetal head phantom"]


def test_threads_and_what_ended_see_no_words_of_another_workspace(outside):
    source = outside(terms=TERMS + HEAD)
    find_sources([source.folder.parent])
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: "fetal head phantom" in load_terms()).result() is False
        pool.submit(find_sources).result()
    assert "fetal head phantom" in load_terms()
    with using_vocabulary([]):
        assert "fetal head phantom" not in load_terms()
    assert "fetal head phantom" in load_terms()


def test_a_changed_table_makes_the_card_another(outside):
    first = outside(terms=TERMS + HEAD).card.fingerprint
    assert outside(terms=TERMS + HEAD).card.fingerprint == first
    assert outside(terms=TERMS + HEAD + PNEUMONIA).card.fingerprint != first


def test_two_sources_may_say_the_same_of_a_word_but_not_otherwise(outside, tmp_path):
    folder = outside(terms=TERMS + HEAD).folder
    other = tmp_path / "other"
    other.mkdir()
    (other / "terms.csv").write_text(TERMS + HEAD)
    activate_vocabulary([folder, other])
    assert "fetal head phantom" in load_terms()
    (other / "terms.csv").write_text(TERMS + HEAD.replace("organ", "part"))
    activate_vocabulary([folder, other])
    with pytest.raises(MedrcubeError, match="stands in two rows"):
        load_terms()


@pytest.fixture
def pneumonia(outside):
    """The toy source, one answer of which only the tables beside its card have."""
    names = ("phantom pneumonia", "meningioma", "pituitary tumor")
    rows = "".join(
        f"toy class,{a},excludes,{b},one class an image,\n"
        for number, a in enumerate(names)
        for b in names[number + 1 :]
    )
    source = outside(
        concept=names[0], group="toy class", terms=TERMS + PNEUMONIA, relations=RELATIONS + rows
    )
    return {"toy": find_sources([source.folder.parent])["toy"]}


def test_items_are_asked_of_a_word_that_only_the_source_has(pneumonia, workspace, quiet):
    build(workspace, pneumonia, LocalEngine(1), quiet)
    assert "phantom pneumonia" in str(pd.read_parquet(workspace.items).to_dict())


def test_a_build_has_the_words_of_its_own_sources_whatever_was_found_since(
    pneumonia, workspace, quiet
):
    find_sources()
    build(workspace, pneumonia, LocalEngine(1), quiet)
    assert "phantom pneumonia" in str(pd.read_parquet(workspace.items).to_dict())
    assert "phantom pneumonia" not in load_terms()

from collections import Counter
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medrcube.build.compose import compose, place_keys
from medrcube.build.derive import Query
from medrcube.build.items import Item, items_from_frame, items_to_frame
from medrcube.build.samples import Sample, samples_from_frame, samples_to_frame
from medrcube.errors import WorkspaceError
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.safety import Ground, Mark
from medrcube.ontologies.terms import TermError, load_terms
from medrcube.records import Grade, Scope
from medrcube.taxonomy import Anatomy, Modality, Task

FINDINGS = ("Cardiomegaly", "Pneumothorax", "Hernia", "Fracture", "Mediastinal shift", "Lung cyst")


def sample(number=0, **changes):
    values = {
        "id": f"s{number}",
        "source": "toy",
        "case": f"c{number}",
        "artefact": "clean",
        "field": "",
        "marked": "",
        "truth": "",
        "choices": 0,
        "area": 0.0,
        "regions": 0,
        "image": f"images/{number}.png",
        "pixel_sha256": str(number),
        "width": 10,
        "height": 10,
        "anatomy": "Chest",
        "modality": "X-ray",
        "patient": "",
        "split": "",
        "scope": "image",
        "licence": "CC0-1.0",
        "redistribute": True,
        "frames": "0",
        "reason": "only one",
        "recipe": "r",
    }
    return Sample(**{**values, **changes})


def query(key, number=0, *, task=Task.ABNORMALITY_DIAGNOSIS, absent=(), grade=Grade.A, **changes):
    def mark(of):
        return Mark(field="f", scope=Scope.PATIENT, grade=of)

    values = {
        "task": task,
        "sample": sample(number),
        "field": "f",
        "key": key,
        "scope": Scope.IMAGE,
        "ground": Ground(
            present={key: mark(Grade.A)},
            absent={label: mark(grade) for label in absent if label != key},
            unknown=frozenset(),
            anatomy=changes.pop("anatomy", Anatomy.CHEST),
            modality=changes.pop("modality", Modality.XRAY),
        ),
    }
    return Query(**{**values, **changes})


def run(queries, **changes):
    return compose(queries, load_terms(), load_relations(), **changes)


def findings(count=60):
    return [
        query(FINDINGS[n % len(FINDINGS)], n, absent=FINDINGS, pool=FINDINGS) for n in range(count)
    ]


def views(count=90):
    return [
        query(("AP", "PA", "LATERAL")[n % 3], n, task=Task.VIEW_RECOGNITION, group="chest view")
        for n in range(count)
    ]


def test_an_item_carries_its_key_its_options_and_why_they_are_safe():
    (item,) = run([query("Pneumothorax", absent=FINDINGS, pool=FINDINGS)]).items
    right = item.options[item.key]
    wrong = [option for option in item.options if option is not right]
    assert (right.text, right.concept, right.strategy) == ("pneumothorax", "Pneumothorax", "key")
    assert "hpo:HP:0002107" in right.ids
    assert len(wrong) == 3
    assert {(option.strategy, option.grade) for option in wrong} == {("knowledge", "A")}
    assert all({1, 5, 10, 12} <= set(option.passed) for option in wrong)
    assert (item.state, item.grade, item.concept) == ("unreviewed", "A", "Pneumothorax")
    assert item.question.endswith("?")


def test_the_grade_of_an_item_is_that_of_its_weakest_option():
    facts = query("Pneumothorax", absent=["Hernia"], pool=("Hernia", "Fracture"))
    weak = Mark(field="f", scope=Scope.IMAGE, grade=Grade.B)
    facts.ground.absent["Fracture"] = weak
    (item,) = run([facts]).items
    assert item.grade == "B"


def test_a_small_group_makes_an_item_of_two_options():
    (item,) = run([query("CC", task=Task.VIEW_RECOGNITION, group="mammography view")]).items
    assert len(item.options) == 2


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (query("Hernia", barred="scope"), "Abnormality Diagnosis: scope"),
        (query("Hernia"), "Abnormality Diagnosis: no-candidate"),
        (
            query("Hernia", pool=FINDINGS),
            "Abnormality Diagnosis: no-distractor (no-evidence)",
        ),
        (
            query("Hernia", pool=FINDINGS, absent=FINDINGS, grade=Grade.C),
            "Abnormality Diagnosis: no-distractor (evidence-C)",
        ),
    ],
)
def test_every_query_without_an_item_is_counted_with_its_reason(asked, reason):
    made = run([asked])
    assert made.items == ()
    assert made.dropped == {reason: 1}


def test_silence_becomes_a_wrong_option_only_by_the_switch():
    asked = query("Hernia", pool=FINDINGS, absent=FINDINGS, grade=Grade.C)
    (item,) = run([asked], evidence="C").items
    assert item.grade == "C"


def test_an_unknown_group_is_an_error():
    with pytest.raises(TermError, match="no exclusive group"):
        run([query("AP", group="poems")])


def boxes(number=0, **changes):
    picture = sample(number, artefact="boxes", marked="Hernia", truth="2", choices=4)
    return query("Hernia", number, task=Task.ROI_GROUNDING, sample=picture, **changes)


def test_boxes_keep_their_numbers():
    (item,) = run([boxes()]).items
    assert [option.text for option in item.options] == ["Box 1", "Box 2", "Box 3", "Box 4"]
    assert item.key == 1
    assert item.ordered
    assert "diaphragmatic hernia" in item.question


def test_boxes_need_evidence_that_no_other_place_shows_the_finding():
    assert run([boxes(grade=Grade.A)]).items
    barred = boxes()
    barred = Query(**{f.name: getattr(barred, f.name) for f in fields(Query)} | {"grade": Grade.C})
    assert run([barred]).dropped == {"ROI Grounding: evidence-C": 1}
    assert run([barred], evidence="C").items


def test_scales_stay_in_scale_order():
    asked = [
        query(f"CT-{n % 5}", n, task=Task.SEVERITY_GRADING, group="CT severity") for n in range(20)
    ]
    for item in run(asked).items:
        grades = [option.concept for option in item.options]
        assert grades == sorted(grades)
        assert item.options[item.key].concept == item.concept


def test_a_mammogram_is_not_called_one_where_the_organ_is_asked():
    picture = sample(anatomy="Breast")
    organ = query(
        "breast", task=Task.ORGAN_RECOGNITION, group="organ", sample=picture, anatomy=Anatomy.BREAST
    )
    view = query("CC", task=Task.VIEW_RECOGNITION, group="mammography view", sample=picture)
    questions = {item.task: item.question for item in run([organ, view]).items}
    assert "this X-ray image" in questions["Organ Recognition"]
    assert "this mammogram" in questions["View Recognition"]


def test_pictures_side_by_side_are_said_to_be_so():
    picture = sample(frames="3+9", modality="MRI")
    asked = query(
        "DCM",
        task=Task.DISEASE_DIAGNOSIS,
        group="ACDC group",
        sample=picture,
        scope=Scope.PATIENT,
        anatomy=Anatomy.HEART,
        modality=Modality.MRI,
    )
    (item,) = run([asked]).items
    assert "the two MRI images shown side by side" in item.question
    assert "this patient" in item.question


def test_key_positions_are_even():
    found = Counter(item.key for item in run(findings(), seed=3).items)
    assert sorted(found.values()) == [15, 15, 15, 15]
    found = Counter(item.key for item in run(views(), seed=3).items)
    assert sorted(found.values()) == [30, 30, 30]


def test_the_order_and_number_of_queries_of_one_kind_do_not_matter():
    queries = [*findings(), *views()]
    shuffled = [*queries, *queries[:5]]
    shuffled.sort(key=lambda it: (it.sample.id[::-1], it.task))
    assert run(queries, seed=5) == run(shuffled, seed=5)


def test_another_seed_makes_other_items_of_the_same_facts():
    one, other = run(findings(), seed=1).items, run(findings(), seed=2).items
    assert {item.sample for item in one} == {item.sample for item in other}
    assert {item.id for item in one} != {item.id for item in other}


def test_the_id_says_what_is_asked_and_not_where_the_key_stands():
    items = run(findings(8)).items
    moved = place_keys(items[:5], seed=9)
    assert {item.id for item in moved} == {item.id for item in items[:5]}
    assert len({item.id for item in items}) == 8


@settings(deadline=None, max_examples=40)
@given(
    keys=st.lists(st.sampled_from(FINDINGS), min_size=1, max_size=12),
    seed=st.integers(0, 99),
    options=st.integers(2, 4),
)
def test_the_key_is_exactly_one_of_distinct_options(keys, seed, options):
    asked = [query(key, n, absent=FINDINGS, pool=FINDINGS) for n, key in enumerate(keys)]
    made = run(asked, seed=seed, options=options)
    assert len(made.items) == len(keys)
    for item in made.items:
        texts = [option.text for option in item.options]
        assert len(texts) == len(set(texts)) == options
        assert [option.strategy for option in item.options].count("key") == 1
        assert item.options[item.key].concept == item.concept


def test_fewer_than_two_options_are_refused():
    with pytest.raises(ValueError, match="at least two"):
        run([], options=1)


def test_items_survive_their_table(tmp_path):
    import pandas as pd  # noqa: PLC0415

    items = run([*findings(5), *views(3), boxes(9)]).items
    path = tmp_path / "items.parquet"
    items_to_frame(items).to_parquet(path)
    assert items_from_frame(pd.read_parquet(path)) == list(items)
    assert list(items_to_frame([]).columns) == list(items_to_frame(items).columns)
    assert [field.name for field in fields(Item)][:8] == list(items_to_frame([]).columns)[:8]


def test_samples_survive_their_table(tmp_path):
    import pandas as pd  # noqa: PLC0415

    samples = [sample(1, area=0.25, redistribute=False, patient="ab"), sample(2)]
    path = tmp_path / "samples.parquet"
    samples_to_frame(samples).to_parquet(path)
    assert samples_from_frame(pd.read_parquet(path)) == samples
    assert samples_from_frame(samples_to_frame([])) == []


@pytest.mark.parametrize(
    ("read", "write"),
    [(items_from_frame, items_to_frame), (samples_from_frame, samples_to_frame)],
)
def test_a_table_without_a_column_is_refused(read, write):
    with pytest.raises(WorkspaceError, match="'source' is missing"):
        read(write([]).drop(columns="source"))

"""Open items are drawn fairly: blind chances, one of each patient, pairs, quotas, words."""

from collections import Counter
from dataclasses import replace

import pytest

from medrcube.build.open_items.authoring.trial_views import trial_views
from medrcube.build.open_items.chance.blind_chance import FEW, blind_chances
from medrcube.build.open_items.compose import ALWAYS, compose_open_items
from medrcube.build.open_items.patient_caps import few_of_each_patient
from medrcube.build.open_items.rule_files import open_questions
from medrcube.build.questions.authoring.task_scaffold import new_task
from medrcube.facts import Grade, Visibility
from medrcube.forms.box import BoxAsk, BoxTarget
from medrcube.forms.option import OptionTarget
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task
from medrcube.templates import Wordings
from medrcube.vocabulary.layers import using_vocabulary

CARD = find_sources()["busi"].card


@pytest.fixture(scope="module")
def drafted(tmp_path_factory):
    """Task folders of a drafted rule: of boxes, and of options in pairs."""
    layer = tmp_path_factory.mktemp("layer")
    new_task("Lesion Box", layer / "tasks", rule=True)
    folder = new_task("Lesion Sign", layer / "tasks", rule=True)
    path = folder / "task.toml"
    text = path.read_text(encoding="utf-8")
    text = text.replace('form = "box"', 'form = "option"').replace('set = "none"', 'set = "pair"')
    path.write_text(text, encoding="utf-8")
    with using_vocabulary([layer]):
        yield


@pytest.fixture(scope="module")
def boxed(drafted):
    task = Task("Lesion Box")
    return next(q for view in trial_views(task, CARD) for q in open_questions(view))


def at(question, number, box, **changes):
    """The question on another image, with another box."""
    name = f"{number:03}"
    sample = replace(
        question.sample, id=name, case=name, patient=name, pixel_sha256=name, image=f"i/{name}.png"
    )
    target = BoxTarget(ask=BoxAsk(), size=(512, 512), box=box, iou=0.5)
    return replace(question, sample=sample, target=target, **changes)


def scattered(question, count):
    boxes = [
        (40 * (n % 12), 40 * (n // 12), 40 * (n % 12) + 30, 40 * (n // 12) + 30)
        for n in range(count)
    ]
    return [at(question, n, box) for n, box in enumerate(boxes)]


def sign(question, number, role, **changes):
    base = at(question, number, (0, 0, 9, 9), task=Task("Lesion Sign"), role=role, **changes)
    target = OptionTarget(options=(("A", "Yes"), ("B", "No")), key="A" if role == "yes" else "B")
    return replace(base, target=target)


def compose(questions, *, per_cell=None, seed=0, bar_counts=(), **bars):
    wordings = Wordings(tasks=[Task("Lesion Box"), Task("Lesion Sign")])
    return compose_open_items(
        questions,
        load_terms(),
        wordings,
        bar_counts=dict(bar_counts),
        evidence=bars.get("evidence", Grade.B),
        least_visible=bars.get("least_visible", Visibility.PARTLY),
        seed=seed,
        per_cell=per_cell,
    )


def test_scattered_boxes_are_asked_with_their_chance(boxed):
    result = compose(scattered(boxed, 40))
    assert len(result.items) == 40
    assert {item.chance for item in result.items} == {0.0}


def test_a_box_that_always_lies_in_one_place_is_not_asked(boxed):
    questions = [at(boxed, n, (100, 100, 200, 200)) for n in range(10)]
    result = compose(questions)
    assert result.items == ()
    assert result.dropped == {"Lesion Box: one fixed answer is right too often": 10}


@pytest.mark.parametrize("patients", [2, 3, FEW - 2])
def test_of_few_patients_too_what_a_constant_always_passes_is_not_asked(boxed, patients):
    alike = [at(boxed, n, (100 + n, 100, 200, 200)) for n in range(patients)]
    result = compose(alike)
    assert result.items == ()
    assert result.dropped == {f"Lesion Box: {ALWAYS}": patients}
    apart = at(boxed, patients, (300, 300, 400, 400))
    assert len(compose([*alike, apart]).items) == patients + 1


def test_of_one_patient_nothing_is_known_from_others(boxed):
    (chance,) = blind_chances([at(boxed, 0, (100, 100, 200, 200))]).values()
    assert (chance.share, chance.always) == (1, False)


def test_a_place_that_a_third_of_the_patients_share_is_warned_of_and_stored_as_chance(boxed):
    shared = [at(boxed, 100 + n, (400, 400, 500, 500)) for n in range(10)]
    result = compose([*scattered(boxed, 20), *shared])
    assert {item.chance for item in result.items} == {0.3333}
    assert len(result.warnings) == 1
    assert "would pass 33 % of 30 questions" in result.warnings[0]


def of_patients(boxed, count):
    """Patients with a box of their own, each on two images: nobody's box passes another's."""
    return [
        replace(question, sample=replace(question.sample, patient=f"patient {n // 2}"))
        for n in range(2 * count)
        for question in [at(boxed, n, (90 * (n // 2), 0, 90 * (n // 2) + 80, 80))]
    ]


def test_the_constant_of_a_patient_is_never_tried_on_that_patient(boxed):
    (chance,) = blind_chances(of_patients(boxed, FEW)).values()
    assert (chance.patients, chance.share) == (FEW, 0.0)


@pytest.mark.parametrize("patients", [1, 2, 4])
def test_few_patients_have_the_chance_of_the_best_constant_of_their_own(boxed, patients):
    (chance,) = blind_chances(of_patients(boxed, patients)).values()
    assert (chance.patients, chance.share) == (patients, 1 / patients)


def test_one_question_of_each_patient_and_concept_is_asked(boxed):
    questions = [
        replace(q, sample=replace(q.sample, patient=f"p{n % 5}"))
        for n, q in enumerate(scattered(boxed, 40))
    ]
    result = compose(questions)
    assert len(result.items) == 5
    assert result.dropped["Lesion Box: another question of its patient is asked"] == 35


def test_the_result_does_not_depend_on_the_order_of_the_questions(boxed):
    questions = scattered(boxed, 30)
    once = compose(questions, per_cell=7, seed=3)
    assert compose(questions[::-1], per_cell=7, seed=3) == once
    assert compose(questions, per_cell=7, seed=4).items != once.items


def test_a_quota_is_even_over_lots(boxed):
    sizes = ["small"] * 25 + ["large"] * 5
    questions = [replace(q, lot=lot) for q, lot in zip(scattered(boxed, 30), sizes, strict=True)]
    result = compose(questions, per_cell=8)
    assert Counter(item.lot for item in result.items) == {"small": 4, "large": 4}
    assert result.dropped["Lesion Box: quota"] == 22


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"grade": Grade.C}, "evidence-C"),
        ({"visible": Visibility.NO}, "not-visible"),
        ({"bar_reason": "cut"}, "cut"),
    ],
)
def test_what_must_not_be_asked_is_counted(boxed, changes, reason):
    first, *rest = scattered(boxed, 10)
    result = compose([replace(first, **changes), *rest])
    assert len(result.items) == 9
    assert result.dropped == {f"Lesion Box: {reason}": 1}


def test_reasons_of_rules_are_counted_with_the_others(boxed):
    result = compose(scattered(boxed, 5), bar_counts={"Lesion Box: marks": 4})
    assert result.dropped == {"Lesion Box: marks": 4}


def test_equal_images_are_asked_once_and_not_where_their_answers_differ(boxed):
    first, second, third, *rest = scattered(boxed, 20)
    same = replace(second, sample=replace(second.sample, pixel_sha256="000"))
    alike = replace(third, target=rest[0].target)
    alike = replace(alike, sample=replace(alike.sample, pixel_sha256=rest[0].sample.pixel_sha256))
    result = compose([first, same, alike, *rest])
    assert result.dropped == {
        "Lesion Box: contradicting-pictures": 2,
        "Lesion Box: repeated-picture": 1,
    }


def test_wordings_are_drawn_among_all(boxed):
    variants = Counter(item.variant for item in compose(scattered(boxed, 60)).items)
    assert len(variants) == 3
    assert min(variants.values()) > 8


def test_ids_change_with_what_is_asked_alone(boxed):
    questions = scattered(boxed, 6)
    moved = [*questions[:-1], at(boxed, 5, (300, 300, 350, 350))]
    before = {item.sample: item.id for item in compose(questions).items}
    after = {item.sample: item.id for item in compose(moved).items}
    assert {name for name in before if before[name] != after[name]} == {"005"}


def test_pairs_have_one_item_of_each_role_one_question_and_one_list_of_options(boxed):
    questions = [sign(boxed, n, "yes" if n < 7 else "no") for n in range(20)]
    items = compose(questions).items
    pairs = {name: [item for item in items if item.set == name] for name in {i.set for i in items}}
    assert len(pairs) == 7
    for first, second in pairs.values():
        assert {first.role, second.role} == {"yes", "no"}
        assert first.question == second.question
        assert (
            dict(first.target.options)[first.target.key]
            != dict(second.target.options)[second.target.key]
        )
    assert all(item.chance == 0.5 for item in items)


def test_two_images_of_one_patient_are_a_pair_before_those_of_two(boxed):
    questions = [sign(boxed, n, "yes") for n in range(6)]
    twin = sign(boxed, 9, "no")
    questions.append(replace(twin, sample=replace(twin.sample, patient="004")))
    items = compose(questions).items
    assert {item.sample for item in items} == {"004", "009"}


def test_members_of_a_pair_share_their_stratum(boxed):
    questions = [
        sign(boxed, n, "yes" if n < 4 else "no", stratum=("PA" if n % 2 else "AP",))
        for n in range(8)
    ]
    items = compose(questions).items
    strata = {question.sample.id: question.stratum for question in questions}
    pairs = {item.set for item in items}
    assert len(pairs) == 4
    for name in pairs:
        assert len({strata[item.sample] for item in items if item.set == name}) == 1


def test_a_question_without_a_partner_is_counted(boxed):
    result = compose([sign(boxed, n, "yes") for n in range(3)])
    assert result.dropped == {"Lesion Sign: no partner with another answer": 3}


def test_keys_are_spread_evenly_over_the_letters(boxed):
    items = compose([sign(boxed, n, "yes" if n % 2 else "no") for n in range(40)]).items
    assert Counter(item.target.key for item in items) == {"A": 20, "B": 20}


def denied(boxed, *contrasts, first=10):
    return [sign(boxed, first + n, "no", contrast=contrast) for n, contrast in enumerate(contrasts)]


def contrasts_of(result):
    return Counter(item.contrast for item in result.items if item.role == "no")


def test_a_normal_image_is_no_partner_where_another_finding_is_shown_elsewhere(boxed):
    positives = [sign(boxed, n, "yes") for n in range(4)]
    result = compose([*positives, *denied(boxed, "normal", "another", "normal", "unstated")])
    assert contrasts_of(result) == {"another": 1}
    assert result.dropped["Lesion Sign: another image that denies it shows more"] == 3
    assert result.as_dict()["contrasts"] == {"Lesion Sign": {"another": 1}}


@pytest.mark.parametrize("best", ["unstated", "normal"])
def test_the_best_contrast_that_a_source_has_is_asked(boxed, best):
    positives = [sign(boxed, n, "yes") for n in range(4)]
    result = compose([*positives, *denied(boxed, "normal", best, best)])
    assert contrasts_of(result) == {best: 2 if best == "unstated" else 3}


def test_contrasts_of_another_concept_or_source_do_not_matter(boxed):
    positives = [sign(boxed, n, "yes") for n in range(4)]
    elsewhere = [
        replace(q, sample=replace(q.sample, source="bus-bra"), stratum=("bus-bra",))
        for q in denied(boxed, "another", first=20)
    ]
    other = [replace(q, concept="breast cyst") for q in denied(boxed, "another", first=30)]
    result = compose([*positives, *denied(boxed, "normal"), *elsewhere, *other])
    assert contrasts_of(result) == {"normal": 1}


def of_patient(boxed, number, patient, concept):
    base = at(boxed, number, (0, 0, 9, 9), concept=concept)
    return (replace(base, sample=replace(base.sample, patient=patient)),)


def test_no_patient_has_more_than_the_task_says_and_concepts_are_asked_evenly(boxed):
    bundles = [
        of_patient(boxed, 10 * n + m, f"p{n}", concept)
        for n in range(4)
        for m, concept in enumerate("abcd")
    ]
    selection = few_of_each_patient(bundles, 2)
    assert set(Counter(bundle[0].sample.patient for bundle in selection).values()) == {2}
    assert set(Counter(bundle[0].concept for bundle in selection).values()) == {2}
    assert few_of_each_patient(bundles, None) == bundles
    assert few_of_each_patient(bundles[:3], 9) == bundles[:3]


def test_two_concepts_of_one_topic_are_asked_once_of_each_patient(boxed):
    """Who knows that a lesion is benign knows that it is not malignant."""
    pairs = [
        sign(boxed, number, role, concept=concept, topic=topic, field=concept)
        for concept in ("BENIGN", "MALIGNANT")
        for number, role in ((0, "yes"), (1, "no"))
        for topic in ("pathology",)
    ]
    assert len(compose(pairs).items) == 2
    assert len(compose([replace(question, topic="") for question in pairs]).items) == 4

from collections import Counter
from dataclasses import dataclass, fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medrcube.build.questions.compose import (
    NOT_DRAWN,
    ONE_ANSWER,
    ONE_ANSWER_IN_ALL,
    compose,
    place_keys,
)
from medrcube.build.questions.eligibility import prepare_questions
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.item_table import ChoiceItem, items_from_frame, items_to_frame
from medrcube.build.questions.question_wording import own_words
from medrcube.build.stages.samples import Sample, samples_from_frame, samples_to_frame
from medrcube.errors import WorkspaceError
from medrcube.facts import Grade, Scope, Visibility
from medrcube.ontologies.difficulty import Difficulty
from medrcube.ontologies.distractor_safety import CaseFacts, Evidence, SafetyRules
from medrcube.ontologies.distractor_selection import SOURCES
from medrcube.ontologies.knowledge_protocol import ConceptName, NoKnowledge
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import TermError, Terms, load_terms
from medrcube.sources.registry import find_sources, get_source
from medrcube.taxonomy import Anatomy, Modality, Task

FINDINGS = ("Cardiomegaly", "Pneumothorax", "Hernia", "Fracture", "scoliosis", "osteopenia")


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
        "perceptual_hash": "",
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


def query(
    key, number=0, *, task=Task("Abnormality Diagnosis"), absent=(), grade=Grade.A, **changes
):
    def mark(of):
        return Evidence(field="f", scope=Scope.PATIENT, grade=of)

    values = {
        "task": task,
        "sample": sample(number),
        "field": "f",
        "key": key,
        "scope": Scope.IMAGE,
        "ground": CaseFacts(
            present={key: mark(Grade.A)},
            absent={label: mark(grade) for label in absent if label != key},
            unknown=frozenset(),
            anatomy=changes.pop("anatomy", Anatomy("Chest")),
            modality=changes.pop("modality", Modality("X-ray")),
        ),
    }
    return QuestionCandidate(**{**values, **changes})


def run(queries, **changes):
    return compose(queries, load_terms(), load_relations(), **changes)


def company(*queries, copies=6):
    """Questions, and for each safe option of theirs some that have it as their key.

    A question stands alone nowhere: its options are the keys of others.
    """
    rules = SafetyRules(terms=load_terms(), relations=load_relations(), evidence=Grade.C)
    company_queries, number = [], 1000
    for question in queries:
        ready = prepare_questions([question], rules, SOURCES, 0, least_visible=Visibility.NO).ready
        labels = [value for entry in ready for value in entry.compatible.labels.values()]
        for label in (question.key, *labels):
            mark = question.ground.present[question.key]
            others = {entry: mark for entry in (question.key, *labels) if entry != label}
            ground = replace(question.ground, present={label: mark}, absent={**others})
            for _ in range(copies):
                number += 1
                picture = replace(question.sample, id=f"s{number}", case=f"c{number}")
                other = replace(question, key=label, ground=ground, sample=picture)
                if label == question.key:
                    other = replace(question, sample=picture)
                company_queries.append(other)
    return [*queries, *company_queries]


def among(target, **changes):
    """The first item with the key of a question that is asked in company."""
    items = run(company(target), **changes).items
    return next(item for item in items if item.concept == target.key)


def findings(count=60):
    return [
        query(FINDINGS[n % len(FINDINGS)], n, absent=FINDINGS, pool=FINDINGS) for n in range(count)
    ]


def views(count=90):
    return [
        query(("AP", "PA", "LATERAL")[n % 3], n, task=Task("View Recognition"), group="chest view")
        for n in range(count)
    ]


def test_an_item_carries_its_key_its_options_and_why_they_are_safe():
    item = among(query("Pneumothorax", absent=FINDINGS, pool=FINDINGS))
    right = item.options[item.key]
    wrong = [option for option in item.options if option is not right]
    assert (right.text, right.concept, right.strategy) == ("Pneumothorax", "Pneumothorax", "key")
    assert "hpo:HP:0002107" in right.ids
    assert len(wrong) == 3
    assert {(option.strategy, option.grade) for option in wrong} == {("knowledge", "A")}
    assert all({1, 5, 10, 12} <= set(option.passed) for option in wrong)
    assert (item.state, item.grade, item.concept) == ("unreviewed", "A", "Pneumothorax")
    assert item.question.endswith("?")


@pytest.mark.parametrize(
    ("least", "visibility", "is_asked"),
    [
        ({}, Visibility.PARTLY, True),
        ({}, Visibility.NO, False),
        ({"least_visible": Visibility.NO}, Visibility.NO, True),
        ({"least_visible": Visibility.YES}, Visibility.PARTLY, False),
    ],
)
@pytest.mark.parametrize("marked", [False, True])
def test_what_a_reader_could_not_know_is_counted_and_not_asked(least, visibility, is_asked, marked):
    plain = query("Pneumothorax", absent=FINDINGS, pool=FINDINGS, visible=visibility)
    result = boxes(visible=visibility) if marked else plain
    outcome = run([result] if marked else company(result), **least)
    assert {item.visible for item in outcome.items} == (
        {visibility.name.lower()} if is_asked else set()
    )
    assert (outcome.dropped[f"{result.task.value}: not-visible"] > 0) is not is_asked


def test_the_grade_of_an_item_is_that_of_its_weakest_option():
    pool = ("Pneumothorax", "Hernia", "Fracture")
    facts = query("Pneumothorax", absent=["Hernia"], pool=pool)
    weak = Evidence(field="f", scope=Scope.IMAGE, grade=Grade.B)
    facts.ground.absent["Fracture"] = weak
    assert among(facts).grade == "B"


def test_a_small_group_makes_an_item_of_two_options():
    item = among(query("CC", task=Task("View Recognition"), group="mammography view"))
    assert len(item.options) == 2


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (query("Hernia", bar_reason="scope"), "Abnormality Diagnosis: scope"),
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
def test_every_query_without_an_item_is_counted_with_its_reason(candidate, reason):
    outcome = run([candidate])
    assert outcome.items == ()
    assert outcome.dropped == {reason: 1}


def test_silence_becomes_a_wrong_option_only_by_the_switch():
    candidate = query("Hernia", pool=FINDINGS, absent=FINDINGS, grade=Grade.C)
    assert among(candidate, evidence="C").grade == "C"
    assert run([candidate]).items == ()


def test_an_unknown_group_is_an_error():
    with pytest.raises(TermError, match="not an exclusive group"):
        run([query("AP", group="poems")])


def boxes(number=0, **changes):
    picture = sample(number, artefact="boxes", marked="Hernia", truth="2", choices=4)
    return query("Hernia", number, task=Task("ROI Grounding"), sample=picture, **changes)


def test_boxes_keep_their_numbers():
    (item,) = run([boxes()]).items
    assert [option.text for option in item.options] == ["Box 1", "Box 2", "Box 3", "Box 4"]
    assert item.key == 1
    assert item.ordered
    assert "diaphragmatic hernia" in item.question


def test_numbered_frames_keep_their_numbers_and_the_question_names_the_fact():
    pair = sample(artefact="numbered", marked="end-systole", truth="2", choices=2, frames="0+0")
    candidate = query("end-systole", task=Task("Imaging Protocols Recognition"), sample=pair)
    (item,) = run([candidate]).items
    assert [option.text for option in item.options] == ["Frame 1", "Frame 2"]
    assert (item.key, item.ordered, item.strategy) == (1, True, "frame")
    assert "end-systole" in item.question
    assert "numbered frame" in item.question


def test_boxes_need_evidence_that_no_other_place_shows_the_finding():
    assert run([boxes(grade=Grade.A)]).items
    candidate = boxes()
    candidate = QuestionCandidate(
        **{f.name: getattr(candidate, f.name) for f in fields(QuestionCandidate)}
        | {"grade": Grade.C}
    )
    assert run([candidate]).dropped == {"ROI Grounding: evidence-C": 1}
    assert run([candidate], evidence="C").items


def test_scales_stay_in_scale_order():
    candidates = [
        query(f"CT-{n % 5}", n, task=Task("Severity Grading"), group="CT severity")
        for n in range(20)
    ]
    for item in run(candidates).items:
        grades = [option.concept for option in item.options]
        assert grades == sorted(grades)
        assert item.options[item.key].concept == item.concept


def test_a_mammogram_is_not_called_one_where_the_organ_is_asked():
    picture = sample(anatomy="Breast")
    organ = query(
        "breast",
        task=Task("Organ Recognition"),
        group="organ",
        sample=picture,
        anatomy=Anatomy("Breast"),
    )
    view = query("CC", task=Task("View Recognition"), group="mammography view", sample=picture)
    items = run(company(organ, view)).items
    questions = {item.task: item.question for item in items}
    assert "this radiograph" in questions["Organ Recognition"]
    assert "this mammogram" in questions["View Recognition"]


def test_pictures_side_by_side_are_said_to_be_so():
    picture = sample(frames="3+9", modality="MRI", anatomy="Heart")
    candidate = query(
        "DCM",
        task=Task("Disease Diagnosis"),
        group="ACDC group",
        sample=picture,
        scope=Scope.PATIENT,
        anatomy=Anatomy("Heart"),
        modality=Modality("MRI"),
    )
    item = among(candidate)
    assert "these side-by-side cardiac MR images" in item.question


def concepts_of(item):
    return frozenset(option.concept for option in item.options)


def chest_views(**counts):
    keys = [key for key, count in counts.items() for _ in range(count)]
    return [
        query(key, n, task=Task("View Recognition"), group="chest view")
        for n, key in enumerate(keys)
    ]


def test_every_set_of_options_is_shown_with_each_of_its_labels_as_key():
    entries = {}
    for item in run(chest_views(AP=20, PA=50, LATERAL=8)).items:
        entries.setdefault(concepts_of(item), Counter())[item.concept] += 1
    assert set(entries) == {frozenset({"AP", "PA", "LATERAL"}), frozenset({"AP", "PA"})}
    assert all(set(keys) == names for names, keys in entries.items())


@pytest.mark.thorough
@pytest.mark.parametrize("sign", [1, -1], ids=["most", "least"])
def test_who_knows_the_other_keys_of_a_set_knows_no_more_than_by_chance(sign):
    """Naming the option that is most, or least, often the key of the others."""
    hits, count = 0.0, 0
    for seed in range(30):
        items = run(chest_views(AP=60, PA=60, LATERAL=60), seed=seed, per_cell=30).items
        keys = Counter(item.concept for item in items)
        for item in items:
            others = {
                entry: sign * (keys[entry] - (entry == item.concept)) for entry in concepts_of(item)
            }
            named = [other for other in others if others[other] == max(others.values())]
            hits += (item.concept in named) / len(named)
            count += 1
    assert count == 30 * 30
    assert hits / count == pytest.approx(1 / 3, abs=0.06)


def test_a_label_that_is_no_key_of_the_source_is_no_option():
    items = run(chest_views(AP=30, PA=30)).items
    assert {concepts_of(item) for item in items} == {frozenset({"AP", "PA"})}


def test_a_source_with_one_answer_is_not_asked_and_counted():
    outcome = run(chest_views(AP=30))
    assert outcome.items == ()
    assert outcome.dropped == {f"View Recognition: {ONE_ANSWER}": 30}


def test_a_modality_is_compared_over_the_sources():
    def scans(source, modality, start):
        return [
            replace(
                query(modality, n, task=Task("Modality Recognition"), group="modality"),
                sample=sample(n, source=source, modality=modality),
            )
            for n in range(start, start + 20)
        ]

    outcome = run([*scans("one", "CT", 0), *scans("other", "MRI", 20)])
    assert {item.source for item in outcome.items} == {"one", "other"}
    assert {concepts_of(item) for item in outcome.items} == {frozenset({"CT", "MRI"})}
    alone = run(scans("one", "CT", 0))
    assert alone.dropped == {f"Modality Recognition: {ONE_ANSWER_IN_ALL}": 20}


def test_items_of_a_set_carry_one_block_and_boxes_none():
    items = run([*findings(), *views(), boxes(999)]).items
    blocks = {}
    for item in items:
        blocks.setdefault(item.block, set()).add(concepts_of(item))
    assert blocks.pop("") == {frozenset({""})}
    assert all(len(sets) == 1 for sets in blocks.values())
    assert len(blocks) >= 2


def planes(key, count, *, start, **changes):
    """Questions on the plane, of pictures that their words tell apart by ``changes``."""
    return [
        replace(
            query(key, start + n, task=Task("View Recognition"), group="plane"),
            sample=sample(start + n, **changes),
        )
        for n in range(count)
    ]


def test_questions_of_a_block_read_the_same():
    candidates = planes("axial", 20, start=0, modality="MRI")
    candidates += planes("coronal", 20, start=20, modality="MRI")
    candidates += planes("axial", 20, start=40, modality="CT")
    candidates += planes("coronal", 20, start=60, modality="CT")
    keys = {}
    for item in run(candidates).items:
        keys.setdefault(item.question, Counter())[item.concept] += 1
    assert len(keys) == 6  # two kinds of pictures, three wordings
    assert all(set(entries) == {"axial", "coronal"} for entries in keys.values())


def test_pictures_that_the_words_tell_apart_share_no_block():
    candidates = planes("axial", 20, start=0, modality="MRI")
    candidates += planes("coronal", 20, start=20, modality="CT")
    assert run(candidates).items == ()


def test_labels_of_a_block_are_wrong_in_each_of_its_questions():
    """One finding that nobody read as absent may be a key, but no option of the other."""
    candidates = [
        query("Hernia", 1, absent=("Pneumothorax", "osteopenia"), pool=FINDINGS),
        query("Pneumothorax", 2, absent=("Hernia",), pool=FINDINGS),
        query("osteopenia", 3, absent=("Pneumothorax",), pool=FINDINGS),
    ]
    items = {item.concept: concepts_of(item) for item in run(candidates).items}
    assert set(items) == {"Hernia", "Pneumothorax"}
    assert set(items.values()) == {frozenset(items)}


@pytest.mark.parametrize("seed", range(6))
def test_a_third_label_must_be_wrong_in_every_question_of_a_block(seed):
    candidates = [
        query("Hernia", 1, absent=("Pneumothorax", "osteopenia"), pool=FINDINGS),
        query("Pneumothorax", 2, absent=("Hernia",), pool=FINDINGS),
        query("osteopenia", 3, absent=("Hernia", "Pneumothorax"), pool=FINDINGS),
    ]
    for item in run(candidates, seed=seed).items:
        safe = next(
            question.ground.absent for question in candidates if question.key == item.concept
        )
        assert concepts_of(item) - {item.concept} <= set(safe)


def test_labels_that_look_alike_are_no_wrong_options_together():
    labels = ("Fracture", "Consolidation", "Infiltration", "Hernia")
    candidates = [query(label, n, absent=labels, pool=labels) for n, label in enumerate(labels * 3)]
    for item in run(candidates).items:
        assert not {"Consolidation", "Infiltration"} <= concepts_of(item) - {item.concept}


def test_positions_on_a_scale_are_those_of_the_drawn_keys():
    keys = ["BI-RADS 2", "BI-RADS 3", "BI-RADS 4", "BI-RADS 5"] * 100
    candidates = [
        query(key, n, task=Task("Severity Grading"), group="BI-RADS") for n, key in enumerate(keys)
    ]
    positions = Counter(item.key for item in run(candidates, per_cell=200).items)
    assert sorted(positions) == [0, 1, 2, 3]
    assert all(count == pytest.approx(50, abs=4 * 6.1) for count in positions.values())


@pytest.mark.thorough
def test_the_longest_option_is_the_key_as_often_as_chance():
    candidates = findings(600)
    hits, chance, spread = 0, 0.0, 0.0
    for item in run(candidates).items:
        sizes = [len(option.text) for option in item.options]
        if sizes.count(max(sizes)) == 1:
            hits += sizes.index(max(sizes)) == item.key
            chance += 1 / len(sizes)
            spread += (1 - 1 / len(sizes)) / len(sizes)
    assert hits == pytest.approx(chance, abs=3 * spread**0.5)


@pytest.mark.thorough
def test_each_label_is_a_distractor_as_often_as_its_share_of_keys_asks():
    keys, wrong = Counter(), Counter()
    for item in run(findings(600)).items:
        assert len(item.options) == 4
        keys[item.concept] += 1
        wrong.update(concepts_of(item) - {item.concept})
    for label, count in keys.items():
        assert wrong[label] / (wrong[label] + count) == pytest.approx(3 / 4, abs=0.07)


def test_questions_beyond_the_quota_are_counted():
    outcome = run(findings(60), per_cell=12)
    assert len(outcome.items) == 12
    assert outcome.dropped == {
        "Abnormality Diagnosis: quota": 43,
        f"Abnormality Diagnosis: {NOT_DRAWN}": 5,
    }


def test_a_question_that_breaks_a_rule_leaves_the_others_of_its_block():
    table = load_terms()
    named = {**table, "Hernia": replace(table["Hernia"], name="hernia of the chest")}
    terms = Terms(named.values())
    outcome = compose(findings(60), terms, load_relations())
    assert outcome.dropped["Abnormality Diagnosis: lint word-repeats"] == 10
    assert {item.concept for item in outcome.items} == set(FINDINGS) - {"Hernia"}
    wrong = Counter(label for item in outcome.items for label in concepts_of(item) - {item.concept})
    assert "Hernia" not in wrong


def test_the_wanted_difficulty_is_preferred():
    keys = [f"BI-RADS {n % 5 + 1}" for n in range(50)]
    candidates = [
        query(key, n, task=Task("Severity Grading"), group="BI-RADS") for n, key in enumerate(keys)
    ]

    def share(level):
        items = run(candidates, options=2, difficulty=level).items
        return sum(item.difficulty == "hard" for item in items) / len(items)

    assert share(Difficulty.HARD) >= 0.8
    assert share(Difficulty.MEDIUM) <= 0.2


def test_what_the_source_shows_beside_the_key_is_the_harder_option():
    """Pneumothorax comes with every second hernia; where it is read as absent it is preferred."""
    pool = ("Hernia", "Pneumothorax", "Fracture", "scoliosis", "osteopenia")
    alone = [query("Hernia", n, absent=pool, pool=pool) for n in range(30)]
    others = [query(key, 100 + n, absent=pool, pool=pool) for n, key in enumerate(pool[1:] * 30)]
    both = []
    for n in range(30, 60):
        candidate = query(
            "Hernia", n, absent=[entry for entry in pool if entry != "Pneumothorax"], pool=pool
        )
        there = {**candidate.ground.present, "Pneumothorax": candidate.ground.present["Hernia"]}
        both.append(replace(candidate, ground=replace(candidate.ground, present=there)))
    items = run(alone + both + others, options=2, difficulty=Difficulty.HARD).items
    candidate = [item for item in items if int(item.sample[1:]) < 30]
    assert len(candidate) > 10
    hard = [item for item in candidate if concepts_of(item) == {"Hernia", "Pneumothorax"}]
    assert {item.difficulty for item in hard} == {"hard"}
    assert len(hard) > 0.6 * len(candidate)


def test_an_option_records_how_alike_and_how_hard_it_is():
    candidate = query("BI-RADS 3", task=Task("Severity Grading"), group="BI-RADS")
    item = among(candidate)
    by = {option.concept: option for option in item.options}
    assert by["BI-RADS 3"].similarity is None
    for option in item.options:
        if option.strategy != "key":
            steps = abs(int(option.concept[-1]) - 3)
            assert option.similarity == pytest.approx(1 - steps / 6)
            assert option.difficulty == ("hard" if steps == 1 else "medium")


def test_the_word_of_the_data_set_is_kept():
    words = {"toy": {"Pneumothorax": "Finding Labels: PTX"}}
    item = among(query("Pneumothorax", absent=FINDINGS, pool=FINDINGS), words=words)
    option_words = {option.concept: option.word for option in item.options}
    assert option_words.pop("Pneumothorax") == "Finding Labels: PTX"
    assert set(option_words.values()) == {""}


def test_the_words_of_a_data_set_come_from_its_card():
    words = own_words([get_source(find_sources(), "bus-bra").card])["bus-bra"]
    assert words["BI-RADS 4"].partition(": ")[2] == "4"
    assert words["MALIGNANT"].endswith(": malignant")


@dataclass(frozen=True)
class Names(NoKnowledge):
    """An index that knows preferred names and nothing else."""

    name_of_label: dict

    def editions(self):
        return {"hpo": "2031-01"}

    def names(self, term):
        text = self.name_of_label.get(term.label)
        return (
            (ConceptName(text=text, id="X:1", ontology="hpo", version="2031-01"),) if text else ()
        )


def texts(names, **changes):
    candidate = query("Pneumothorax", absent=FINDINGS[:3], pool=FINDINGS, **changes)
    item = among(candidate, knowledge=Names(names))
    return {option.concept: option for option in item.options}


FITTING = {
    "Pneumothorax": "Traumatic pneumothorax",
    "Cardiomegaly": "Marked cardiomegaly",
    "Hernia": "hernia of the diaphragm",
    "Fracture": "bone fracture",
}


def test_options_carry_the_preferred_name_and_where_it_stands():
    options = texts(FITTING)
    key, wrong = options["Pneumothorax"], options["Hernia"]
    assert (key.text, key.named_by) == ("Traumatic pneumothorax", "hpo:X:1 (2031-01)")
    assert (wrong.text, wrong.named_by) == ("Hernia of the diaphragm", "hpo:X:1 (2031-01)")
    assert dict(zip(key.ids, key.versions, strict=True))["hpo:HP:0002107"] == "2031-01"


def test_without_a_preferred_name_the_wording_is_our_own_with_a_capital():
    assert {option.text for option in texts({}).values()} >= {"Pneumothorax", "Cardiomegaly"}


@pytest.mark.parametrize(
    "name",
    [
        "Pneumothorax, unspecified",
        "Pneumothorax or haemothorax",
        "Pneumothorax with oedema",
        "Hernia of the diaphragm",
        "Pneumothoraces",
        "Collapsed",
        "Chest pneumothorax",
        "",
    ],
    ids=[
        *("rest-class", "composite", "spelling", "duplicate", "number", "no-head"),
        *("breaks-a-rule", "one-without"),
    ],
)
def test_a_name_that_gives_itself_away_puts_the_whole_item_in_our_words(name):
    options = texts({**FITTING, "Pneumothorax": name})
    assert options["Pneumothorax"].text == "Pneumothorax"
    assert {option.named_by for option in options.values()} == {""}


@dataclass(frozen=True)
class Depths(NoKnowledge):
    """An index in which the key alone is deep."""

    def contents(self, terms):
        return tuple(1.0 if term.label == "Pneumothorax" else 0.2 for term in terms)


def test_options_that_are_much_wider_than_the_key_are_told_to_the_reviewer():
    candidate = query("Pneumothorax", absent=FINDINGS, pool=FINDINGS)
    deep, level = among(candidate, knowledge=Depths()), among(candidate)
    assert set(deep.warnings) - set(level.warnings) == {"content-depth"}


def test_capitals_of_abbreviations_stay():
    candidate = query(
        "T1",
        task=Task("Imaging Protocols Recognition"),
        group="MRI sequence",
        sample=sample(modality="MRI", anatomy="Brain"),
        modality=Modality("MRI"),
        anatomy=Anatomy("Brain"),
    )
    item = among(candidate, options=12)
    texts = {option.concept: option.text for option in item.options}
    assert {text[0].isupper() for text in texts.values()} == {True}
    assert texts["T1"] == "T1-weighted imaging"


def test_key_positions_are_even():
    counts = Counter(item.key for item in run(findings(), seed=3).items)
    assert len(counts) == 4
    assert max(counts.values()) - min(counts.values()) <= 1
    counts = Counter(item.key for item in run(views(), seed=3).items)
    assert len(counts) == 3
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_order_and_number_of_queries_of_one_kind_do_not_matter():
    queries = [*findings(), *views()]
    shuffled = [*queries, *queries[:5]]
    shuffled.sort(key=lambda entry: (entry.sample.id[::-1], entry.task))
    assert run(queries, seed=5) == run(shuffled, seed=5)


def test_another_seed_makes_other_items_of_the_same_facts():
    first, second = run(findings(), seed=1).items, run(findings(), seed=2).items
    assert {item.id for item in first} != {item.id for item in second}


def test_the_id_says_what_is_asked_and_not_where_the_key_stands():
    items = run(findings()).items
    moved = place_keys(items[:5], seed=9)
    assert {item.id for item in moved} == {item.id for item in items[:5]}
    assert len({item.id for item in items}) == len(items) > 30


@settings(deadline=None, max_examples=40)
@given(
    keys=st.lists(st.sampled_from(FINDINGS), min_size=1, max_size=12),
    seed=st.integers(0, 99),
    options=st.integers(2, 4),
)
def test_the_key_is_exactly_one_of_distinct_options(keys, seed, options):
    candidates = [query(key, n, absent=FINDINGS, pool=FINDINGS) for n, key in enumerate(keys)]
    outcome = run(candidates, seed=seed, options=options)
    assert len(outcome.items) + outcome.dropped.total() == len(keys)
    for item in outcome.items:
        texts = [option.text for option in item.options]
        assert 2 <= len(texts) == len(set(texts)) <= options
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
    assert [field.name for field in fields(ChoiceItem)][:8] == list(items_to_frame([]).columns)[:8]


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


def test_independent_options_make_an_item_of_a_question_whose_options_are_no_keys():
    plain = query("Hernia", absent=FINDINGS, pool=FINDINGS)
    assert run([plain]).items == ()
    outcome = run([plain, boxes(1)], even_keys=False)
    item, numbered = sorted(outcome.items, key=lambda entry: entry.task)
    assert item.concept == "Hernia"
    assert len(concepts_of(item)) == 4
    assert concepts_of(item) < set(FINDINGS)
    assert numbered.ordered
    assert outcome.dropped == {}


def test_independent_options_are_safe_and_used_evenly():
    candidates = [query("Hernia", n, absent=FINDINGS[:5], pool=FINDINGS) for n in range(40)]
    items = run(candidates, even_keys=False, options=2).items
    wrong = Counter(label for item in items for label in concepts_of(item) - {"Hernia"})
    assert len(items) == 40
    assert wrong == dict.fromkeys(set(FINDINGS[:5]) - {"Hernia"}, 10)


@pytest.mark.parametrize("seed", range(4))
def test_independent_options_keep_the_answers_that_a_quota_balances(seed):
    items = run(chest_views(AP=40, PA=20, LATERAL=10), even_keys=False, per_cell=9, seed=seed).items
    assert Counter(item.concept for item in items) == {"AP": 3, "PA": 3, "LATERAL": 3}


@pytest.mark.parametrize(
    ("counts", "keys_and_places"),
    [
        ({"AP": 6, "PA": 6, "LATERAL": 6}, "P0P1P2A0L2L0A2A2P0P0A1L1L1A0A2P1"),
        ({"AP": 9, "PA": 9}, "A0A0A1A0A0P1P1P1A1P1A0P1A1P0P0A0"),
    ],
)
def test_a_seed_draws_the_keys_and_places_that_it_drew_in_earlier_versions(counts, keys_and_places):
    items = run(chest_views(**counts), seed=3).items
    assert "".join(f"{item.concept[0]}{item.key}" for item in items) == keys_and_places


def test_a_source_none_of_whose_questions_can_be_written_has_only_those_reasons():
    table = load_terms()
    words = {"Hernia": "chest hernia", "Fracture": "radiograph fracture"}
    named = {key: replace(table[key], name=name) for key, name in words.items()}
    candidates = [
        query(key, n, absent=tuple(named), pool=tuple(named)) for n, key in enumerate(named)
    ]
    outcome = compose(candidates, Terms({**table, **named}.values()), load_relations())
    assert outcome.items == ()
    assert outcome.dropped == {"Abnormality Diagnosis: lint word-repeats": 2}


def test_the_seed_is_0_unless_another_is_given():
    assert run(views()) == run(views(), seed=0)
    assert run(views()) != run(views(), seed=1)

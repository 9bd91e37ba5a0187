"""Drawing by columns keeps the questions that drawing from records keeps."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.asked_columns import AskedTable, PackedQuestions, pack_questions
from medrcube.build.questions import compose
from medrcube.build.questions.eligibility import prepare_questions
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.sampling.column_draw import draw_questions
from medrcube.build.questions.sampling.quotas import select_questions
from medrcube.build.stages.deduplicate import bar_repeated_columns, bar_repeats
from medrcube.build.stages.samples import SAMPLES, Sample
from medrcube.facts import Grade, Scope, Visibility
from medrcube.ontologies.distractor_safety import CaseFacts, Evidence, SafetyRules
from medrcube.ontologies.distractor_selection import SOURCES
from medrcube.taxonomy import Anatomy, Modality, Task

FINDINGS = ("Edema", "Fracture", "Pneumonia", "Pneumothorax")
RULES = SafetyRules()


def _sample(number, *, source, patient, pixels, artefact, truth):
    return Sample(
        id=f"{number:016x}",
        source=source,
        case=f"c{number}",
        artefact=artefact,
        field="",
        marked="",
        truth=truth if artefact == "boxes" else "",
        choices=4 if artefact == "boxes" else 0,
        area=0.1,
        regions=1,
        image=f"images/{source}/c{number}.png",
        pixel_sha256=pixels,
        perceptual_hash="",
        width=8,
        height=8,
        anatomy="Chest",
        modality="X-ray",
        patient=patient,
        split="",
        scope="image",
        licence="CC0-1.0",
        redistribute=True,
        frames="0",
        reason="",
        recipe=f"{number:016x}",
    )


@st.composite
def _batches(draw):
    """Questions about images of two sources, some of which share patient, pixels and facts."""
    queries, samples = [], []
    for number in range(draw(st.integers(0, 40))):
        present = draw(st.sets(st.sampled_from(FINDINGS), min_size=1, max_size=2))
        artefact = draw(st.sampled_from(["clean", "clean", "clean", "boxes"]))
        sample = _sample(
            number,
            source=draw(st.sampled_from("ab")),
            patient=draw(st.sampled_from(["", "p", "q", "r"])),
            pixels=draw(st.sampled_from([f"only {number}", "x", "y"])),
            artefact=artefact,
            truth=draw(st.sampled_from("1234")),
        )
        samples.append(sample)
        evidence = Evidence(field="finding", scope=Scope.IMAGE, grade=Grade.A)
        ground = CaseFacts(
            present=dict.fromkeys(sorted(present), evidence),
            absent=dict.fromkeys(sorted(set(FINDINGS) - present), evidence),
            unknown=frozenset(),
            anatomy=Anatomy("Chest"),
            modality=Modality("X-ray"),
        )
        queries += [
            QuestionCandidate(
                task=Task("ROI Grounding" if artefact == "boxes" else "Abnormality Diagnosis"),
                sample=sample,
                field="finding",
                key=key,
                scope=Scope.IMAGE,
                ground=ground,
                pool=() if artefact == "boxes" else FINDINGS,
                visible=draw(st.sampled_from(Visibility)),
                bar_reason=draw(st.sampled_from(["", "", "", "scope"])),
            )
            for key in sorted(present)
        ]
    return samples, queries


def _table(samples, queries):
    rows = {sample.id: row for row, sample in enumerate(samples)}
    packed = pack_questions(queries, rows)
    return AskedTable.unpack(QuestionCandidate, SAMPLES.table(samples), [(packed, 0)])


@given(_batches(), st.integers(1, 12), st.integers(0, 3))
def test_columns_draw_the_questions_that_records_draw(batch, per_cell, seed):
    samples, queries = batch
    least = Visibility.PARTLY
    prepared = prepare_questions(queries, RULES, SOURCES, seed, least_visible=least)
    table = _table(samples, queries)
    draw = draw_questions(table, RULES, SOURCES, seed, least_visible=least, per_cell=per_cell)
    expected = select_questions(prepared.ready, per_cell=per_cell)
    assert [(q.identity, q.lot, q.answer, q.within) for q in draw.questions] == [
        (q.identity, q.lot, q.answer, q.within) for q in expected
    ]
    assert [q.query for q in draw.questions] == [q.query for q in expected]
    assert [q.compatible and q.compatible.number for q in draw.questions] == [
        q.compatible and q.compatible.number for q in expected
    ]
    assert draw.dropped == prepared.dropped
    assert draw.ready.total() == len(prepared.ready)


@given(_batches())
def test_columns_bar_the_repeats_that_records_bar(batch):
    samples, queries = batch
    assert list(bar_repeated_columns(_table(samples, queries))) == bar_repeats(queries)


@given(_batches())
def test_what_is_asked_twice_of_an_image_counts_once(batch):
    samples, queries = batch
    twice = [*queries, *(replace(query, grade=Grade.B) for query in queries)]
    prepared = prepare_questions(twice, RULES, SOURCES, 0)
    draw = draw_questions(
        _table(samples, twice), RULES, SOURCES, 0, least_visible=Visibility.PARTLY, per_cell=3
    )
    assert draw.dropped == prepared.dropped
    assert list(draw.questions) == list(select_questions(prepared.ready, per_cell=3))


@given(_batches())
def test_a_table_without_a_quota_keeps_every_question_that_is_ready(batch):
    samples, queries = batch
    least = Visibility.PARTLY
    prepared = prepare_questions(queries, RULES, SOURCES, 0, least_visible=least)
    draw = compose._draw_questions(
        _table(samples, queries), RULES, SOURCES, 0, least_visible=least, per_cell=None
    )
    identities = sorted(question.identity for question in prepared.ready)
    assert sorted(question.identity for question in draw.questions) == identities
    assert draw.dropped == prepared.dropped


def test_equal_kinds_of_all_shards_are_one_object():
    packed = [PackedQuestions(kinds=(bytes([7] * 9), bytes([n] * 9)), rows=b"") for n in (8, 9)]
    records = {}
    first, other = (part.sharing(records) for part in packed)
    assert [first, other] == packed
    assert first.kinds[0] is other.kinds[0]
    assert len(records) == 3

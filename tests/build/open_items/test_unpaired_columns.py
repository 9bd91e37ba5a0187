"""Open items drawn from columns are those drawn from records, and every question is counted."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.asked_columns import AskedTable, pack_questions
from medrcube.build.open_items.authoring.trial_views import trial_views
from medrcube.build.open_items.compose import compose_open_items
from medrcube.build.open_items.pairing.contrast import CONTRASTS
from medrcube.build.open_items.pairing.unpaired_columns import split_unpaired
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.open_items.rule_files import open_questions
from medrcube.build.stages.samples import SAMPLES
from medrcube.facts import Grade, Visibility
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task
from medrcube.templates import Wordings

QUESTIONS = {
    question.role: question
    for view in trial_views(Task("Presence"), find_sources()["busi"].card)
    for question in open_questions(view)
    if not question.bar_reason
}


@st.composite
def _batches(draw):
    """Questions of two sources, of which one or both may state one answer alone."""
    roles = {source: draw(st.sampled_from([["yes"], ["yes"], ["yes", "no"]])) for source in "ab"}
    samples, questions = [], []
    for number in range(draw(st.integers(0, 30))):
        source = draw(st.sampled_from("ab"))
        question_of_role = QUESTIONS.get(draw(st.sampled_from(roles[source])), QUESTIONS["yes"])
        role = draw(st.sampled_from(roles[source]))
        sample = replace(
            question_of_role.sample,
            id=f"{number:03}",
            source=source,
            case=f"c{number}",
            patient=draw(st.sampled_from(["", "p", "q"])),
            pixel_sha256=draw(st.sampled_from([str(number)] * 6 + ["x"])),
        )
        samples.append(sample)
        question = replace(
            question_of_role,
            sample=sample,
            role=role,
            target=replace(question_of_role.target, key="A" if role == "yes" else "B"),
            stratum=(source, *question_of_role.stratum[1:]),
            prior=(),
            contrast=draw(st.sampled_from(CONTRASTS)) if role == "no" else "",
            grade=draw(st.sampled_from([Grade.A, Grade.A, Grade.C])),
            visible=draw(st.sampled_from(Visibility)),
        )
        questions += [question] * draw(st.sampled_from([1, 1, 1, 2]))
    return samples, questions


def _table(samples, questions):
    rows = {sample.id: row for row, sample in enumerate(samples)}
    packed = pack_questions(questions, rows)
    return AskedTable.unpack(OpenQuestion, SAMPLES.table(samples), [(packed, 0)])


def _composed(questions):
    return compose_open_items(
        questions,
        load_terms(),
        Wordings(),
        bar_counts={"Presence: silent": 2},
        evidence=Grade.B,
        least_visible=Visibility.PARTLY,
        seed=1,
        per_cell=None,
    )


@given(_batches())
def test_a_table_gives_the_items_and_counts_that_records_give(batch):
    samples, questions = batch
    assert _composed(_table(samples, questions)) == _composed(questions)


@pytest.mark.parametrize(("roles", "count"), [(["yes"], 0), (["yes", "no"], 4)])
def test_only_a_source_without_a_pair_is_counted_without_records(roles, count):
    samples = [
        replace(QUESTIONS["yes"].sample, id=str(n), case=str(n), pixel_sha256=str(n))
        for n in range(4)
    ]
    questions = [
        replace(QUESTIONS["yes"], sample=sample, role=roles[number % len(roles)])
        for number, sample in enumerate(samples)
    ]
    kept_questions, dropped = split_unpaired(_table(samples, questions), Grade.B, Visibility.PARTLY)
    assert (len(kept_questions), dropped.total()) == (count, 4 - count)

"""What the words of a question tell of its picture is told by ``context``, and nothing else is."""

from dataclasses import fields
from itertools import product

import pytest

from medrcube.build.questions.derive import Query
from medrcube.build.questions.wording import context, wording
from medrcube.build.samples import Sample
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.safety import Ground
from medrcube.ontologies.terms import load_terms
from medrcube.records import Scope
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.templates import render_question, variants

BLANK = {field.name: "" for field in fields(Sample)}
GROUPS = {Task.MODALITY_RECOGNITION: "modality", Task.VIEW_RECOGNITION: "plane"}
ASKED_BY_OPTIONS = sorted(set(Task) - {Task.ROI_GROUNDING})
PICTURES = list(product(Anatomy, Modality, ("0", "1+2", "1+2+3"), ("clean", "outline"), Scope))


def query(task, anatomy, modality, frames, artefact, scope):
    seen = {"anatomy": anatomy.value, "modality": modality.value}
    return Query(
        task=task,
        sample=Sample(**{**BLANK, **seen, "frames": frames, "artefact": artefact}),
        field="f",
        key="X-ray",
        scope=scope,
        ground=Ground(
            present={}, absent={}, unknown=frozenset(), anatomy=anatomy, modality=modality
        ),
        group=GROUPS.get(task),
    )


@pytest.mark.parametrize("task", ASKED_BY_OPTIONS)
def test_questions_of_one_context_read_the_same_in_every_wording(task):
    texts = {}
    for picture in PICTURES:
        asked = query(task, *picture)
        values = wording(asked, load_terms(), load_relations())
        read = tuple(render_question(task, name, **values) for name in variants(task))
        texts.setdefault(context(asked), set()).add(read)
    assert {told: read for told, read in texts.items() if len(read) > 1} == {}


def test_a_question_on_the_modality_has_no_context():
    told = {context(query(Task.MODALITY_RECOGNITION, *picture)) for picture in PICTURES}
    assert told == {""}

"""Wrong options for many findings: judged and chosen one by one, and as a whole batch.

Usage: ``python distractors.py SETS [INDEX]``. The images are those of a synthetic source with
the label table of CheXpert: of every label it says present, absent, unknown or nothing, by a fixed
seed, so that hardly two are alike and nothing can be remembered from one to the next.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from pathlib import Path

from medrcube.build.questions.compose import compose
from medrcube.build.questions.eligibility import request_of
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.stages.samples import Sample
from medrcube.facts import Grade, Scope
from medrcube.ontologies.distractor_safety import CaseFacts, Evidence, SafetyRules
from medrcube.ontologies.distractor_selection import LabelUsage, choose_distractors
from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.index_knowledge import IndexKnowledge
from medrcube.ontologies.knowledge_protocol import Knowledge, NoKnowledge
from medrcube.sources.registry import find_sources, get_source
from medrcube.taxonomy import Anatomy, Modality, Task

_SOURCE = "chexpert"
_STATES = ("present", "absent", "absent", "absent", "unknown", "nothing")


def main() -> None:
    sets = int(sys.argv[1])
    knowledge: Knowledge = (
        IndexKnowledge(OntologyIndex(Path(sys.argv[2]))) if sys.argv[2:] else NoKnowledge()
    )
    rules = SafetyRules(knowledge=knowledge)
    queries = make_queries(sets, rules)
    prior = LabelUsage(keyed=Counter(query.key for query in queries))

    def alone() -> None:
        for query in queries:
            choose_distractors(
                request_of(query), rules, options=4, seed=query.sample.id, prior=prior
            )

    def batch() -> int:
        composed = compose(queries, rules.terms, rules.relations, knowledge=knowledge)
        return len(composed.items)

    started = time.perf_counter()
    alone()
    chosen_at = time.perf_counter()
    items = batch()
    ended = time.perf_counter()
    print(json.dumps({"choose": chosen_at - started, "compose": ended - chosen_at, "items": items}))


def make_queries(count: int, rules: SafetyRules) -> list[QuestionCandidate]:
    """Questions for a finding, each on an image of its own with states of all labels by lot."""
    card = get_source(find_sources(), _SOURCE).card
    pool = tuple(
        dict.fromkeys(
            label
            for field in card.fields.values()
            if field.kind == "finding"
            for label in field.concepts()
            if rules.terms[label].kind == "finding"
        )
    )
    lots = random.Random(0)  # noqa: S311 -- a drawing of lots
    return [_query(number, lots.choice(pool), pool, lots) for number in range(count)]


def _query(number: int, key: str, pool: tuple[str, ...], lots: random.Random) -> QuestionCandidate:
    mark = Evidence(field="findings", scope=Scope.IMAGE, grade=Grade.A)
    states = {label: lots.choice(_STATES) for label in pool} | {key: "present"}
    ground = CaseFacts(
        present={label: mark for label, state in states.items() if state == "present"},
        absent={label: mark for label, state in states.items() if state == "absent"},
        unknown=frozenset(label for label, state in states.items() if state == "unknown"),
        anatomy=Anatomy("Chest"),
        modality=Modality("X-ray"),
    )
    return QuestionCandidate(
        task=Task("Abnormality Diagnosis"),
        sample=make_sample(number),
        field="findings",
        key=key,
        scope=Scope.IMAGE,
        ground=ground,
        pool=pool,
    )


def make_sample(number: int) -> Sample:
    """A clean image without a file, of a patient of its own."""
    name = f"{number:06}"
    return Sample(
        id=name,
        source=_SOURCE,
        case=name,
        artefact="clean",
        field="",
        marked="",
        truth="",
        choices=0,
        area=0.0,
        regions=0,
        image=f"images/{name}.png",
        pixel_sha256=name,
        perceptual_hash="",
        width=8,
        height=8,
        anatomy=Anatomy("Chest"),
        modality=Modality("X-ray"),
        patient=name,
        split="",
        scope="image",
        licence="",
        redistribute=False,
        frames="0",
        reason="",
        recipe=name,
    )


if __name__ == "__main__":
    main()

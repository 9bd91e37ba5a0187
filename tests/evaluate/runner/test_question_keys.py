"""Keys of questions: digests that decide whether a stored reply still answers a question."""

import hashlib
import json

import pytest

from medrcube.evaluate.questions.conditions import Condition, presentations
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.runner.question_keys import QuestionKeys


@pytest.mark.parametrize("condition", [Condition.FULL, Condition.BLIND])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_key_is_the_digest_of_the_question_as_json(condition, elsewhere, load, row):
    benchmark = load(row(0, question='What does "é\u2028" show?'))
    keys = QuestionKeys.of(benchmark, {"name": "m"}, QuestionSetup(), None, elsewhere=elsewhere)
    [first, again] = presentations(benchmark.items, [condition], epochs=2)
    identity = hashlib.sha256(json.dumps({"name": "m"}).encode()).hexdigest()
    [item] = benchmark.items
    for epoch, presentation in enumerate([first, again]):
        request = {
            "model": identity,
            "prompt": QuestionSetup().prompt.render(item),
            "image_sha256": benchmark.image_digests[item.image] if first.image else None,
            "epoch": epoch,
            **({"item": item.name} if elsewhere else {}),
        }
        told = json.dumps(request, sort_keys=True)
        assert keys.question_of(presentation).key == hashlib.sha256(told.encode()).hexdigest()

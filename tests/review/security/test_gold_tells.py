"""A gold item is asked and judged as a real one: by as many statements, with equal pages."""

import re

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from medrcube.review.models import Item, ItemVersion
from medrcube.review.quality.gold_items import make_gold
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.edits import Edit

pytestmark = pytest.mark.usefixtures("any_database")
TEXTS = ("Oedema", "Haemorrhage", "Calcification", "Cyst")
SAID = {"option": "1", "confidence": "2", "needs_image": "yes", "image_adequate": "yes"}
RULING = {"decision": "reject", "reason": "KEY_WRONG", "then": "stop"}
WORDING = {"wording.question": "What is shown?", "wording.key": "1"} | {
    f"wording.option.{place}": text for place, text in enumerate(TEXTS)
}
RANDOM = re.compile(
    r'name="csrfmiddlewaretoken" value="\w+"|data-draft-name="\w+"|<time[^<]*</time>|'
    r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)|reviewer-\w+|reviewer\d+@example\.org|"
    r"about \d+ (?:min|h)|\b\d+ s\b"
)


def option(text, place, key):
    """As the build records it: what it says hangs on the key."""
    wrong = {"strategy": "predefined", "grade": "A", "passed": [1, 5], "similarity": 0.3 + key / 9}
    right = {"strategy": "key", "grade": "", "passed": [12], "similarity": None}
    return {"text": text, "concept": f"c{text}", **(right if place == key else wrong)}


@pytest.fixture
def queue_item(add_shown):
    """A queued item with a key and what is known of it."""

    def make(key, **fields):
        return add_shown(
            key=key,
            options=[option(text, place, key) for place, text in enumerate(TEXTS)],
            provenance={"case": "case-7", "evidence": f"t.csv:1 {TEXTS[key]}=1"},
            warnings=[],
            **fields,
        )

    return make


@pytest.fixture
def pair(queue_item, person, project):
    """A real item and a gold one that say the same, and nothing else in the queue."""
    project(gold_rate=1.0, reviews=2)
    real, original = queue_item(1), queue_item(0)
    Item.objects.filter(pk=original.item_id).update(state="accepted")
    change = Edit(question=original.question, options=TEXTS, key=1, note="")
    gold = make_gold(original.item_id, 1, person("manager"), defect="KEY_WRONG", change=change)
    return {"real": real, "gold": ItemVersion.objects.select_related("item").get(item=gold)}


def walk(client, user):
    """A reviewer's way through one item: number of statements and reply of each step."""
    steps = []

    def step(method, path, form_data=None):
        with CaptureQueriesContext(connection) as queries:
            reply = getattr(client, method)(path, form_data or {}, headers={"host": "localhost"})
        text = RANDOM.sub("", reply.content.decode()).replace(str(claim.token), "TOKEN")
        names = sorted(name.casefold() for name in reply.headers)
        steps.append(
            (path.replace(str(claim.token), "TOKEN"), len(queries), reply.status_code, text)
        )
        steps[-1] += (names,)

    claim = claim_next(user)
    at = f"/review/{claim.token}/"
    step("get", at)
    step("post", f"{at}draft/", SAID)
    step("post", f"{at}blind/", SAID)
    step("get", at)
    step("post", f"{at}wording/", {**RULING, **WORDING})
    step("post", f"{at}draft/", RULING)
    step("get", f"{at}personal-data/")
    step("post", f"{at}submit/", RULING)
    step("get", at)
    step("get", "/review/mine/")
    return claim.version_id, steps


def test_every_step_takes_as_many_statements_and_answers_the_same(pair, signed_in):
    walks, reviewers = {}, {kind: signed_in() for kind in pair}
    for kind, other in (("real", "gold"), ("gold", "real")):
        Item.objects.filter(pk=pair[other].item_id).update(state="draft")
        Item.objects.filter(pk=pair[kind].item_id).update(state="queued")
        cache.clear()
        client, user = reviewers[kind]
        version, walks[kind] = walk(client, user)
        assert version == pair[kind].pk
    for real, gold in zip(walks["real"], walks["gold"], strict=True):
        assert gold[1] == real[1], gold[0]
        assert gold[2] == real[2], gold[0]
        assert gold[3].splitlines() == real[3].splitlines(), gold[0]
        assert gold[4] == real[4], gold[0]

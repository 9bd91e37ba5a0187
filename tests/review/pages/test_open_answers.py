"""Items without options in the two steps: answered blind, then judged beside what is right."""

import json
import re

import pytest
from stage.open_targets import FORMS, TARGETS, target_of

from medrcube.evaluate.answer_parsing.open_forms.number_reply import read_number_part
from medrcube.forms import OPEN_FORMS
from medrcube.review.audit_trail.event_chain import verify_chain
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import BlindAnswer, Claim, Draft, Event, Review
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.reviewing.item_versions import content_sha256
from medrcube.review.reviewing.open_answers import (
    OTHER,
    RIGHT,
    clicked,
    option_of,
    read_answer,
    read_target,
    shown_size,
)

RIGHT_ANSWERS = {
    "number": {"number": "22,5"},
    "point": {"place": ["290,450"]},
    "box": {"place": ["390.6,585.9", "195.3,390.6"]},
    "order": {"rank.0": "2", "rank.1": "1", "rank.2": "3"},
    "pair": {"statement.0": "yes", "statement.1": "no"},
}
WRONG_ANSWERS = {
    "number": {"number": "40"},
    "point": {"place": ["900,900"]},
    "box": {"place": ["0,0", "900,900"]},
    "order": {"rank.0": "1", "rank.1": "2", "rank.2": "3"},
    "pair": {"statement.0": "yes", "statement.1": "yes"},
}
INCOMPLETE = {
    "number": {"number": "about 3"},
    "point": {},
    "box": {"place": ["1,1"]},
    "order": {"rank.0": "1", "rank.1": "1", "rank.2": "3"},
    "pair": {"statement.0": "yes"},
}
REST = {"confidence": "2", "needs_image": "yes", "image_adequate": "yes"}
QUESTION = "How long is the lesion in this MRI slice?"


def right_words(form):
    record = TARGETS[form]
    target = OPEN_FORMS[form].read_target(record["ask"], record["truth"])
    return OPEN_FORMS[form].right_reply(target)


@pytest.fixture
def taken_open(take_claim):
    """A reviewer's client, their user and their claim of an item of a form."""

    def make(form):
        option_facts = {
            "concept": "ZZCONCEPT",
            "ids": [],
            "strategy": "key",
            "grade": "",
            "passed": [],
        }
        options = [{**option_facts, "text": text} for text in (right_words(form), "another answer")]
        return take_claim(options=options, target=target_of(form), question="Where is ZZQUESTION?")

    return make


def url(claim, step=""):
    return f"/review/{claim.token}/{step}"


def body(reply):
    return reply.content.decode()


def answer(client, claim, fields):
    return client.post(url(claim, "blind/"), {**REST, **fields})


@pytest.mark.parametrize("form", FORMS)
def test_the_first_step_asks_in_the_form_and_shows_nothing_of_the_answer(form, taken_open):
    client, _, claim = taken_open(form)
    text = body(client.get(url(claim)))
    assert "ZZQUESTION" in text
    assert "another answer" not in text
    assert 'name="option" value="0"' not in text
    assert "I cannot tell" in text
    assert 'class="right"' not in text
    if form not in ("order", "pair"):  # the words of those are the statements and labels
        assert right_words(form) not in text


@pytest.mark.parametrize("form", FORMS)
def test_a_right_answer_is_stored_as_it_was_given_and_passes(form, taken_open):
    client, _, claim = taken_open(form)
    assert answer(client, claim, RIGHT_ANSWERS[form]).status_code == 302
    blind = BlindAnswer.objects.get()
    assert blind.option == RIGHT
    assert option_of(read_target(target_of(form)), blind.value) == RIGHT
    event = json.loads(Event.objects.get(kind="blind.answered").body)
    assert event["value"] == blind.value
    text = body(client.get(url(claim)))
    assert "which passes." in text
    is_place = form in ("point", "box")
    assert ("the place in green" if is_place else right_words(form)) in text
    assert ('class="right"' in text) == is_place
    reply = client.post(url(claim, "submit/"), {"decision": "accept", "then": "stop"})
    assert reply.status_code == 302
    assert Review.objects.get().verdicts == {}
    assert client.get(url(claim)).status_code == 200
    assert not verify_chain().fault


def test_an_ellipse_is_drawn_as_two_arcs_around_its_middle(take_claim):
    region = {"ellipses": [[100, 200, 200, 260]]}
    truth = {"size": [512, 512], "region": region, "margin": 1.0}
    option_facts = {"concept": "ZZCONCEPT", "ids": [], "strategy": "key", "grade": "", "passed": []}
    options = [{**option_facts, "text": text} for text in ("(293, 449.2)", "another answer")]
    client, _, claim = take_claim(
        options=options, target={"form": "point", "ask": {}, "truth": truth}, question="Where?"
    )
    answer(client, claim, {"place": ["293,449.2"]})
    arcs = "M100 230A50 30 0 0 1 200 230A50 30 0 0 1 100 230Z"
    assert f'<path class="right" d="{arcs}"/>' in body(client.get(url(claim)))


@pytest.mark.parametrize("form", FORMS)
def test_a_wrong_answer_does_not_pass(form, taken_open):
    client, _, claim = taken_open(form)
    assert answer(client, claim, WRONG_ANSWERS[form]).status_code == 302
    assert BlindAnswer.objects.get().option == OTHER
    assert "which does not pass." in body(client.get(url(claim)))


@pytest.mark.parametrize("form", FORMS)
def test_an_incomplete_answer_is_refused_and_kept(form, taken_open):
    client, _, claim = taken_open(form)
    reply = answer(client, claim, INCOMPLETE[form])
    assert reply.status_code == 422
    assert not BlindAnswer.objects.exists()
    assert {name: Draft.objects.get().body[name] for name in INCOMPLETE[form]} == {
        name: value if isinstance(value, list) else [value]
        for name, value in INCOMPLETE[form].items()
    }


@pytest.mark.parametrize("form", FORMS)
def test_who_cannot_tell_gives_no_answer(form, taken_open):
    client, _, claim = taken_open(form)
    assert answer(client, claim, {"option": "none"}).status_code == 302
    blind = BlindAnswer.objects.get()
    assert (blind.option, blind.value) == (None, None)
    assert "cannot tell" in body(client.get(url(claim)))


def test_a_box_is_two_clicks_without_a_script(taken_open):
    client, _, claim = taken_open("box")
    places = []
    for x, y in ((58, 117), (117, 175)):
        fields = {"at300.x": str(x), "at300.y": str(y), "confidence": "3", "place": places}
        reply = client.post(url(claim, "blind/"), fields)
        assert reply["Location"] == url(claim)
        text = body(client.get(url(claim)))
        places = re.findall(r'name="place" value="([^"]*)"', text)
    assert len(places) == 2
    assert '<rect class="mine"' in text
    assert 'name="confidence" value="3" checked' in text
    assert not BlindAnswer.objects.exists()
    answer(client, claim, {"place": places})
    assert BlindAnswer.objects.get().option == RIGHT


TYPED = {
    "point": {"left.0": "29", "top.0": "45,0"},
    "box": {"left.0": "39.06", "top.0": "58.59", "left.1": "19.53", "top.1": "39.06"},
}


@pytest.mark.parametrize("form", TYPED)
def test_places_are_typed_without_a_script(form, taken_open):
    client, _, claim = taken_open(form)
    text = body(client.get(url(claim)))
    fields = re.findall(r'<input type="text" name="((?:left|top)[^"]*)"[^>]*aria-label="', text)
    assert fields == list(TYPED[form])
    assert text.count("0 to 100 %</span></label>") == len(fields)
    assert answer(client, claim, TYPED[form]).status_code == 302
    blind, places = BlindAnswer.objects.get(), RIGHT_ANSWERS[form]["place"]
    assert blind.option == RIGHT
    assert sorted(blind.value) == sorted(float(x) for text in places for x in text.split(","))


def test_what_is_typed_is_drawn_before_it_is_sent(taken_open):
    client, _, claim = taken_open("box")
    fields = {**TYPED["box"], "confidence": "3", "show": "yes"}
    assert client.post(url(claim, "blind/"), fields)["Location"] == url(claim)
    text = body(client.get(url(claim)))
    assert '<rect class="mine"' in text
    assert (
        'name="left.1" inputmode="decimal" autocomplete="off" maxlength="10" value="19.53"' in text
    )
    assert 'name="confidence" value="3" checked' in text
    assert not BlindAnswer.objects.exists()


def test_a_click_replaces_what_was_typed_and_stands_in_its_fields(taken_open):
    client, _, claim = taken_open("point")
    fields = {"at300.x": "58", "at300.y": "117", "left.0": "99", "top.0": "99"}
    client.post(url(claim, "blind/"), fields)
    text = body(client.get(url(claim)))
    (place,) = re.findall(r'name="place" value="([^"]*)"', text)
    x, y = (float(part) / 10 for part in place.split(","))
    assert re.findall(r'name="(?:left|top).0"[^>]* value="([^"]*)"', text) == [f"{x:g}", f"{y:g}"]
    assert x < 50


@pytest.mark.parametrize(
    "typed",
    [
        {"left.0": "29", "top.0": ""},
        {"left.0": "here", "top.0": "45"},
        {"left.0": "29", "top.0": "100.5"},
        {"left.0": "-1", "top.0": "45"},
        {"left.0": "nan", "top.0": "45"},
        {"left.0": "1,000.5", "top.0": "45"},
    ],
)
@pytest.mark.parametrize("show", [{}, {"show": "yes"}])
def test_a_typed_place_outside_the_image_is_refused_and_kept(typed, show, taken_open):
    client, _, claim = taken_open("point")
    reply = answer(client, claim, {**typed, **show})
    assert reply.status_code == 422
    assert "from 0 to 100 per cent" in body(reply)
    assert f'value="{typed["left.0"]}" aria-label="The place: from the left' in body(reply)
    assert not BlindAnswer.objects.exists()


def test_a_typed_place_that_is_emptied_is_none(taken_open):
    client, _, claim = taken_open("point")
    reply = answer(client, claim, {"place": ["290,450"], "left.0": "", "top.0": ""})
    assert reply.status_code == 422
    assert "or type its position" in body(reply)


def test_a_click_counts_in_the_size_of_the_page_and_one_too_many_begins_anew():
    assert shown_size(300, (512, 256)) == (300, 150)
    assert clicked("point", {"at300.x": ["149"], "at300.y": ["0"]}, (512, 256)) == ["498.3,3.3"]
    before = {"place": ["1,1", "2,2"], "at560.x": ["559"], "at560.y": ["559"]}
    assert clicked("box", before, (512, 512)) == ["999.1,999.1"]
    assert clicked("point", {"at300.x": ["0"], "at300.y": ["0"]}, (8, 8)) is None
    assert clicked("point", {"at300.x": ["a"], "at300.y": ["1"]}, (8, 8)) is None


@pytest.mark.parametrize("form", ["point", "box"])
@pytest.mark.parametrize("place", ["", "here", "1", "nan,1", "1e999,1", "-1,5"])
def test_what_names_no_place_is_refused_and_not_drawn(form, place, taken_open):
    client, _, claim = taken_open(form)
    reply = answer(client, claim, {"place": ["1,1", place]})
    page = client.get(url(claim))
    if form == "box":
        assert (reply.status_code, BlindAnswer.objects.count()) == (422, 0)
        assert re.findall(r'name="place" value="([^"]*)"', body(page)) == ["1,1"]
    assert page.status_code == 200


@pytest.mark.parametrize(
    ("typed", "value"),
    [("1,000", 1000), ("1,234.5", 1234.5), ("1.234,5", 1234.5), ("22,5", 22.5), ("0,500", 0.5)],
)
def test_a_typed_number_is_read_as_in_a_reply(typed, value):
    target = read_target(target_of("number"))
    assert read_answer(target, {"number": [typed]}) == value
    assert read_number_part(typed, target.ask).answer == value


@pytest.mark.parametrize("number", ["", "nan", "inf", "1e999", "3 mm", "1,00,0", "1 000", "3-4"])
def test_a_number_is_given_alone(number):
    with pytest.raises(InvalidAnswerError, match="only the number, in mm"):
        read_answer(read_target(target_of("number")), {"number": [number]})


def test_two_reviewers_agree_where_both_answers_pass(taken_open, signed_in):
    client, _, claim = taken_open("number")
    answer(client, claim, {"number": "20"})
    other, user = signed_in()
    second = claim_next(user)
    answer(other, second, {"number": "26.5"})
    assert list(BlindAnswer.objects.values_list("option", flat=True)) == [RIGHT, RIGHT]


def test_an_answer_given_before_the_lease_ended_is_kept_with_its_value(taken_open):
    client, user, claim = taken_open("number")
    answer(client, claim, {"number": "20"})
    client.post(url(claim, "give-back/"))
    claim_next(user)
    assert list(BlindAnswer.objects.values_list("value", flat=True)) == [20.0, 20.0]
    assert Claim.objects.count() == 2


def test_only_the_question_of_an_open_item_is_edited(taken_open, person):
    _, _, claim = taken_open("number")
    version, manager = claim.version, person("manager")
    texts = tuple(option["text"] for option in version.options)
    change = Edit(question=QUESTION, options=("99 mm", texts[1]), key=0, note="x")
    with pytest.raises(InvalidAnswerError, match="only its question"):
        edit(version.item_id, 1, manager, change)
    change = Edit(question=QUESTION, options=texts, key=0, note="x")
    assert edit(version.item_id, 1, manager, change).target == version.target


def test_another_bar_is_another_content():
    options = [{"text": "23 mm"}, {"text": "another answer"}]
    result = target_of("number")
    other = {**result, "truth": {**result["truth"], "high": 28.0}}
    digests = {content_sha256("q", options, 0, "p", target) for target in (None, result, other)}
    assert len(digests) == 3
    assert content_sha256("q", options, 0, "p") == content_sha256("q", options, 0, "p", None)

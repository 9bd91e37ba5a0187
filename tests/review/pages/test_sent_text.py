"""Every form answers every text alike on both databases: taken, or refused in words."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from medrcube.review.errors import InvalidAnswerError
from medrcube.review.views.forms import LONGEST
from medrcube.review.views.sent_text import email_of

FORMS = {
    "reviewer": [
        ("/review/{token}/draft/", ("option", "confidence")),
        ("/review/{token}/blind/", ("option", "milliseconds", "image_adequate")),
        ("/review/{token}/submit/", ("decision", "reason", "comment", "verdict.1")),
        ("/review/{token}/give-back/", ("not_my_field",)),
        ("/me/", ("form", "old", "new", "again")),
        ("/me/second-factor/", ("form", "code")),
    ],
    "adjudicator": [
        ("/items/{item}/", ("form", "text", "version", "comment")),
        ("/items/{item}/edit/", ("question", "option-0", "option-1", "key", "note")),
        ("/adjudication/{item}/", ("outcome", "rationale", "version")),
    ],
    "manager": [
        ("/items/{item}/", ("form", "text", "claim")),
        ("/items/{item}/gold/", ("question", "defect", "note")),
        ("/quarantine/{item}/", ("decision", "note", "version")),
        ("/dashboard/", ("form", "reviewer", "note")),
        ("/assignment/", ("form", "source", "mode", "specialty", "name")),
    ],
    "administrator": [
        ("/people/", ("email", "role", "specialties", "password")),
        ("/trail/", ("number", "sha256")),
    ],
}
WORDS = ["", "comment", "report", "accept", "clear", "1", "PHI", "role"]
TEXT = st.one_of(st.sampled_from(WORDS), st.text(max_size=30), st.just("a" * 300))
HOSTILE = ["\0", "a\0b", "a" * (LONGEST + 1)]


@pytest.fixture
def send(any_database, take_claim, signed_in):
    """Send a form of a role; every name that its page has holds the text."""
    reviewer, _, claim = take_claim()
    clients = {"reviewer": reviewer}
    clients |= {role: signed_in(role)[0] for role in FORMS if role != "reviewer"}
    for client in clients.values():
        client.raise_request_exception = False
    names = {"token": claim.token, "item": claim.version.item_id}

    def post(role, place, texts):
        address, fields = FORMS[role][place]
        form_data = dict(zip(fields, texts, strict=False))
        return clients[role].post(address.format(**names), form_data)

    return post


PLACES = [(role, place) for role, forms in FORMS.items() for place in range(len(forms))]


@pytest.mark.parametrize("text", HOSTILE, ids=["nul", "nul within", "long"])
def test_what_a_database_would_refuse_is_refused_in_words(send, text):
    for role, place in PLACES:
        reply = send(role, place, [text] * 5)
        assert reply.status_code == 422, (role, place)
        assert b"Null characters" in reply.content or b"at most" in reply.content


@pytest.mark.thorough
def test_no_text_breaks_a_form(send):
    @settings(
        max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(st.sampled_from(PLACES), st.lists(TEXT, min_size=5, max_size=5))
    @example(("administrator", 0), [f"{'a' * 250}@example.org", "reviewer", "Brain", "", ""])
    def post_texts(place, texts):
        reply = send(*place, texts)
        assert reply.status_code < 500, (place, texts)
        used = texts[: len(FORMS[place[0]][place[1]][1])]
        assert reply.status_code == 422 or "\0" not in "".join(used)

    post_texts()


@pytest.mark.parametrize(
    "text", ["a", "a\0@example.org", f"{'a' * 250}@example.org", "a@b\ud800.org"]
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(InvalidAnswerError, match="not an e-mail address"):
        email_of(text)


def test_an_address_is_kept_in_one_form():
    assert email_of(" Dr.A@Example.org ") == "dr.a@example.org"

"""What a reviewer can learn before the blind answer, and what they never learn.

The same walk is made through worlds that differ in one hidden thing. Whatever comes back must be
equal to the byte: status, headers, cookies, body. Only what is random or a name by itself is
replaced: tokens, ids of pictures, session keys.
"""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from stage.drawings import deep, numbered, slice_picture
from stage.routes import every_route
from stage.world import TEXTS, add_item, review

from medrcube.build.viewer.case_copies import plane_path
from medrcube.review.accounts import second_factor
from medrcube.review.exchange.image_store import store_image
from medrcube.review.models import Claim, Comment, Item, ItemVersion, Role, User
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.steps import answer_blind
from medrcube.review.reviewing.submissions import BlindSubmission

SECRETS = {
    "provenance": "ZQPROVENANCE",
    "warning": "ZQWARNING",
    "concept": "ZQCONCEPT",
    "id": "ZQONTOLOGY",
    "strategy": "ZQSTRATEGY",
    "grade": "ZQGRADE",
    "comment": "ZQCOMMENT",
    "remark": "ZQREMARK",
    "note": "ZQNOTE",
    "defect": "ZQDEFECT",
    "stratum": "ZQSTRATUM",
    "source": "ZQSOURCE",
    "pseudonym": "reviewer-zqother",
    "email": "zqother@",
    "answer": "CUE_GRAMMAR",
}
"""What must be in no reply before the answer; each stands in one column of the world."""
OTHERS = {"comment", "remark", "note", "defect", "stratum", "pseudonym", "email"}
"""Those that a reviewer does not see after it either."""
SIGNING_IN = ("sign-in", "sign-in-code", "single-sign-on", "single-sign-on-back")
SAID = {"option": "1", "confidence": "2", "needs_image": "yes", "image_adequate": "yes"}
RULING = {"decision": "reject", "reason": "KEY_WRONG", "comment": "mine", "then": "stop"}


class Walk:
    """A reviewer's way through all their pages; keeps every reply."""

    def __init__(self, user, version):
        self._client = Client(SERVER_NAME="localhost")
        self._client.force_login(user)
        self._version = version
        self._token = ""
        self._raw, self.statements, self.routes = {}, {}, set()

    @property
    def replies(self):
        """Name of a request -> everything that came back."""
        return {name: self._plain(reply) for name, reply in self._raw.items()}

    def before(self):
        """Everything that can be asked for until the answer is stored."""
        self.ask("take", "POST", "/review/")
        self._token = str(Claim.objects.get(user__email="me@example.org").token)
        for route in ("home", "queue", "me", "keys", "health", "second-factor", *SIGNING_IN):
            self.ask(route, "GET", reverse(route), route=route)
        self.ask("nothing left", "GET", "/review/?empty")
        self._step("step one", "GET", "review")
        self._step("step one, head", "HEAD", "review")
        self._step("open answer", "POST", "review-blind")
        self._step("foreign option", "POST", "review-blind", {**SAID, "option": "7"})
        self._step("second step first", "POST", "review-submit", RULING)
        self._step("draft", "POST", "review-draft", {"option": "3"})
        self._step("draft of step two", "POST", "review-draft", {"comment": "early"})
        self._step("rules too early", "POST", "review-wording", {"wording.question": "?"})
        self._step("give back, wrong method", "GET", "review-give-back")
        self._step("nothing to undo", "POST", "review-undo")
        self._step("personal data", "GET", "review-personal-data")
        self.ask("mine", "GET", reverse("mine"), route="mine")
        for name in ("picture", "overlay"):
            asset = getattr(self._version, name).pk
            self.ask(name, "GET", f"/pictures/{asset}/?centre=40&width=80", route="picture")
            self.ask(f"{name}, drawn", "GET", f"/pictures/{asset}/drawn/", route="drawn")
            self.ask(f"{name}, slice", "GET", f"/pictures/{asset}/slices/0/", route="slice")
        for route in ("item", "item-edit", "item-gold", "adjudicate", "quarantine-decide"):
            address = reverse(route, kwargs={"item": self._version.item_id})
            self.ask(route, "POST", address)
        for address in ("/items/", "/dashboard/", "/trail/", "/nothing/"):
            self.ask(address, "GET", address)

    def lost(self):
        """The lease is over: late sends, and what the page says then."""
        Claim.objects.filter(token=self._token).update(expires_at=timezone.now())
        self._step("lost", "GET", "review")
        self._step("late answer", "POST", "review-blind", SAID)
        self._step("late draft", "POST", "review-draft", SAID)
        self._step("late return", "POST", "review-give-back")
        self.ask("after that", "GET", "/review/")

    def after(self):
        """The answer, the decision, and reading it again."""
        self._step("answer", "POST", "review-blind", SAID)
        self._step("step two", "GET", "review")
        self._step("rules", "POST", "review-wording", {"wording.question": "?"})
        self._step("second answer", "POST", "review-blind", SAID)
        self._step("incomplete", "POST", "review-submit", {"decision": "accept"})
        self._step("submit", "POST", "review-submit", RULING)
        self.ask("stored", "GET", "/review/")
        self._step("read again", "GET", "review")
        self._step("sent twice", "POST", "review-submit", RULING)
        self.ask("own reviews", "GET", reverse("mine"))
        self.ask("the end", "POST", "/review/")

    def ask(self, name, method, address, form_data=None, route=""):
        statements = []

        def note(execute, sql, values, many, context):
            statements.append(re.sub(r"_x\d+", "", sql))  # number of a savepoint
            return execute(sql, values, many, context)

        with connection.execute_wrapper(note):
            send = getattr(self._client, method.lower())
            reply = send(address, form_data or {}) if method == "POST" else send(address)
        self._raw[name] = reply
        self.statements[name] = statements
        self.routes.add(route)

    def _step(self, name, method, route, form_data=None):
        address = reverse(route, kwargs={"token": self._token})
        self.ask(name, method, address, form_data, route)

    def _plain(self, reply):
        headers = "\n".join(f"{name}: {value}" for name, value in sorted(reply.items()))
        headers = re.sub(r"(?m)^Expires: .*$", "Expires: now", headers)
        cookies = "\n".join(
            f"{name}; {sorted((at, entry) for at, entry in morsel.items() if at != 'expires')}"
            for name, morsel in sorted(reply.cookies.items())
        )
        whole = f"{reply.status_code}\n{headers}\n{cookies}\n".encode() + reply.content
        names = {
            self._token: b"TOKEN",
            str(self._version.picture_id): b"PICTURE",
            str(self._version.overlay_id): b"OVERLAY",
        }
        for value, name in names.items():
            whole = whole.replace(value.encode(), name)
        return re.sub(rb'name="csrfmiddlewaretoken" value="\w{64}"', b"CSRF", whole)


@pytest.fixture
def walked(project, monkeypatch):
    """Walk through a world of its own, which is rolled back: ``walked("gold", "before")``."""
    project(gold_rate=1.0)
    pictures = store_image(slice_picture()), store_image(slice_picture(mark=True))
    pictures[0].original, files = deep(numbered(), own=2)
    pictures[0].save()
    for digest, data in files.items():
        path = plane_path(Path(settings.FOLDER).parent / "viewer", digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    sealed = second_factor._encrypted  # the page shows it, and draws it by lot
    monkeypatch.setattr(second_factor, "_encrypted", lambda secret: sealed(bytes(len(secret))))

    def make(variant, *parts):
        cache.clear()  # the share of a reviewer is counted once a minute
        with transaction.atomic():
            users = [
                User.objects.create(email=email, pseudonym=name)
                for email, name in (
                    ("me@example.org", "reviewer-me"),
                    ("zqother@example.org", "reviewer-zqother"),
                )
            ]
            walk = Walk(users[0], _stage(variant, pictures, users))
            for part in parts:
                getattr(walk, part)()
            transaction.set_rollback(True)
        return walk

    return make


def _stage(variant, pictures, users):
    """The item that the reviewer gets, with one hidden thing changed."""
    template = add_item("template", state="accepted").item
    key = 2 if variant == "key" else 0
    has_evidence = variant == "evidence"
    options = [{"text": text, "strategy": "knowledge", "grade": "A"} for text in TEXTS]
    if has_evidence:
        for option in options:
            option.update(concept="ZQCONCEPT", ids=["ZQONTOLOGY"], strategy="ZQSTRATEGY")
            option.update(grade="ZQGRADE", passed=[1, 2, 3], similarity=0.5)
    if variant == "key":
        options[key]["strategy"] = "key"
    version = add_item(
        "shown",
        key=key,
        options=options,
        picture=pictures[0],
        overlay=pictures[1],
        provenance={"case": "ZQPROVENANCE"} if has_evidence else {"source": "toy"},
        warnings=["ZQWARNING"] if has_evidence else [],
        stratum="ZQSTRATUM" if has_evidence else "MRI",
        source="ZQSOURCE" if has_evidence else "toy",
        note="ZQNOTE" if variant == "remarks" else "",
        author=users[1] if variant == "remarks" else None,
    )
    _happen(variant, version, template, users[1])
    return ItemVersion.objects.get(pk=version.pk)


def _happen(variant, version, template, other):
    items = Item.objects.filter(pk=version.item_id)
    if variant == "gold":
        items.update(gold_defect="ZQDEFECT", copied_from=template)
    elif variant == "evidence":
        items.update(priority=9)
    elif variant == "accepted by the other":
        review(other, comment="ZQCOMMENT")
    elif variant == "rejected by the other":
        review(other, "reject", reasons=[("CUE_GRAMMAR", None)], comment="ZQCOMMENT")
    elif variant == "held by the other":
        claim_next(other)
    elif variant == "answered by the other":
        blind = BlindSubmission(option=1, confidence=1, needs_image="no", image_adequate=False)
        answer_blind(claim_next(other).token, other, blind)
    elif variant == "remarks":
        moment = timezone.now() - timedelta(days=1)
        Comment.objects.create(version=version, author=other, text="ZQREMARK", written_at=moment)


HIDDEN = (
    "gold",
    "accepted by the other",
    "rejected by the other",
    "held by the other",
    "answered by the other",
    "remarks",
)


@pytest.mark.parametrize(
    "variant",
    ["key", "evidence", *(pytest.param(entry, marks=pytest.mark.thorough) for entry in HIDDEN)],
)
def test_before_the_answer_every_byte_is_the_same(walked, variant):
    plain, other = (walked(name, "before", "lost") for name in ("plain", variant))
    others = other.replies
    for name, reply in plain.replies.items():
        assert others[name] == reply, name


@pytest.mark.thorough
@pytest.mark.parametrize("variant", ["key", "evidence", "gold", "remarks"])
def test_before_the_answer_the_server_does_the_same_work(walked, variant):
    plain, other = (walked(name, "before") for name in ("plain", variant))
    for name, statements in plain.statements.items():
        if name != "take":  # a gold item is looked for first, whether there is one or not
            assert other.statements[name] == statements, name


@pytest.mark.parametrize(
    "variant",
    [HIDDEN[0], *(pytest.param(entry, marks=pytest.mark.thorough) for entry in HIDDEN[1:])],
)
def test_gold_and_the_review_of_the_other_are_never_shown(walked, variant):
    plain, other = (walked(name, "before", "after") for name in ("plain", variant))
    others = other.replies
    for name, reply in plain.replies.items():
        if name != "the end":  # which item comes next may depend on who has done what
            assert others[name] == reply, name


@pytest.mark.few(4)
@pytest.mark.parametrize("variant", ["evidence", *HIDDEN])
def test_no_reply_holds_what_is_secret(walked, variant):
    walk = walked(variant, "before", "lost")
    for name, reply in walk.replies.items():
        secrets_shown = [what for what, sign in SECRETS.items() if sign.encode() in reply]
        assert secrets_shown == [], name


@pytest.mark.few(3)
@pytest.mark.parametrize("variant", ["evidence", *HIDDEN])
def test_what_is_of_others_stays_secret_after_the_answer(walked, variant):
    walk = walked(variant, "before", "after")
    for name, reply in walk.replies.items():
        assert [what for what in OTHERS if SECRETS[what].encode() in reply] == [], name


def test_the_signs_are_there_to_be_found(walked):
    reply = walked("evidence", "before", "after").replies["step two"].decode()
    signs = {"provenance", "warning", "concept", "id", "strategy", "grade"}
    assert [what for what in signs if SECRETS[what] not in reply] == []


def test_the_walk_opens_every_page_of_a_reviewer(walked):
    mine = {
        name
        for name, view in every_route().items()
        if Role.REVIEWER in getattr(view, "allowed_roles", {Role.REVIEWER})
    }
    assert mine <= walked("plain", "before", "lost").routes | {"sign-out"}

"""A queue that holds one item of every kind, and a person of every role; made once, then copied."""

import json
import shutil
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from django.contrib.auth.hashers import make_password
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from stage.drawings import slice_picture

from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.exchange.image_store import store_image
from medrcube.review.models import Item, ItemVersion, Project, User
from medrcube.review.quality import gold_items
from medrcube.review.reviewing import decisions, edits
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.edits import Edit
from medrcube.review.reviewing.item_versions import content_sha256
from medrcube.review.reviewing.policy import Policy
from medrcube.review.reviewing.questionnaire import CHECKLIST, QUESTIONNAIRE_VERSION
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission
from medrcube.review.wording import comments

PASSWORD = "correct horse battery staple"  # noqa: S105
ANONYMOUS = "anonymous"
PEOPLE = (ANONYMOUS, "reviewer", "other", "adjudicator", "manager", "administrator")
"""``reviewer`` holds an item and has judged another; ``other`` has neither."""
ROLES = {"other": "reviewer", "first": "reviewer", "second": "reviewer"}
SIZE = (480, 512)
"""Of the picture that the reviewer holds; no other item has it."""
QUESTION = "Which abnormality does this axial MRI slice of the brain show?"
TEXTS = ("Oedema", "Haemorrhage", "Calcification", "Cyst")
WHY = {"strategy": "knowledge", "grade": "A", "passed": [1, 5], "similarity": 0.4}


@dataclass(frozen=True)
class World:
    """Names of what is there.

    Attributes:
        people: name -> key of the account.
        items: kind -> id; ``open`` is in the hands of the reviewer.
        token: of the claim that the reviewer holds, not answered yet.
        sent_review: of a review that the reviewer has sent.
        picture: without its mark, of the item that the reviewer holds.
        overlay: the same with its mark.
        foreign: a picture of no item that the reviewer ever had.
    """

    people: dict[str, int]
    items: dict[str, str]
    token: str
    sent_review: str
    picture: str
    overlay: str
    foreign: str

    def user(self, name):
        return User.objects.get(pk=self.people[name])

    def client(self, name, **how):
        """A client with a session, or without one for ``anonymous``."""
        http_client = Client(SERVER_NAME="localhost", **how)
        if name != ANONYMOUS:
            http_client.force_login(self.user(name))
        return http_client

    def address(self, route):
        """Where a named page of this world is."""
        items = {"item-gold": "accepted", "quarantine-decide": "quarantined"}
        values = {
            "token": self.token,
            "asset": self.picture,
            "number": 0,
            "item": self.items[items.get(route, "disputed")],
            "user": self.people["other"],
            "incident": 1,
        }
        return reverse(route, kwargs={name: values[name] for name in NEEDS.get(route, ())})


NEEDS = {
    **dict.fromkeys(
        (
            "review",
            "review-blind",
            "review-submit",
            "review-draft",
            "review-wording",
            "review-give-back",
            "review-undo",
            "review-personal-data",
        ),
        ("token",),
    ),
    "picture": ("asset",),
    "drawn": ("asset",),
    "slice": ("asset", "number"),
    **dict.fromkeys(
        (
            "item",
            "item-edit",
            "item-gold",
            "item-personal-data",
            "adjudicate",
            "quarantine-decide",
        ),
        ("item",),
    ),
    "person": ("user",),
    "incident": ("incident",),
}
"""Route -> what its address names."""


def stocked(place, cache_folder, word=None):
    """Fill a clean database; the second time from the copy that was kept.

    Args:
        place: of the database that is in use.
        cache_folder: folder for the copy.
        word: gives what stands in a column, such as ``Review.comment``, in place of the usual.
    """
    folder = Path(place.folder)
    if not (cache_folder / "world.json").exists():
        project = _build(word or (lambda _column, usual: usual))
        connection = connections["default"]
        connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        shutil.copyfile(place.database, cache_folder / "world.sqlite3")
        shutil.copytree(folder, cache_folder / "folder")
        (cache_folder / "world.json").write_text(json.dumps(asdict(project)))
        return project
    connections["default"].close()
    for old in Path(place.database).parent.glob("*.sqlite3*"):
        old.unlink()
    shutil.copyfile(cache_folder / "world.sqlite3", place.database)
    shutil.copytree(cache_folder / "folder", folder, dirs_exist_ok=True)
    return World(**json.loads((cache_folder / "world.json").read_text()))


def add_item(name, *, picture=None, **fields):
    """A queued item with everything that reviewers may learn of it later; gives its version."""
    row = {
        "id": sha256(name.encode()).hexdigest()[:32],
        "source": "toy",
        "task": "Abnormality Diagnosis",
        "anatomy": "Brain",
        "modality": "MRI",
        "stratum": "MRI | Abnormality Diagnosis | knowledge",
        "state": "queued",
        "lot": Item.objects.count(),
    }
    version = {
        "number": 1,
        "question": QUESTION,
        "options": [{"text": text, "concept": text, **WHY} for text in TEXTS],
        "key": 0,
        "picture": picture or store_image(slice_picture()),
        "overlay": None if picture else store_image(slice_picture(mark=True)),
        "provenance": {"source": "toy", "slice": "41 of 155, axial", "licence": "CC-BY-4.0"},
        "warnings": ["longest-is-key"],
        "created_at": timezone.now(),
    }
    version |= {name: value for name, value in fields.items() if name not in row}
    wording = (version[name] for name in ("question", "options", "key"))
    version["content_sha256"] = content_sha256(
        *wording, version["picture"].sha256, version.get("target")
    )
    item = Item.objects.create(**{**row, **{n: v for n, v in fields.items() if n in row}})
    version_row = ItemVersion.objects.create(item=item, **version)
    values = {"version": 1, "to": item.state, "content_sha256": version_row.content_sha256}
    entry = {
        "actor": "import",
        "kind": "item.imported",
        "object": f"item:{item.pk}",
        "body": values,
    }
    record_events(timezone.now(), NewEvent(**entry))
    return version_row


def review(user, decision="accept", *, option=0, reasons=None, comment=""):
    """Take what is next and judge it; gives the claim."""
    claim = claim_next(user)
    assert claim is not None, "nothing is left for this reviewer"
    values = {"confidence": 2, "needs_image": "yes", "image_adequate": True}
    answer_blind(claim.token, user, BlindSubmission(option=option, **values))
    if reasons is None:
        reasons = () if decision == "accept" else (("AMBIGUOUS_STEM", None),)
    ruling = ReviewSubmission(
        decision=decision,
        reasons=tuple(reasons),
        comment=comment,
        checklist={line.name: decision == "accept" for line in CHECKLIST},
        verdicts={} if decision == "accept" else {"1": "also_correct"},
    )
    submit_review(claim.token, user, ruling)
    return claim


def _build(word):
    policy = Policy(gold_rate=0.0).to_json()
    Project.objects.create(name="Test", policy=policy, questionnaire=QUESTIONNAIRE_VERSION)
    password = make_password(PASSWORD)
    people = {
        name: User.objects.create(
            email=word("User.email", "") + f"{name}@example.org",
            pseudonym=word("User.pseudonym", "reviewer-") + name,
            role=ROLES.get(name, name),
            password=password,
            specialties=word("User.specialties", []),
        )
        for name in (*PEOPLE[1:], "first", "second")
    }
    first, second, manager = (people[name] for name in ("first", "second", "manager"))
    remark = word("Review.comment", "Option B fits as well.")

    def add(name, **fields):
        names = ("source", "task", "anatomy", "modality", "stratum")
        values = {entry: value for entry in names if (value := word(f"Item.{entry}", None))}
        names = ("question", "options", "provenance", "warnings", "note")
        values |= {entry: value for entry in names if (value := word(f"ItemVersion.{entry}", None))}
        identity = {"id": word("Item.id", "") + name} if word("Item.id", "") else {}
        return add_item(name, **values, **identity, **fields)

    disputed = add("disputed")
    review(first)
    review(second, "reject", option=1, comment=remark)
    quarantined = add("quarantined", picture=store_image(slice_picture((80, 48))))
    review(first, "reject", reasons=[("PHI", None)], comment=remark)
    accepted = add("accepted")
    review(first)
    review_sent = review(people["reviewer"], comment=remark)
    texts = tuple(option["text"] for option in accepted.options)
    released = add("released", picture=store_image(slice_picture((96, 64))))
    review(first)
    review(second)
    decisions.record_release(word("ReleaseRecord.name", "v1"), [released.pk], "0" * 64)
    edited = add("edited")
    change = Edit(
        question="Which abnormality is marked in this MRI slice of the brain?",
        options=texts,
        key=0,
        note=word("ItemVersion.note", "says what is marked"),
    )
    edits.edit(edited.item_id, 1, manager, change)
    text = word("Comment.text", "Is the term in RadLex?")
    comments.add_comment(edited.item_id, 2, manager, text)
    review(first, "revise")
    review(second, "revise")
    row = {"outcome": "revise", "rationale": word("Adjudication.rationale", "Name the sequence.")}
    decisions.adjudicate(edited.item_id, 2, people["adjudicator"], **row)
    moved = Edit(question=accepted.question, options=texts, key=2, note="the key is moved")
    marked = gold_items.make_gold(accepted.item_id, 1, manager, defect="KEY_WRONG", change=moved)
    own = {
        "picture": store_image(slice_picture(SIZE)),
        "overlay": store_image(slice_picture(SIZE, mark=True)),
    }
    open_one = add("open", **own)
    claim = claim_next(people["reviewer"])
    assert claim.version_id == open_one.pk
    versions = {
        "disputed": disputed,
        "quarantined": quarantined,
        "accepted": accepted,
        "released": released,
        "edited": edited,
        "open": open_one,
    }
    return World(
        people={name: user.pk for name, user in people.items()},
        items={**{name: version.item_id for name, version in versions.items()}, "gold": marked.pk},
        token=str(claim.token),
        sent_review=str(review_sent.token),
        picture=str(open_one.picture_id),
        overlay=str(open_one.overlay_id),
        foreign=str(released.picture_id),
    )

from medrcube.review.accounts.accounts import add_account
from medrcube.review.audit_trail.event_chain import chain_head
from medrcube.review.models import Event, Role, User
from medrcube.review.quality.gold_items import make_gold
from medrcube.review.reviewing.edits import Edit
from medrcube.review.server.serve import console_user, has_administrator, queue_status

WORDS = ("glioma", "meningioma", "abscess", "infarct")
PHRASE = "long pass phrase"


def test_the_standing_counts_states_kinds_and_reviewers(three, review, reviewers):
    review({"a": "reject"})
    result = queue_status()
    assert (result["items"], result["states"]) == (3, {"accepted": 2, "rejected": 1})
    (voxel,) = result["voxels"]
    assert (voxel["anatomy"], voxel["modality"], voxel["task"]) == (
        "Brain",
        "MRI",
        "Disease Diagnosis",
    )
    assert {row["reviewer"]: row["reviews"] for row in result["reviewers"]} == {
        reviewer.pseudonym: 3 for reviewer in reviewers
    }
    assert result["head"] == {"number": chain_head().number, "sha256": chain_head().sha256}


def test_gold_items_are_not_counted(three, take_in):
    three.add("0123456789abcdef")
    take_in()
    manager = User.objects.create(email="m@example.org", role=Role.MANAGER)
    change = Edit(question="Which diagnosis fits this MRI image?", options=WORDS, key=2, note="n")
    make_gold("0123456789abcdef", 1, manager, defect="KEY_WRONG", change=change)
    assert queue_status()["items"] == 4


def test_a_closed_account_is_no_administrator(three):
    assert not has_administrator()
    User.objects.create(email="x@example.org", role=Role.ADMINISTRATOR, is_active=False)
    assert not has_administrator()
    User.objects.create(email="y@example.org", role=Role.ADMINISTRATOR)
    assert has_administrator()


def test_an_account_made_at_the_machine_is_on_the_trail(three):
    user = add_account(
        console_user(), email="a@example.org", role="manager", specialties=(), password=PHRASE
    )

    event = Event.objects.latest("number")
    assert (event.actor, user.pseudonym in event.object) == ("console", True)
    assert "example.org" not in event.body

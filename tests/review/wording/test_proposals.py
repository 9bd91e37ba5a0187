"""Wordings that reviewers propose: kept, told in the trail, taken over, never judged by their own
proposer; on both databases."""

import pytest
from django.db import Error, transaction

from medrcube.review.audit_trail import replay
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Event, Item, ItemVersion, Proposal
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import ReviewSubmission
from medrcube.review.wording.proposals import Wording, flaws_of, wording_of

pytestmark = pytest.mark.usefixtures("any_database")
BETTER = Wording(
    question="Which abnormality does this T1-weighted MR image of the brain show?",
    options=("Oedema", "Haemorrhage", "Calcification", "Cyst"),
    key=0,
)


@pytest.fixture
def propose(add_shown, person, answer):
    """A reviewer proposes a wording of a fresh item; gives the claim."""

    def make(wording=BETTER, decision="revise", reasons=(("AMBIGUOUS_STEM", None),)):
        add_shown()
        user = person()
        claim = claim_next(user)
        answer_blind(claim.token, user, answer(0))
        submit_review(
            claim.token,
            user,
            ReviewSubmission(decision=decision, reasons=reasons, proposal=wording),
        )
        claim.refresh_from_db()
        return claim

    return make


def adopt(claim, manager, proposal):
    """The manager makes the next version of a proposal."""
    change = Edit(question=BETTER.question, options=BETTER.options, key=0, note="as proposed")
    version = claim.version
    return edit(version.item_id, version.number, manager, change, proposal=proposal.pk)


def test_a_proposal_is_kept_with_its_review_and_told_by_the_trail(propose):
    claim = propose()
    proposal = Proposal.objects.get(review__claim=claim)
    assert (proposal.question, tuple(proposal.options), proposal.key) == (
        BETTER.question,
        BETTER.options,
        BETTER.key,
    )
    assert BETTER.question in Event.objects.get(kind="review.submitted").body


def test_a_proposal_of_which_the_trail_says_nothing_is_named(propose, add_shown):
    claim = propose()
    crosscheck_fault(claim)
    other = propose(None)
    Proposal.objects.create(review=other.review, question="?", options=[], key=0)
    assert "does not know this proposal" in crosscheck_fault(other)


def crosscheck_fault(claim):
    """What is wrong with the item of a claim, as the trail tells it."""
    name = claim.version.item_id
    trail_history, proposal = (
        replay._trail_histories([name])[name],
        replay._table_histories([name])[name],
    )
    return "; ".join(
        line for line in replay._compare(trail_history, proposal) if "proposal" in line
    )


def test_the_rules_that_a_proposal_breaks_are_stored_and_stop_nothing(propose):
    broken = Wording(question="Which is not oedema?", options=BETTER.options, key=0)
    proposal = Proposal.objects.get(review__claim=propose(broken))
    rules = {flaw["rule"] for flaw in proposal.flaws}
    assert {"negative-stem", "no-modality", "text-leak"} <= rules


@pytest.mark.parametrize("decision", ["accept", "reject"])
def test_another_wording_goes_with_revise_alone(propose, decision):
    reasons = () if decision == "accept" else (("KEY_WRONG", None),)
    with pytest.raises(InvalidAnswerError, match="choose Revise"):
        propose(decision=decision, reasons=reasons)


@pytest.mark.parametrize(
    ("wording", "words"),
    [
        (Wording(question="", options=BETTER.options, key=0), "the question is empty"),
        (Wording(question="x" * 10_001, options=BETTER.options, key=0), "10001 characters"),
        (Wording(question="?", options=("a", "b", "c", "y" * 1001), key=0), "option D has 1001"),
        (Wording(question="?", options=("a", "b", "c"), key=0), "3 options"),
        (Wording(question="?", options=BETTER.options, key=4), "key 4"),
    ],
)
def test_a_wording_that_could_be_no_item_is_refused(propose, wording, words):
    with pytest.raises(InvalidAnswerError, match=words):
        propose(wording)


def test_a_proposal_that_is_taken_over_makes_a_version_that_its_proposer_never_reviews(
    propose, person, project
):
    project(reviews=3, unblinded_reviews=2)
    claim = propose()
    new = adopt(claim, person("manager"), Proposal.objects.get())
    assert ItemVersion.objects.get(pk=new.pk).adoption.proposal.review.claim == claim
    assert '"proposed_by"' in Event.objects.get(kind="item.new_version").body
    assert claim_next(claim.user) is None
    assert claim_next(person()).version_id == new.pk


def test_who_has_seen_the_key_but_proposed_nothing_may_review_the_new_version(
    propose, person, project
):
    project(reviews=3, unblinded_reviews=2)
    claim = propose(None)
    change = Edit(question=BETTER.question, options=BETTER.options, key=0, note="mine")
    new = edit(claim.version.item_id, 1, person("manager"), change)
    assert claim_next(claim.user).version_id == new.pk


def test_a_proposal_about_an_earlier_version_is_not_taken_over(propose, person):
    claim, manager = propose(), person("manager")
    adopt(claim, manager, Proposal.objects.get())
    change = Edit(question=BETTER.question, options=BETTER.options, key=1, note="again")
    with pytest.raises(ConflictError, match="another version"):
        edit(claim.version.item_id, 2, manager, change, proposal=Proposal.objects.get().pk)
    assert Item.objects.get(pk=claim.version.item_id).version == 2


def test_the_database_refuses_to_change_a_proposal(propose):
    propose()
    with pytest.raises(Error, match="append-only"), transaction.atomic():
        Proposal.objects.update(question="another")


def flaws(version, **changes):
    """Messages of the rules that a version breaks once it is changed so."""
    before = wording_of(version)
    now = {"question": before.question, "options": before.options, "key": before.key, **changes}
    return [f"{flaw.rule}: {flaw.message}" for flaw in flaws_of(version, Wording(**now))]


@pytest.fixture
def chest(add_shown):
    """A chest film whose options the tables know."""
    names = {
        "Pleural effusion": "Pleural Effusion",
        "Pneumothorax": "Pneumothorax",
        "Cardiomegaly": "Cardiomegaly",
        "Atelectasis": "Atelectasis",
    }
    rows = [
        {"text": text, "concept": label, "strategy": "knowledge", "grade": "A" if place else ""}
        for place, (text, label) in enumerate(names.items())
    ]
    version = add_shown(
        question="Which finding does this chest radiograph show?", options=rows, provenance={}
    )
    version.item.anatomy, version.item.modality = "Chest", "X-ray"
    return version


def test_a_sound_wording_breaks_no_rule_of_truth(chest):
    assert not [line for line in flaws(chest) if line.startswith("option-truth")]


@pytest.mark.parametrize(
    ("place", "text", "words"),
    [
        (1, "Effusion", "option B: it means the same as the key"),
        (1, "Fracture", "option B: nothing that the source says rules it out"),
        (1, "Gremlins", "option B: 'Gremlins' is not in the term table"),
        (0, "Nodule", "option A, the key: 'Nodule' is not what the source states"),
    ],
)
def test_an_option_whose_truth_nothing_shows_is_named(chest, place, text, words):
    options = list(wording_of(chest).options)
    options[place] = text
    assert any(words in line for line in flaws(chest, options=tuple(options)))


def test_a_key_that_moves_is_named(chest):
    assert any("the key is moved" in line for line in flaws(chest, key=2))

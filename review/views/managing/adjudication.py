"""Views of adjudication: items on which reviewers disagree, and the decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.contrib import messages
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from medrcube.review.accounts.permissions import allow, signed_in_user
from medrcube.review.errors import ConflictError, IllegalTransitionError, InvalidAnswerError
from medrcube.review.models import Item, ItemVersion, Review, Role, User
from medrcube.review.reviewing import decisions
from medrcube.review.reviewing.questionnaire import Decision
from medrcube.review.reviewing.state_machine import ReviewState
from medrcube.review.views.error_pages import error_page
from medrcube.review.views.forms import AdjudicationForm
from medrcube.review.views.keyset_paging import page_of
from medrcube.review.views.managing import item_record

__all__ = [
    "VoteSummary",
    "adjudication_list",
    "adjudication_page",
    "items_to_decide",
    "reasons_undecided",
]

_COLUMNS = ("id", "task", "anatomy", "modality", "stratum", "version", "reviews")
_OUTCOMES = (
    (Decision.ACCEPT, "Accept", "acceptable as it is"),
    (Decision.REVISE, "Send back", "needs another wording"),
    (Decision.REJECT, "Reject", "must not be used"),
)


@dataclass(frozen=True, slots=True)
class VoteSummary:
    """Data of a review that decides whether an item needs adjudication."""

    decision: str
    right: bool
    reasons: int


@allow(Role.ADJUDICATOR)
@require_safe
def adjudication_list(request: HttpRequest) -> HttpResponse:
    """List the items that this user may decide, with the reason for adjudication."""
    user = signed_in_user(request)
    page = page_of(items_to_decide(user).values(*_COLUMNS), request, "id")
    votes = _vote_summaries(row["id"] for row in page.rows)
    context = {
        "page": page,
        "rows": [(row, list(reasons_undecided(votes.get(row["id"], [])))) for row in page.rows],
        "others": _count_barred(user),
    }
    return render(request, "review/managing/adjudication.html", context)


@allow(Role.ADJUDICATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def adjudication_page(request: HttpRequest, item: str) -> HttpResponse:
    """Show the reviews side by side, and handle the decision."""
    user = signed_in_user(request)
    row = item_record.visible_item(item, user)
    if item_record.took_part(row, user):
        raise Http404
    if request.method != "POST":
        if row.state != ReviewState.ADJUDICATION:
            messages.info(request, "This item no longer needs a decision.")
            return redirect("item", item=item)
        return _page(request, row)
    try:
        values = AdjudicationForm.read(request.POST)
        decisions.adjudicate(
            item, values["version"], user, outcome=values["outcome"], rationale=values["rationale"]
        )
    except InvalidAnswerError as error:
        return _page(request, row, str(error))
    except (ConflictError, IllegalTransitionError) as error:
        return error_page(request, 409, str(error), request.POST.get("rationale", ""))
    messages.success(request, "Your decision has been saved.")
    return redirect("adjudication")


def items_to_decide(user: User) -> QuerySet[Item]:
    """Return items in adjudication whose current version this user neither wrote nor reviewed."""
    number = OuterRef("version")
    own_versions = ItemVersion.objects.filter(
        _wrote_or_proposed(user), item=OuterRef("pk"), number=number
    )
    return Item.objects.filter(
        ~Exists(own_versions), ~Exists(_reviews_by(user)), state=ReviewState.ADJUDICATION
    )


def reasons_undecided(votes: Iterable[VoteSummary]) -> Iterator[str]:
    """Yield the reasons why the reviews did not decide an item."""
    votes = list(votes)
    decisions_given = {vote.decision for vote in votes}
    if len(decisions_given) > 1:
        counts = [
            f"{sum(vote.decision == name for vote in votes)} {name.value}"
            for name in Decision
            if name in decisions_given
        ]
        yield f"The reviewers disagree: {', '.join(counts)}."
    elif decisions_given == {Decision.REVISE}:
        yield "All ask for another wording."
    elif decisions_given == {Decision.ACCEPT} and any(vote.reasons for vote in votes):
        yield "Accepted, but with a reason against it."
    wrong = sum(not vote.right for vote in votes)
    if wrong:
        yield f"{wrong} of {len(votes)} blind answers {'is' if wrong == 1 else 'are'} not the key."


def _page(request: HttpRequest, item: Item, error: str = "") -> HttpResponse:
    version = item_record.current_version(item)
    context = {
        **item_record.version_context(version, signed_in_user(request)),
        "item": item,
        "editable": True,
        "voidable": False,
        "reviews": item_record.reviews_of(item, version.number),
        "why": list(reasons_undecided(_vote_summaries([item.pk]).get(item.pk, []))),
        "outcomes": _OUTCOMES,
        "outcome": request.POST.get("outcome", ""),
        "rationale": request.POST.get("rationale", ""),
        "error": error,
    }
    return render(request, "review/managing/adjudicate.html", context, status=422 if error else 200)


def _wrote_or_proposed(user: User) -> Q:
    """Return the filter for versions that a user wrote or proposed."""
    return Q(author=user) | Q(adoption__proposal__review__claim__user=user)


def _reviews_by(user: User) -> QuerySet[Review]:
    return Review.objects.filter(
        claim__version__item=OuterRef("pk"),
        claim__version__number=OuterRef("version"),
        claim__user=user,
    )


def _count_barred(user: User) -> int:
    """Count the items in adjudication that this user may not decide."""
    versions = ItemVersion.objects.filter(
        number=F("item__version"), item__state=ReviewState.ADJUDICATION
    ).values_list("item", flat=True)
    reviewed = versions.filter(claims__user=user, claims__review__isnull=False)
    return len({*reviewed, *versions.filter(_wrote_or_proposed(user))})


def _vote_summaries(ids: Iterable[str]) -> dict[str, list[VoteSummary]]:
    summaries: dict[str, list[VoteSummary]] = {}
    reviews = Review.objects.filter(
        claim__version__item__in=list(ids),
        claim__version__number=F("claim__version__item__version"),
        claim__released_at=None,
    )
    for review in reviews.select_related("claim__version", "claim__blind").prefetch_related(
        "reasons"
    ):
        version, option = review.claim.version, review.claim.blind.option
        vote = VoteSummary(review.decision, option == version.key, len(review.reasons.all()))
        summaries.setdefault(version.item_id, []).append(vote)
    return summaries

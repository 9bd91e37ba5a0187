"""Views of the item list and of single items: edits, comments, gold copies."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from medrcube.review.accounts.permissions import allow, signed_in_user
from medrcube.review.assigning.outstanding import specialist_rule_status
from medrcube.review.errors import (
    ConflictError,
    IllegalTransitionError,
    InvalidAnswerError,
    ReviewError,
)
from medrcube.review.models import Adjudication, Comment, Event, Item, Proposal, Role, User
from medrcube.review.quality import gold_items
from medrcube.review.reviewing import decisions, edits, voiding
from medrcube.review.reviewing.edits import Edit
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.questionnaire import Reason
from medrcube.review.reviewing.sql.cursor import fetch_all
from medrcube.review.reviewing.state_machine import TRANSITIONS, ReviewState, Transition
from medrcube.review.views.error_pages import error_page
from medrcube.review.views.forms import FormValues, ItemForm, WordingForm
from medrcube.review.views.keyset_paging import page_of, query_text
from medrcube.review.views.managing import item_record
from medrcube.review.views.managing.wording_diff import text_changes
from medrcube.review.visibility.privacy_incidents import UNSEEN
from medrcube.review.wording import comments
from medrcube.review.wording.option_letters import option_letter
from medrcube.review.wording.proposals import Wording, wording_of
from medrcube.taxonomy import Task

__all__ = ["edit_page", "filter_items", "gold_page", "item_page", "items_page"]

_COLUMNS = (
    "id",
    "source",
    "task",
    "anatomy",
    "modality",
    "stratum",
    "state",
    "version",
    "reviews",
    "gold_defect",
)
_MOST_NAMES = 500
_MOST_EVENTS = 200
_EDITABLE = frozenset(
    {
        state
        for state, step in TRANSITIONS
        if step in (Transition.EDIT_WANTED, Transition.NEW_VERSION)
    }
)
_FINAL = frozenset({ReviewState.RELEASED, ReviewState.WITHDRAWN})
"""States in which reviews no longer matter."""


@allow(Role.ADJUDICATOR, Role.MANAGER)
@require_safe
def items_page(request: HttpRequest) -> HttpResponse:
    """List items by id, filtered by state, source, task, stratum and id prefix."""
    user = signed_in_user(request)
    filters = {
        name: query_text(request, name)
        for name in ("state", "source", "task", "stratum", "id", "gold")
    }
    page = page_of(filter_items(filters, user).values(*_COLUMNS), request, "id")
    context = {
        "page": page,
        "chosen": filters,
        "filters": [
            (name, name.capitalize(), filters[name], values)
            for name, values in (
                ("state", [state.value for state in ReviewState]),
                ("task", [task.value for task in Task]),
                ("source", _distinct_values("source")),
                ("stratum", _distinct_values("stratum")),
            )
        ],
        "narrowed": any(filters.values()),
    }
    return render(request, "review/managing/items.html", context)


@allow(Role.ADJUDICATOR, Role.MANAGER)
@require_http_methods(["GET", "HEAD", "POST"])
def item_page(request: HttpRequest, item: str) -> HttpResponse:
    """Item page; ``form`` identifies the submitted form."""
    user = signed_in_user(request)
    row = item_record.visible_item(item, user)
    if request.method != "POST":
        return _item_page(request, row)
    try:
        values = ItemForm.read(request.POST)
        message = _FORMS.get(values["form"], _unknown_form)(values, row, user)
    except InvalidAnswerError as error:
        return _item_page(request, row, str(error), 422)
    except (ConflictError, IllegalTransitionError) as error:
        row.refresh_from_db()
        return _item_page(request, row, str(error), 409)
    messages.success(request, message)
    return redirect("item", item=item)


@allow(Role.ADJUDICATOR, Role.MANAGER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_page(request: HttpRequest, item: str) -> HttpResponse:
    """Edit the wording; the typed text stays in the form on any error."""
    user = signed_in_user(request)
    row = item_record.visible_item(item, user)
    if row.gold_defect:
        raise Http404  # the defect of a gold item must not be edited away
    if request.method != "POST":
        if row.state not in _EDITABLE:
            return error_page(
                request, 409, f"An item that is {_state_words(row.state)} is not edited."
            )
        return _wording_page(
            request, row, "review/managing/edit.html", _proposed_edit(request, row)
        )
    values = WordingForm.read(request.POST)
    change, proposal = _edit_of(values), values["proposal"]
    try:
        if not change.note.strip():
            raise InvalidAnswerError("state the reason for the change; the next reviewers see it")
        edits.edit(
            item,
            values["version"],
            user,
            change,
            proposal=proposal if proposal >= 0 else None,
        )
    except ReviewError as error:
        return _wording_page(request, row, "review/managing/edit.html", change, error)
    messages.success(request, "The new version is in the queue; earlier reviews no longer count.")
    return redirect("item", item=item)


@allow(Role.MANAGER)
@require_http_methods(["GET", "HEAD", "POST"])
def gold_page(request: HttpRequest, item: str) -> HttpResponse:
    """Create a gold item: copy an accepted item with a defect."""
    user = signed_in_user(request)
    row = item_record.visible_item(item, user)
    if row.gold_defect or row.state != ReviewState.ACCEPTED:
        raise Http404
    if request.method != "POST":
        return _wording_page(request, row, "review/managing/gold.html")
    values = WordingForm.read(request.POST)
    change = _edit_of(values)
    try:
        gold = gold_items.make_gold(
            item, values["version"], user, defect=values["defect"], change=change
        )
    except ReviewError as error:
        return _wording_page(request, row, "review/managing/gold.html", change, error)
    messages.success(request, "The gold item is in the queue. Reviewers cannot recognise it.")
    return redirect("item", item=gold.pk)


def filter_items(filters: dict[str, str], user: User) -> QuerySet[Item]:
    """Return items that match all filters; gold items are visible to managers only."""
    rows = Item.objects.all()
    for name in ("state", "source", "task", "stratum"):
        if filters[name]:
            rows = rows.filter(**{name: filters[name]})
    if filters["id"]:
        # The first condition uses the index to find the start; the second needs no index.
        rows = rows.filter(pk__gte=filters["id"], pk__startswith=filters["id"])
    if user.role != Role.MANAGER:
        return rows.filter(gold_defect="")
    return rows.exclude(gold_defect="") if filters["gold"] else rows


def _distinct_values(column: str) -> list[str]:
    """Return the distinct values of an indexed column by skip scan instead of reading all rows."""
    sql = f"""
        WITH RECURSIVE names (name) AS (
            SELECT min({column}) FROM review_item
            UNION ALL
            SELECT (SELECT min({column}) FROM review_item WHERE {column} > names.name)
            FROM names WHERE names.name IS NOT NULL
        )
        SELECT name FROM names WHERE name IS NOT NULL LIMIT {_MOST_NAMES}
    """  # noqa: S608
    return [name for (name,) in fetch_all(sql)]


def _item_page(
    request: HttpRequest, item: Item, error: str = "", status: int = 200
) -> HttpResponse:
    user = signed_in_user(request)
    versions = list(item.versions.select_related("picture", "overlay", "author").order_by("number"))
    steps = [
        (new, text_changes(wording_of(old), wording_of(new))) for old, new in pairwise(versions)
    ]
    now = next(version for version in versions if version.number == item.version)
    context = {
        **item_record.version_context(now, user),
        "item": item,
        "gold": item_record.reason_words(item.gold_defect),
        "rule": specialist_rule_status(item, now.pk, current_policy()),
        "steps": steps[::-1],
        "reviews": item_record.reviews_of(item),
        "adjudications": Adjudication.objects.filter(version__item=item)
        .select_related("adjudicator", "version")
        .order_by("decided_at", "pk"),
        "comments": Comment.objects.filter(version__item=item)
        .select_related("author", "version")
        .order_by("written_at", "pk"),
        "events": Event.objects.filter(object=f"item:{item.pk}").order_by("-number")[:_MOST_EVENTS],
        "decidable": item.state == ReviewState.ADJUDICATION
        and user.role == Role.ADJUDICATOR
        and not item_record.took_part(item, user),
        "editable": item.state in _EDITABLE and not item.gold_defect,
        "goldable": item.state == ReviewState.ACCEPTED and not item.gold_defect,
        "reportable": item.state not in UNSEEN,
        "voidable": user.role == Role.MANAGER and item.state not in _FINAL,
        "reopenable": user.role == Role.MANAGER
        and not item.gold_defect
        and (ReviewState(item.state), Transition.REOPENED) in TRANSITIONS,
        "error": error,
        "form": request.POST.get("form", ""),
        "typed": request.POST.get("text", ""),
    }
    return render(request, "review/managing/item.html", context, status=status)


def _wording_page(
    request: HttpRequest,
    item: Item,
    template: str,
    typed: Edit | None = None,
    error: ReviewError | None = None,
) -> HttpResponse:
    """Render the wording form; after a conflict it refers to the version now displayed."""
    item.refresh_from_db()
    version = item_record.current_version(item)
    texts = typed.options if typed else [str(option["text"]) for option in version.options]
    key = typed.key if typed else version.key
    context = {
        **item_record.version_context(version, signed_in_user(request)),
        "item": item,
        "question": typed.question if typed else version.question,
        "fields": [
            (place, option_letter(place), text, place == key) for place, text in enumerate(texts)
        ],
        "note": typed.note if typed else "",
        "changes": text_changes(wording_of(version), _as_wording(typed)) if typed else [],
        "proposal": request.POST.get("proposal", "")
        or (typed and query_text(request, "proposal"))
        or "",
        "defects": [(reason.value, item_record.reason_words(reason)) for reason in Reason],
        "defect": request.POST.get("defect", ""),
        "error": str(error) if error else "",
        "conflict": isinstance(error, ConflictError),
    }
    status = 200 if error is None else 422 if isinstance(error, InvalidAnswerError) else 409
    return render(request, template, context, status=status)


def _proposed_edit(request: HttpRequest, item: Item) -> Edit | None:
    """Return the proposal in the query string, if it is about the current version."""
    number = query_text(request, "proposal")
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        return None
    row = Proposal.objects.filter(
        pk=number, review__claim__version__item=item, review__claim__version__number=item.version
    ).select_related("review__claim__user")
    for proposal in row:
        return Edit(
            question=proposal.question,
            options=tuple(proposal.options),
            key=proposal.key,
            note=f"proposed by {proposal.review.claim.user.pseudonym}",
        )
    return None


def _edit_of(values: FormValues) -> Edit:
    return Edit(**{name: values[name] for name in ("question", "options", "key", "note")})


def _as_wording(typed: Edit) -> Wording:
    return Wording(question=typed.question, options=typed.options, key=typed.key)


def _comment(values: FormValues, item: Item, user: User) -> str:
    comments.add_comment(item.pk, values["version"], user, values["text"])
    return "The comment has been saved."


def _resolve(values: FormValues, item: Item, user: User) -> str:
    comments.resolve_comment(item.pk, values["comment"], user)
    return "The comment is resolved."


def _report(values: FormValues, item: Item, user: User) -> str:
    decisions.report_harm(
        item.pk, values["version"], user, reason=values["reason"], note=values["text"]
    )
    return "The item is in quarantine; no reviewer gets it."


def _withdraw(values: FormValues, item: Item, user: User) -> str:
    if user.role != Role.MANAGER:
        raise Http404
    decisions.withdraw(item.pk, values["version"], user, values["text"])
    return "The item is withdrawn."


def _void(values: FormValues, _item: Item, user: User) -> str:
    if user.role != Role.MANAGER:
        raise Http404
    voiding.void_review(values["claim"], user, values["text"])
    return "The review no longer counts."


def _reopen(values: FormValues, item: Item, user: User) -> str:
    if user.role != Role.MANAGER:
        raise Http404
    voiding.reopen(item.pk, values["version"], user, values["text"])
    return "The item is back in the queue; other reviewers will review it."


def _unknown_form(_values: FormValues, _item: Item, _user: User) -> str:
    raise InvalidAnswerError("the form is not valid for this page; reload it")


_FORMS: dict[str, Callable[[FormValues, Item, User], str]] = {
    "comment": _comment,
    "resolve": _resolve,
    "report": _report,
    "withdraw": _withdraw,
    "void": _void,
    "reopen": _reopen,
}


def _state_words(state: str) -> str:
    return state.replace("_", " ")

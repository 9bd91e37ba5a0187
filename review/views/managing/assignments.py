"""Views of assignments, specialties and the specialist rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from medrcube.review.accounts.permissions import allow, signed_in_user
from medrcube.review.assigning import assignment, outstanding, specialties
from medrcube.review.errors import ConflictError, InvalidAnswerError, ReviewError
from medrcube.review.models import Role, User
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.policy_change import change_policy
from medrcube.review.views.forms import AssigningForm, FormValues
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = ["assignments_page"]


@allow(Role.MANAGER)
@require_http_methods(["GET", "HEAD", "POST"])
def assignments_page(request: HttpRequest) -> HttpResponse:
    """Assignments page; ``form`` identifies the submitted form."""
    if request.method != "POST":
        return _page(request)
    try:
        values = AssigningForm.read(request.POST)
        message = _FORMS.get(values["form"], _unknown_form)(
            request, values, signed_in_user(request)
        )
    except ReviewError as error:
        return _page(request, str(error), 409 if isinstance(error, ConflictError) else 422)
    messages.success(request, message)
    return redirect("assigning")


def _page(request: HttpRequest, error: str = "", status: int = 200) -> HttpResponse:
    rules = current_policy()
    queued = outstanding.queued_groups()
    coverage = specialties.all_specialties()
    people = User.objects.filter(role=Role.REVIEWER, is_active=True).order_by("pseudonym")
    post_data = request.POST
    codes = post_data.getlist("specialties")
    reviewer_keys = post_data.getlist("reviewers")
    refused = _account_key(post_data.get("reviewer", ""))
    context = {
        "rules": rules,
        "counts": range(rules.reviews + 1),
        "waiting": outstanding.specialist_backlog(queued),
        "gaps": outstanding.staffing_gaps(queued, rules),
        "assignments": [
            (row, assignment.scope_of(row), reviewers)
            for row, reviewers in assignment.active_assignments()
        ],
        "columns": [
            (name, name.capitalize(), post_data.get(name, ""), values)
            for name, values in (
                ("source", sorted({kind.source for kind in queued})),
                ("task", [task.value for task in Task]),
                ("anatomy", [part.value for part in Anatomy]),
                ("modality", [kind.value for kind in Modality]),
            )
        ],
        "people": [
            (
                user,
                str(user.pk) in reviewer_keys,
                [
                    (name, name in (codes if user.pk == refused else user.specialties))
                    for name in coverage
                ],
            )
            for user in people
        ],
        "fields": coverage.values(),
        "mode": post_data.get("mode", "") or "only",
        "specialty": post_data.get("specialty", ""),
        "refused": refused,
        "name": post_data.get("name", ""),
        "anatomies": [
            (part.value, part.value in post_data.getlist("anatomies")) for part in Anatomy
        ],
        "modalities": [
            (kind.value, kind.value in post_data.getlist("modalities")) for kind in Modality
        ],
        "error": error,
    }
    return render(request, "review/managing/assigning.html", context, status=status)


def _assign(request: HttpRequest, values: FormValues, user: User) -> str:
    names = (field.name for field in fields(assignment.AssignmentScope))
    row = assignment.create_assignment(
        user,
        assignment.AssignmentScope(**{name: values[name] for name in names}),
        [_account_key(text) for text in request.POST.getlist("reviewers")],
        mode=values["mode"],
        specialty=values["specialty"],
    )
    return f"Assignment {row.pk} is now in force."


def _account_key(text: str) -> int:
    """Parse an account key; 0, which no account has, if invalid."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _end(_request: HttpRequest, values: FormValues, user: User) -> str:
    ended = assignment.end_assignment(user, values["assignment"])
    return f"Assignment {ended.pk} has ended."


def _set_specialist_rule(_request: HttpRequest, values: FormValues, user: User) -> str:
    rule = values["specialists"]
    change_policy(user.pseudonym, {"specialists": rule})
    return "The rule has been saved; affected items have been moved."


def _set_specialties(request: HttpRequest, values: FormValues, user: User) -> str:
    names = request.POST.getlist("specialties")
    changed = assignment.set_specialties(user, values["reviewer"], names)
    return f"The specialties of {changed.pseudonym} are stored."


def _add_specialty(request: HttpRequest, values: FormValues, user: User) -> str:
    row = assignment.add_specialty(
        user,
        values["name"],
        anatomies=request.POST.getlist("anatomies"),
        modalities=request.POST.getlist("modalities"),
    )
    return f"{row.name} can be given to reviewers now."


def _unknown_form(_request: HttpRequest, _values: FormValues, _user: User) -> str:
    raise InvalidAnswerError("the form is not valid for this page; reload it")


_FORMS: dict[str, Callable[[HttpRequest, FormValues, User], str]] = {
    "assign": _assign,
    "end": _end,
    "rule": _set_specialist_rule,
    "specialties": _set_specialties,
    "specialty": _add_specialty,
}

"""Account views for administrators."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from medrcube.review.accounts import accounts, second_factor, single_sign_on
from medrcube.review.accounts.permissions import allow, signed_in_user
from medrcube.review.assigning import specialties
from medrcube.review.errors import ConflictError, InvalidAnswerError, ReviewError
from medrcube.review.models import Identity, Role, User
from medrcube.review.views.forms import AccountForm, FormValues

__all__ = ["account_page", "accounts_page"]

_ROLES = (
    (Role.REVIEWER, "Reviewer", "answers and judges items"),
    (Role.ADJUDICATOR, "Adjudicator", "decides where reviewers disagree, edits items"),
    (Role.MANAGER, "Manager", "sees progress, quarantine and agreement, edits items"),
    (Role.ADMINISTRATOR, "Administrator", "manages accounts, sees the trail"),
)


@allow(Role.ADMINISTRATOR)
@never_cache
@sensitive_post_parameters("password")
@sensitive_variables("password")
@require_http_methods(["GET", "HEAD", "POST"])
def accounts_page(request: HttpRequest) -> HttpResponse:
    """List all accounts and create new ones; a generated password is shown once."""
    if request.method != "POST":
        return _list_page(request)
    try:
        values = AccountForm.read(request.POST)
        password, made_here = _password(values)
        user = accounts.add_account(
            signed_in_user(request),
            email=values["email"],
            role=values["role"],
            specialties=values["specialties"],
            password=password,
        )
    except InvalidAnswerError as error:
        return _list_page(request, str(error))
    if made_here:
        return _show_password_once(request, user, password)
    messages.success(request, f"{user.email} can sign in now.")
    return redirect("people")


@allow(Role.ADMINISTRATOR)
@never_cache
@sensitive_post_parameters("password")
@sensitive_variables("password")
@require_http_methods(["GET", "HEAD", "POST"])
def account_page(request: HttpRequest, user: int) -> HttpResponse:
    """Account page; ``form`` identifies the submitted form."""
    account = User.objects.filter(pk=user).first()
    if account is None:
        raise Http404
    if request.method != "POST":
        return _one_page(request, account)
    actor = signed_in_user(request)
    try:
        values = AccountForm.read(request.POST)
        form = values["form"]
        if form == "password":
            password, made_here = _password(values)
            accounts.reset_password(actor, user, password)
            if made_here:
                return _show_password_once(request, account, password)
            message = (
                "The password has been changed; the account has been signed out everywhere else."
            )
        elif form == "role":
            accounts.change_account(
                actor, user, role=values["role"], specialties=values["specialties"]
            )
            message = "Role and specialties have been saved."
        elif form in ("open", "close"):
            accounts.set_active(actor, user, active=form == "open")
            message = "The account is open." if form == "open" else "The account is closed."
        elif form == "second-factor":
            second_factor.remove_second_factor(actor, account)
            message = "No code is required until the person sets up a second factor again."
        elif form == "unlink":
            single_sign_on.unlink_identity(actor, account)
            message = "The account is no longer linked to single sign-on."
        else:
            raise InvalidAnswerError("the form is not valid for this page; reload it")
    except ReviewError as error:
        account.refresh_from_db()
        status = 409 if isinstance(error, ConflictError) else 422
        return _one_page(request, account, str(error), status)
    messages.success(request, message)
    return redirect("person", user=user)


def _password(values: FormValues) -> tuple[str, bool]:
    """Return the typed password, or a generated one that must be shown."""
    typed = values["password"]
    return (typed, False) if typed else (accounts.random_password(), True)


def _show_password_once(request: HttpRequest, user: User, password: str) -> HttpResponse:
    # No redirect: the password would have to be stored in between.
    context = {"person": user, "password": password}
    return render(request, "review/managing/password.html", context)


def _list_page(request: HttpRequest, error: str = "") -> HttpResponse:
    context = {
        "people": User.objects.order_by("-is_active", "email"),
        "roles": _ROLES,
        "role": request.POST.get("role", "") or Role.REVIEWER,
        "email": request.POST.get("email", ""),
        "specialties": [
            (name, name in request.POST.getlist("specialties"))
            for name in specialties.all_specialties()
        ],
        "error": error,
    }
    return render(request, "review/managing/people.html", context, status=422 if error else 200)


def _one_page(
    request: HttpRequest, account: User, error: str = "", status: int = 200
) -> HttpResponse:
    is_sent = request.POST.get("form") == "role"
    selected_names = request.POST.getlist("specialties") if is_sent else account.specialties
    context = {
        "person": account,
        "roles": _ROLES,
        "role": request.POST.get("role", "") if is_sent else account.role,
        "specialties": [(name, name in selected_names) for name in specialties.all_specialties()],
        "factor": second_factor.has_second_factor(account),
        "identity": Identity.objects.filter(user=account).first(),
        "error": error,
    }
    return render(request, "review/managing/person.html", context, status=status)

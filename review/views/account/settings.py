"""Views of one's own password and shortcut settings, and the list of shortcuts."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from medrcube.review.accounts import login_throttle
from medrcube.review.accounts.key_bindings import key_rows
from medrcube.review.accounts.own_account import change_password, switch_single_keys
from medrcube.review.accounts.permissions import EVERYONE, allow, signed_in_user
from medrcube.review.accounts.second_factor import has_second_factor
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import User
from medrcube.review.views.forms import FormValues, OwnAccountForm

__all__ = ["account_page", "keys_page"]


@allow(*EVERYONE, first=True)
@sensitive_post_parameters("old", "new", "again")
@require_http_methods(["GET", "HEAD", "POST"])
def account_page(request: HttpRequest) -> HttpResponse:
    """Account page; ``form`` identifies the submitted form."""
    user = signed_in_user(request)
    if request.method != "POST":
        return _page(request)
    try:
        values = OwnAccountForm.read(request.POST)
        if values["form"] == "password":
            _change_password(request, user, values)
        elif values["form"] == "keys":
            switch_single_keys(user, on=values["single_keys"])
            messages.success(request, "Your choice is saved.")
    except InvalidAnswerError as error:
        return _page(request, form=request.POST.get("form", ""), error=str(error))
    return redirect("me")


@allow(*EVERYONE)
@require_safe
def keys_page(request: HttpRequest) -> HttpResponse:
    """Help page with the keyboard shortcuts."""
    signed_in_user(request)
    return render(request, "review/keys.html", {"key_rows": key_rows()})


def _change_password(request: HttpRequest, user: User, values: FormValues) -> None:
    """Change the password; attempts at the old one are throttled as at sign-in."""
    address = login_throttle.client_address(request)
    if not login_throttle.count_attempt(user.email, address):
        raise InvalidAnswerError("too many attempts; wait 15 minutes")
    if user.check_password(values["old"]):
        login_throttle.clear_attempts(user.email, address)
    change_password(user, old=values["old"], new=values["new"], again=values["again"])
    update_session_auth_hash(request, user)
    messages.success(
        request, "Your password has been changed. You have been signed out everywhere else."
    )


def _page(request: HttpRequest, form: str = "", error: str = "") -> HttpResponse:
    context = {
        "form": form,
        "error": error,
        "second_factor": has_second_factor(signed_in_user(request)),
    }
    return render(request, "review/me.html", context, status=422 if error else 200)

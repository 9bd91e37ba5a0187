"""A person's own account: password and keys; and the page that explains the keys."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from medrcube.review import keymap, throttle
from medrcube.review.access import EVERYONE, allow, reader
from medrcube.review.account import change_keys, change_password
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import User
from medrcube.review.questionnaire import Reason


@allow(*EVERYONE)
@sensitive_post_parameters("old", "new", "again")
@require_http_methods(["GET", "HEAD", "POST"])
def me(request: HttpRequest) -> HttpResponse:
    """The account page; ``form`` says which of its three forms was sent."""
    user = reader(request)
    if request.method != "POST":
        return _page(request, user)
    form = request.POST.get("form")
    try:
        if form == "password":
            _password(request, user)
        elif form == "keys":
            change_keys(user, request.POST.dict(), off="off" in request.POST)
            messages.success(request, "Your keys are stored.")
        elif form == "default-keys":
            change_keys(user, {}, off=False)
            messages.success(request, "The keys are as they were at first.")
    except InvalidAnswerError as error:
        return _page(request, user, form=form or "", error=str(error))
    return redirect("me")


@allow(*EVERYONE)
@require_safe
def keys(request: HttpRequest) -> HttpResponse:
    """Help: what the keys do."""
    return render(request, "review/keys.html", key_help(reader(request)))


def key_help(user: User) -> dict[str, object]:
    """What the list of keys shows."""
    of = keymap.keys_of(user.keymap)
    return {
        "key_rows": [
            (it.text, keymap.SIGNS.get(of[it.name], of[it.name])) for it in keymap.ACTIONS
        ],
        "keys_off": keymap.are_off(user.keymap),
        "letters": letters(),
    }


def letters() -> list[tuple[str, str]]:
    """Letter and code of every reason, in the order of the questionnaire."""
    return [(chr(ord("a") + place), reason.value) for place, reason in enumerate(Reason)]


def _password(request: HttpRequest, user: User) -> None:
    """Change it; guessing the old one is slowed down as at the sign-in."""
    address = throttle.address_of(request)
    if not throttle.attempt(user.email, address):
        raise InvalidAnswerError("too many attempts; wait a quarter of an hour")
    sent = request.POST
    change_password(
        user, old=sent.get("old", ""), new=sent.get("new", ""), again=sent.get("again", "")
    )
    throttle.forget(user.email, address)
    update_session_auth_hash(request, user)
    messages.success(request, "Your password is changed. You are signed out everywhere else.")


def _page(request: HttpRequest, user: User, form: str = "", error: str = "") -> HttpResponse:
    of = keymap.keys_of(user.keymap)
    if form == "keys":
        of = {name: request.POST.get(name, key) for name, key in of.items()}
    context = {
        "actions": [(action, of[action.name]) for action in keymap.ACTIONS],
        "off": "off" in request.POST if form == "keys" else keymap.are_off(user.keymap),
        "form": form,
        "error": error,
    }
    return render(request, "review/me.html", context, status=422 if error else 200)

"""Signing in and out."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from medrcube.review import throttle
from medrcube.review.models import User

_WRONG = "E-mail address or password is not right, or the account is closed."
_LONGEST = 1024
"""Of a password; hashing a longer one would only keep the server busy."""


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """The form, and what it sends; a script that asks again in place gets 204."""
    if request.method != "POST":
        return redirect(_target(request)) if request.user.is_authenticated else _form(request)
    account = request.POST.get("email", "").strip().casefold()
    address = throttle.address_of(request)
    if not throttle.attempt(account, address):
        minutes = settings.SIGN_IN_WINDOW_SECONDS // 60
        reply = _form(request, f"Too many attempts. Wait {minutes} minutes, then try again.", 429)
        reply["Retry-After"] = str(settings.SIGN_IN_WINDOW_SECONDS)
        return reply
    password = request.POST.get("password", "")
    user = None
    if len(password) <= _LONGEST and "\0" not in account:
        user = authenticate(request, username=account, password=password)
    if not isinstance(user, User):
        return _form(request, _WRONG, 422)
    throttle.forget(account, address)
    login(request, user)  # under a new session id
    now = int(timezone.now().timestamp())
    request.session["began"] = request.session["seen"] = now
    return HttpResponse(status=204) if _by_script(request) else redirect(_target(request))


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session: its row is deleted, so a copy of the cookie is worth nothing."""
    logout(request)
    return redirect(settings.LOGOUT_REDIRECT_URL)


def _form(request: HttpRequest, error: str = "", status: int = 200) -> HttpResponse:
    if _by_script(request):
        return HttpResponse(error, status=status, content_type="text/plain")
    context = {
        "error": error,
        "email": request.POST.get("email", ""),
        "next": request.POST.get("next", request.GET.get("next", "")),
    }
    return render(request, "review/sign_in.html", context, status=status)


def _by_script(request: HttpRequest) -> bool:
    return request.headers.get("X-Requested-With") == "fetch"


def _target(request: HttpRequest) -> str:
    """Where the person wanted to go, as long as that is a page of ours."""
    wanted = request.POST.get("next", request.GET.get("next", ""))
    ours = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if ours and wanted.startswith("/") else resolve_url(settings.LOGIN_REDIRECT_URL)

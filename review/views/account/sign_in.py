"""Views of sign-in and sign-out: password or single sign-on, then the second factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from medrcube.review.accounts import login_throttle, second_factor, single_sign_on
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import User
from medrcube.review.views.forms import CodeForm, SignInForm
from medrcube.review_settings import SingleSignOn

__all__ = ["code_page", "from_provider", "sign_in_page", "sign_out", "to_provider"]

_WRONG = "The e-mail address or password is wrong, or the account is closed."
_CODE = "This code is wrong or was already used. Wait for the next one."
_BACKEND = "django.contrib.auth.backends.ModelBackend"
_HALF = "half_signed_in"
"""Session key: user who has given the password but not yet the code."""
_HALF_SECONDS = 5 * 60
_Form = Callable[[HttpRequest, str, int], HttpResponse]


@never_cache
@sensitive_post_parameters("password", "code")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_page(request: HttpRequest) -> HttpResponse:
    """Show and handle the sign-in form; a script that signs in again without reload gets 204."""
    if request.method != "POST":
        return (
            redirect(_safe_target(request))
            if request.user.is_authenticated
            else _sign_in_form(request)
        )
    form = SignInForm(request.POST)
    valid = form.is_valid()  # an invalid form counts as a wrong password
    account = form.cleaned_data.get("email", "")
    address = login_throttle.client_address(request)
    if not login_throttle.count_attempt(account, address):
        return _too_many(_sign_in_form(request, _too_many_text(), 429))
    user = None
    if valid:
        user = authenticate(request, username=account, password=form.cleaned_data["password"])
    if not isinstance(user, User):
        return _sign_in_form(request, _WRONG, 422)
    login_throttle.clear_attempts(account, address)
    if not second_factor.has_second_factor(user):
        return _let_in(request, user)
    if not _by_script(request):
        return _ask_code(request, user)
    return _check_code(request, user, form.cleaned_data["code"], _sign_in_form)


@never_cache
@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
def code_page(request: HttpRequest) -> HttpResponse:
    """Second step, for a user who has just given the password."""
    user = _half_signed_in(request)
    if user is None:
        return redirect("sign-in")
    if request.method != "POST":
        return _code_form(request)
    form = CodeForm(request.POST)
    form.is_valid()
    return _check_code(request, user, form.cleaned_data.get("code", ""), _code_form)


@never_cache
@require_safe
def to_provider(request: HttpRequest) -> HttpResponse:
    """Redirect to the single sign-on provider."""
    site = _provider()
    request.session["next"] = _safe_target(request)
    try:
        return single_sign_on.begin_sign_in(request, site, _return_address(request))
    except InvalidAnswerError as error:
        return _sign_in_form(request, str(error).capitalize(), 502)


@never_cache
@require_safe
def from_provider(request: HttpRequest) -> HttpResponse:
    """Handle the redirect back from the provider."""
    site = _provider()
    try:
        user = single_sign_on.finish_sign_in(request, site)
    except InvalidAnswerError as error:
        return _sign_in_form(request, str(error).capitalize(), 422)
    if second_factor.has_second_factor(user) and not site.asks_second_factor:
        return _ask_code(request, user)
    return _let_in(request, user, at_provider=site.asks_second_factor)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session by deleting its row, so that a copied cookie is worthless."""
    logout(request)
    return redirect(settings.LOGOUT_REDIRECT_URL)


def _let_in(
    request: HttpRequest, user: User, *, code_given: bool = False, at_provider: bool = False
) -> HttpResponse:
    """Begin a session with a new id.

    Args:
        request: request that gets the session.
        user: user who signs in.
        code_given: whether a right code of the second factor was given.
        at_provider: whether the single sign-on provider asked for a second factor.
    """
    target = _safe_target(request)
    for name in (_HALF, "next"):
        request.session.pop(name, None)
    login(request, user, backend=_BACKEND)
    now = int(timezone.now().timestamp())
    request.session["began"] = request.session["seen"] = now
    request.session[second_factor.AT_PROVIDER] = at_provider
    if code_given:
        second_factor.remember_proof(request.session, user)
    return HttpResponse(status=204) if _by_script(request) else redirect(target)


def _ask_code(request: HttpRequest, user: User) -> HttpResponse:
    target = _safe_target(request)
    request.session.cycle_key()
    request.session["next"] = target
    request.session[_HALF] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),
        "at": int(timezone.now().timestamp()),
    }
    return redirect("sign-in-code")


def _half_signed_in(request: HttpRequest) -> User | None:
    """Return the user who has given the password, unless five minutes ago or changed since."""
    half: dict[str, Any] = request.session.get(_HALF) or {}
    if int(timezone.now().timestamp()) - half.get("at", 0) > _HALF_SECONDS:
        return None
    user = User.objects.filter(pk=half.get("user", 0), is_active=True).first()
    same = user and constant_time_compare(half.get("hash", ""), user.get_session_auth_hash())
    return user if same else None


def _check_code(request: HttpRequest, user: User, typed: str, form: _Form) -> HttpResponse:
    """Check a code; attempts are throttled per account, from any address."""
    name = f"code of {user.pk}"
    if not login_throttle.count_attempt(name, name):
        return _too_many(form(request, _too_many_text(), 429))
    try:
        if not second_factor.spend_code(user, typed):
            message = _CODE if typed else "Also enter the code from your authenticator app."
            return form(request, message, 422)
    except InvalidAnswerError as error:
        return form(request, str(error).capitalize(), 422)
    login_throttle.clear_attempts(name, name)
    return _let_in(request, user, code_given=True)


def _provider() -> SingleSignOn:
    site: SingleSignOn | None = settings.SITE.single_sign_on
    if site is None:
        raise Http404
    return site


def _return_address(request: HttpRequest) -> str:
    path = reverse("single-sign-on-back")
    return f"{settings.ORIGIN}{path}" if settings.ORIGIN else request.build_absolute_uri(path)


def _too_many_text() -> str:
    minutes = settings.SIGN_IN_WINDOW_SECONDS // 60
    return f"Too many attempts. Wait {minutes} minutes, then try again."


def _too_many(reply: HttpResponse) -> HttpResponse:
    reply["Retry-After"] = str(settings.SIGN_IN_WINDOW_SECONDS)
    return reply


def _sign_in_form(request: HttpRequest, error: str = "", status: int = 200) -> HttpResponse:
    if _by_script(request):
        return HttpResponse(error, status=status, content_type="text/plain")
    context = {
        "error": error,
        "email": request.POST.get("email", ""),
        "next": _next_address(request),
        "single": settings.SITE.single_sign_on,
    }
    return render(request, "review/sign_in.html", context, status=status)


def _code_form(request: HttpRequest, error: str = "", status: int = 200) -> HttpResponse:
    return render(request, "review/sign_in_code.html", {"error": error}, status=status)


def _by_script(request: HttpRequest) -> bool:
    return request.headers.get("X-Requested-With") == "fetch"


def _next_address(request: HttpRequest) -> str:
    fallback = request.session.get("next", "")
    return str(request.POST.get("next", request.GET.get("next", fallback)))


def _safe_target(request: HttpRequest) -> str:
    """Return the requested target if it is a page of this site."""
    target = _next_address(request)
    ours = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if ours and target.startswith("/") else resolve_url(settings.LOGIN_REDIRECT_URL)

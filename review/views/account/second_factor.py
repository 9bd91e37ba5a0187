"""Views to set up and remove one's own second factor and to renew recovery codes."""

from __future__ import annotations

from collections.abc import Sequence

import segno
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from medrcube.review.accounts import login_throttle, second_factor
from medrcube.review.accounts.permissions import EVERYONE, allow, signed_in_user
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import RecoveryCode, User
from medrcube.review.views.forms import SecondFactorForm

__all__ = ["second_factor_page"]

_BORDER = 4
"""Quiet zone of a QR code, in modules, as required by the standard."""


@allow(*EVERYONE, first=True)
@never_cache
@sensitive_post_parameters("code")
@sensitive_variables("codes")
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor_page(request: HttpRequest) -> HttpResponse:
    """Handle the action in ``form``; recovery codes are shown once, in the response."""
    user = signed_in_user(request)
    if request.method != "POST":
        return _page(request, user)
    posted_form = SecondFactorForm(request.POST)
    posted_form.is_valid()
    form, code = posted_form.cleaned_data.get("form"), posted_form.cleaned_data.get("code", "")
    name = f"code of {user.pk}"
    if not login_throttle.count_attempt(name, name):
        return _page(request, user, "too many attempts; wait 15 minutes", 429)
    try:
        codes = _apply(request, user, form, code)
    except InvalidAnswerError as error:
        return _page(request, user, str(error))
    login_throttle.clear_attempts(name, name)
    if codes:
        return render(request, "review/recovery_codes.html", {"codes": codes})
    messages.success(request, "The second factor is removed.")
    return redirect("me")


def _apply(request: HttpRequest, user: User, action: str | None, code: str) -> Sequence[str]:
    """Apply the action; return new recovery codes, if any."""
    if action == "codes":
        return second_factor.new_recovery_codes(user, code)
    if action != "remove":
        return second_factor.confirm_setup(user, request.session, code)
    if user.role in settings.SITE.second_factor:
        raise InvalidAnswerError("your role requires a second factor on this server")
    second_factor.remove_second_factor(user, user, code)
    return ()


def _page(request: HttpRequest, user: User, error: str = "", status: int = 422) -> HttpResponse:
    context: dict[str, object] = {"error": error, "squares": ""}
    if second_factor.has_second_factor(user):
        context["left"] = RecoveryCode.objects.filter(factor__user=user).count()
        context["needed"] = user.role in settings.SITE.second_factor
    else:
        set_up = second_factor.begin_setup(user, request.session)
        context["squares"], context["size"] = _qr_code(set_up.address)
        context["secret"] = set_up.secret
    page = "review/second_factor.html"
    return render(request, page, context, status=status if error else 200)


def _qr_code(text: str) -> tuple[str, int]:
    """Return a QR code as an SVG path of its dark modules, and its side length in modules."""
    rows = list(segno.make(text, error="m", micro=False).matrix_iter(border=_BORDER))
    dark = ((x, y) for y, row in enumerate(rows) for x, square in enumerate(row) if square)
    return "".join(f"M{x} {y}h1v1h-1z" for x, y in dark), len(rows)

"""Access control by role: ``allow`` wraps every view; a test fails for a view without it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from medrcube.review.accounts.second_factor import has_second_factor, proven_at_provider
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import Role, User
from medrcube.review.views.error_pages import error_page
from medrcube.review.views.sent_text import check_sent

__all__ = ["EVERYONE", "View", "allow", "signed_in_user"]

View = Callable[..., HttpResponse]
EVERYONE = frozenset(Role)
"""All roles: everybody who is signed in."""


def allow(*roles: Role, first: bool = False) -> Callable[[View], View]:
    """Restrict a view to these roles.

    A user with a temporary password, or without the second factor that the site requires for their
    role, sees only pages with ``first`` until this is resolved.

    Other roles get 404, not 403, so that the existence of a page is not revealed. Users who are not
    signed in are redirected to the sign-in page; scripts get 401, so that typed text stays in the
    page.
    """
    allowed = frozenset(roles)

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                if request.headers.get("X-Requested-With") == "fetch":
                    return HttpResponse("sign in again", status=401, content_type="text/plain")
                return redirect_to_login(request.get_full_path())
            if signed_in_user(request).role not in allowed:
                raise Http404
            if not first and (page := _due(request)):
                return redirect(page)
            try:
                check_sent(request.POST)
            except InvalidAnswerError as error:
                return error_page(request, 422, str(error), _typed(request))
            return view(request, *args, **kwargs)

        guarded.allowed_roles = allowed  # type: ignore[attr-defined]  # read by the matrix test
        return guarded

    return decorate


def _due(request: HttpRequest) -> str:
    """Return the page that this user must complete first, or empty."""
    user = signed_in_user(request)
    if user.temporary_password:
        return "me"
    needed = user.role in settings.SITE.second_factor
    lacking = needed and not proven_at_provider(request.session) and not has_second_factor(user)
    return "second-factor" if lacking else ""


def _typed(request: HttpRequest) -> str:
    """Return the free text of the form, so that it need not be typed again."""
    longest = max((text for texts in request.POST.lists() for text in texts[1]), key=len)
    return longest.replace("\0", "").encode("utf-8", "replace").decode()


def signed_in_user(request: HttpRequest) -> User:
    """Return the signed-in user.

    Raises:
        Http404: nobody is signed in.
    """
    if not isinstance(request.user, User):
        raise Http404
    return request.user

"""Access by role: ``allow`` wraps every view; a test fails for a view without it."""

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
"""Everybody who has signed in."""


def allow(*roles: Role, first: bool = False) -> Callable[[View], View]:
    """Let only these roles in.

    Whoever still has a password that somebody else chose, or lacks the second factor that the site
    asks of their role, sees only pages with ``first`` until that is mended.

    Others get 404, not 403: that a page exists is no one's business who may not see it. Who is
    not signed in is sent to sign in; a script is told so with 401, so that what was typed stays
    in the page.
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
    """The page on which this person has something to do before all others."""
    user = signed_in_user(request)
    if user.temporary_password:
        return "me"
    needed = user.role in settings.SITE.second_factor
    lacking = needed and not proven_at_provider(request.session) and not has_second_factor(user)
    return "second-factor" if lacking else ""


def _typed(request: HttpRequest) -> str:
    """What was written by hand, so that nobody has to write it again."""
    longest = max((text for texts in request.POST.lists() for text in texts[1]), key=len)
    return longest.replace("\0", "").encode("utf-8", "replace").decode()


def signed_in_user(request: HttpRequest) -> User:
    """The person who signed in.

    Raises:
        Http404: nobody has.
    """
    if not isinstance(request.user, User):
        raise Http404
    return request.user

"""Pictures, by an opaque id, to those who have the item before them."""

from __future__ import annotations

import logging
import math
import uuid

from django.core.exceptions import BadRequest
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from medrcube.review import assets
from medrcube.review.access import allow, reader
from medrcube.review.errors import ReviewError
from medrcube.review.models import Asset, Claim, Role, User

_log = logging.getLogger(__name__)


@allow(Role.REVIEWER, Role.ADJUDICATOR, Role.MANAGER)
@require_safe
def picture(request: HttpRequest, asset: uuid.UUID) -> HttpResponse:
    """A stored picture; of 16 bits as a window of 8, which ``centre`` and ``width`` choose."""
    user = reader(request)
    found = Asset.objects.filter(pk=asset).first()
    if found is None or (user.role == Role.REVIEWER and not _before(user, found)):
        raise Http404
    centre, width = _number(request, "centre"), _number(request, "width")
    try:
        data = assets.load(found) if found.bits == 8 else assets.window(found, centre, width)
    except ReviewError:
        _log.exception("a picture cannot be shown")
        raise Http404 from None
    reply = HttpResponse(data, content_type="image/png")
    reply["Content-Disposition"] = 'inline; filename="picture.png"'
    reply["X-Content-Type-Options"] = "nosniff"
    reply["Cross-Origin-Resource-Policy"] = "same-origin"
    # Not kept: the right to see it ends with the claim, and the machine may be shared.
    reply["Cache-Control"] = "private, no-store"
    return reply


def _before(user: User, asset: Asset) -> bool:
    """Whether a reader has, or had and judged, a version that shows this picture.

    The marked picture gives the answer away, so it is shown after the blind answer only, unless
    the question is about the mark.
    """
    stands = Q(submitted_at__isnull=False) | Q(expires_at__gt=timezone.now())
    unmarked = Q(version__picture=asset)
    marked = Q(version__overlay=asset) & (Q(version__asks_mark=True) | Q(blind__isnull=False))
    mine = Claim.objects.filter(user=user, released_at=None)
    return mine.filter(stands, unmarked | marked).exists()


def _number(request: HttpRequest, name: str) -> float | None:
    given = request.GET.get(name)
    if given is None:
        return None
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadRequest(f"{name} is not a number")
    return number

"""Views of images by opaque id, for users who hold or may see the item."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from medrcube.review.accounts.permissions import allow, signed_in_user
from medrcube.review.errors import ReviewError
from medrcube.review.exchange import image_store
from medrcube.review.models import Asset, Claim, Role, User
from medrcube.review.reviewing.sql.cursor import fetch_one, to_db_time, to_db_uuid
from medrcube.review.visibility import originals
from medrcube.review.visibility.privacy_incidents import is_closed

__all__ = ["mark_layer", "slice_image", "stored_image"]

_log = logging.getLogger(__name__)


@allow(Role.REVIEWER, Role.ADJUDICATOR, Role.MANAGER)
@require_safe
def stored_image(request: HttpRequest, asset: uuid.UUID) -> HttpResponse:
    """Return a stored image."""
    return _png_response(image_store.load_image, _visible_asset(request, asset))


@allow(Role.REVIEWER, Role.ADJUDICATOR, Role.MANAGER)
@require_safe
def mark_layer(request: HttpRequest, asset: uuid.UUID) -> HttpResponse:
    """Return the marks of a stored image, as an overlay for its original pixels."""
    return _png_response(originals.mark_layer, _visible_asset(request, asset))


@allow(Role.REVIEWER, Role.ADJUDICATOR, Role.MANAGER)
@require_safe
def slice_image(request: HttpRequest, asset: uuid.UUID, number: int) -> HttpResponse:
    """Return the original pixels of a slice stored with an image, as a 16-bit PNG."""
    visible = _visible_asset(request, asset)
    user = signed_in_user(request)
    if user.role == Role.REVIEWER and not _may_see_original(user, visible):
        raise Http404
    if number >= len(visible.original.get("slices", [])):
        raise Http404
    return _png_response(lambda picture: originals.read_slice(picture, number), visible)


def _visible_asset(request: HttpRequest, asset_id: uuid.UUID) -> Asset:
    """Return an image if the user may see it.

    Raises:
        Http404: there is no such image, or the user may not see it.
    """
    user = signed_in_user(request)
    asset = Asset.objects.filter(pk=asset_id).first()
    if asset is None or (user.role == Role.REVIEWER and not _has_claim_on(user, asset)):
        raise Http404
    # The manager decides the incident and has to see the image.
    if user.role != Role.MANAGER and is_closed(asset):
        raise Http404
    return asset


def _png_response(load: Callable[[Asset], bytes], asset: Asset) -> HttpResponse:
    try:
        data = load(asset)
    except ReviewError as error:
        _log.error("image cannot be shown: %s", error)
        raise Http404 from None
    reply = HttpResponse(data, content_type="image/png")
    reply["Content-Disposition"] = 'inline; filename="picture.png"'
    reply["X-Content-Type-Options"] = "nosniff"
    reply["Cross-Origin-Resource-Policy"] = "same-origin"
    # Not cached: permission ends with the claim, and the computer may be shared.
    reply["Cache-Control"] = "private, no-store"
    return reply


def _has_claim_on(user: User, asset: Asset) -> bool:
    """Whether a reviewer holds, or has reviewed, a version with this image.

    A marked image reveals the answer, so it is shown only after the blind answer, unless the
    question is about the mark.
    """
    values = (user.pk, to_db_uuid(asset.pk), to_db_uuid(asset.pk))
    in_hand = fetch_one(
        f"{_IMAGES_OF_REVIEWER} AND c.submitted_at IS NULL AND c.expires_at > %s",
        *values,
        to_db_time(now()),
    )
    return bool(
        in_hand
        or fetch_one(f"{_IMAGES_OF_REVIEWER} AND c.submitted_at IS NOT NULL LIMIT 1", *values)
    )


_IMAGES_OF_REVIEWER = """
    SELECT 1 FROM review_claim c JOIN review_itemversion v ON v.id = c.version_id
    WHERE c.user_id = %s AND c.released_at IS NULL AND (
        v.picture_id = %s OR v.overlay_id = %s AND (v.asks_mark OR EXISTS (
            SELECT 1 FROM review_blindanswer b WHERE b.claim_id = c.id
        ))
    )
"""


def _may_see_original(user: User, asset: Asset) -> bool:
    """Whether the original pixels answer none of the questions that the reviewer holds."""
    open_claims = Claim.objects.filter(
        user=user, released_at=None, submitted_at=None, version__picture=asset, blind=None
    )
    tasks = open_claims.values_list("version__item__task", flat=True)
    return not any(originals.discloses(task, asset.original) for task in tasks)

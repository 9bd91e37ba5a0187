"""Single sign-on with the OpenID Connect provider of a site.

Authlib implements the protocol: discovery, authorisation code with PKCE (S256), state and nonce
bound to the session, and validation of the ID token (signature by the provider's published keys,
issuer, audience, expiry, nonce; OpenID Connect Core 1.0, 3.1.3.7). This module only decides which
account a token signs in.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import OAuth
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from joserfc.errors import JoseError

from medrcube.review.accounts.accounts import account_event
from medrcube.review.audit_trail.event_chain import record_events
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import Identity, User
from medrcube.review_settings import SingleSignOn

__all__ = ["begin_sign_in", "finish_sign_in", "unlink_identity"]

_PATIENCE = 10
"""Timeout in seconds for requests to the provider."""
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Asymmetric signature algorithms; unsigned tokens and client-secret signatures are rejected."""
_LEEWAY = 60
"""Permitted clock difference in seconds."""
_LONGEST = 255
_STRANGER = (
    "you have no account here, or it is closed or belongs to another person of the provider; ask "
    "an administrator"
)
_FAILED = "single sign-on did not work; try again, or tell an administrator when it happened"
_FAULTS = (AuthlibBaseError, JoseError, requests.RequestException, RuntimeError, ValueError)
_LOG = logging.getLogger(__name__)
# At debug level it would log verifiers and tokens.
logging.getLogger("authlib").setLevel(logging.INFO)


def begin_sign_in(request: HttpRequest, site: SingleSignOn, back: str) -> HttpResponse:
    """Redirect the user to the provider.

    Args:
        request: request whose session stores state, nonce and verifier.
        site: provider settings.
        back: redirect address for the way back.

    Raises:
        InvalidAnswerError: the provider is unreachable, or its issuer differs.
    """
    try:
        reply: HttpResponse = _client(site).authorize_redirect(request, back)
    except _FAULTS as error:
        raise _refused(error) from None
    return reply


def finish_sign_in(request: HttpRequest, site: SingleSignOn) -> User:
    """Return the account of the provider's token; the first token is linked by its claim.

    Raises:
        InvalidAnswerError: the token is invalid, or belongs to no account here.
    """
    client = _client(site)
    try:
        token = client.authorize_access_token(request, leeway=_LEEWAY)
    except _FAULTS as error:
        raise _refused(error) from None
    claims = token.get("userinfo")
    if not claims or not isinstance(claims.get("sub"), str) or len(claims["sub"]) > _LONGEST:
        raise _refused(ValueError("no ID token, or one without a subject"))
    identity = (
        Identity.objects.select_related("user")
        .filter(issuer=site.issuer, subject=claims["sub"])
        .first()
    )
    user = identity.user if identity else _link(site, claims)
    if not user.is_active:
        raise InvalidAnswerError(_STRANGER)
    return user


def unlink_identity(actor: User, user: User) -> None:
    """Remove the link to the provider; the next sign-in with the user's address links again.

    Raises:
        InvalidAnswerError: there is no link.
    """
    with transaction.atomic():
        gone, _ = Identity.objects.filter(user=user).delete()
        if not gone:
            raise InvalidAnswerError("this account is not linked to single sign-on")
        record_events(timezone.now(), account_event(actor, "single_sign_on_unlinked", user))


def _link(site: SingleSignOn, claims: Any) -> User:
    """Link the account that the claim names, if it is not linked yet."""
    address = claims.get(site.claim)
    unproven = site.claim == "email" and claims.get("email_verified") is not True
    if not isinstance(address, str) or unproven or "\0" in address:
        raise InvalidAnswerError(_STRANGER)
    user = User.objects.filter(
        email=address.strip().casefold(), is_active=True, identity=None
    ).first()
    if user is None:
        raise InvalidAnswerError(_STRANGER)
    now = timezone.now()
    try:
        with transaction.atomic():
            Identity.objects.create(
                user=user, issuer=site.issuer, subject=claims["sub"], linked_at=now
            )
            if user.temporary_password:  # the person who chose it must not be able to use it
                user.set_unusable_password()
                user.temporary_password = False
                user.save(update_fields=["password", "temporary_password"])
            record_events(now, account_event(user, "single_sign_on_linked", user))
    except IntegrityError:
        raise InvalidAnswerError(_STRANGER) from None
    return user


def _client(site: SingleSignOn) -> Any:
    """Return Authlib's client with the provider's metadata.

    Raises:
        InvalidAnswerError: the provider is unreachable, or its issuer differs.
    """
    client = _registered(site, site.secret())
    try:
        metadata = client.load_server_metadata()
        if metadata.get("issuer") != site.issuer:
            raise ValueError("the metadata name another issuer")
    except _FAULTS as error:
        _registered.cache_clear()
        raise _refused(error) from None
    offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
    metadata["id_token_signing_alg_values_supported"] = [
        name for name in _ALGORITHMS if name in offered
    ]
    return client


@lru_cache(maxsize=1)
def _registered(site: SingleSignOn, secret: str) -> Any:
    return OAuth().register(
        "provider",
        client_id=site.client_id,
        client_secret=secret,
        server_metadata_url=f"{site.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": "openid email profile",
            "code_challenge_method": "S256",
            "default_timeout": _PATIENCE,
        },
    )


def _refused(error: Exception) -> InvalidAnswerError:
    """Return the error; only its class is logged, because its text may contain a token."""
    _LOG.warning("single sign-on refused: %s", type(error).__name__)
    return InvalidAnswerError(_FAILED)

"""Models: second factors, recovery codes and single sign-on identities."""

from __future__ import annotations

from django.db import models

from medrcube.review.models.users import User

__all__ = ["Identity", "RecoveryCode", "SecondFactor"]


class SecondFactor(models.Model):
    """Authenticator of one-time codes (TOTP, RFC 6238).

    Attributes:
        secret: encrypted secret; unreadable without the key of the server.
        last_step: time step of the last accepted code; no code is accepted twice.
        confirmed_at: when a first code proved that the authenticator works.
    """

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="second_factor")
    secret = models.CharField(max_length=200)
    last_step = models.BigIntegerField(default=-1)
    confirmed_at = models.DateTimeField()


class RecoveryCode(models.Model):
    """Single-use replacement for a lost authenticator; ``digest`` is keyed."""

    factor = models.ForeignKey(SecondFactor, on_delete=models.CASCADE, related_name="codes")
    digest = models.CharField(max_length=64, unique=True)


class Identity(models.Model):
    """Identity at the single sign-on provider; once linked, the e-mail address there is ignored.

    Attributes:
        subject: claim ``sub``, unique at the provider.
    """

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="identity")
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    linked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="a_subject_once"),
        ]

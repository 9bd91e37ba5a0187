"""Models of second factors, recovery codes and single sign-on identities."""

from __future__ import annotations

from django.db import models

from medrcube.review.models.users import User

__all__ = ["Identity", "RecoveryCode", "SecondFactor"]


class SecondFactor(models.Model):
    """An authenticator of one-time codes (TOTP, RFC 6238).

    Attributes:
        secret: encrypted; nobody reads it without the key of the server.
        last_step: time step of the last code that was taken; none is taken twice.
        confirmed_at: when a first code showed that the authenticator works; ``None`` only in
            rows of earlier versions, which count as none.
    """

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="second_factor")
    secret = models.CharField(max_length=200)
    last_step = models.BigIntegerField(default=-1)
    confirmed_at = models.DateTimeField(null=True)


class RecoveryCode(models.Model):
    """Stands in for a lost authenticator, once; ``digest`` is keyed."""

    factor = models.ForeignKey(SecondFactor, on_delete=models.CASCADE, related_name="codes")
    digest = models.CharField(max_length=64, unique=True)


class Identity(models.Model):
    """Who a person is at the provider of single sign-on; an address there does not matter after.

    Attributes:
        subject: the claim ``sub``, which the provider gives to nobody else.
    """

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="identity")
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    linked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="a_subject_once"),
        ]

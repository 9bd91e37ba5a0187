"""Models of accounts and roles."""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models

__all__ = ["Role", "User", "UserManager", "new_pseudonym"]


class Role(models.TextChoices):
    """What a person may do; each role is one job, and a higher one does not include a lower."""

    REVIEWER = "reviewer"
    ADJUDICATOR = "adjudicator"
    MANAGER = "manager"
    ADMINISTRATOR = "administrator"


def new_pseudonym() -> str:
    """A name for exports that says nothing about the person."""
    return f"reviewer-{secrets.token_hex(4)}"


class UserManager(BaseUserManager["User"]):
    """Makes accounts."""

    def create_user(self, email: str, password: str, **fields: Any) -> User:
        """Make an account; the password is stored as an argon2 hash only."""
        user = self.model(email=self.normalize_email(email).casefold(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(AbstractBaseUser):
    """A person who signs in.

    Attributes:
        email: sign-in name; never exported.
        role: what the person may do.
        specialties: names of ``specialties.all_specialties``; the person is a specialist for what
            they cover.
        pseudonym: the name that exports carry.
        paused: whether the person gets no new items until a manager has talked to them.
        temporary_password: whether somebody else chose the password, so that it must be changed.
        single_keys: whether keys of one character act on the review page (WCAG 2.1.4).
    """

    email = models.EmailField(unique=True)
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.REVIEWER)
    specialties = models.JSONField(default=list, blank=True)
    pseudonym = models.CharField(max_length=32, unique=True, default=new_pseudonym)
    is_active = models.BooleanField(default=True)
    paused = models.BooleanField(default=False)
    temporary_password = models.BooleanField(default=False)
    single_keys = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    def __str__(self) -> str:
        return self.pseudonym

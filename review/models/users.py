"""Models: accounts and roles."""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models

__all__ = ["Role", "User", "UserManager", "new_pseudonym"]


class Role(models.TextChoices):
    """Role of a user; roles are separate jobs, and none includes another."""

    REVIEWER = "reviewer"
    ADJUDICATOR = "adjudicator"
    MANAGER = "manager"
    ADMINISTRATOR = "administrator"


def new_pseudonym() -> str:
    """Return a random name for exports."""
    return f"reviewer-{secrets.token_hex(4)}"


class UserManager(BaseUserManager["User"]):
    """Creates accounts."""

    def create_user(self, email: str, password: str, **fields: Any) -> User:
        """Create an account; the password is stored only as an Argon2 hash."""
        user = self.model(email=self.normalize_email(email).casefold(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(AbstractBaseUser):
    """User account.

    Attributes:
        email: sign-in name; never exported.
        role: role of the user.
        specialties: names in ``specialties.all_specialties``, for whose items the user is a
            specialist.
        pseudonym: name used in exports.
        paused: whether the user gets no new items until a manager resumes them.
        temporary_password: whether somebody else chose the password, so that it must be changed.
        single_keys: whether single-character shortcuts are active on the review page (WCAG 2.1.4).
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

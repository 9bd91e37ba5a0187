"""Passwords of accounts: from the environment, or typed in a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from medrcube.errors import MedrcubeError

__all__ = ["PASSWORD", "ask", "password_of"]


PASSWORD = "MEDRCUBE_REVIEW_PASSWORD"  # noqa: S105  (the name of a variable)
"""Environment variable with a password, if there is no terminal; never an option, since other
processes can read the command line."""


def password_of(email: str) -> str:
    """The password of a new account.

    Raises:
        MedrcubeError: there is none in the environment, and no terminal to ask in.
    """
    from medrcube.review.accounts.accounts import check_password
    from medrcube.review.models import User

    if password := os.environ.get(PASSWORD, ""):
        return password
    if not sys.stdin.isatty():
        raise MedrcubeError(f"no terminal to ask for a password; set {PASSWORD}")

    def strong(typed: str) -> str:
        check_password(typed, User(email=email))
        return typed

    name = "Password, 12 characters or more"
    return ask(name, strong, hide_input=True, confirmation_prompt="Once more")


def ask(name: str, check: Callable[[str], str], **prompt: Any) -> str:
    """Prompt for a text, again with the reason until ``check`` accepts it."""
    while True:
        try:
            return check(str(typer.prompt(name, **prompt)))
        except MedrcubeError as error:
            typer.echo(str(error), err=True)

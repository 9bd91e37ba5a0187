"""``[review]`` table of ``medrcube.toml``: sign-in settings of the review queue."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from medrcube.errors import WorkspaceError, failure_text
from medrcube.files.toml_reader import TomlTable

__all__ = ["ReviewSettings", "SingleSignOn", "parse_review_settings"]

_ROLES = ("reviewer", "adjudicator", "manager", "administrator")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_VARIABLE = re.compile("[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleSignOn:
    """The ``[review.single_sign_on]`` table: one OpenID Connect provider.

    Attributes:
        issuer: issuer URL as the provider states it; its metadata is found below it.
        client_id: client id of this queue at the provider.
        name: label of the sign-in button.
        claim: ID token claim that contains the e-mail address of the account, at the first sign-in.
        asks_second_factor: whether the provider requires a second factor, so that the queue does
            not.
        secret_env: environment variable that contains the client secret.
        secret_file: file that contains the secret, instead of the variable.
    """

    issuer: str
    client_id: str
    name: str = "single sign-on"
    claim: str = "email"
    asks_second_factor: bool = False
    secret_env: str = "MEDRCUBE_REVIEW_OIDC_SECRET"  # noqa: S105  (the name of a variable)
    secret_file: Path | None = None

    def secret(self) -> str:
        """Return the client secret, read anew each time and stored nowhere.

        Raises:
            WorkspaceError: it is missing, or others can read its file.
        """
        if self.secret_file is None:
            secret = os.environ.get(self.secret_env, "").strip()
            if not secret:
                raise WorkspaceError(
                    f"single sign-on: {self.secret_env} is empty; put the client secret there, or "
                    "name a file with secret_file"
                )
            return secret
        try:
            mode = stat.S_IMODE(self.secret_file.stat().st_mode)
            secret = self.secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise WorkspaceError(
                f"{self.secret_file}: cannot be read: {failure_text(error)}"
            ) from error
        if mode & 0o077:
            raise WorkspaceError(
                f"{self.secret_file}: others can read it (mode {mode:o}); chmod 600 it"
            )
        if not secret:
            raise WorkspaceError(f"{self.secret_file}: is empty; expected the client secret")
        return secret


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSettings:
    """Account settings of a site.

    Attributes:
        second_factor: roles that require a second factor.
        single_sign_on: provider for sign-in in addition to e-mail address and password.
    """

    second_factor: tuple[str, ...] = ()
    single_sign_on: SingleSignOn | None = None


def parse_review_settings(table: TomlTable, root: Path) -> ReviewSettings:
    """Parse the table.

    Args:
        table: ``[review]``.
        root: folder of the workspace, for relative paths.

    Raises:
        WorkspaceError: a role is unknown, or the issuer would receive passwords unencrypted.
    """
    roles = table.texts("second_factor", default=())
    unknown = sorted(set(roles) - set(_ROLES))
    if unknown:
        table.fail("second_factor", f"roles of {', '.join(_ROLES)}", unknown[0])
    single = table.table("single_sign_on") if table.has("single_sign_on") else None
    return ReviewSettings(
        second_factor=roles, single_sign_on=None if single is None else _single(single, root)
    )


def _single(table: TomlTable, root: Path) -> SingleSignOn:
    default = SingleSignOn(issuer="", client_id="")
    file = table.text("secret_file", default="")
    provider = SingleSignOn(
        issuer=table.text("issuer"),
        client_id=table.text("client_id"),
        name=table.text("name", default=default.name),
        claim=table.text("claim", default=default.claim),
        asks_second_factor=table.flag("asks_second_factor", default=default.asks_second_factor),
        secret_env=table.text("secret_env", default=default.secret_env),
        secret_file=(root / file) if file else None,
    )
    try:
        parts = urlsplit(provider.issuer)
        host = parts.hostname or ""
    except ValueError:
        parts, host = urlsplit(""), ""
    safe = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    if not safe or not host or parts.query or parts.fragment or "@" in parts.netloc:
        table.fail("issuer", "https:// and a name, as the provider gives it", provider.issuer)
    if not _VARIABLE.fullmatch(provider.secret_env):
        table.fail("secret_env", "the name of an environment variable, in capitals", "[not shown]")
    return provider

"""HTTPS client for one home: allow-listed hosts, redirects, retries.

Redirects are followed here and must lead to an ``https`` address of the home; a password is sent
only to its own host. URLs are shown without query, because signed links contain keys there.
"""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Self

import httpx2

from medrcube import __version__
from medrcube.errors import HomeError

__all__ = ["TRIES", "HomeClient", "public_url"]

TRIES = 5
"""Maximum number of attempts for a request to a busy or unreachable home."""
_LONGEST_WAIT = 600.0
_BUSY = frozenset({429, 500, 502, 503, 504})
_MOVED = frozenset({301, 302, 303, 307, 308})
_MOST_MOVES = 5
_TIMEOUT = httpx2.Timeout(60.0, connect=30.0)


class HomeClient:
    """HTTPS client for one home, to be used as a context manager."""

    def __init__(
        self,
        hosts: Collection[str],
        *,
        login: tuple[str, str] | None = None,
        transport: httpx2.BaseTransport | None = None,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Create a client.

        Args:
            hosts: domains of the home, subdomains included.
            login: user name and password for the first host that is contacted.
            transport: HTTP transport; by default the network.
            wait: sleep function, in seconds.
        """
        self._hosts = tuple(hosts)
        self._login = login
        self._wait = wait
        self._client = httpx2.Client(
            transport=transport,
            timeout=_TIMEOUT,
            follow_redirects=False,
            headers={"User-Agent": f"medrcube/{__version__}", "Accept-Encoding": "identity"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, url: str) -> httpx2.Response:
        """Return a complete response, such as a listing.

        Raises:
            HomeError: the home does not provide it.
        """
        with self.open(url) as response:
            try:
                response.read()
            except httpx2.HTTPError as error:
                raise HomeError(
                    f"{public_url(url)}: the connection broke off ({_words(error)}); try again"
                ) from None
            return response

    @contextmanager
    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx2.Response]:
        """Open a streaming response with status 200, 206 or 416.

        Raises:
            HomeError: the home does not provide it, or redirects to a foreign host.
        """
        for number in range(TRIES):
            try:
                response = self._follow(url, headers or {})
            except httpx2.HTTPError as error:
                if number == TRIES - 1:
                    raise HomeError(
                        f"{public_url(url)}: cannot be reached ({_words(error)}); "
                        "is there a network?"
                    ) from None
                self._wait(2.0**number)
                continue
            if response.status_code not in _BUSY or number == TRIES - 1:
                break
            response.close()
            self._wait(_pause(response, number))
        try:
            if response.status_code not in (200, 206, 416):
                raise HomeError(f"{public_url(url)}: {_refusal(response.status_code)}")
            yield response
        finally:
            response.close()

    def _follow(self, url: str, headers: Mapping[str, str]) -> httpx2.Response:
        address = httpx2.URL(url)
        first = address.host
        for _ in range(_MOST_MOVES):
            self._check(address)
            login = self._login if self._login and address.host == first else None
            auth = httpx2.BasicAuth(*login) if login else None
            request = self._client.build_request("GET", address, headers=dict(headers))
            response = self._client.send(request, auth=auth, stream=True, follow_redirects=False)
            if response.status_code not in _MOVED:
                return response
            response.close()
            address = address.join(response.headers.get("Location", ""))
        raise HomeError(
            f"{public_url(url)}: redirects more than {_MOST_MOVES} times; expected a file"
        )

    def _check(self, address: httpx2.URL) -> None:
        is_home = any(
            address.host == host or address.host.endswith(f".{host}") for host in self._hosts
        )
        if address.scheme != "https" or not is_home:
            raise HomeError(
                f"leads to {public_url(str(address))}; expected an https address of "
                f"{', '.join(self._hosts)}. If the home has moved, correct [home] of the card"
            )


def public_url(url: str) -> str:
    """Return a URL without query, fragment and credentials."""
    address = httpx2.URL(url)
    return str(address.copy_with(query=None, fragment=None, username=None, password=None))


def _pause(response: httpx2.Response, number: int) -> float:
    """Return the delay in seconds from Retry-After (number or date), else exponential backoff."""
    retry_after = response.headers.get("Retry-After", "")
    seconds = 2.0**number
    if retry_after.isdecimal():
        seconds = float(retry_after)
    elif retry_after:
        try:
            until = email.utils.parsedate_to_datetime(retry_after)
            seconds = (until - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError):
            pass
    return min(max(seconds, 0.0), _LONGEST_WAIT)


def _refusal(status: int) -> str:
    meanings = {
        401: "requires a user name and password",
        403: "denies access: sign the agreement of the home, or check user name and password",
        404: "does not exist; has the home moved its files?",
        429: "receives too many requests; try again later",
    }
    return f"{meanings.get(status, 'cannot be downloaded')} (status {status})"


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0].rstrip(": ")

# ruff: noqa: PLC0415  (Django is set up before its models load)
"""Fifty signed-in reviewers at the review server, over HTTP.

Usage: ``python review_load.py make DEMO FOLDER ITEMS [DATABASE]``, then ``python review_load.py
FOLDER SECONDS [DATABASE]``. DEMO is a folder of ``medrcube demo``; its items are repeated under
other names until there are ITEMS, and imported. DATABASE is a PostgreSQL database, empty at first;
without it a SQLite file lies in FOLDER. The server is ``medrcube review serve`` in a process of its
own, as it is shipped.

A reviewer does what a browser does: takes an item, loads the page and its images, saves the draft,
sends the blind answer, loads the page with the key and its images, saves the draft, sends the
decision, which takes the next item. Two loads in turn: "at rest" 30 reviews a second are offered,
each reviewer with pauses in which they would look; "full" nobody pauses. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from medrcube.review.server.bootstrap import configure, migrate, review_paths

REVIEWERS = 50
OFFERED = 30.0
"""Reviews a second at rest."""
_TOKEN = re.compile(rb'name="csrfmiddlewaretoken" value="([^"]+)"')
_PICTURE = re.compile(rb'<img class="(?:plain|marked)" src="([^"]+)"')
_OPTION = re.compile(rb'name="option" value="(\d)"')
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Make the workspace, or measure."""
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
        return
    folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
    _name_database(sys.argv[3:])
    cookies = _signed_in(folder)
    with _server(folder) as (process, address):
        rest = _load(address, cookies, process.pid, seconds, OFFERED)
        full = _load(address, cookies, process.pid, seconds, None)
    print(json.dumps({"reviewers": REVIEWERS, "rest": rest, "full": full, "fault": _fault()}))


def make(demo: Path, folder: Path, items: int, database: list[str]) -> None:
    """A workspace whose queue holds ITEMS items and fifty reviewers."""
    from review_import import repeat

    _name_database(database)
    if not folder.exists():
        repeat(demo, folder, items)
    command = [sys.executable, "-m", "medrcube", "review", "import", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    configure(review_paths(folder))
    migrate()
    from medrcube.review.models import Role, User

    User.objects.get_or_create(email="head@example.org", role=Role.ADMINISTRATOR)
    for number in range(REVIEWERS):
        User.objects.get_or_create(email=f"r{number}@example.org", role=Role.REVIEWER)


def _name_database(database: list[str]) -> None:
    os.environ.pop("MEDRCUBE_REVIEW_ORIGIN", None)
    if database:
        os.environ["MEDRCUBE_REVIEW_DATABASE"] = database[0]


def _signed_in(folder: Path) -> list[str]:
    """The session cookie of each reviewer."""
    configure(review_paths(folder))
    from django.conf import settings
    from django.test import Client

    from medrcube.review.models import Role, User

    cookies = []
    for user in User.objects.filter(role=Role.REVIEWER).order_by("pk")[:REVIEWERS]:
        client = Client(SERVER_NAME="127.0.0.1")
        client.force_login(user)
        cookies.append(client.cookies[settings.SESSION_COOKIE_NAME].value)
    return [f"{settings.SESSION_COOKIE_NAME}={cookie}" for cookie in cookies]


@contextmanager
def _server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "medrcube", "review", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        for line in process.stdout or ():
            address = re.search(r"http://[^/]+/", line)
            if address:
                yield process, address[0]
                break
        else:
            sys.exit("the server did not start")
    finally:
        process.terminate()
        process.wait()


class _Reviewer(threading.Thread):
    """One reviewer with a connection of their own, until the time is over or nothing is left."""

    def __init__(
        self, address: str, cookie: str, number: int, times: dict[str, list[float]]
    ) -> None:
        super().__init__(daemon=True)
        self._host = urlsplit(address).netloc
        self._connection = HTTPConnection(self._host, timeout=60)
        self._cookie = cookie
        self._csrf = ""
        self._random = random.Random(number)  # noqa: S311
        self._times = times
        self.number = number
        self.reviews: list[float] = []
        self.ends = 0.0
        self.pause = 0.0
        self.began = 0.0

    def run(self) -> None:
        """Review; at rest the first review is put off so that the reviewers are spread out."""
        time.sleep(max(0.0, self.began - time.perf_counter()))
        page = self._ask("queue", "GET", "/review/")[1]
        place = self._moved("claim", "/review/", page, {})
        due = time.perf_counter()
        while "empty" not in place and time.perf_counter() < self.ends:
            due += self.pause
            self._wait(due - self.pause / 2)
            page = self._page(place)
            options = _OPTION.findall(page)
            if options:  # otherwise it was answered before, and is still in hand
                self._answer(place, page, self._random.choice(options).decode())
                page = self._page(place)
            self._wait(due)
            fields = {"decision": "accept"}
            self._send("draft", f"{place}draft/", page, fields)
            place = self._moved("decision", f"{place}submit/", page, {**fields, "then": "next"})
            self.reviews.append(time.perf_counter())

    def _wait(self, due: float) -> None:
        if self.pause:
            time.sleep(max(0.0, due - time.perf_counter()))

    def _page(self, place: str) -> bytes:
        page = self._ask("page", "GET", place)[1]
        for picture in _PICTURE.findall(page):
            self._ask("picture", "GET", picture.decode())
        return page

    def _answer(self, place: str, page: bytes, option: str) -> None:
        fields = {"option": option, "confidence": "3", "needs_image": "yes"}
        fields |= {"image_adequate": "yes", "milliseconds": "9000"}
        self._send("draft", f"{place}draft/", page, fields)
        self._moved("answer", f"{place}blind/", page, fields)

    def _moved(self, kind: str, place: str, page: bytes, fields: Mapping[str, str]) -> str:
        status, _, location = self._send(kind, place, page, fields)
        if status != 302:
            raise RuntimeError(f"{kind}: {status}, expected 302")
        return location

    def _send(
        self, kind: str, place: str, page: bytes, fields: Mapping[str, str]
    ) -> tuple[int, bytes, str]:
        token = _TOKEN.search(page)
        body = urlencode({**fields, "csrfmiddlewaretoken": token[1].decode() if token else ""})
        return self._ask(kind, "POST", place, body)

    def _ask(self, kind: str, method: str, place: str, body: str = "") -> tuple[int, bytes, str]:
        headers = {"Cookie": self._cookie + self._csrf, "Host": self._host}
        if body:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        began = time.perf_counter()
        self._connection.request(method, place, body or None, headers)
        reply = self._connection.getresponse()
        data = reply.read()
        self._times[kind].append(time.perf_counter() - began)
        for name, value in reply.getheaders():
            if name == "Set-Cookie" and value.startswith("csrftoken="):
                self._csrf = f"; {value.partition(';')[0]}"
        if reply.status >= 400:
            raise RuntimeError(f"{kind}: {reply.status}: {data[:400]!r}")
        return reply.status, data, reply.getheader("Location") or ""


def _load(
    address: str, cookies: list[str], server: int, seconds: float, offered: float | None
) -> dict[str, Any]:
    """Reviews of all reviewers for some seconds, the first fifth of which is not counted."""
    times: dict[str, list[float]] = defaultdict(list)
    reviewers = [_Reviewer(address, cookie, number, times) for number, cookie in enumerate(cookies)]
    now = time.perf_counter()
    for reviewer in reviewers:
        reviewer.pause = len(reviewers) / offered if offered else 0.0
        reviewer.began = now + reviewer.number * reviewer.pause / len(reviewers)
        reviewer.ends = now + seconds
        reviewer.start()
    warm = now + seconds / 5
    time.sleep(warm - time.perf_counter())
    times.clear()
    spent, databases = _spent(server), _databases()
    for reviewer in reviewers:
        reviewer.join()
    span = time.perf_counter() - warm
    reviews = sum(at > warm for reviewer in reviewers for at in reviewer.reviews)
    if not reviews:
        sys.exit("nothing was reviewed; are there items left?")
    return {
        "offered": offered,
        "reviews": reviews,
        "reviews/s": round(reviews / span, 1),
        "server ms": round(1000 * (_spent(server) - spent) / reviews, 1),
        "database ms": round(1000 * (_databases() - databases) / reviews, 1),
        "requests": {kind: _summary(values) for kind, values in sorted(times.items())},
        "all": _summary([value for values in times.values() for value in values]),
    }


def _summary(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    at = {name: ordered[int(len(ordered) * share)] for name, share in (("p50", 0.5), ("p95", 0.95))}
    return {"count": len(ordered), **{name: round(1000 * value, 1) for name, value in at.items()}}


def _spent(process: int) -> float:
    """Seconds of processor time that a process and those that it started have taken."""
    own = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return (int(own[11]) + int(own[12])) / _TICKS + sum(map(_spent, map(int, children)))


def _databases() -> float:
    """Seconds that all processes of PostgreSQL have taken, ended ones by their parent."""
    ticks = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue
        if name.endswith("(postgres"):
            parts = rest.split()
            ticks += sum(map(int, parts[11:13])) / _TICKS
    return ticks


def _fault() -> str:
    from medrcube.review.audit_trail import event_chain

    return event_chain.verify_chain().fault


if __name__ == "__main__":
    main()

"""Items with real pictures, people who are signed in, and a server with a browser before it."""

import io
import itertools
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from hashlib import sha256
from urllib.request import urlopen

import numpy as np
import pytest
from django.db import connection, connections
from django.test import Client
from django.utils import timezone
from PIL import Image, ImageDraw
from playwright.sync_api import sync_playwright

from medrcube.review.assets import store
from medrcube.review.models import Item, ItemVersion
from medrcube.review.queue import claim_next


def png(image):
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def phantom(size=(512, 512), *, mark=False):
    """A drawn slice: a bright ring, two ventricles and a spot, with or without its mark."""
    width, height = size
    image = Image.new("RGB", size, "black")
    draw = ImageDraw.Draw(image)

    def ellipse(left, top, right, bottom, **how):
        draw.ellipse((left * width, top * height, right * width, bottom * height), **how)

    ellipse(0.1, 0.08, 0.9, 0.92, fill=(90, 90, 90), outline=(220, 220, 220), width=width // 32)
    ellipse(0.36, 0.35, 0.47, 0.62, fill=(25, 25, 25))
    ellipse(0.53, 0.35, 0.64, 0.62, fill=(25, 25, 25))
    ellipse(0.62, 0.6, 0.74, 0.72, fill=(200, 200, 200))
    if mark:
        ellipse(0.59, 0.57, 0.77, 0.75, outline=(255, 40, 40), width=max(2, width // 128))
    return image


def deep(size=(320, 256)):
    """A 16-bit picture: a ramp of 12 bits."""
    width, height = size
    ramp = np.linspace(0, 4095, width, dtype=np.uint16)
    return np.ascontiguousarray(np.broadcast_to(ramp, (height, width)))


@pytest.fixture
def add_shown(project):
    """Make a queued item with real pictures and with everything that a reader may learn later."""
    numbers = itertools.count(1)

    def make(*, sixteen=False, key=0, **fields):
        number = next(numbers)
        item = Item.objects.create(
            id=sha256(f"shown {number}".encode()).hexdigest()[:32],
            source="toy",
            task="Abnormality Diagnosis",
            anatomy="Brain",
            modality="MRI",
            stratum="MRI | Abnormality Diagnosis | knowledge",
            state="queued",
            lot=number,
        )
        if sixteen:
            windows = {"soft tissue": (1040, 400), "lung": (400, 1500)}
            picture, overlay = store(png(Image.fromarray(deep())), presets=windows), None
        else:
            picture, overlay = store(png(phantom())), store(png(phantom(mark=True)))
        texts = ["Oedema", "Haemorrhage", "Calcification", "Cyst"]
        row = {
            "question": "Which abnormality does this axial MRI slice of the brain show?",
            "options": [_option(text, place, key) for place, text in enumerate(texts)],
            "picture": picture,
            "overlay": overlay,
            "provenance": _PROVENANCE,
            "warnings": ["longest-is-key", "ZZWARNING"],
            "content_sha256": sha256(item.pk.encode()).hexdigest(),
            "created_at": timezone.now(),
        }
        return ItemVersion.objects.create(item=item, number=1, key=key, **{**row, **fields})

    return make


_PROVENANCE = {
    "source": "toy",
    "case": "ZZPROVENANCE case-0007/series-2",
    "slice": "41 of 155, axial",
    "slice_reason": "largest area of the mask",
    "evidence": "train.csv:123 Oedema=1",
    "licence": "CC-BY-4.0",
}


def _option(text, place, key):
    if place == key:
        return {"text": text, "concept": "ZZCONCEPT", "strategy": "ZZSTRATEGY"}
    return {
        "text": text,
        "concept": text.casefold(),
        "ids": ["radlex:RID28493", "hpo:HP:0002202"],
        "strategy": "knowledge",
        "grade": "AB"[place % 2],
        "passed": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12],
        "similarity": 0.43,
        "difficulty": "medium",
    }


@pytest.fixture
def signed_in(person):
    """A client with a session: ``client, user = signed_in("reviewer")``."""

    def make(role="reviewer", **fields):
        user = person(role, **fields)
        client = Client(SERVER_NAME="localhost")
        client.force_login(user)
        return client, user

    return make


@pytest.fixture
def taken(signed_in, add_shown):
    """A reviewer's client, their user and their claim of an item with pictures."""

    def make(**fields):
        version = add_shown(**fields)
        client, user = signed_in()
        claim = claim_next(user)
        assert claim is not None
        assert claim.version_id == version.pk
        return client, user, claim

    return make


_SERVE = """
import sys
from pathlib import Path
from medrcube.review.setup import Place, configure
configure(Place(folder=Path(sys.argv[1]), database=sys.argv[2]))
from waitress import serve
from medrcube.review.wsgi import application
serve(application, host="127.0.0.1", port=int(sys.argv[3]), threads=4)
"""


class Server:
    """The application in a process of its own, which can be killed and started again."""

    def __init__(self, place):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"
        self._command = [sys.executable, "-c", _SERVE, place.folder, place.database]
        self.start()

    def start(self):
        self._process = subprocess.Popen([*self._command, str(self._port)])
        for _ in range(200):
            with suppress(OSError), urlopen(f"{self.address}/health/", timeout=5):  # noqa: S310  (our own)
                return
            time.sleep(0.1)
        raise AssertionError("the server did not start")

    def kill(self):
        self._process.kill()
        self._process.wait()


@pytest.fixture
def server(database):
    """A running ``Server``."""
    made = Server(database)
    yield made
    made.kill()


@pytest.fixture
def page(monkeypatch):
    """A page of headless Chromium that fails the test on any error of a script."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    # Playwright keeps an event loop in this thread, which Django takes for asynchronous code.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    faults = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        made = context.new_page()
        made.set_default_timeout(10_000)
        made.on("pageerror", lambda error: faults.append(str(error)))
        yield made
        browser.close()
        # Under that loop Django has a connection of its own, which the next test must not find.
        connections["default"].close()
        del connections["default"]
    assert faults == []


@pytest.fixture
def django_queries():
    """The SQL that is run inside ``with django_queries() as queries``."""

    @contextmanager
    def watch():
        queries = []

        def note(execute, sql, params, many, context):
            queries.append(sql)
            return execute(sql, params, many, context)

        with connection.execute_wrapper(note):
            yield queries

    return watch

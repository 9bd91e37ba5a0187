"""Headless Chromium before the real server. Nothing but the server may be asked for anything."""

from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import expect
from stage.hostile import plant_the_rest, word
from stage.servers import Server, serving
from stage.world import ANONYMOUS, PASSWORD, stocked

from medrcube.review.reviewing.claims import claim_next

PATIENCE = 30_000  # milliseconds; a machine that is shared may be slow


@pytest.fixture(scope="module", autouse=True)
def _patience():
    expect.set_options(timeout=PATIENCE)


@pytest.fixture
def new_page(browser):
    """Open a page in a session of its own: ``new_page(color_scheme="dark")``.

    The test fails when a page asks another host, breaks the content security policy, opens an
    alert, or when a script of ours ends with an error.
    """
    contexts, outside, faults = [], [], []

    def make(**options):
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        context.route(is_outside, lambda route: route.abort())
        context.on(
            "request", lambda request: is_outside(request.url) and outside.append(request.url)
        )
        context.on("weberror", lambda error: faults.append(str(error.error)))
        context.on("console", lambda entry: is_fault(entry) and faults.append(entry.text))
        context.on("dialog", answer_dialog)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        return page

    def answer_dialog(dialog):
        if dialog.type != "beforeunload":  # "leave the page?" is the browser's own
            faults.append(f"{dialog.type}: {dialog.message}")
        dialog.accept()

    make.outside, make.faults = outside, faults
    yield make
    for context in contexts:
        context.close()
    assert outside == []
    assert faults == []


@pytest.fixture
def page(new_page):
    """One such page."""
    return new_page()


@pytest.fixture
def site(browser, database):
    """The application in this process; ``site.address``."""
    with serving() as address:
        yield SimpleNamespace(address=address)


@pytest.fixture
def server(browser, database):
    """The application in a process that can be killed."""
    running_server = Server(database)
    yield running_server
    running_server.kill()


@pytest.fixture
def sign_in():
    """Sign in by the form: ``sign_in(page, site, email)``."""

    def make(page, at, email, typed=PASSWORD):
        page.goto(f"{at.address}/sign-in/")
        page.get_by_label("E-mail address").fill(email)
        page.get_by_label("Password").fill(typed)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Sign out").wait_for()
        return page

    return make


@pytest.fixture
def enter(site, new_page):
    """Open a page as somebody of a world: ``enter(world, "manager")``."""

    def make(world, who, **options):
        page = new_page(**options)
        if who != ANONYMOUS:
            give_session(page, site, world.user(who))
        return page

    return make


@pytest.fixture
def step_one(site):
    """Step one of the next item of somebody who is signed in: ``step_one(page, user)``."""

    def make(page, user):
        give_session(page, site, user)
        address = reverse("review", kwargs={"token": claim_next(user).token})
        page.goto(site.address + address)
        return page

    return make


def give_session(page, at, user):
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    page.context.add_cookies(
        [
            {"name": name, "value": cookie.value, "url": at.address}
            for name, cookie in client.cookies.items()
        ]
    )


@pytest.fixture
def assert_accessible(axe_violations):
    """By every rule of axe in both colour schemes, with all that can be opened."""

    def check(page, what):
        page.evaluate(
            "for (const one of document.querySelectorAll('main details')) one.open = true"
        )
        assert axe_violations(page) == [], what

    return check


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    """Where the first world is kept for the next tests."""
    return tmp_path_factory.mktemp("world")


@pytest.fixture
def world(database, cache_folder):
    """A queue with one item of every kind and a person of every role."""
    return stocked(database, cache_folder)


@pytest.fixture(scope="session")
def kept_hostile(tmp_path_factory):
    """Where the first hostile world is kept."""
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture
def ill(database, kept_hostile):
    """The same with hostile text in every column."""
    planted_project = stocked(database, kept_hostile, word)
    plant_the_rest(planted_project)
    return planted_project


def is_outside(address):
    """Whether an address is not that of a server of ours."""
    parts = urlsplit(address)
    return parts.scheme in ("http", "https", "ws", "wss") and parts.hostname != "127.0.0.1"


def is_fault(text):
    """Whether the console complains of more than a status such as 409, which pages handle."""
    return text.type == "error" and not text.text.startswith("Failed to load resource")

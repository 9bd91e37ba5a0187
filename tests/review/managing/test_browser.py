"""The pages in a real browser: accessibility, the keyboard, phones, no script, no network."""

import shutil
import threading
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from waitress.server import create_server

from medrcube.review.models import Adjudication
from medrcube.review.wsgi import application

PASSWORD = "correct horse battery staple"  # noqa: S105  (as ``person`` sets it)
PAGES = {
    "manager": (
        "/items/",
        "/items/?state=adjudication",
        "/items/{item}/",
        "/items/{item}/edit/",
        "/items/{accepted}/gold/",
        "/quarantine/",
        "/dashboard/",
        "/dashboard/agreement/",
        "/dashboard/agreement/?stratum=MRI+%7C+Abnormality+Diagnosis+%7C+knowledge",
    ),
    "adjudicator": ("/adjudication/", "/adjudication/{item}/"),
    "administrator": ("/people/", "/people/{person}/", "/trail/"),
}


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as driver:
        # Playwright keeps an event loop in this thread, which Django takes for asynchronous code.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        made = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def site(database):
    made = create_server(application, host="127.0.0.1", port=0, threads=4)
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.effective_port}"
    made.close()
    thread.join(5)


@pytest.fixture
def enter(site, browser, person):
    """Sign in with a browser: gives a page; it may ask for nothing from outside."""
    contexts, outside, faults = [], [], []

    def make(role, **options):
        user = person(role)
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("request", lambda made: outside.append(made.url) if foreign(made.url) else None)
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        page.goto(f"{site}/sign-in/")
        page.fill("#email", user.email)
        page.fill("#password", PASSWORD)
        page.click("main button")
        return page

    def foreign(address):
        return urlsplit(address).netloc != urlsplit(site).netloc

    yield make
    for context in contexts:
        context.close()
    assert outside == []
    assert faults == []


@pytest.fixture
def sample(disputed, add_shown, review, person):
    """One item of each kind that the pages show; gives their ids."""
    item, readers = disputed()
    add_shown()
    review(person(), "reject", reasons=[("PHI", None)])
    accepted = add_shown(state="accepted")
    return {"item": item.pk, "accepted": accepted.pk, "person": readers[0].pk}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("role", list(PAGES))
def test_every_page_is_accessible(site, enter, sample, role, scheme):
    page = enter(role, color_scheme=scheme)
    for address in PAGES[role]:
        page.goto(site + address.format(**sample))
        found = Axe().run(page).response["violations"]
        assert [(flaw["id"], flaw["nodes"][0]["target"]) for flaw in found] == [], address


@pytest.mark.parametrize("role", list(PAGES))
def test_no_page_is_wider_than_a_phone(site, enter, sample, role):
    page = enter(role, viewport={"width": 360, "height": 740})
    for address in PAGES[role]:
        page.goto(site + address.format(**sample))
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address


def test_an_item_is_adjudicated_by_keyboard_alone_and_without_scripts(site, enter, sample):
    page = enter("adjudicator", java_script_enabled=False)
    page.goto(f"{site}/adjudication/{sample['item']}/")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.locator(":focus").get_attribute("name") == "outcome":
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("Option B is also right.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/adjudication/")
    stored = Adjudication.objects.get()
    assert stored.rationale == "Option B is also right."
    assert stored.outcome == "reject"


def test_a_reader_is_paused_without_scripts(site, enter, sample, person):
    user = person()
    page = enter("manager", java_script_enabled=False)
    page.goto(f"{site}/dashboard/")
    row = page.locator("tr", has_text=user.pseudonym)
    row.locator("summary").click()
    row.locator("textarea").fill("on leave")
    row.get_by_role("button", name="Pause").click()
    page.wait_for_url(f"{site}/dashboard/")
    user.refresh_from_db()
    assert user.paused

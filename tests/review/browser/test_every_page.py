"""Every page as the roles that see it: accessible in both colour schemes, narrow, harmless."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.urls import reverse
from stage.looks import NARROW, SMALL
from stage.routes import every_route
from stage.world import ANONYMOUS, add_item

from medrcube.review.models import Claim
from medrcube.review.quality.svg_charts import BarRow, IntervalRow, bar_chart, interval_chart
from medrcube.review.reviewing.questionnaire import Reason
from medrcube.review.reviewing.state_machine import ReviewState
from medrcube.review.views.managing.dashboards import _NAMES as FIGURES
from medrcube.review.views.managing.item_record import reason_words
from medrcube.review.visibility import privacy_incidents

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
ANSWER = {"option": "0", "confidence": "3", "needs_image": "yes", "image_adequate": "yes"}
STRATUM = "?stratum=MRI+%7C+Abnormality+Diagnosis+%7C+knowledge"
PAGES = {
    ANONYMOUS: ["sign-in", "/me/"],
    "reviewer": [
        "queue",
        "review",
        "review-personal-data",
        "mine",
        "me",
        "second-factor",
        "keys",
        "/nothing/",
        "STORED",
    ],
    "other": ["queue", "/review/?empty"],
    "adjudicator": [
        "home",
        "items",
        "item",
        "item-edit",
        "adjudication",
        "adjudicate",
        "me",
        "EDITED",
    ],
    "manager": [
        "home",
        "items",
        "item",
        "item-edit",
        "item-gold",
        "item-personal-data",
        "quarantine",
        "dashboard",
        "agreement",
        "assigning",
        "reviewers",
        "me",
        "/items/?state=adjudication",
        "/items/?state=draft",
        f"/dashboard/agreement/{STRATUM}",
        "EDITED",
        "GOLD",
        "RELEASED",
    ],
    "administrator": ["home", "people", "person", "trail", "me", "keys"],
}
"""Routes by name, addresses, and items by kind, for each person."""
NO_PAGE = {
    "health", "sign-out", "review-blind", "review-submit", "review-draft", "review-give-back",
    "review-undo", "review-wording", "picture", "drawn", "slice", "quarantine-decide", "incident",
    "sign-in-code", "single-sign-on", "single-sign-on-back",
}  # fmt: skip
"""Routes that answer with no page of their own, or only when something is wrong with a form."""
CUT_OFF = """() => [...document.querySelectorAll("svg text")].filter(text => {
        const box = text.getBBox(), all = text.ownerSVGElement.viewBox.baseVal;
        return box.x < 0 || box.x + box.width > all.width || box.y + box.height > all.height;
    }).map(text => text.textContent)"""


def address_of(world, name):
    if name == "STORED":
        return reverse("review", kwargs={"token": world.sent_review})
    if name.isupper():
        return reverse("item", kwargs={"item": world.items[name.lower()]})
    return name if name.startswith("/") else world.address(name)


def test_every_page_is_looked_at():
    named = {name for names in PAGES.values() for name in names}
    assert set(every_route()) - NO_PAGE <= named


@pytest.mark.parametrize("who", PAGES)
def test_every_page_is_accessible(world, site, enter, who, assert_accessible):
    page = enter(world, who)
    for name in PAGES[who]:
        page.goto(site.address + address_of(world, name))
        assert_accessible(page, name)


@pytest.mark.parametrize("who", PAGES)
def test_every_page_fits_a_phone(world, site, enter, who):
    page = enter(world, who, viewport={"width": NARROW, "height": 740}, has_touch=True)
    for name in PAGES[who]:
        page.goto(site.address + address_of(world, name))
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW, name
        assert page.evaluate(SMALL) == [], name


def test_the_second_step_and_what_goes_wrong_in_it_are_accessible(
    world, site, enter, assert_accessible
):
    world.client("reviewer").post(world.address("review-blind"), ANSWER)
    page = enter(world, "reviewer")
    page.goto(site.address + world.address("review"))
    assert_accessible(page, "step two")
    page.set_viewport_size({"width": NARROW, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    page.set_viewport_size({"width": 1440, "height": 900})
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    assert_accessible(page, "help")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Submit and stop").click()
    page.get_by_role("alert").wait_for()
    assert_accessible(page, "incomplete")
    Claim.objects.filter(token=world.token).update(expires_at="2020-01-01T00:00:00Z")
    page.get_by_role("button", name="Submit and stop").click()
    page.get_by_role("heading", name="You no longer have this item").wait_for()
    assert_accessible(page, "too late")
    page.get_by_role("button", name="Take the next item").click()
    page.context.clear_cookies()
    page.get_by_role("textbox", name="Comment").fill("typed after the session was lost")
    page.get_by_role("dialog", name="Sign in again").wait_for()
    assert_accessible(page, "sign in again")


def test_refused_forms_are_accessible(world, site, enter, assert_accessible):
    page = enter(world, ANONYMOUS)
    page.goto(f"{site.address}/sign-in/")
    page.get_by_label("E-mail address").fill("nobody@example.org")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").wait_for()
    assert_accessible(page, "sign-in")
    page = enter(world, "adjudicator")
    page.goto(site.address + world.address("item-edit"))
    page.get_by_label("Reason for the change").fill("no reason")
    page.get_by_role("button", name="Create new version").click()
    page.get_by_role("alert").wait_for()
    assert_accessible(page, "edit")
    page = enter(world, "manager")
    page.goto(site.address + world.address("item-gold"))
    page.get_by_label("The defect").select_option("KEY_WRONG")
    page.get_by_role("button", name="Create gold item").click()
    page.get_by_role("alert").wait_for()
    assert_accessible(page, "gold")
    page = enter(world, "administrator")
    page.goto(f"{site.address}/trail/")
    page.get_by_role("button", name="Verify every event").click()
    page.get_by_text("The record is intact").wait_for()
    assert_accessible(page, "trail")
    page.goto(f"{site.address}/people/")
    page.get_by_label("E-mail address").fill("new@example.org")
    page.get_by_role("button", name="Add").click()
    page.get_by_text("It is shown only once").wait_for()
    assert_accessible(page, "password")


def test_hostile_text_does_nothing_in_a_browser(ill, site, enter):
    """``enter`` fails the test on an alert, a refused script or a request to another host."""
    ours = re.compile(r"^/static/review/\w+\.js$")
    for who, names in PAGES.items():
        page = enter(ill, who)
        for name in names:
            page.goto(site.address + address_of(ill, name))
            run = "[...document.scripts].filter(it => it.type !== 'application/json')"
            scripts = page.evaluate(f"{run}.map(it => new URL(it.src).pathname)")
            assert all(ours.match(script) for script in scripts), name
            handlers = "[...document.querySelectorAll('*')].flatMap(it => it.getAttributeNames())"
            assert not [entry for entry in page.evaluate(handlers) if entry.startswith("on")], name
            loaded = "[...document.images].map(it => it.src).filter(Boolean)"
            assert all("/pictures/" in entry for entry in page.evaluate(loaded)), name
            assert "evil.example" not in page.evaluate("[...document.links].map(it => it.host)")


def test_the_guards_of_these_tests_hold(new_page, site):
    page = new_page()
    page.goto(f"{site.address}/sign-in/")
    with page.expect_request("http://example.org/x"):
        page.evaluate("document.body.append(Object.assign(new Image(), {src: '//example.org/x'}))")
    with page.expect_console_message(lambda entry: "Content Security Policy" in entry.text):
        page.evaluate("document.body.setAttribute('onclick', 'window.ran = true')")
        page.locator("body").click(position={"x": 5, "y": 400})
    page.evaluate("alert('seen')")
    assert page.evaluate("window.ran") is None
    assert new_page.outside == ["http://example.org/x"]
    assert [fault for fault in new_page.faults if "Content Security Policy" in fault]
    assert "alert: seen" in new_page.faults
    new_page.outside.clear()
    new_page.faults.clear()


def test_no_text_of_a_chart_is_cut_off(new_page):
    """Text does not wrap in a drawing: what is too long ends at its edge."""
    labels = [
        *(reason_words(code) for code in Reason),
        *(state.capitalize() for state in ReviewState),
    ]
    rows = [BarRow(label, 100_000, "100000 (100%)") for label in labels]
    interval_rows = [IntervalRow(label, 0.5, 0.1, 0.9, "0.5") for label in FIGURES.values()]
    page = new_page()
    style = Path(finders.find("review/managing.css")).read_text(encoding="utf-8")
    font = Path(finders.find("review/style.css")).read_text(encoding="utf-8")
    charts = f"{bar_chart('a', 'A', rows)}{interval_chart('b', 'B', interval_rows)}"
    page.set_content(f"<style>{font}{style}</style>{charts}")
    assert page.evaluate(CUT_OFF) == []


def test_reports_and_items_in_quarantine_stand_apart(world, site, enter):
    for name in ("first report", "second report"):
        privacy_incidents.report_incident(add_item(name).item_id, world.user("manager"))
    page = enter(world, "manager")
    page.goto(f"{site.address}/quarantine/")
    boxes = [card.bounding_box() for card in page.locator(".card").all()]
    assert len(boxes) > 3
    for above, below in pairwise(boxes):
        assert below["y"] - above["y"] - above["height"] >= 8


def test_every_bar_of_a_chart_is_drawn(world, site, enter):
    page = enter(world, "manager")
    page.goto(f"{site.address}/dashboard/")
    bars = page.locator("svg rect").all()
    assert bars
    assert all(bar.evaluate("it => getComputedStyle(it).display != 'none'") for bar in bars)

"""A site in a real browser: opened from a folder, by keyboard, narrow and wide, light and dark."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from medrcube.evaluate.reporting.failures import SHOWN_OUTCOMES
from medrcube.evaluate.reporting.scored_runs import load_runs
from medrcube.taxonomy import Task

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
PATIENCE = 120_000  # milliseconds; a machine that is shared may be slow, and waiting costs nothing
WIDTHS = (1440, 390)
AXE = {"preload": False}
"""axe would fetch the style sheet, which the policy of the page forbids."""


@pytest.fixture
def new_page(browser, demo_site):
    """An empty page; fails when it asks for anything outside the site, or complains."""
    contexts, urls, faults = [], [], []

    def make(**options):
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        context.on("request", lambda request: urls.append(request.url))
        context.on("console", lambda entry: faults.append(entry.text))
        context.on("weberror", lambda error: faults.append(str(error.error)))
        context.set_default_timeout(PATIENCE)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()
    inside = (demo_site.out.as_uri() + "/", "data:")
    assert [url for url in urls if not url.startswith(inside)] == []
    assert faults == []


@pytest.fixture
def open_page(new_page, demo_site):
    """Open a page of the site by its name."""

    def make(name, **options):
        page = new_page(**options)
        page.goto(f"{demo_site.out.as_uri()}/{name}")
        return page

    return make


@pytest.fixture
def open_each(new_page, demo_site):
    """Open one page of each kind after the other, all of it shown: name and page."""

    def make(**options):
        page = new_page(**options)
        for name in pages(demo_site):
            page.goto(f"{demo_site.out.as_uri()}/{name}")
            if name == "items.html":
                page.locator(".list a").first.wait_for()
            yield name, page

    return make


def pages(demo_site):
    model = min((demo_site.out / "models").iterdir()).name
    cell = min((demo_site.out / "cells").iterdir()).name
    return (
        "index.html",
        "cells.html",
        "items.html",
        "submit.html",
        f"models/{model}",
        f"cells/{cell}",
    )


def names(page):
    return page.locator("#board tbody th a").all_inner_texts()


def test_every_page_is_accessible(open_each, axe_violations):
    for name, page in open_each():
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert axe_violations(page, **AXE) == [], name


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_its_window(open_each, width):
    for name, page in open_each(viewport={"width": width, "height": 800}):
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


CUT_OFF = """
[...document.querySelectorAll('main .bar i')].filter((mark) => {
  const box = mark.closest('.scroll');
  if (!box || !mark.checkVisibility()) return false;
  if (getComputedStyle(box).overflowX === 'visible') return false;
  const [edge, own] = [box.getBoundingClientRect(), mark.getBoundingClientRect()];
  return own.left < edge.left || own.right > edge.right;
}).length
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_no_mark_at_the_end_of_a_scale_is_cut_off(open_each, width):
    whole = 0
    for name, page in open_each(viewport={"width": width, "height": 800}):
        assert page.evaluate(CUT_OFF) == 0, name
        whole += page.locator('.bar .dot[style*="100.00%"], .bar .dot[style*=":0.00%"]').count()
    assert whole, "no mark stands at the end of a scale"


def test_the_leaderboard_is_sorted_and_searched_by_keyboard(open_page):
    page = open_page("index.html")
    before = names(page)
    assert before[0] == "test/able"
    button = page.get_by_role("button", name="accuracy %")
    button.focus()
    page.keyboard.press("Enter")
    assert names(page) == before[::-1]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.get_by_role("searchbox", name="Find").press_sequentially("able")
    assert page.locator("#board tbody tr:visible").count() == 1
    assert page.get_by_text("1 of 3").is_visible()


def test_a_slice_changes_the_numbers_and_all_brings_them_back(open_page):
    page = open_page("index.html")
    table = page.locator("#board tbody")
    before = table.inner_text()
    page.locator("#slice").select_option(index=1)
    assert "12" in page.locator("[data-part=n]").all_inner_texts()
    assert not page.locator(".letters").first.is_visible()
    page.locator("#slice").select_option("")
    assert table.inner_text() == before


def test_the_leaderboard_is_whole_without_scripts(open_page):
    page = open_page("index.html", java_script_enabled=False)
    assert len(names(page)) == 3
    assert not page.locator("#slice").is_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_key_and_replies_come_with_a_click_by_keyboard(
    open_page, axe_violations, demo_site, width, scheme
):
    item = next(item for item in demo_site.benchmark.items if not item.restricted)
    options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    page = open_page(f"items.html#item={quote(item.name, safe='')}", **options)
    button = page.get_by_role("button", name="Show key, evidence and replies")
    button.wait_for()
    assert page.locator(".right, .replies").count() == 0
    assert page.evaluate("medrcube.get('answers-0')") is None
    assert page.locator(".item img").evaluate("it => it.decode().then(() => it.naturalWidth)") > 0
    button.focus()
    page.keyboard.press("Enter")
    page.locator(".replies").wait_for()
    assert page.locator(".options .right b").inner_text() == item.key
    assert page.locator(".replies tbody tr").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    edges = page.locator(".replies tbody tr > *").evaluate_all(
        "cells => cells.map(cell => cell.getBoundingClientRect().right)"
    )
    assert max(edges) <= width
    assert axe_violations(page, **AXE) == []


def test_items_are_found_by_words_and_by_what_a_model_did(open_page):
    page = open_page("items.html")
    page.locator(".list a").first.wait_for()
    page.locator("#words").fill("41: what")
    assert page.locator(".list li").count() == 1
    page.locator("#words").fill("")
    page.locator("#model").select_option(label="test/able")
    page.locator("#outcome").select_option("correct")
    right = page.locator("#count").inner_text()
    page.locator("#model").select_option(label="test/poor")
    assert page.locator("#count").inner_text() != right


def test_keys_and_buttons_step_through_what_was_chosen_with_the_key_hidden(open_page, demo_site):
    page = open_page(f"items.html#task={quote(next(iter(Task)).value)}")
    page.locator(".list a").first.wait_for()
    questions = page.locator(".list .question").all_inner_texts()
    assert 1 < len(questions) < len(demo_site.benchmark.items)
    page.locator(".list a").first.click()
    page.get_by_role("button", name="Show key").click()
    page.locator(".replies").wait_for()
    for key, place in (("j", 1), ("ArrowRight", 2), ("k", 1), ("ArrowLeft", 0), ("ArrowLeft", 0)):
        page.locator(".item h2").press(key)
        page.get_by_text(f"{place + 1} of {len(questions)}", exact=True).wait_for()
        assert page.locator(".item .question").inner_text() == questions[place]
        assert page.locator(".right, .replies").count() == 0
    assert page.get_by_role("button", name="Previous").is_disabled()
    page.get_by_role("button", name="Next").click()
    page.get_by_text(f"2 of {len(questions)}", exact=True).wait_for()
    page.get_by_role("link", name="Items chosen").click()
    assert page.locator(".list .question").all_inner_texts() == questions


def test_the_failures_of_a_model_are_stepped_through_from_its_page(open_page, demo_site):
    model = next(path.name for path in (demo_site.out / "models").iterdir() if "poor" in path.name)
    page = open_page(f"models/{model}")
    page.locator("table.failed th a").first.click()
    page.locator(".item h2").wait_for()
    at = page.locator(".ways .soft").inner_text()
    wrong = sum(r.outcome in SHOWN_OUTCOMES for r in load_runs([demo_site.runs[0]])[0].results)
    assert at.endswith(f" of {wrong}")


def test_hostile_replies_stay_text(open_page, demo_site):
    page = open_page("items.html")
    page.locator(".list a").first.wait_for()
    for place in range(8):
        name = demo_site.benchmark.items[place].name
        page.evaluate("name => { location.hash = `item=${encodeURIComponent(name)}` }", name)
        page.get_by_role("heading", name=name).wait_for()
        page.get_by_role("button", name="Show key").click()
        page.locator(".replies").wait_for()
        assert page.title().startswith("Items")
        assert page.locator("h1").count() == 1
        assert page.locator("main script, main [onerror]").count() == 0
    assert page.locator(".item img").count() <= 1


def test_a_restricted_picture_is_told_and_not_shown(open_page, demo_site):
    item = next(item for item in demo_site.benchmark.items if item.restricted)
    page = open_page(f"items.html#item={quote(item.name, safe='')}")
    page.get_by_text("This image may not be redistributed.").wait_for()
    assert page.locator(".item img").count() == 0


def test_what_went_wrong_stands_in_blocks_on_a_narrow_screen(open_page, demo_site):
    model = next(path.name for path in (demo_site.out / "models").iterdir() if "poor" in path.name)
    page = open_page(f"models/{model}", viewport={"width": 390, "height": 800})
    table = page.locator("table.failed")
    assert table.locator("tbody td").count() > 3
    edges = table.locator("tbody tr > *").evaluate_all(
        "cells => cells.map(cell => cell.getBoundingClientRect().right)"
    )
    assert max(edges) <= 390

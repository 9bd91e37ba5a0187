"""The page of a report in a real browser: alone, accessible, on a phone, filtered, unharmed."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from types import SimpleNamespace

import pytest

from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.protocol import Reply
from medrcube.evaluate.questions.conditions import OF_ONE_EDITION
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.taxonomy import Anatomy, Modality, cube_tasks

playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra [dev]")

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
MODELS = ("test/able", "test/poor", "test/" + "long-name-" * 9)
NARROW = 360
PATIENCE = 120_000  # milliseconds; a machine that is shared may be slow, and waiting costs nothing
HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "</div></article></div></div></main></body><h1>gone</h1>",
    "<style>*{display:none!important}</style>",
    "\x1b[31m\u202eesrever\u202c\u200b\u2066 A or B",
    "W" * 60_000,
    "x\u0301\u0302\u0303\u0304\u0305\u0306\u0307" * 900,
    "\n" * 3000 + "so B or C",
    "I'm sorry, I can't assist with that.",
)


class Dice:
    """Right, wrong or hostile by a hash of what was asked."""

    def __init__(self, name, items, skill):
        self.name = name
        self.identity = {"adapter": "test/1", "name": name, "note": HOSTILE[0]}
        self._items, self._skill = items, skill

    async def answer(self, request):
        picture = request.picture.sha256 if request.picture else ""
        outcome = f"{self.name}{request.prompt}{picture}".encode()
        lot = int.from_bytes(hashlib.sha256(outcome).digest()[:4])
        key = dict(self._items[request.item].options)[self._items[request.item].key]
        letter = next(value for value, text in request.options if text == key)
        if picture and lot % 100 < self._skill:
            text = letter
        elif lot % 7 == 0:
            text = HOSTILE[-1]  # a refusal, of which every run has some
        elif lot % 9:
            text = f"The answer is {request.options[lot % len(request.options)][0]}."
        else:
            text = HOSTILE[lot // 9 % len(HOSTILE)]
        usage = {"prompt_tokens": 300, "completion_tokens": 9, "total_tokens": 309}
        model = f"{self.name} {HOSTILE[1]}"
        return Reply(text=text, finish_reason="stop", usage=usage, model=model, latency=0.5)

    async def close(self):
        pass


def make_rows(row):
    """Several tiers on each picture, four cells of twelve questions and some small ones."""
    number = 0
    for modality in Modality:
        for anatomy in (Anatomy("Chest"), Anatomy("Brain")):
            for task in cube_tasks():
                for place in range(6 if modality is Modality("X-ray") else 2):
                    image_path = f"pictures/{modality}-{anatomy}-{place}.png"
                    yield row(
                        number,
                        task=task.release_name,
                        modality=modality.value,
                        parts=anatomy.value,
                        image_path=image_path,
                        question=f"{number}: what is it? {HOSTILE[number % 5]}",
                        restricted=place == 1,
                    )
                    number += 1


@pytest.fixture(scope="session")
def pages(tmp_path_factory, row, write_release):
    """Reports of one run, of three, of runs asked unlike things, and of one without a fault."""
    folder = tmp_path_factory.mktemp("pages")
    benchmark = load_benchmark(write_release(folder / "release", list(make_rows(row))))
    items = {item.name: item for item in benchmark.items}
    runs = []
    for name, skill in zip(MODELS, (70, 20, 45), strict=True):
        runs.append(folder / name.rpartition("/")[2][:12])
        run_evaluation(
            benchmark,
            Dice(name, items, skill),
            runs[-1],
            conditions=OF_ONE_EDITION,
            may_send=["ALPHA"],
        )
    few = load_benchmark(write_release(folder / "few", [row(0)]))
    run_evaluation(few, Dice("t/one", {i.name: i for i in few.items}, 100), folder / "perfect")
    run_evaluation(
        benchmark, Dice("test/few", items, 60), folder / "part", limit=20, may_send=["ALPHA"]
    )
    paths = SimpleNamespace(
        **{name: folder / f"{name}.html" for name in ("one", "many", "mixed", "perfect")}
    )
    write_report(runs[:1], paths.one, benchmark.root)
    write_report(runs, paths.many, benchmark.root)
    write_report([*runs[:2], folder / "part"], paths.mixed, benchmark.root)
    write_report([folder / "perfect"], paths.perfect, few.root)
    return paths


@pytest.fixture
def open_page(browser):
    """Open a file; the test fails when it asks for anything or the browser complains."""
    contexts, urls, faults = [], [], []

    def make(path, **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        context.on("request", lambda request: urls.append(request.url))
        context.on("console", lambda entry: faults.append(entry.text))
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(path.as_uri())
        urls[:] = [url for url in urls if url != path.as_uri() and not url.startswith("data:")]
        return page

    yield make
    for context in contexts:
        context.close()
    assert urls == []
    assert faults == []


# Empties the cells that are built and coloured like two before them.
EMPTY_ALIKE = """() => {
    const met = {}, words = />[^<]*|(title|href)="[^"]*"/g;
    for (const cell of document.querySelectorAll("td")) {
        const kind = cell.outerHTML.replace(words, "");
        met[kind] = (met[kind] || 0) + 1;
        if (met[kind] > 2) cell.replaceChildren();
    }
}"""


@pytest.mark.parametrize("name", ["one", "many", "perfect"])
def test_the_page_is_accessible(open_page, axe_violations, pages, name):
    page = open_page(getattr(pages, name))
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    # Cards are alike, and so are many cells and the parts of each run; the first stand for all,
    # since axe takes its time over each.
    page.evaluate(EMPTY_ALIKE)
    page.evaluate("document.querySelectorAll('.card:nth-child(n+10)').forEach(it => it.remove())")
    if name == "many":
        page.evaluate(
            "[1, 2, 4, 5].map(it => document.querySelectorAll('main > details')[it])"
            ".forEach(it => it.remove())"
        )
    assert axe_violations(page) == []


@pytest.mark.parametrize("name", ["one", "many", "perfect"])
def test_the_page_fits_a_phone(open_page, pages, name):
    page = open_page(getattr(pages, name), viewport={"width": NARROW, "height": 740})
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW


CUT = """() => [...document.querySelectorAll(".scroll")]
    .filter((box) => box.clientWidth && box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.getAttribute("aria-label") || box.innerText.slice(0, 60))"""


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", ["one", "many", "mixed"])
def test_no_column_is_clipped(open_page, pages, name, width):
    page = open_page(getattr(pages, name), viewport={"width": width, "height": 900})
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate(CUT) == []
    cells = page.locator("table:visible td").evaluate_all(
        "all => all.filter(it => it.clientWidth && it.getBoundingClientRect().right > innerWidth)"
        ".map(it => it.outerHTML)"
    )
    assert cells == []


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scripts", [True, False])
def test_every_value_is_named_on_a_phone_with_and_without_scripts(open_page, pages, width, scripts):
    page = open_page(
        pages.many, viewport={"width": width, "height": 900}, java_script_enabled=scripts
    )
    cell = page.locator(".contest tbody tr").first.locator("td").nth(1)
    assert cell.get_attribute("data-label") == "accuracy %"
    above = cell.bounding_box()["y"] > page.locator(".contest tbody th").first.bounding_box()["y"]
    assert above == (width == 390)


def names(page):
    return page.locator(".contest tbody th .mark").evaluate_all(
        "all => all.map(it => it.parentElement.textContent)"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_tables_are_sorted_by_click_and_by_keyboard(open_page, pages, width, scheme):
    viewport = {"width": width, "height": 900}
    page = open_page(pages.many, viewport=viewport, color_scheme=scheme)
    able, poor, middling = names(page)
    button = page.locator(".contest").get_by_role("button", name="accuracy %")
    button.click()
    assert names(page) == [able, middling, poor]
    button.focus()
    page.keyboard.press("Enter")
    assert names(page) == [poor, middling, able]
    assert page.locator(".contest th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.locator(".contest").get_by_role("button", name="Model").click()
    assert names(page) == sorted(names(page))


def test_sorting_never_mixes_our_runs_with_the_published_ones(open_page, pages):
    page = open_page(pages.many)
    ours = page.locator(".ranks .ours tr").count()
    page.locator(".ranks").get_by_role("button", name="overall").click()
    assert page.locator(".ranks .ours tr").count() == ours
    assert page.locator(".ranks tbody tr:first-child .block").count() == 2


def test_runs_of_other_questions_stand_in_blocks_of_their_own(open_page, pages):
    page = open_page(pages.mixed)
    blocks = page.locator(".contest tbody")
    assert blocks.count() == 2
    assert blocks.first.locator(".block").inner_text().startswith("Asked all ")
    assert "a sample of 20 of" in blocks.last.locator(".block").inner_text()
    before = blocks.last.locator("th .mark").count()
    page.locator(".contest").get_by_role("button", name="accuracy %").click()
    assert blocks.last.locator("th .mark").count() == before == 1
    assert page.get_by_text("Separate rankings:").is_visible()


def test_the_leaderboard_is_whole_on_a_desk(open_page, pages):
    page = open_page(pages.many)
    box = page.locator(".board .scroll")
    assert box.evaluate("it => it.scrollWidth <= it.clientWidth + 1")
    assert page.locator(".board tbody tr td.num").count() == (3 + 34) * 18


def visible_cards(page):
    return page.locator(".card").evaluate_all(
        "all => all.filter(it => it.checkVisibility()).length"
    )


def test_filters_work_by_the_keyboard_and_without_a_script(open_page, pages):
    page = open_page(pages.many, java_script_enabled=True)
    choices = page.locator(".filters")  # to look for names on the whole page takes seconds
    everything = visible_cards(page)
    choices.get_by_role("radio", name="refused").focus()
    page.keyboard.press("Space")
    refused = visible_cards(page)
    assert 0 < refused < everything
    assert page.locator(".card.any-refused").count() == refused
    refusals = [page.locator(f".card.run{run}-refused").count() for run in range(len(MODELS))]
    run, mine = max(enumerate(refusals), key=lambda entry: (entry[1] < refused, entry[1]))
    assert 0 < mine < refused
    choices.get_by_role("radio", name=MODELS[run]).check()
    assert visible_cards(page) == mine
    choices.get_by_role("radio", name="Severity Grading").check()
    assert visible_cards(page) == page.locator(f".card.run{run}-refused.t-SG").count()
    for group in choices.get_by_role("radio", name="any").all():
        group.check()
    assert visible_cards(page) == everything


def test_filters_work_where_scripts_are_forbidden(open_page, pages):
    page = open_page(pages.one, java_script_enabled=False)
    everything = page.locator(".card").count()
    page.locator("#outcome-unparsed").check()
    visible = visible_cards(page)
    assert 0 < visible < everything
    assert visible == page.locator(".card.any-unparsed").count()


def test_hostile_text_does_nothing(open_page, pages):
    page = open_page(pages.many)
    assert page.title() == "3 runs · evaluation report"
    assert page.evaluate("document.scripts.length") == 1
    assert page.evaluate("document.images.length") == 0
    assert page.locator("h1").count() == 1
    assert page.evaluate("document.styleSheets.length") == 1
    names = "[...document.querySelectorAll('*')].flatMap(it => it.getAttributeNames())"
    assert not [name for name in page.evaluate(names) if name.startswith("on")]
    assert page.locator("footer").is_visible()


def test_hostile_replies_do_not_break_the_layout(open_page, pages):
    page = open_page(pages.one)
    sizes = page.locator(".card").evaluate_all(
        "all => all.map(it => [it.offsetWidth, it.offsetHeight, it.scrollWidth - it.clientWidth])"
    )
    assert sizes
    assert all(0 < width < 400 and height < 1400 and wider <= 0 for width, height, wider in sizes)
    heights = page.locator(".words").evaluate_all("all => all.map(it => it.clientHeight)")
    assert max(heights) < 260


def test_pictures_are_shown_and_restricted_ones_are_not(open_page, pages):
    page = open_page(pages.one)
    images = page.locator(".pic").evaluate_all(
        "all => all.map(it => getComputedStyle(it).backgroundImage)"
    )
    assert images
    assert all(image.startswith('url("data:image/png;base64,') for image in images)
    assert page.get_by_text("This image may not be redistributed.").count() > 0


def test_a_policy_of_the_page_forbids_scripts_and_requests(browser, pages):
    """What would happen if something did get in: the browser refuses it."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(pages.one.as_uri())

    def refused():
        return page.expect_console_message(lambda entry: "Content Security Policy" in entry.text)

    with refused():
        page.evaluate(
            "document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/'}))"
        )
    with refused():
        page.evaluate("document.body.setAttribute('onclick', 'document.title = 1')")
        with suppress(playwright.Error):
            page.locator("h1").click()
    assert page.title() != "1"
    context.close()


A4_BETWEEN_MARGINS = 703
"""Pixels of a sheet of 210 mm less two margins of 12 mm."""


@pytest.mark.parametrize("name", ["one", "many"])
def test_on_paper_nothing_is_cut_off_at_the_side(open_page, pages, name):
    page = open_page(getattr(pages, name), viewport={"width": A4_BETWEEN_MARGINS, "height": 1400})
    page.emulate_media(media="print")
    page.locator("details").evaluate_all("all => all.forEach(it => { it.open = true })")
    cut = page.locator(".scroll, html").evaluate_all(
        "all => all.filter(it => it.scrollWidth > it.clientWidth + 1).map(it => it.outerHTML)"
    )
    assert [text[:200] for text in cut] == []
    assert not page.locator(".filters").is_visible()
    assert page.locator(".card:visible").count() <= 24

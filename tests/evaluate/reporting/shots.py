"""Makes docs/images/{audit,report*,site*}.png: python tests/evaluate/reporting/shots.py [DEMO].

The release is that of ``medrcube demo``, made anew unless the folder of one is given, so nothing
in the pictures was ever a patient. ``report.png`` is its page of three baselines; for the others
five models are played by a seeded lot, which nobody can take for real ones: ``simulated/...``.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from medrcube.console.progress import Reporter
from medrcube.demo import run_demo
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.protocol import RejectedError, Reply
from medrcube.evaluate.questions.conditions import OF_ONE_EDITION
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.site.write import write_site

IMAGES = Path(__file__).parents[3] / "docs" / "images"
WIDTH = 1200
MOST_BYTES = 300_000
SKILLS = {"able": 0.3, "steady": 0.24, "middling": 0.18, "hasty": 0.1, "poor": 0.02}
EASE = {"low": 0.2, "mid": 0.1, "high": 0.02}
WORDY = "The picture shows a finding that fits {}.\n\nThe borders support this.\n\n"
# Place on the page, anchor, how high at most, what to open first.
SHOTS = (
    ("report-leaderboard.png", "#leaderboard", 900, None),
    ("report-radar.png", "#radar", 620, None),
    ("report-conditions.png", "#conditions", 1010, "#conditions ~ details"),
    ("report-credibility.png", "#credibility", 860, None),
    ("report-correlation.png", "#correlation", 560, None),
    ("report-failures.png", "#failures", 1100, None),
)


class Simulated:
    """Knows the key as often as its skill and the task allow; else it has its habits."""

    def __init__(self, name, items):
        self.name = f"simulated/{name}"
        self.identity = {"adapter": "simulated/1", "name": self.name}
        self._skill, self._items = SKILLS[name], items

    async def answer(self, request):
        item = self._items[request.item]
        picture = request.picture.sha256 if request.picture else ""
        lot = random.Random(f"{self.name}|{request.prompt}|{picture}")
        own = picture == self._own(item)
        taste = random.Random(f"{self.name}|{item.task}|{item.modality}|{item.parts}").random()
        chance = 0.05 + own * (self._skill + EASE[item.task.level] + 0.3 * taste)
        if not request.options:
            text = lot.choice(("yes", "no", "12", "(0.5, 0.5)"))
            return Reply(text=text, finish_reason="stop", usage={}, model=self.name, latency=0.5)
        letters = [letter for letter, _ in request.options]
        options = dict(item.options)
        right = next(
            (x for x, text in request.options if text == options.get(item.key)), letters[0]
        )
        habit = letters[0] if lot.random() > 2 * self._skill else lot.choice(letters)
        letter = right if lot.random() < chance else habit
        text, reason = self._worded(letter, dict(request.options)[letter], lot)
        usage = {"prompt_tokens": 690 + len(request.prompt) // 4, "completion_tokens": len(text)}
        usage["total_tokens"] = sum(usage.values())
        latency = lot.lognormvariate(-0.3, 0.7)
        return Reply(text=text, finish_reason=reason, usage=usage, model=self.name, latency=latency)

    def _worded(self, letter, text, lot):
        mess = lot.random() / (0.45 - self._skill)
        if mess < 0.1:
            return "I'm sorry, but I can't help with reading medical images.", "stop"
        if mess < 0.25:
            return "Both A and B are possible; the picture does not decide it.", "stop"
        if mess < 0.3:
            return "<think>The texture looks uneven here. " * 12, "length"
        if mess < 0.33:
            raise RejectedError("content policy", code="400")
        forms = (letter, f"{letter}. {text}", WORDY.format(text) + f"**Answer: {letter}**")
        return lot.choice(forms), "stop"

    def _own(self, item):
        return self._items.digests[item.image] if item.image else None

    async def close(self):
        pass


class Items(dict):
    """Items by name, with the digests of their pictures."""

    def __init__(self, benchmark):
        super().__init__({item.name: item for item in benchmark.items})
        self.digests = benchmark.image_digests


def main():
    """Build, play, look."""
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "demo"
        if not (demo / "report.html").exists():
            run_demo(demo, Reporter())
        baselines = [demo / "runs" / name for name in ("random", "first", "longest")]
        write_report(baselines, Path(folder) / "baselines.html", demo / "release")
        benchmark = load_benchmark(demo / "release")
        items = Items(benchmark)
        runs = [Path(folder) / name for name in SKILLS]
        for run in runs:
            model = Simulated(run.name, items)
            run_evaluation(benchmark, model, run, conditions=OF_ONE_EDITION)
        write_report(runs, Path(folder) / "many.html", demo / "release")
        write_site(runs, demo / "release", Path(folder) / "site")
        look(Path(folder), demo / "release")


def look(folder, release):
    """Take the pictures."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        page.goto((release / "audit.html").resolve().as_uri())
        keep(page, "audit.png", "body", 1400)
        page.goto((folder / "baselines.html").as_uri())
        keep(page, "report.png", "#cells", 1170)
        page.goto((folder / "many.html").as_uri())
        for name, anchor, height, opened in SHOTS:
            if opened:
                page.locator(opened).first.evaluate("it => { it.open = true }")
            if anchor == "#failures":
                page.locator(task_with_pictures(page)).check()
            keep(page, name, anchor, height)
        look_at_site(page, folder / "site")
        browser.close()


def look_at_site(page, site):
    """The leaderboard, and an item with a picture once its key is shown."""
    page.goto((site / "index.html").as_uri())
    keep(page, "site.png", "body", 770)
    page.goto((site / "items.html").as_uri())
    page.locator("#source").select_option("BUS-BRA")  # whose pictures may be redistributed
    page.locator(".list a:has(img)").first.click()
    page.get_by_role("button", name="Show key").click()
    page.locator(".replies").wait_for()
    page.locator(".item img").evaluate("it => it.decode()")
    keep(page, "site-item.png", "body", 1000)


def task_with_pictures(page):
    """The task whose first cards show most pictures: licences withhold many."""
    script = "it => [...document.querySelectorAll(`.card.t-${it}`)].slice(0, 6)"
    script += ".filter(card => card.querySelector('.pic')).length"
    tasks = page.locator("input[name=task]:not(#task-any)").evaluate_all(
        "all => all.map(x => x.id)"
    )
    return "#" + max(tasks, key=lambda task: page.evaluate(script, task.removeprefix("task-")))


def keep(page, name, anchor, height):
    """From the heading on."""
    place = page.locator(anchor).evaluate("it => it.getBoundingClientRect().top + scrollY")
    top = max(0, place - 18)
    path = IMAGES / name
    clip = {"x": 0, "y": top, "width": WIDTH, "height": height}
    page.screenshot(path=path, full_page=True, clip=clip)
    with Image.open(path) as shot:
        shot.convert("RGB").save(path, optimize=True)
    assert path.stat().st_size < MOST_BYTES, name
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    sys.stdout.write(f"{name} {path.stat().st_size:,} {digest}\n")


if __name__ == "__main__":
    main()

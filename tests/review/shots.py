"""Makes docs/images/review.png and docs/images/review-dashboard.png: python tests/review/shots.py

With ``viewer`` behind it, docs/images/review-original.png: a CT with its original pixels.

A workspace is built from the generators of two sources, imported as people do it, and reviewed by
reviewers whom a seeded lot plays; so nothing in the pictures was ever a patient.
"""

import io
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from medrcube.console.progress import Reporter
from medrcube.review.server.bootstrap import configure, migrate, review_paths
from medrcube.workspace import open_workspace

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SOURCES = ("brats2021", "vindr-cxr")
VIEW_ITEM = {
    "item__stratum__endswith": "View Recognition | predefined",
    "item__state": "queued",
    "provenance__case__endswith": "axial",
}
WIDTH = 1440
MOST_BYTES = 400_000
PASSWORD = "correct horse battery staple"  # noqa: S105
REVIEWER = "dr.osei@example.org"
REVIEWERS = (REVIEWER, "dr.lind@example.org", "dr.rao@example.org", "dr.weiss@example.org")
REVIEWS = 150
FAULTS = ("AMBIGUOUS_STEM", "DISTRACTOR_CORRECT", "KEY_WRONG", "IMAGE_QUALITY", "TRIVIAL")
SECONDS = (18, 25, 32, 36, 41, 48, 55, 62, 70, 85, 110, 150, 210, 320)


def main(names):
    """Build, import, review, look."""
    deep = names == ["viewer"]
    with tempfile.TemporaryDirectory() as folder:
        workspace = build_bench(Path(folder), ("msd-lung",) if deep else SOURCES)
        configure(review_paths(workspace.root))
        migrate()
        if deep:
            looked_deeper(take_item(workspace))
        else:
            looked_at(reviewed(workspace))


def build_bench(folder, sources):
    """A workspace of generated data."""
    medrcube = str(Path(sys.executable).with_name("medrcube"))
    roots = {name: folder / "raw" / name for name in sources}
    for name, root in roots.items():
        subprocess.run([medrcube, "sources", "fixture", name, str(root)], check=True)
    options = [part for name, root in roots.items() for part in ("--source", f"{name}={root}")]
    subprocess.run([medrcube, "build", str(folder / "bench"), *options], check=True)
    return open_workspace(folder / "bench")


def reviewed(workspace):
    """Import it and let the reviewers judge; gives the claim that the picture shows."""
    from django.utils import timezone  # noqa: PLC0415  (needs Django to be ready, as below)

    from medrcube.review.exchange.import_items import import_workspace  # noqa: PLC0415
    from medrcube.review.models import Item, ItemVersion, Project, User  # noqa: PLC0415
    from medrcube.review.reviewing.claims import claim_next, give_back  # noqa: PLC0415

    import_workspace(workspace, Reporter(quiet=True))
    project = Project.objects.get()
    project.policy = {**project.policy, "gold_rate": 0.0}
    project.save()
    lot = random.Random(6)
    people = [
        User.objects.create_user(email, PASSWORD, pseudonym=f"reviewer-{lot.randbytes(4).hex()}")
        for email in REVIEWERS
    ]
    User.objects.create_user("manager@example.org", PASSWORD, role="manager")
    for item in Item.objects.all():  # all kinds, as in a queue that has run for long
        Item.objects.filter(pk=item.pk).update(priority=lot.randrange(50))
    now = timezone.now() - timedelta(days=4)
    for _ in range(REVIEWS):
        now += timedelta(minutes=lot.choice([2, 3, 5, 8, 60]))
        judge(lot.choice(people[1:]), now, lot)  # the first is blind to everything still
    version = ItemVersion.objects.filter(**VIEW_ITEM).order_by("item").first()
    Item.objects.filter(pk=version.item_id).update(priority=999)
    while (claim := claim_next(people[0])).version_id != version.pk:
        give_back(claim.token, people[0], not_my_field=True)
    return claim


def take_item(workspace):
    """Import it and let a reviewer take an item whose picture has slices beside it."""
    from medrcube.review.exchange.import_items import import_workspace  # noqa: PLC0415
    from medrcube.review.models import Item, ItemVersion, Project, User  # noqa: PLC0415
    from medrcube.review.reviewing.claims import claim_next, give_back  # noqa: PLC0415

    import_workspace(workspace, Reporter(quiet=True))
    project = Project.objects.get()
    project.policy = {**project.policy, "gold_rate": 0.0}
    project.save()
    reviewer = User.objects.create_user(REVIEWER, PASSWORD)
    own = ItemVersion.objects.filter(item__gold_defect="").order_by("item")
    deepest = max(
        own.filter(item__task="ROI Grounding"),
        key=lambda version: len(version.picture.original.get("slices", [])),
    )
    Item.objects.filter(pk=deepest.item_id).update(priority=999)
    while (claim := claim_next(reviewer)).version_id != deepest.pk:
        give_back(claim.token, reviewer, not_my_field=True)
    return claim


def judge(user, now, lot):
    """Both steps of one reviewer; what is wrong with an item does not depend on who reads it."""
    from medrcube.review.models import ItemVersion  # noqa: PLC0415
    from medrcube.review.reviewing.claims import claim_next  # noqa: PLC0415
    from medrcube.review.reviewing.questionnaire import CHECKLIST  # noqa: PLC0415
    from medrcube.review.reviewing.steps import answer_blind, submit_review  # noqa: PLC0415
    from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission  # noqa: PLC0415

    claim = claim_next(user, now)
    if claim is None:  # what is left for them would not be blind
        return
    version = ItemVersion.objects.get(pk=claim.version_id)
    nature = random.Random(version.item_id)
    unsound, fault, verdict = (
        nature.random() < 0.2,
        nature.choice(FAULTS),
        nature.choice(["revise", "reject", "reject"]),
    )
    sees = lot.random() < (0.75 if unsound else 0.04)
    decision = verdict if sees else "accept"
    right = lot.random() < 0.96
    end = now + timedelta(seconds=lot.choice(SECONDS))
    option = version.key if right else (version.key + 1) % len(version.options)
    values = {"confidence": lot.choice([2, 3, 3]), "needs_image": "yes", "image_adequate": True}
    answer_blind(claim.token, user, BlindSubmission(option=option, **values), end)
    wrong = (version.key + 1) % len(version.options)
    about = wrong if fault.startswith("DISTRACTOR_") else None
    ruling = ReviewSubmission(
        decision=decision,
        reasons=((fault, about),) if sees else (),
        checklist={line.name: not sees or line.name != "stem_clear" for line in CHECKLIST},
    )
    submit_review(claim.token, user, ruling, end)


def looked_at(claim):
    """Both pictures, taken by a browser."""
    from stage.servers import serving  # noqa: PLC0415  (needs Django to be ready)

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright keeps an event loop in this thread
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)))
    with serving() as site, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = signed_in(browser, site, REVIEWER)
        keep("review.png", review_page(page, site, claim))
        page = signed_in(browser, site, "manager@example.org")
        keep("review-dashboard.png", *dashboards(page, site))
        browser.close()


def looked_deeper(claim):
    """The original pixels of a CT in another window, one slice further."""
    from stage.servers import serving  # noqa: PLC0415  (needs Django to be ready)

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)))
    with serving() as site, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = signed_in(browser, site, REVIEWER)
        page.goto(f"{site}/review/{claim.token}/")
        page.wait_for_load_state("networkidle")
        page.keyboard.press("v")
        page.locator("canvas[data-painted]").wait_for()
        page.keyboard.press(".")
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)
        keep("review-original.png", page.screenshot())
        browser.close()


def signed_in(browser, site, email):
    """A page of somebody, in the light scheme."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": 900}, color_scheme="light", locale="en-GB"
    )
    page.goto(f"{site}/sign-in/")
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    return page


def review_page(page, site, claim):
    """Step two: the mark, the key, why a wrong option stands there, where it all comes from."""
    page.goto(f"{site}/review/{claim.token}/")
    answers = {"option": claim.version.key, "confidence": 3}
    answers |= {"needs_image": "yes", "image_adequate": "yes"}
    for name, value in answers.items():
        page.check(f'input[name="{name}"][value="{value}"]')
    page.get_by_role("button", name="Submit the answer").click()
    page.get_by_text("Step 2 of 2").wait_for()
    page.wait_for_load_state("networkidle")
    page.keyboard.press("e")
    page.keyboard.press("Shift+I")
    page.get_by_text(re.compile("^saved")).wait_for()
    page.get_by_role("button", name="Zoom in").click()
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    return page.screenshot()


def dashboards(page, site):
    """The page of progress down to the reviewers, and the panel of agreement."""
    page.goto(f"{site}/dashboard/")
    yield cut(page, "header", "section[aria-labelledby=reviewers]")
    page.goto(f"{site}/dashboard/agreement/")
    yield cut(page, "h1", "section[aria-labelledby=figures]")


def cut(page, first, last):
    """A page from the top of one part to the end of another."""
    begin, end = (page.locator(part).first.bounding_box() for part in (first, last))
    top = max(0, begin["y"] - 12)
    size = {"width": WIDTH, "height": end["y"] + end["height"] + 16 - top}
    return page.screenshot(full_page=True, clip={"x": 0, "y": top, **size})


def keep(name, *parts):
    """Put pictures below each other into the docs, small enough for a page."""
    images = [Image.open(io.BytesIO(part)).convert("RGB") for part in parts]
    whole = Image.new("RGB", (WIDTH, sum(image.height for image in images)))
    top = 0
    for image in images:
        whole.paste(image, (0, top))
        top += image.height
    path = IMAGES / name
    whole.save(path, optimize=True)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{path}: {size} bytes, at most {MOST_BYTES}")


if __name__ == "__main__":
    main(sys.argv[1:])

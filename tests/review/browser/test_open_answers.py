"""An item without options in a browser: places are clicked, with scripts and without."""

import os
from pathlib import Path

import pytest
from stage.looks import assert_accessible

from medrcube.review.models import BlindAnswer
from medrcube.review.reviewing.open_answers import RIGHT

pytestmark = pytest.mark.thorough
REGION = [[100, 200], [200, 200], [200, 300], [100, 300]]
POINT = {
    "form": "point",
    "ask": {},
    "truth": {"size": [512, 512], "region": {"polygons": [REGION]}, "margin": 4.0},
}
BOX = {
    "form": "box",
    "ask": {},
    "truth": {"size": [512, 512], "box": [100, 200, 200, 300], "iou": 0.5},
}
SHOTS = os.environ.get("SHOTS")


@pytest.fixture
def asked(project, add_shown, person):
    """Make an item of a form, and somebody to review it."""

    def make(target):
        known = {"concept": "nodule", "ids": [], "strategy": "key", "grade": "", "passed": []}
        options = [{**known, "text": text} for text in ("what is right", "another answer")]
        add_shown(options=options, target=target, question="Where is the nodule in this MRI slice?")
        return person("reviewer")

    return make


def shoot(page, name):
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_a_box_is_clicked_and_judged(asked, site, new_page, sign_in, width, scheme, script):
    user = asked(BOX)
    page = new_page(
        viewport={"width": width, "height": 900 if width > 400 else 780},
        color_scheme=scheme,
        java_script_enabled=script,
    )
    sign_in(page, site, user.email)
    page.goto(f"{site.address}/review/")
    page.get_by_role("button", name="Take the next item").click()
    page.wait_for_load_state()
    image = page.locator("input[type=image]:visible")
    for share in ((100 / 512, 200 / 512), (200 / 512, 300 / 512)):
        area = image.bounding_box()
        image.click(position={"x": share[0] * area["width"], "y": share[1] * area["height"]})
        page.locator(".click:visible circle").first.wait_for()
        page.wait_for_load_state()
    page.locator(".click:visible rect.mine").wait_for()
    page.wait_for_load_state()
    shoot(page, f"blind-{width}-{scheme}-{script}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name, value in (("confidence", "2"), ("needs_image", "yes"), ("image_adequate", "yes")):
        page.check(f'input[name="{name}"][value="{value}"]')
    page.get_by_role("button", name="Send the answer").click()
    page.locator("path.right").wait_for()
    page.wait_for_load_state()
    shoot(page, f"open-{width}-{scheme}-{script}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert BlindAnswer.objects.get().option == RIGHT
    if script:
        assert_accessible(page, "step two")

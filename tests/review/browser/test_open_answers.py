"""An item without options in a browser: places are clicked, with scripts and without."""

import os
import re
from pathlib import Path

import pytest

from medrcube.review.models import BlindAnswer
from medrcube.review.reviewing.open_answers import RIGHT

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
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
def reviewer_of(project, add_shown, person):
    """Make an item of a form, and somebody to review it."""

    def make(target):
        option_facts = {
            "concept": "nodule",
            "ids": [],
            "strategy": "key",
            "grade": "",
            "passed": [],
        }
        options = [{**option_facts, "text": text} for text in ("what is right", "another answer")]
        add_shown(options=options, target=target, question="Where is the nodule in this MRI slice?")
        return person("reviewer")

    return make


def shoot(page, name):
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_a_box_is_clicked_and_judged(
    reviewer_of, new_page, step_one, width, script, assert_accessible
):
    user = reviewer_of(BOX)
    page = new_page(
        viewport={"width": width, "height": 900 if width > 400 else 780},
        java_script_enabled=script,
    )
    step_one(page, user)
    image = page.locator("input[type=image]:visible")
    for share in ((100 / 512, 200 / 512), (200 / 512, 300 / 512)):
        area = image.bounding_box()
        image.click(position={"x": share[0] * area["width"], "y": share[1] * area["height"]})
        page.locator(".click:visible circle").first.wait_for()
        page.wait_for_load_state()
    page.locator(".click:visible rect.mine").wait_for()
    page.wait_for_load_state()
    shoot(page, f"blind-{width}-{script}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name, value in (("confidence", "2"), ("needs_image", "yes"), ("image_adequate", "yes")):
        page.check(f'input[name="{name}"][value="{value}"]')
    page.get_by_role("button", name="Submit the answer").click()
    page.locator("path.right").wait_for()
    page.wait_for_load_state()
    shoot(page, f"open-{width}-{script}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert BlindAnswer.objects.get().option == RIGHT
    if script:
        assert_accessible(page, "step two")


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
@pytest.mark.parametrize("width", [1440, 390])
def test_a_box_is_typed_by_keys_alone(
    reviewer_of, new_page, step_one, width, script, assert_accessible
):
    user = reviewer_of(BOX)
    page = new_page(
        viewport={"width": width, "height": 900 if width > 400 else 780},
        java_script_enabled=script,
    )
    step_one(page, user)
    page.get_by_label("One corner: from the left, 0 to 100 %").focus()
    for share in ("19.53", "39,06", "39.06", "58.59"):
        page.keyboard.type(share)
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Show in the image"
    page.keyboard.press("Enter")
    page.locator(".click:visible rect.mine").first.wait_for()
    page.wait_for_load_state()
    shoot(page, f"typed-{width}-{script}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if script:
        assert_accessible(page, "step one, typed")
    for name, value in (("confidence", "2"), ("needs_image", "yes"), ("image_adequate", "yes")):
        page.check(f'input[name="{name}"][value="{value}"]')
    page.get_by_role("button", name="Submit the answer").press("Enter")
    page.locator("path.right").wait_for()
    blind = BlindAnswer.objects.get()
    assert blind.option == RIGHT
    assert blind.value == pytest.approx([195.3, 390.6, 390.6, 585.9])


@pytest.mark.parametrize("width", [1440, 390])
def test_a_box_is_set_by_keys_alone_and_announced(
    reviewer_of,
    new_page,
    step_one,
    width,
    assert_accessible,
):
    user = reviewer_of(BOX)
    page = new_page(viewport={"width": width, "height": 900 if width > 400 else 780})
    step_one(page, user)
    image = page.locator("input[type=image]:visible")
    side = image.bounding_box()["width"] - 2  # without its border
    status = page.locator("[data-aim]")
    image.focus()
    page.keyboard.press("ArrowLeft")
    assert re.fullmatch(r"49.\d % from the left, 50.\d % from the top", status.text_content())
    place = [side // 2 - 1, side // 2]
    for corner in ((100 / 512, 200 / 512), (200 / 512, 300 / 512)):
        target = [int(share * side) for share in corner]
        for keys, distance in zip(
            (("ArrowLeft", "ArrowRight"), ("ArrowUp", "ArrowDown")),
            (target[axis] - place[axis] for axis in (0, 1)),
            strict=True,
        ):
            far, near = divmod(abs(round(distance)), 20)
            key = keys[distance > 0]
            for press in [f"Shift+{key}"] * far + [key] * near:
                page.keyboard.press(press)
        if corner[0] < 0.3:
            shoot(page, f"keys-{width}")
        page.keyboard.press("Enter")
        page.get_by_text("Set. ").wait_for(state="attached")
        page.wait_for_load_state()
        place = target
        assert page.evaluate("document.activeElement.type") == "image"
    assert "Click again to start over." in status.text_content()
    shoot(page, f"keys-both-{width}")
    assert_accessible(page, "step one by keys")
    for name, value in (("confidence", "2"), ("needs_image", "yes"), ("image_adequate", "yes")):
        page.check(f'input[name="{name}"][value="{value}"]')
    page.get_by_role("button", name="Submit the answer").press("Enter")
    page.locator("path.right").wait_for()
    blind = BlindAnswer.objects.get()
    assert blind.option == RIGHT
    assert blind.value == pytest.approx([195.3, 390.6, 390.6, 585.9], abs=7)

"""Another wording, proposed by keys alone beside the picture."""

import pytest
from playwright.sync_api import expect

from medrcube.review.models import Proposal

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
ANSWER = {"option": "0", "confidence": "3", "needs_image": "yes", "image_adequate": "yes"}
TEXT = "Which abnormality does this axial T1-weighted MR image of the brain show?"


@pytest.fixture
def second(enter, world, site):
    """The second step of a reviewer, with Revise chosen by its key."""

    def make(**options):
        page = enter(world, "reviewer", **options)
        page.goto(f"{site.address}/review/{world.token}/")
        for name, value in ANSWER.items():
            page.check(f'input[name="{name}"][value="{value}"]')
        page.get_by_role("button", name="Submit the answer").click()
        page.get_by_text("Step 2 of 2").wait_for()
        page.wait_for_load_state("load")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("e")
        page.get_by_role("button", name="Better wording").wait_for()
        return page

    return make


def test_a_wording_is_proposed_by_keys_alone_and_step_two_still_fits_a_laptop(second):
    page = second()
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    page.keyboard.press("t")
    expect(page.locator('[name="wording.question"]')).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("Which is not shown?")
    page.get_by_text("the stem is negative").wait_for()
    page.keyboard.press("Control+A")
    page.keyboard.type(TEXT)
    expect(page.get_by_text("the stem is negative")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Q")
    page.keyboard.press("Enter")
    page.get_by_text("Your review is stored").wait_for()
    assert Proposal.objects.get().question == TEXT


def test_on_a_phone_the_picture_stays_in_sight_beside_the_wording(second):
    page = second(viewport={"width": 390, "height": 844})
    page.get_by_role("button", name="Better wording").click()
    panel = page.locator("#wording").bounding_box()
    stage = page.locator(".stage").bounding_box()
    assert panel["x"] >= 0
    assert panel["x"] + panel["width"] <= 390
    assert stage["y"] + stage["height"] <= panel["y"] + 1

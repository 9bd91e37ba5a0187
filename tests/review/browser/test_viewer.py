"""The original pixels in a real browser: window, slices, marks, scale."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect
from stage.drawings import numbered

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
ROWS = """canvas => {
    const {width, height} = canvas;
    const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
    return [0, 100].map(row => Array.from({length: width}, (_, x) => data[4 * (row * width + x)]));
}"""


@pytest.fixture
def opened(page, person, add_shown, step_one):
    """Step one of an item with original pixels."""

    def make(**facts):
        add_shown(original=facts, asks_mark=True)
        return step_one(page, person("reviewer"))

    return make


def painted(page, slice_):
    canvas = page.locator("canvas[data-original]")
    expect(canvas).to_have_attribute("data-painted", re.compile(f"^{slice_} "))
    return canvas


def expected(slice_, low, high, *, slope=1.0, intercept=-1024.0):
    plane = numbered()[slice_][[0, 100]] * slope + intercept
    return (np.clip(plane, low, high) - low) * 255 / (high - low)


@pytest.mark.parametrize("inverted", [False, True])
def test_a_window_in_the_browser_is_that_of_numpy(opened, inverted):
    page = opened(inverted=inverted)
    for name, low, high in (("Lung", -1350, 149), ("Brain", 0, 79)):
        page.get_by_label("Window", exact=True).select_option(name)
        canvas = page.locator(f'canvas[data-painted="2 {low} {high}"]')
        canvas.wait_for()
        shade = expected(2, low, high)
        pixels = np.array(canvas.evaluate(ROWS))
        assert np.abs(pixels - (255 - shade if inverted else shade)).max() <= 1
    expect(page.locator("[data-window]")).to_have_text("L 40 W 80 HU")


def test_the_picture_of_the_item_is_shown_until_something_else_is_asked_for(opened):
    page = opened()
    expect(page.locator("canvas[data-original]")).to_be_hidden()
    page.keyboard.press("v")
    expect(page.locator("canvas[data-original]")).to_be_visible()
    page.keyboard.press("Backspace")
    expect(page.locator("canvas[data-original]")).to_be_hidden()
    expect(page.locator(".marked")).to_be_visible()


def test_keys_and_wheel_go_through_the_slices_and_one_key_comes_back(opened):
    page = opened()
    element = page.locator("[data-slice]")
    expect(element).to_have_text("slice 3 of 5")
    page.keyboard.press(".")
    expect(element).to_have_text("slice 4 of 5")
    first = np.array(painted(page, 3).evaluate(ROWS))[0]
    assert first[60:80].min() == 255  # the square of the fourth slice
    assert first[:60].max() < 255
    page.locator(".stage").hover()
    page.mouse.wheel(0, 100)
    expect(element).to_have_text("slice 5 of 5")
    page.mouse.wheel(0, 100)
    expect(element).to_have_text("slice 5 of 5")
    for _ in range(4):
        page.keyboard.press(",")
    expect(element).to_have_text("slice 1 of 5")
    page.keyboard.press("m")
    expect(element).to_have_text("slice 3 of 5")
    expect(page.locator("canvas[data-original]")).to_be_hidden()


def test_a_mark_lies_on_the_slice_of_the_item_alone(opened):
    page = opened()
    drawing, marked = page.locator(".drawn"), page.locator(".marked")
    page.keyboard.press("v")
    expect(drawing).to_be_visible()
    expect(marked).to_be_hidden()
    page.keyboard.press("o")
    expect(drawing).to_be_hidden()
    page.keyboard.press("o")
    page.keyboard.press(".")
    painted(page, 3)
    expect(drawing).to_be_hidden()
    expect(marked).to_be_hidden()


@pytest.mark.parametrize(
    ("key", "level", "width"), [("k", 59, 400), ("j", 19, 400), ("h", 40, 364), ("l", 40, 440)]
)
def test_keys_move_level_and_width(opened, key, level, width):
    page = opened()
    page.keyboard.press(key)
    words = page.locator("[data-window]").inner_text().split()
    assert abs(int(words[1]) - level) <= 1
    assert abs(int(words[3]) - width) <= 1


def test_dragging_changes_the_window_once_it_is_asked_for(opened):
    page = opened()
    element = page.locator("[data-window]")
    before = element.inner_text()
    box = page.locator(".stage").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(button="left"):
        page.mouse.move(x, y)
        page.mouse.down(button=button)
        page.mouse.move(x + 40, y + 30, steps=4)
        page.mouse.up(button=button)

    drag()
    expect(element).to_have_text(before)
    page.keyboard.press("w")
    drag()
    expect(element).not_to_have_text(before)
    page.keyboard.press("w")
    page.keyboard.press("Backspace")
    expect(element).to_have_text(before)
    drag("right")
    expect(element).not_to_have_text(before)


def test_sliders_change_the_window(opened):
    page = opened()
    before = page.locator("[data-window]").inner_text()
    page.get_by_text("Pan, level, width").click()
    page.get_by_label("Width", exact=True).press("ArrowRight")
    expect(page.locator("[data-window]")).not_to_have_text(before)


@pytest.mark.parametrize(
    ("facts", "unit"),
    [
        ({"spacing": [2.0, 0.5]}, ""),
        ({"spacing": [0.1, 0.1], "projection": True}, "at the detector"),
    ],
)
def test_the_scale_bar_is_as_long_as_it_says(opened, facts, unit):
    page = opened(**facts)
    number, measure, *rest = page.locator("[data-scale-text]").inner_text().split()
    millimetres = float(number) * (10 if measure == "cm" else 1)
    long = page.locator(".bar").bounding_box()["width"]
    width_on_page = page.locator(".plain").bounding_box()["width"]
    assert abs(long / width_on_page * 320 * facts["spacing"][1] - millimetres) <= 0.02 * millimetres
    assert " ".join(rest) == unit


def test_without_a_spacing_there_is_no_bar(opened):
    page = opened(spacing=None)
    expect(page.locator("[data-scale-text]")).to_have_text("no scale: no file says the spacing")
    expect(page.locator(".bar")).to_be_hidden()


def test_a_copy_that_is_gone_leaves_the_picture_of_the_item(opened):
    page = opened()
    page.route("**/slices/**", lambda route: route.fulfill(status=404))
    page.keyboard.press("v")
    expect(page.locator("[data-note]")).to_contain_text("cannot be loaded")
    expect(page.locator("canvas[data-original]")).to_be_hidden()
    expect(page.locator(".marked")).to_be_visible()


def test_the_second_step_with_slices_fits_a_screen(opened):
    page = opened()
    for key in ("1", "9", "y", "g", "Enter"):
        page.keyboard.press(key)
    page.get_by_text("Step 2 of 2").wait_for()
    page.wait_for_load_state()
    page.keyboard.press(".")
    painted(page, 3)
    assert page.evaluate("document.documentElement.scrollHeight") <= 900


def test_a_phone_shows_no_wider_page(opened):
    page = opened()
    page.set_viewport_size({"width": 390, "height": 844})
    page.keyboard.press("v")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_axe_finds_nothing(opened, axe_violations):
    page = opened()
    page.keyboard.press(".")
    painted(page, 3)
    page.get_by_text("Pan, level, width").click()
    assert axe_violations(page) == []

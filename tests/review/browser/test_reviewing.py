"""The review page in a real browser: keys, viewer, drafts, a lost session, no scripts at all."""

import re

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from medrcube.review.models import BlindAnswer, Draft, Review
from medrcube.review.reviewing.questionnaire import CHECKLIST

pytestmark = pytest.mark.untraced
PASSWORD = "correct horse battery staple"  # noqa: S105


@pytest.fixture
def opened(page, person, add_shown, step_one):
    """A page with step one of an item open, and its version."""

    def make(**fields):
        version = add_shown(**fields)
        return step_one(page, person("reviewer")), version

    return make


@pytest.fixture
def opened_there(server, page, person, add_shown, sign_in):
    """A page of a server that can be killed, with step one of an item open."""
    add_shown()
    sign_in(page, server, person("reviewer").email)
    page.get_by_role("button", name="Take the next item").click()
    page.get_by_text("Step 1 of 2").wait_for()
    page.wait_for_load_state()
    return page


def answer(page):
    for name, value in (
        ("option", "0"),
        ("confidence", "3"),
        ("needs_image", "yes"),
        ("image_adequate", "yes"),
    ):
        page.check(f'input[name="{name}"][value="{value}"]')
    page.get_by_role("button", name="Submit the answer").click()
    page.get_by_text("Step 2 of 2").wait_for()
    page.wait_for_load_state()


def says(page, text):
    page.locator("[data-save-state]").filter(has_text=text).wait_for()


def transform(page):
    style = page.locator(".layers").evaluate("element => element.style.transform")
    return [float(part) for part in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", style)]


def blind_by_keys(page):
    for key in ("2", "1", "9", "y", "g", "Enter"):
        page.keyboard.press(key)
    page.get_by_text("Step 2 of 2").wait_for()
    page.wait_for_load_state()


def test_an_item_is_accepted_by_two_keys_after_the_blind_answer(opened):
    page, _ = opened()
    blind_by_keys(page)
    page.keyboard.press("a")
    for line in CHECKLIST:  # what accepting confirms
        expect(page.get_by_text(line.text)).to_be_in_viewport(ratio=1)
    expect(page.get_by_text("The key is the single longest option.")).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    page.get_by_text("Your review is stored.").wait_for()
    review = Review.objects.get()
    assert (review.decision, set(review.checklist.values())) == ("accept", {True})
    answer = BlindAnswer.objects.get()
    assert (answer.option, answer.confidence, answer.needs_image) == (0, 3, "yes")
    assert answer.milliseconds > 0


@pytest.mark.parametrize("how", ["Enter", "click"])
def test_nobody_confirms_what_was_not_on_their_screen(opened, how):
    page, _ = opened()
    page.set_viewport_size({"width": 1440, "height": 240})

    def submit():
        if how == "Enter":
            page.keyboard.press("Enter")
        else:
            page.get_by_role("button", name="Submit and stop").evaluate("it => it.click()")

    blind_by_keys(page)
    warning = page.get_by_text("The key is the single longest option.")
    page.keyboard.press("a")
    expect(warning).not_to_be_in_viewport()
    submit()
    expect(warning).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("alert")).to_contain_text("Read what you confirm by accepting")
    assert not Review.objects.exists()
    submit()
    page.get_by_text("Your review is stored.").wait_for()
    assert set(Review.objects.get().checklist.values()) == {True}


@pytest.mark.thorough
def test_a_folded_checklist_opens_before_it_is_confirmed(opened):
    page, _ = opened()
    blind_by_keys(page)
    page.locator("summary", has_text="Checklist").click()
    page.locator(".stage").focus()
    page.keyboard.press("r")
    expect(page.get_by_text(CHECKLIST[0].text)).to_be_hidden()  # a rejection confirms none of it
    page.keyboard.press("a")
    expect(page.get_by_text(CHECKLIST[0].text)).to_be_in_viewport(ratio=1)


def test_an_item_is_rejected_for_two_reasons_by_four_keys(opened):
    page, _ = opened()
    blind_by_keys(page)
    for key in ("r", "Shift+A", "Shift+J", "Enter"):
        page.keyboard.press(key)
    page.get_by_text("Your review is stored.").wait_for()
    review = Review.objects.get()
    codes = {reason.code for reason in review.reasons.all()}
    assert (review.decision, codes) == ("reject", {"KEY_WRONG", "DISTRACTOR_CORRECT"})


@pytest.mark.thorough
def test_a_letter_keeps_its_meaning_after_a_change_of_mind(opened):
    page, _ = opened()
    blind_by_keys(page)
    for key in ("r", "Shift+A", "e", "o", "a"):
        page.keyboard.press(key)
    assert page.locator('input[name="decision"]:checked').get_attribute("value") == "accept"
    assert page.locator('input[name="reason"]:checked').evaluate_all("it => it.length") == 1
    expect(page.locator("#reasons")).to_be_visible()  # a tick is never hidden


@pytest.mark.thorough
@pytest.mark.parametrize(("word", "ticked"), [("Yes, select it", 1), ("No", 0)])
def test_a_reason_that_acts_at_once_is_asked_once_more(opened, word, ticked):
    page, _ = opened()
    blind_by_keys(page)
    page.keyboard.press("r")
    page.keyboard.press("Shift+V")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("takes the item out of the queue for everybody at once")
    dialog.get_by_role("button", name=word).click()
    expect(page.locator('input[value="PHI"]:checked')).to_have_count(ticked)


@pytest.mark.thorough
def test_the_second_step_fits_a_screen_of_1440_by_900(opened):
    page, _ = opened()
    blind_by_keys(page)
    for key in ("a", "r"):
        page.keyboard.press(key)
        assert page.evaluate("document.documentElement.scrollHeight") <= 900
    expect(page.locator(".plain")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Submit and continue")).to_be_in_viewport()


@pytest.mark.thorough
def test_own_reviews_fit_a_phone(opened):
    page, _ = opened()
    blind_by_keys(page)
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    page.get_by_text("Your review is stored.").wait_for()
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("link", name="Your reviews").click()
    page.get_by_role("button", name="Retract").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.get_by_role("button", name="Retract")).to_be_in_viewport()


@pytest.mark.thorough
def test_on_a_phone_the_picture_stays_beside_the_question(
    site, new_page, person, add_shown, sign_in
):
    add_shown()
    page = sign_in(new_page(viewport={"width": 390, "height": 844}), site, person("reviewer").email)
    page.get_by_role("button", name="Take the next item").click()
    page.get_by_text("Step 1 of 2").wait_for()
    for part in (page.locator(".plain"), page.get_by_role("heading", level=1)):
        expect(part).to_be_in_viewport()
    page.get_by_role("button", name="Submit the answer").scroll_into_view_if_needed()
    expect(page.locator(".plain")).to_be_in_viewport()


@pytest.mark.thorough
def test_an_item_is_accepted_by_two_clicks(opened):
    page, _ = opened()
    answer(page)
    page.locator("label", has_text="Accept").click()
    page.get_by_role("button", name="Submit and stop").click()
    page.get_by_text("Your review is stored.").wait_for()
    assert Review.objects.get().decision == "accept"


@pytest.mark.thorough
def test_whoever_is_about_to_lose_an_item_is_told(opened):
    page, _ = opened()
    expect(page.locator("[data-lease-warning]")).to_be_hidden()
    page.clock.install()
    page.locator("[data-until]").evaluate(
        "element => { element.dataset.until = new Date(Date.now() + 60_000).toISOString() }"
    )
    page.clock.run_for(11_000)
    warning = "Your reservation of this item is about to expire"
    expect(page.get_by_role("alert")).to_contain_text(warning)


@pytest.mark.thorough
def test_the_chosen_theme_stays(opened, site):
    page, _ = opened()
    page.goto(f"{site.address}/me/")
    page.get_by_label("Theme").select_option("dark")
    page.goto(f"{site.address}/review/")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(20, 24, 28)"


@pytest.mark.thorough
def test_keys_do_nothing_in_a_text_field_and_skip_only_moves_there(opened):
    page, _ = opened()
    answer(page)
    page.get_by_role("textbox", name="Comment").fill("")
    page.get_by_role("textbox", name="Comment").press_sequentially("are i")
    assert page.locator('input[name="decision"]:checked').count() == 0
    assert page.get_by_role("button", name="Invert").get_attribute("aria-pressed") == "false"
    page.locator(".stage").focus()
    page.keyboard.press("s")
    assert page.evaluate("document.activeElement.name") == "not_my_field"
    says(page, "saved")


@pytest.mark.thorough
def test_keys_of_one_character_can_be_off(opened, site):
    page, _ = opened()
    page.goto(f"{site.address}/me/")
    page.get_by_label("Single-key shortcuts").uncheck()
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(f"{site.address}/review/")
    page.get_by_role("link", name="Continue").click()
    page.get_by_text("Step 1 of 2").wait_for()
    page.wait_for_load_state()
    page.locator(".stage").focus()
    for key in ("2", "i", "+", "+", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.locator('input[name="option"]:checked').count() == 0
    assert page.get_by_role("button", name="Invert").get_attribute("aria-pressed") == "false"
    page.get_by_role("button", name="Zoom in").click(click_count=3)
    before = transform(page)
    page.keyboard.press("ArrowLeft")  # a key with a name of its own still works
    assert transform(page) != before


@pytest.mark.thorough
def test_the_viewer_changes_what_is_seen_and_nothing_else(opened):
    page, _ = opened()
    answer(page)
    checked = "inputs => inputs.map(input => `${input.name} ${input.value}`)"
    before = page.locator("input:checked").evaluate_all(checked)
    drafts = Draft.objects.count()
    _, _, fitted = transform(page)
    for _ in range(4):
        page.keyboard.press("+")
    *_, scale = transform(page)
    assert scale == pytest.approx(fitted * 1.25**4, rel=1e-3)
    assert scale > 2
    rendering = "element => getComputedStyle(element).imageRendering"
    assert page.locator(".plain").evaluate(rendering) == "pixelated"
    x, y, _ = transform(page)
    page.keyboard.press("ArrowLeft")
    assert transform(page)[0] == pytest.approx(min(0, x + 60), abs=0.5)
    box = page.locator(".stage").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 330, steps=4)
    page.mouse.up()
    assert transform(page)[1] == pytest.approx(min(0, y + 30), abs=0.5)
    page.keyboard.press("o")
    expect(page.locator(".marked")).to_be_visible()
    page.keyboard.press("i")
    filters = page.locator(".layers").evaluate("element => element.style.filter")
    assert filters == "invert(1) brightness(100%) contrast(100%)"
    page.keyboard.press("o")
    expect(page.locator(".marked")).to_be_hidden()
    page.keyboard.press("0")
    assert transform(page)[2] == pytest.approx(fitted, rel=1e-3)
    assert page.locator("input:checked").evaluate_all(checked) == before
    assert Draft.objects.count() == drafts


@pytest.mark.thorough
def test_a_mark_that_is_asked_about_stays_in_the_second_step(opened):
    page, _ = opened(asks_mark=True)
    expect(page.locator(".marked")).to_be_visible()
    answer(page)
    expect(page.locator(".marked")).to_be_visible()
    assert page.get_by_role("button", name="Mark").get_attribute("aria-pressed") == "true"
    page.keyboard.press("o")
    expect(page.locator(".marked")).to_be_hidden()


@pytest.mark.thorough
def test_zooming_by_the_wheel_keeps_the_point_under_the_pointer(opened):
    page, _ = opened()
    box = page.locator(".stage").bounding_box()
    page.mouse.move(box["x"] + 500, box["y"] + 200)
    for _ in range(3):
        page.mouse.wheel(0, -100)
    page.wait_for_function("document.querySelector('.layers').style.transform.includes('scale(2.')")
    x, y, scale = transform(page)
    before = ((500 - x) / scale, (200 - y) / scale)
    page.mouse.wheel(0, -100)
    page.wait_for_function(
        f"!document.querySelector('.layers').style.transform.includes('{scale}')"
    )
    x, y, scale = transform(page)
    assert ((500 - x) / scale, (200 - y) / scale) == pytest.approx(before, abs=0.5)


@pytest.mark.thorough
def test_one_to_one_and_reset(opened):
    page, _ = opened()
    page.keyboard.press("p")
    assert transform(page)[2] == pytest.approx(1 / page.evaluate("devicePixelRatio"))
    page.keyboard.press("i")
    page.keyboard.press("Backspace")
    filters = page.locator(".layers").evaluate("element => element.style.filter")
    assert "invert" not in filters
    assert page.locator(".stage").evaluate("element => element.classList.contains('whole')")


@pytest.mark.thorough
def test_what_is_typed_survives_a_killed_server(opened_there, server):
    page = opened_there
    page.check('input[name="confidence"][value="2"]')
    says(page, "saved")
    server.kill()
    page.check('input[name="option"][value="2"]')
    says(page, "not saved, trying again")
    page.get_by_role("button", name="Submit the answer").click()
    says(page, "not saved, trying again")
    assert "Step 1 of 2" in page.inner_text("main")
    server.start()
    says(page, re.compile(r"^saved"))
    assert Draft.objects.get().body["option"] == ["2"]


@pytest.mark.thorough
def test_what_the_server_never_got_is_put_back_by_the_browser(opened_there, server):
    page = opened_there
    answer(page)
    address = page.url
    server.kill()
    page.get_by_role("textbox", name="Comment").fill("typed while the server was away")
    page.check('input[name="decision"][value="reject"]')
    page.check('input[name="reason"][value="TRIVIAL"]')
    says(page, "not saved, trying again")
    page.route("**/draft/", lambda route: route.abort())  # before it can try again
    server.start()
    page.goto(address)
    comment = page.get_by_role("textbox", name="Comment")
    expect(comment).to_have_value("typed while the server was away")
    expect(page.locator('input[name="reason"]:checked')).to_have_count(1)
    page.unroute("**/draft/")
    says(page, re.compile(r"^saved"))
    assert Draft.objects.get().body["comment"] == ["typed while the server was away"]


@pytest.mark.thorough
def test_what_is_typed_before_the_scripts_have_come_is_saved(opened):
    page, _ = opened()
    answer(page)
    routes = []

    def hold(route):
        routes.append(route)

    page.route("**/draft.js", hold)
    page.goto(page.url, wait_until="commit")
    page.get_by_role("textbox", name="Comment").fill("typed early")
    while not routes:
        page.wait_for_timeout(10)
    routes.pop().continue_()
    says(page, re.compile(r"^saved"))
    assert Draft.objects.get().body["comment"] == ["typed early"]


@pytest.mark.thorough
def test_a_lost_session_is_begun_again_in_place(opened):
    page, _ = opened()
    answer(page)
    says_email = page.locator("#again-email").input_value()
    Session.objects.all().delete()
    page.get_by_role("textbox", name="Comment").fill("typed before the session was lost")
    dialog = page.get_by_role("dialog", name="Sign in again")
    dialog.wait_for()
    dialog.get_by_label("Password").fill("wrong")
    dialog.get_by_role("button", name="Sign in").click()
    dialog.get_by_text("is wrong").wait_for()
    assert dialog.get_by_label("E-mail address").input_value() == says_email
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in").click()
    says(page, re.compile(r"^saved"))
    page.check('input[name="decision"][value="reject"]')
    page.check('input[name="reason"][value="OTHER"]')
    page.get_by_role("button", name="Submit and stop").click()
    page.get_by_text("Your review is stored.").wait_for()
    assert Review.objects.get().comment == "typed before the session was lost"


@pytest.mark.thorough
def test_a_new_sign_in_in_another_tab_does_not_stop_the_first(opened, site, sign_in):
    page, _ = opened()
    email = page.locator("#again-email").input_value()
    other = page.context.new_page()
    other.goto(site.address)
    other.get_by_role("button", name="Sign out").click()
    sign_in(other, site, email)
    other.get_by_text("Your queue").wait_for()
    answer(page)
    assert BlindAnswer.objects.exists()


@pytest.mark.thorough
def test_a_full_review_without_scripts(site, new_page, person, add_shown, sign_in):
    version = add_shown()
    plain = sign_in(new_page(java_script_enabled=False), site, person("reviewer").email)
    plain.get_by_role("button", name="Take the next item").click()
    image = plain.locator("img.plain").first
    expect(image).to_be_visible()
    expect(image).to_have_js_property("naturalWidth", 512)
    answer(plain)
    plain.get_by_text("Show the image with its mark").click()
    expect(plain.locator(f'img[src*="{version.overlay_id}"]').last).to_be_visible()
    plain.check('input[name="decision"][value="revise"]')
    plain.get_by_role("button", name="Submit and stop").click()
    plain.get_by_text("Give at least one reason").wait_for()
    assert plain.locator('input[name="decision"]:checked').get_attribute("value") == "revise"
    plain.check('input[name="reason"][value="CUE_LENGTH"]')
    plain.get_by_role("button", name="Submit and stop").click()
    plain.get_by_text("Your review is stored.").wait_for()

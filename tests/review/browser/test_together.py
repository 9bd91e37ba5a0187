"""Several people at once, each in a browser of their own, and what comes after the reviews."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect
from stage.world import add_item

from medrcube.review.models import Adjudication, Claim, Item, ItemVersion, Review, User
from medrcube.review.reviewing.questionnaire import DANGERS

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]


def judge(page, *, decision="accept", option="0", reason=""):
    """Both steps of the item in the page, by mouse."""
    page.get_by_text("Step 1 of 2").wait_for()
    answers = (
        ("option", option),
        ("confidence", "3"),
        ("needs_image", "yes"),
        ("image_adequate", "yes"),
    )
    for name, value in answers:
        page.check(f'input[name="{name}"][value="{value}"]')
    page.get_by_role("button", name="Submit the answer").click()
    page.get_by_text("Step 2 of 2").wait_for()
    page.check(f'input[name="decision"][value="{decision}"]')
    if reason:
        page.check(f'input[name="reason"][value="{reason}"]')
    if reason in DANGERS:
        page.get_by_role("button", name="Yes, select it").click()


def send(page, name="Submit and continue"):
    page.get_by_role("button", name=name).click()
    page.get_by_text("Your review is stored.").wait_for()


def take(page):
    page.get_by_role("button", name="Take the next item").click()


def test_two_reviewers_at_once_bring_every_item_to_accepted(
    site, new_page, person, project, sign_in
):
    project(gold_rate=0.0)
    for number in range(3):
        add_item(f"shared {number}")
    pages = [sign_in(new_page(), site, person("reviewer").email) for _ in range(2)]
    for page in pages:
        take(page)
    for _ in range(3):
        for page in pages:
            judge(page)  # both hold an item in step two before either sends
        assert Claim.objects.filter(submitted_at=None, released_at=None).count() == 2
        for page in pages:
            send(page)
    for page in pages:
        page.get_by_text("nothing left for you").wait_for()
    assert set(Item.objects.values_list("state", "reviews")) == {("accepted", 2)}
    pairs = set(Review.objects.values_list("claim__version__item", "claim__user"))
    assert len(pairs) == Review.objects.count() == 6


def test_the_second_reviewer_of_an_item_sees_nothing_of_the_first(
    site, new_page, person, project, sign_in
):
    project(gold_rate=0.0)
    add_item("shared")
    first, second = (sign_in(new_page(), site, person("reviewer").email) for _ in range(2))
    take(first)
    take(second)
    judge(first, decision="reject", reason="AMBIGUOUS_STEM")
    first.get_by_role("textbox", name="Comment").fill("what the first one thinks")
    send(first)
    judge(second)
    assert "what the first one thinks" not in second.content()
    assert second.locator('input[name="reason"]:checked').count() == 0
    send(second)
    assert Item.objects.get().state == "adjudication"


def test_an_item_is_adjudicated_by_mouse(world, site, enter):
    page = enter(world, "adjudicator")
    page.goto(site.address)
    page.get_by_role("link", name="Decide").click()
    page.get_by_role("link", name=world.items["disputed"][:16]).click()
    page.get_by_text("Option B fits as well.").wait_for()
    page.wait_for_load_state()  # the viewer's script lays the image out and moves what is below it
    expect(page.locator(".said")).to_have_count(2)
    page.get_by_label("Accept: acceptable as it is").check()
    page.get_by_label("Why").fill("Option B does not fit: nothing is bright.")
    page.get_by_role("button", name="Save decision").click()
    page.get_by_text("Nothing waits for your decision.").wait_for()
    adjudication = Adjudication.objects.get(version__item=world.items["disputed"])
    assert (adjudication.outcome, adjudication.version.item.state) == ("accept", "accepted")
    assert adjudication.rationale == "Option B does not fit: nothing is bright."


def test_an_item_is_adjudicated_by_keyboard_alone_and_without_scripts(world, site, enter):
    page = enter(world, "adjudicator", java_script_enabled=False)
    page.goto(site.address + world.address("adjudicate"))
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.locator(":focus").get_attribute("name") == "outcome":
            break
    for key in ("ArrowDown", "ArrowDown", "Tab"):
        page.keyboard.press(key)
    page.keyboard.type("Option B is also right.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.address}/adjudication/")
    adjudication = Adjudication.objects.get(version__item=world.items["disputed"])
    assert (adjudication.outcome, adjudication.rationale) == ("reject", "Option B is also right.")


def test_a_new_wording_goes_round_again(world, site, enter):
    page = enter(world, "adjudicator")
    page.goto(site.address + world.address("adjudicate"))
    page.get_by_role("link", name="Edit instead").click()
    wording = "Which abnormality does this sagittal MRI slice of the brain show?"
    page.get_by_label("Question").fill(wording)
    page.get_by_label("Reason for the change").fill("it is sagittal")
    page.get_by_role("button", name="Create new version").click()
    page.get_by_text("The new version is in the queue").wait_for()
    expect(page.locator("ins", has_text="sagittal")).to_have_count(1)
    expect(page.locator("del", has_text="axial")).to_have_count(1)
    reviewer = enter(world, "other")
    reviewer.goto(f"{site.address}/review/")
    for _ in range(3):
        take(reviewer)
        reviewer.get_by_text("Step 1 of 2").wait_for()
        reviewer.wait_for_load_state()
        if reviewer.get_by_role("heading", name=wording).count():
            break
        reviewer.get_by_role("button", name="Not my field").click()
        reviewer.get_by_text("You returned the item to the queue").wait_for()
    judge(reviewer)
    send(reviewer)
    version = ItemVersion.objects.get(question=wording)
    assert (version.number, version.item.version, version.item.reviews) == (2, 2, 1)


def test_one_vote_takes_an_item_out_and_a_manager_puts_it_back(world, site, enter):
    reviewer = enter(world, "reviewer")
    reviewer.goto(site.address + world.address("review"))
    judge(reviewer, decision="reject", reason="PHI")
    send(reviewer, "Submit and stop")
    item = world.items["open"]
    assert Item.objects.get(pk=item).state == "quarantined"
    page = enter(world, "manager")
    page.goto(f"{site.address}/quarantine/")
    card = page.get_by_role("region", name=re.compile(f"{item[:16]}.*PHI"))
    card.get_by_label("What you found").fill("A scale, and no name.")
    card.get_by_role("button", name="Restore to the queue").click()
    page.get_by_text(f"Item {item} is back in the queue.").wait_for()
    assert Item.objects.get(pk=item).state == "queued"


def test_a_person_is_let_in_and_out(world, site, enter, new_page, sign_in):
    page = enter(world, "administrator")
    page.goto(f"{site.address}/people/")
    page.get_by_label("E-mail address").fill("new@example.org")
    page.get_by_label("Brain").check()
    page.get_by_role("button", name="Add").click()
    password = page.locator(".secret code").inner_text()
    page.get_by_role("link", name="I have noted it").click()
    reviewer = sign_in(new_page(), site, "new@example.org", password)
    own = "four sheds behind a mill"
    for label, typed in (("Current password", password), ("New password", own)):
        reviewer.get_by_label(label, exact=True).fill(typed)
    reviewer.get_by_label("Repeat new password").fill(own)
    reviewer.get_by_role("button", name="Change the password").click()
    reviewer.get_by_text("Your password has been changed").wait_for()
    reviewer.goto(f"{site.address}/review/")
    take(reviewer)
    reviewer.get_by_text("Step 1 of 2").wait_for()
    page.get_by_role("link", name="new@example.org").click()
    page.get_by_role("button", name="Close the account").click()
    page.get_by_text("The account is closed.").wait_for()
    reviewer.check('input[name="confidence"][value="2"]')
    reviewer.get_by_role("dialog", name="Sign in again").wait_for()
    reviewer.goto(f"{site.address}/review/")
    reviewer.wait_for_url(f"{site.address}/sign-in/**")
    assert User.objects.get(email="new@example.org").specialties == ["Brain"]
    assert not Claim.objects.filter(user__email="new@example.org", released_at=None).exists()


def test_a_paused_reviewer_gets_nothing_and_is_let_in_again_without_scripts(world, site, enter):
    user = world.user("other")
    page = enter(world, "manager", java_script_enabled=False)
    reviewer = enter(world, "other")

    def switch(button):
        page.goto(f"{site.address}/dashboard/")
        row = page.locator("tr", has_text=user.pseudonym)
        row.locator("summary").click()
        row.locator("textarea").fill("on leave")
        row.get_by_role("button", name=button).click()
        page.get_by_text("The reviewer gets").wait_for()

    switch("Pause")
    reviewer.goto(f"{site.address}/review/")
    reviewer.get_by_text("manager has paused your account").wait_for()
    switch("Resume")
    reviewer.goto(f"{site.address}/review/")
    take(reviewer)
    reviewer.get_by_text("Step 1 of 2").wait_for()


def test_who_loses_an_item_while_typing_keeps_the_text(world, site, enter):
    reviewer = enter(world, "reviewer")
    reviewer.goto(site.address + world.address("review"))
    judge(reviewer, decision="revise", reason="AMBIGUOUS_STEM")
    page = enter(world, "adjudicator")
    page.goto(site.address + reverse("item-edit", kwargs={"item": world.items["open"]}))
    page.get_by_label("Question").fill("Which abnormality does this MRI slice show?")
    page.get_by_label("Reason for the change").fill("shorter")
    page.get_by_role("button", name="Create new version").click()
    page.get_by_text("The new version is in the queue").wait_for()
    reviewer.get_by_role("textbox", name="Comment").fill("Name the sequence.")
    # By key: the note that the draft has lost its item may move the button under a mouse.
    reviewer.get_by_role("button", name="Submit and stop").press("Enter")
    reviewer.get_by_role("heading", name="You no longer have this item").wait_for()
    expect(reviewer.get_by_label("Your input")).to_have_value("Name the sequence.")
    assert not Review.objects.filter(claim__token=world.token).exists()


@pytest.mark.parametrize("who", ["reviewer", "manager"])
def test_signing_out_by_mouse_ends_every_page_of_the_session(world, site, enter, who):
    page = enter(world, who)
    page.goto(f"{site.address}/me/")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{site.address}/sign-in/")
    page.go_back()
    page.reload()
    page.wait_for_url(f"{site.address}/sign-in/**")

"""Setting up a second factor and signing in with it, with the keyboard alone; single sign-on."""

import subprocess
import sys
from pathlib import Path

import pyotp
import pytest
from django.conf import settings
from playwright.sync_api import expect
from stage.looks import NARROW, SMALL
from stage.world import PASSWORD

from medrcube.review.models import SecondFactor
from medrcube.review_settings import ReviewSettings, SingleSignOn

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]


@pytest.fixture
def provider(monkeypatch):
    program = Path(__file__).parents[1] / "stage" / "provider.py"
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as process:
        issuer = process.stdout.readline().strip()
        single = SingleSignOn(issuer=issuer, client_id="medrcube", name="Hospital account")
        monkeypatch.setattr(settings, "SITE", ReviewSettings(single_sign_on=single))
        monkeypatch.setenv("MEDRCUBE_REVIEW_OIDC_SECRET", "s3cret-of-the-client")
        yield issuer
        process.kill()


def narrow(page):
    page.set_viewport_size({"width": NARROW, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    page.set_viewport_size({"width": 1440, "height": 900})


def test_a_second_factor_by_the_keyboard_alone(person, site, page, sign_in, assert_accessible):
    person("reviewer", email="reviewer@example.org")
    sign_in(page, site, "reviewer@example.org")
    page.goto(f"{site.address}/me/")
    page.get_by_role("link", name="Set it up").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Set it up").wait_for()
    box = page.locator("svg.qr").bounding_box()
    assert box["width"] >= 180
    page.get_by_text("No camera?").focus()
    page.keyboard.press("Enter")
    authenticator = pyotp.TOTP(page.locator(".secret code").inner_text())
    assert_accessible(page, "set-up")
    narrow(page)
    page.keyboard.press("Tab")
    page.keyboard.type(authenticator.now())
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Recovery codes").wait_for()
    assert page.locator(".codes li").count() == 10
    assert_accessible(page, "recovery codes")
    narrow(page)
    page.get_by_role("button", name="Sign out").click()
    SecondFactor.objects.update(last_step=0)
    page.get_by_label("E-mail address").fill("reviewer@example.org")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Code from your authenticator app")).to_be_focused()
    assert_accessible(page, "code")
    narrow(page)
    page.keyboard.type("000000")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    assert_accessible(page, "wrong code")
    page.keyboard.type(authenticator.now())
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()
    page.goto(f"{site.address}/me/second-factor/")
    assert_accessible(page, "change")
    narrow(page)


def test_the_way_to_the_provider_is_one_link(site, provider, page, assert_accessible):
    page.goto(f"{site.address}/sign-in/")
    link = page.get_by_role("link", name="Sign in by Hospital account")
    assert_accessible(page, "sign-in")
    page.set_viewport_size({"width": NARROW, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    assert page.evaluate(SMALL) == []
    assert link.get_attribute("href") == "/sign-in/provider/"

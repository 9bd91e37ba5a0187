"""What every page keeps to: rules of accessibility, the width of a phone, targets for a thumb."""

from axe_playwright_python.sync_playwright import Axe

NARROW = 360
SMALL = """() => [
        ...document.querySelectorAll("main button, .choice, summary, .top a, main .button")
    ].filter(part => part.getClientRects().length && part.getBoundingClientRect().height < 43.5)
    .map(part => part.outerHTML)"""


def assert_accessible(page, what):
    """By every rule of axe, in the light scheme and, for what depends on it, in the dark one."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
    violations = Axe().run(page).response["violations"]
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    contrast = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
    violations += Axe().run(page, options=contrast).response["violations"]
    assert [(flaw["id"], flaw["nodes"][0]["target"]) for flaw in violations] == [], what

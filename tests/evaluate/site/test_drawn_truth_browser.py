"""The drawn truth of an item, in a real browser."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from open_items import open_row, write_open

from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.site.write import write_site

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]


@pytest.fixture(scope="session")
def located(tmp_path_factory, row, write_release):
    """A site with an item that asks for a box."""
    folder = tmp_path_factory.mktemp("located")
    release = write_release(folder / "release", [row(n) for n in range(8)])
    write_open(release, [open_row("box")])
    run_evaluation(load_benchmark(release), open_model("baseline/first"), folder / "run")
    write_site([folder / "run"], release, folder / "site")
    return folder / "site"


@pytest.mark.parametrize("width", [1440, 390])
def test_the_drawn_truth_lies_on_its_image_once_it_is_asked_for(located, browser, width):
    page = browser.new_page(viewport={"width": width, "height": 500})
    page.goto(f"{located.as_uri()}/items.html#item={quote('ALPHA/box-0', safe='')}")
    button = page.get_by_role("button", name="Show a right reply, evidence and replies")
    button.wait_for()
    assert page.locator(".overlaid svg").count() == 0
    button.click()
    page.locator(".overlaid path").wait_for(state="attached")
    image = page.locator(".overlaid img").bounding_box()
    assert page.locator(".overlaid svg").bounding_box() == image
    width = int(page.locator(".overlaid svg").get_attribute("viewBox").split()[2])
    box = page.evaluate(
        "(({ x, width }) => [x, x + width])(document.querySelector('.overlaid path').getBBox())"
    )
    assert [edge / width for edge in box] == [0.25, 0.5]
    assert page.get_by_text("25 to 50 % from the left").is_visible()
    page.close()

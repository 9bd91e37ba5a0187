"""Assignments by the keyboard alone, and the notices about what nobody can finish."""

import pytest
from stage.looks import NARROW
from stage.world import add_item

from medrcube.review.assigning.assignment import AssignmentScope, create_assignment
from medrcube.review.models import Assignment
from medrcube.review.reviewing.policy_change import change_policy

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]


@pytest.fixture
def short(world):
    """A world in which specialists are missing and items are assigned to one reviewer only."""
    for number in range(3):
        add_item(f"breast {number}", anatomy="Breast", modality="Ultrasound", source="mammo")
    change_policy("boss", {"specialists": 1})
    create_assignment(
        world.user("manager"),
        AssignmentScope(source="mammo"),
        [world.user("first").pk],
        mode="only",
    )
    return world


@pytest.mark.parametrize(
    ("who", "address"),
    [("manager", "/assignment/"), ("manager", "/dashboard/"), ("other", "/review/?empty")],
)
def test_notices_are_accessible_and_fit_a_phone(
    short, site, enter, who, address, assert_accessible
):
    page = enter(short, who, viewport={"width": NARROW, "height": 740})
    page.goto(site.address + address)
    assert page.get_by_text("Breast").or_(page.get_by_text("assigned to other")).count()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    assert_accessible(page, address)


def test_an_assignment_is_made_and_ended_with_the_keyboard(world, site, enter):
    page = enter(world, "manager")
    page.goto(f"{site.address}/assignment/")
    reach(page, "Anatomy")
    page.keyboard.type("Brain")
    reach(page, "only to these reviewers")
    page.keyboard.press("ArrowDown")
    reach(page, "reviewer-other")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.get_by_text("Assignment 1 is now in force.").wait_for()
    row = Assignment.objects.get()
    assert (row.anatomy, row.mode) == ("Brain", "first")
    assert [str(user) for user in row.reviewers.all()] == ["reviewer-other"]
    reach(page, "End assignment 1")
    page.keyboard.press("Enter")
    page.get_by_text("Assignment 1 has ended.").wait_for()


def test_specialties_of_a_reviewer_are_stored_with_the_keyboard(world, site, enter):
    page = enter(world, "manager")
    page.goto(f"{site.address}/assignment/")
    reach(page, "reviewer-other: no specialty")
    page.keyboard.press("Enter")
    reach(page, "MRI")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.get_by_text("The specialties of reviewer-other are stored.").wait_for()
    assert world.user("other").specialties == ["MRI"]


NAME = """() => {
    const at = document.activeElement;
    return (at.labels?.length ? at.labels[0].querySelector("span") : at).innerText.trim();
}"""


def reach(page, name):
    """Go with Tab until the part of that name has the focus."""
    names = []
    for _ in range(150):
        page.keyboard.press("Tab")
        names.append(" ".join(page.evaluate(NAME).split()))
        if names[-1] == name:
            return
    raise AssertionError(f"{name!r} is not reached, only {names}")

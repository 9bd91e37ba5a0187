"""A variable that a page is not given fails the test that opens the page."""

from django.template import Context, Template


def test_a_name_that_a_page_is_not_given_is_noticed(undefined):
    page = Template(
        "{{ given }}{{ missing }}{% if absent %}{% endif %}{{ given.size }}", name="page"
    )
    assert page.render(Context({"given": "x"})) == "x"
    assert undefined == ["page: missing", "page: absent", "page: given.size"]
    undefined.clear()

"""The same pages on PostgreSQL, whose types and sorting differ from SQLite's."""

import pytest

from medrcube.review.views.keyset_paging import SIZE

PAGES = {
    "manager": (
        "/items/",
        "/items/?state=adjudication&task=Abnormality+Diagnosis&source=toy&id=0",
        "/items/?gold=1",
        "/items/{item}/",
        "/items/{item}/edit/",
        "/quarantine/",
        "/dashboard/",
        "/dashboard/agreement/",
        "/dashboard/agreement/?stratum=MRI+%7C+Abnormality+Diagnosis+%7C+knowledge",
    ),
    "adjudicator": ("/adjudication/", "/adjudication/{item}/"),
    "administrator": ("/people/", "/people/{person}/", "/trail/", "/trail/?kind=claim.issued"),
}


@pytest.fixture
def item(postgresql, disputed):
    result, _ = disputed()
    return result


@pytest.mark.parametrize("role", list(PAGES))
def test_every_page_is_shown(item, signed_in, role):
    client, user = signed_in(role)
    for address in PAGES[role]:
        reply = client.get(address.format(item=item.pk, person=user.pk))
        assert reply.status_code == 200, address


def test_pages_of_a_list_follow_each_other(postgresql, add_items, signed_in, words):
    ids = sorted(item.pk for item in add_items(SIZE + 3))
    client, _ = signed_in("manager")
    text = words(client.get("/items/", {"after": ids[SIZE - 1]}))
    assert [id_ for id_ in ids if id_[:17] in text] == ids[SIZE:]

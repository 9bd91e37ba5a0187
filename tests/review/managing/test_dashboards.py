import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from medrcube.review.models import Claim, Event
from medrcube.review.quality import progress
from medrcube.review.quality.progress import QueueForecast
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.policy import current_policy

NOW = timezone.now()


def rows_of(reply, caption):
    """Cells of the table whose caption begins so, row by row, with single blanks."""
    page = reply.content.decode()
    table = re.search(rf"<table[^>]*>\s*<caption>{caption}.*?</table>", page, re.DOTALL)[0]
    body = table.partition("<tbody>")[2]
    return [
        [
            " ".join(re.sub(r"<[^>]+>", " ", cell).split())
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        ]
        for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    ]


def row_of(user):
    return next(row for row in progress.reviewer_progress(current_policy()) if row.key == user.pk)


@pytest.mark.parametrize("role", ["reviewer", "adjudicator", "administrator"])
@pytest.mark.parametrize("page", ["/dashboard/", "/dashboard/agreement/"])
def test_dashboards_are_for_managers(signed_in, project, role, page):
    client, _ = signed_in(role)
    assert client.get(page).status_code == 404
    assert client.post(page).status_code == 404


def test_an_empty_project_has_a_dashboard(signed_in, project, words):
    client, _ = signed_in("manager")
    assert "No queued item needs another review." in words(client.get("/dashboard/"))
    assert "not known yet" in words(client.get("/dashboard/agreement/"))


def test_items_are_counted_by_kind_and_state(signed_in, add_items, person):
    add_items(3)
    add_items(2, state="accepted")
    add_items(1, anatomy="Lungs", modality="CT", state="rejected")
    add_items(4, gold_defect="KEY_WRONG")
    claim_next(person())
    client, _ = signed_in("manager")
    rows = rows_of(client.get("/dashboard/"), "Items by anatomy")
    assert rows == [
        ["Brain", "MRI", "Modality Recognition", "3", "2", "0", "1", "5"],
        ["Lungs", "CT", "Modality Recognition", "0", "0", "1", "0", "1"],
        ["All", "3", "2", "1", "1", "6"],
    ]


def test_a_claim_that_is_over_is_not_in_review(add_items, person):
    add_items(1)
    claim_next(person(), NOW - timedelta(hours=2))
    (voxel,) = progress.voxel_progress(NOW)
    assert voxel.in_review == 0


def test_a_reviewer_is_measured_by_valid_reviews(add_items, person, review):
    add_items(4)
    user = person()
    for decision, option in (("accept", 0), ("accept", 1), ("reject", None), ("accept", 0)):
        review(user, decision, option=option)
    last = Claim.objects.order_by("-pk").first()
    Claim.objects.filter(pk=last.pk).update(released_at=NOW, outcome="voided")
    row = row_of(user)
    assert row.done == 3
    assert row.decisions == {"accept": 2 / 3, "revise": 0, "reject": 1 / 3}
    assert (row.blind.value, row.blind.items) == (1 / 3, 3)


def test_the_median_time_is_one_that_was_taken(add_items, person, review):
    add_items(5)
    user = person()
    for seconds in (10, 20, 200, 400, 30):
        review(user, seconds=seconds)
    assert row_of(user).seconds == 30


def test_gold_items_measure_and_do_not_count(project, add_items, person, review):
    project(gold_rate=1.0)
    add_items(2)
    add_items(2, gold_defect="KEY_WRONG")
    user = person()
    review(user, "reject", reasons=[("KEY_WRONG", None)])
    review(user, "accept")
    row = row_of(user)
    assert (row.gold_found, row.gold_seen, row.done) == (1, 2, 0)
    assert progress.reason_counts() == []


def test_reasons_are_counted_the_most_frequent_first(signed_in, add_items, person, review):
    add_items(3)
    user = person()
    for reasons in ([("TRIVIAL", None)], [("KEY_WRONG", None), ("TRIVIAL", None)]):
        review(user, "reject", reasons=reasons)
    assert progress.reason_counts() == [("TRIVIAL", 2), ("KEY_WRONG", 1)]
    client, _ = signed_in("manager")
    rows = rows_of(client.get("/dashboard/"), "How often each reason")
    assert rows == [["Trivial", "TRIVIAL", "2"], ["Key wrong", "KEY_WRONG", "1"]]


def test_times_fall_into_classes():
    durations = {1: {15: 2, 16: 1}, 2: {600: 1, 601: 4}}
    classes = dict(progress.time_histogram(durations))
    assert classes["up to 15 s"] == 2
    assert classes["up to 30 s"] == 1
    assert classes["up to 10 min"] == 1
    assert classes["over 10 min"] == 4
    assert sum(classes.values()) == 8


def test_the_forecast_is_what_is_missing_over_the_pace(add_items, person, review):
    add_items(10)
    user = person()
    for day in (20, 3, 2, 1):
        at = NOW - timedelta(days=day)
        review(user, now=at)
    forecast = progress.queue_forecast(current_policy(), NOW, progress.seconds_taken())
    assert forecast.missing == 16
    assert forecast.lately == 3
    assert forecast.days == pytest.approx(16 / (3 / 7))


@pytest.mark.parametrize(
    ("days", "sentence"),
    [
        (None, ""),
        (0.04, "less than a day"),
        (1.0, "1 day"),
        (4.25, "4.2 days"),
        (31.4, "31 days"),
        (700, "700 days"),
        (30751.0, "84 years"),
        (730_000.0, "2,000 years"),
    ],
)
def test_the_time_that_is_left_is_told_in_words(days, sentence):
    forecast = QueueForecast(missing=1, lately=1, days=days, hours=None)
    assert forecast.time_left == sentence


def test_counts_of_the_progress_page_are_grouped_and_agree_with_their_nouns(
    signed_in, add_items, person, review, monkeypatch
):
    add_items(3)
    review(person())
    few = progress.queue_forecast
    monkeypatch.setattr(
        progress, "queue_forecast", lambda *facts: replace(few(*facts), missing=30_751)
    )
    client, _ = signed_in("manager")
    text = client.get("/dashboard/").content.decode()
    assert "30,751" in text
    assert "1 review in the last 7 days" in text


def test_without_reviews_there_is_no_forecast(add_items):
    add_items(1)
    forecast = progress.queue_forecast(current_policy(), NOW, {})
    assert (forecast.missing, forecast.days, forecast.hours) == (2, None, None)


def test_reviewers_are_shown_by_pseudonym(signed_in, add_items, person, review):
    add_items(1)
    user = person()
    review(user)
    client, _ = signed_in("manager")
    page = client.get("/dashboard/").content.decode()
    assert user.pseudonym in page
    assert user.email not in page


def test_a_manager_pauses_a_reviewer_and_lets_them_in_again(signed_in, person):
    user = person()
    client, manager = signed_in("manager")
    for form, paused in (("pause", True), ("resume", False)):
        form_data = {"form": form, "reviewer": user.pk, "note": "talked by telephone"}
        assert client.post("/dashboard/", form_data).status_code == 302
        user.refresh_from_db()
        assert user.paused is paused
    events = Event.objects.filter(object=f"reviewer:{user.pseudonym}")
    assert [event.kind for event in events] == ["reviewer.paused", "reviewer.resumed"]
    assert {event.actor for event in events} == {manager.pseudonym}


@pytest.mark.parametrize(
    ("form_data", "status"),
    [
        ({"form": "pause", "note": " "}, 422),
        ({"form": "resume", "note": "TYPED"}, 409),
        ({"form": "delete", "note": "TYPED"}, 422),
        ({"form": "pause", "note": "TYPED", "reviewer": "99999"}, 409),
        ({"form": "pause", "note": "TYPED", "reviewer": "x"}, 409),
    ],
)
def test_a_pause_that_cannot_be_changes_nothing(signed_in, person, form_data, status):
    user = person()
    client, _ = signed_in("manager")
    reply = client.post("/dashboard/", {"reviewer": user.pk, **form_data})
    assert reply.status_code == status
    if status == 409:
        assert b"TYPED" in reply.content
    user.refresh_from_db()
    assert not user.paused


def test_the_whole_panel_stands_beside_its_table(signed_in, disputed, add_shown, review):
    _, reviewers = disputed()
    add_shown()
    for user in reviewers:
        review(user)
    client, _ = signed_in("manager")
    reply = client.get("/dashboard/agreement/")
    figures = {row[0]: row[1:] for row in rows_of(reply, "Agreement in all strata")}
    assert list(figures) == [
        "Raw agreement",
        "Cohen&#x27;s kappa",
        "Fleiss&#x27; kappa",
        "Krippendorff&#x27;s alpha",
        "Brennan-Prediger",
        "Gwet&#x27;s AC1",
        "Agreement on rejects",
        "Blind answers right",
    ]
    assert figures["Raw agreement"][0] == "0.500"
    assert figures["Blind answers right"][0] == "0.750"
    first = reviewers[0].pseudonym < reviewers[1].pseudonym
    assert rows_of(reply, "Decisions") == [
        ["accept", "1", "0", "1" if first else "0"],
        ["revise", "0", "0", "0"],
        ["reject", "0" if first else "1", "0", "0"],
    ]


def test_every_stratum_has_its_verdict_and_a_panel_of_its_own(signed_in, disputed, words):
    disputed(stratum="CT & MRI | a")
    client, _ = signed_in("manager")
    page = client.get("/dashboard/agreement/").content.decode()
    link = re.search(r'href="([^"]+stratum=[^"]+)"', page)[1]
    assert "not good enough to be released" in page
    reply = client.get(link)
    assert "CT &amp; MRI | a" in words(reply)
    assert len(rows_of(reply, "Agreement in CT")) == 8


def test_a_stratum_without_reviews_is_404(signed_in, project):
    client, _ = signed_in("manager")
    assert client.get("/dashboard/agreement/?stratum=none").status_code == 404


def test_charts_carry_no_style_and_stand_beside_tables(signed_in, disputed):
    disputed()
    client, _ = signed_in("manager")
    for address in ("/dashboard/", "/dashboard/agreement/"):
        page = client.get(address).content.decode()
        charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        assert charts
        assert not re.search(r"\sstyle=", page)
        names = re.findall(r'\sid="([^"]+)"', page)
        assert len(names) == len(set(names))
        for table in re.findall(r"<table.*?</table>", page, re.DOTALL):
            assert "<caption>" in table
            assert not re.findall(r"<th(?![^>]*\sscope=)[\s>]", table)


def test_a_dashboard_does_not_ask_the_database_for_every_item(signed_in, add_items, person, review):
    client, _ = signed_in("manager")
    statements = []

    def note(execute, sql, params, many, context):
        statements.append(sql)
        return execute(sql, params, many, context)

    counts = []
    for _ in range(2):
        add_items(30)
        review(person())
        with connection.execute_wrapper(note):
            client.get("/dashboard/")
        counts.append(len(statements))
        statements.clear()
    assert counts[1] - counts[0] <= 2  # the gold items of one more reviewer

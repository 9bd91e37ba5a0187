"""Remarks of outsiders are taken in as plain text, and seen after the blind answer alone."""

import csv
import json

import pytest
from django.db import DatabaseError, transaction
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.review.audit_trail.event_chain import verify_chain
from medrcube.review.audit_trail.replay import verify_trail
from medrcube.review.errors import ReviewError
from medrcube.review.exchange.remarks import MOST_OF_AN_ITEM, import_remarks
from medrcube.review.models import Item, Remark
from medrcube.review.views.remark_form import LONGEST

TEXT = "Option B is right as well: the rim is thick."


@pytest.fixture
def file(tmp_path):
    """Write rows as JSON lines: ``file({"id": "a", "text": "..."})``."""

    def write(*rows):
        path = tmp_path / "remarks.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def take(path, **options):
    return import_remarks(path, **{"origin": "site form", **options})


def test_remarks_are_taken_in_once_and_stand_in_the_trail(three, file):
    path = file({"id": "a", "text": TEXT}, {"item": "TOY/b", "text": TEXT})
    first, again = take(path), take(path)
    assert (first.added, first.already_imported, first.items) == (
        2,
        0,
        {"a": "queued", "b": "queued"},
    )
    assert (again.added, again.already_imported, again.items) == (0, 2, {})
    assert verify_trail().fault == "" == verify_chain().fault


def test_a_csv_of_an_issue_form_is_read(three, tmp_path):
    with (tmp_path / "r.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerows([["dataset", "id", "remark"], ["TOY", "a", TEXT]])
    assert take(tmp_path / "r.csv").added == 1


def test_items_that_the_queue_does_not_have_are_named(three, file):
    rows = [{"id": name, "text": TEXT} for name in ("nobody", "BUSI/a", "a")]
    report = take(file(*rows))
    assert (report.added, report.unknown) == (1, ("nobody", "BUSI/a"))


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"text": TEXT}, "has no item"),
        ({"id": "a"}, "has no text"),
        ({"id": "a", "text": " \n "}, "has no text"),
        ({"id": "a", "text": ["x"]}, "has no text"),
        ({"id": "a", "text": "x" * (LONGEST + 1)}, "at most 2,000"),
        ({"id": "a", "text": "see <b>this</b>"}, "markup"),
        ({"id": "a", "text": "<script>alert(1)</script>"}, "markup"),
        ({"id": "a", "text": "&lt;b&gt;"}, "markup"),
        ({"id": "a", "text": "write to jane@example.org"}, "address"),
        ({"id": "a", "text": "turned \u202e round"}, "invisible characters"),
        ({"id": "a", "text": "bell \x07"}, "invisible characters"),
    ],
)
def test_a_row_that_cannot_be_taken_is_named_and_ends_nothing(three, file, row, reason):
    report = take(file(row, {"id": "b", "text": "A mass of < 5 mm & no rim."}))
    assert [entry.place for entry in report.refused] == ["line 1"]
    assert reason in report.refused[0].reason
    assert report.added == 1


def test_a_flood_on_one_item_is_cut_off(three, file):
    rows = [{"id": "a", "text": f"{TEXT} {number}"} for number in range(MOST_OF_AN_ITEM + 3)]
    report = take(file(*rows))
    assert (report.added, len(report.refused)) == (MOST_OF_AN_ITEM, 3)


@pytest.mark.parametrize("origin", ["", "jane@example.org", "<b>", "x" * 61])
def test_the_origin_is_a_name_of_a_place(three, file, origin):
    with pytest.raises(ReviewError, match="--origin"):
        take(file({"id": "a", "text": TEXT}), origin=origin)


@pytest.mark.parametrize("change", [lambda rows: rows.update(text="x"), lambda rows: rows.delete()])
def test_the_database_itself_refuses_to_change_a_remark(three, file, change):
    take(file({"id": "a", "text": TEXT}))
    with pytest.raises(DatabaseError), transaction.atomic():
        change(Remark.objects.all())
    assert Remark.objects.get().text == TEXT


def test_a_gold_item_gets_no_remark(three, file):
    Item.objects.filter(pk="a").update(gold_defect="KEY_WRONG")
    assert take(file({"id": "a", "text": TEXT})).unknown == ("a",)


def test_a_reviewer_sees_it_after_the_blind_answer_and_never_before(take_claim, file):
    client, _, claim = take_claim()
    take(file({"id": claim.version.item_id, "text": TEXT}))
    page = f"/review/{claim.token}/"
    assert TEXT not in client.get(page).content.decode()
    answer = {"option": "0", "confidence": "2", "needs_image": "yes", "image_adequate": "yes"}
    client.post(f"{page}blind/", answer)
    assert TEXT in client.get(page).content.decode()


def test_the_command_counts_and_ends_with_1_where_something_was_left(three, file, monkeypatch):
    monkeypatch.setattr("medrcube.cli.review.remarks.open_queue", lambda directory: directory)
    path = file({"id": "a", "text": TEXT}, {"id": "z", "text": TEXT})
    ran = CliRunner().invoke(app, ["review", "remarks", ".", str(path)])
    assert ran.exit_code == 1, ran.output
    assert "UNKNOWN z" in ran.output
    assert "1 remark on 1 item imported" in ran.output

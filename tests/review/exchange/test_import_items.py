from dataclasses import replace

import pandas as pd
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medrcube.errors import WorkspaceError
from medrcube.review.audit_trail.event_chain import chain_head, verify_chain
from medrcube.review.exchange import image_store, import_items
from medrcube.review.models import Asset, Disclosure, Event, Item, ItemVersion, Review
from medrcube.review.quality.gold_items import make_gold
from medrcube.review.reviewing import claims
from medrcube.review.reviewing.decisions import adjudicate
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.reviewing.policy import queue_lot
from medrcube.review.reviewing.prioritization import BLIND, CONFLICT, RARE, WARNED, ModelDoubts


def version(name, number=1):
    return ItemVersion.objects.get(item_id=name, number=number)


def test_an_item_becomes_a_queued_version_with_all_that_a_reviewer_needs(bench, take_in):
    item = bench.add("a", warnings=("longest-is-key",))
    report = take_in(titles={"toy": "A toy source"})
    result = version("a")
    assert (report.added, report.refused) == (1, [])
    assert (result.item.state, result.item.reviews) == ("queued", 0)
    assert (result.question, result.key) == (item.question, item.key)
    assert [option["text"] for option in result.options] == [option.text for option in item.options]
    assert result.options[1] == {
        "text": "meningioma",
        "concept": "meningioma",
        "ids": ["hpo:HP:0000001"],
        "versions": ["2026-01"],
        "named_by": "",
        "word": "",
        "strategy": "predefined",
        "grade": "A",
        "passed": [1, 2, 3],
        "similarity": 0.25,
        "difficulty": "",
    }
    assert result.warnings == ["longest-is-key"]
    assert result.item.stratum == "MRI | Disease Diagnosis | predefined"
    assert result.item.lot == queue_lot(7, "a")
    provenance = result.provenance
    assert provenance["source"] == "toy: A toy source"
    assert (provenance["case"], provenance["slice"]) == ("case-a", "3")
    assert (provenance["licence"], provenance["slice_reason"]) == ("CC-BY-4.0", "the largest")


def test_the_picture_is_stored_anew_and_not_in_a_row(bench, take_in, database):
    bench.add("a")
    take_in()
    asset = Asset.objects.get()
    assert image_store.load_image(asset).startswith(b"\x89PNG")
    assert b"IDAT" not in connection.connection.serialize()


def test_the_same_items_again_do_nothing(three, take_in):
    before = (chain_head(), Item.objects.count(), Asset.objects.count())
    report = take_in()
    assert (report.unchanged, report.added, report.changed, report.pictures) == (3, 0, 0, 0)
    assert (chain_head(), Item.objects.count(), Asset.objects.count()) == before


def test_a_change_in_the_workspace_is_a_new_version_that_waits_again(three, take_in, review):
    review()
    assert Item.objects.get(pk="a").state == "accepted"
    three.change("a", question="Which diagnosis fits this MRI image?")
    report = take_in()
    item, new = Item.objects.get(pk="a"), version("a", 2)
    assert (report.changed, report.unchanged, report.edits_replaced) == (1, 2, 0)
    assert (item.state, item.version, item.reviews) == ("queued", 2, 0)
    assert (new.parent, new.author, item.sole_reviewer) == (version("a"), None, None)
    assert Review.objects.filter(claim__version=version("a")).count() == 2
    kinds = list(Event.objects.filter(object="item:a").values_list("kind", "actor"))[-2:]
    assert kinds == [("item.edit_wanted", "import"), ("item.new_version", "import")]
    assert not verify_chain().fault


def test_another_picture_is_a_change_too(three, take_in):
    other = three.picture("other", case="case-a")
    (three.workspace.root / three.samples["s-a"].image).write_bytes(
        (three.workspace.root / other.image).read_bytes()
    )
    three.samples["s-a"] = replace(three.samples["s-a"], pixel_sha256=other.pixel_sha256)
    assert take_in().changed == 1
    assert version("a", 2).picture != version("a").picture


def test_whoever_holds_the_old_version_loses_it(three, take_in, reviewers):
    claim = claims.claim_next(reviewers[0])
    name = claim.version.item_id
    three.change(name, key=1)
    take_in()
    claim.refresh_from_db()
    assert claim.outcome == "superseded"


@pytest.mark.parametrize("decision", ["reject", "revise"])
def test_what_was_decided_for_good_takes_no_new_version(three, take_in, review, person, decision):
    review({"a": decision})
    three.change("a", key=1)
    report = take_in()
    if decision == "reject":
        assert (report.changed, report.settled) == (0, [("a", "rejected")])
        assert Item.objects.get(pk="a").version == 1
    else:
        assert (report.changed, report.settled) == (1, [])


def test_an_edit_in_the_queue_stands_as_long_as_the_workspace_says_the_same(three, take_in, person):
    editor = person("manager")
    texts = ("glioma", "meningioma", "brain abscess", "infarct")
    change = Edit(
        question="Which diagnosis is right here, in this MRI?", options=texts, key=0, note="n"
    )
    edit("a", 1, editor, change)
    assert take_in().unchanged == 3
    assert Item.objects.get(pk="a").version == 2
    three.change("a", key=1)
    report = take_in()
    assert (report.changed, report.edits_replaced) == (1, 1)
    assert version("a", 3).key == 1
    assert version("a", 2).author == editor


def test_an_item_sent_back_by_an_adjudicator_takes_the_new_wording(three, take_in, review, person):
    review({"a": "revise"})
    adjudicate("a", 1, person("adjudicator"), outcome="revise", rationale="unclear")
    three.change("a", question="Which diagnosis fits this MRI image?")
    assert take_in().changed == 1
    assert Item.objects.get(pk="a").state == "queued"


def test_what_left_the_workspace_is_named_and_stays(three, take_in, states):
    del three.items["b"]
    report = take_in()
    assert report.vanished == ["b"]
    assert states()["b"] == "queued"


def test_a_missing_picture_stops_only_its_item_and_is_taken_later(bench, take_in):
    bench.add("a")
    bench.add("b")
    path = bench.workspace.root / bench.samples["s-a"].image
    data = path.read_bytes()
    path.unlink()
    report = take_in()
    assert [(entry.item, report.added) for entry in report.refused] == [("a", 1)]
    assert "No such file" in report.refused[0].reason
    path.write_bytes(data)
    assert (take_in().added, Item.objects.count()) == (1, 2)


def test_a_picture_is_never_fetched_from_outside(bench, take_in, tmp_path, grey):
    outside = tmp_path / "outside.png"
    outside.write_bytes(grey)
    images = bench.workspace.root / "images"
    (images / "linked").parent.mkdir(parents=True)
    (images / "linked").symlink_to(tmp_path)
    (images / "link.png").symlink_to(outside)
    paths = [
        "images/link.png",
        "images/linked/outside.png",
        "../outside.png",
        str(outside),
        "images/../../outside.png",
        "images/\x00.png",
        "",
        "images",
    ]
    for number, path in enumerate(paths):
        item = bench.add(f"i{number}")
        bench.samples[item.sample] = replace(bench.samples[item.sample], image=path)
    report = take_in()
    assert (report.added, len(report.refused)) == (0, len(paths))
    assert Asset.objects.count() == 0


def test_a_picture_that_is_not_the_one_that_was_built_is_refused(bench, take_in, grey):
    bench.add("a")
    (bench.workspace.root / bench.samples["s-a"].image).write_bytes(grey)
    report = take_in()
    assert "not the one that was built" in report.refused[0].reason


def test_a_file_that_is_no_picture_is_refused(bench, take_in):
    bench.add("a")
    (bench.workspace.root / bench.samples["s-a"].image).write_bytes(b"<svg onload=alert(1)>")
    assert "PNG" in take_in().refused[0].reason


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> in this MRI image?",
        "\u202eWhich diagnosis fits this MRI image?",
        "Which diagnosis fits \u2028 this MRI image \U0001f9e0?",
        "{{ 7*7 }} {% debug %} fits this MRI image?",
        "'; DROP TABLE review_item; -- fits this MRI image?",
        "MRI image " * 999 + "in brief?",
    ],
)
def test_strange_text_is_stored_as_it_is(bench, take_in, text):
    bench.add("a", question=text)
    assert take_in().refused == []
    assert version("a").question == text


@pytest.mark.few(2)
@pytest.mark.parametrize("sign", ["\x00", "\x1b", "\x7f", "\x08"])
def test_text_with_control_characters_is_refused(bench, take_in, sign):
    bench.add("a", question=f"Which diagnosis {sign}fits this MRI image?")
    bench.add("b", options=(*bench.items["a"].options[:3], _with(bench, f"in{sign}farct")))
    assert [entry.item for entry in take_in().refused] == ["a", "b"]


def _with(bench, text):
    return replace(bench.items["a"].options[3], text=text)


def test_half_a_surrogate_pair_is_refused(bench, take_in):
    bench.add("a")
    word = replace(bench.items["a"].options[1], word="\ud800")
    bench.change("a", options=(bench.items["a"].options[0], word, *bench.items["a"].options[2:]))
    assert "control character" in take_in().refused[0].reason


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"question": "MRI " * 2_500 + "?"}, "at most 10000"),
        ({"source": "s" * 65}, "source: 65"),
        ({"strategy": "s" * 200}, "modality, task and strategy"),
        ({"sample": "nowhere"}, "not in the table of samples"),
        ({"key": 9}, "item rule"),
        ({"key": -1}, "item rule"),
        ({"question": "no question"}, "item rule"),
        ({"options": ()}, "0 options"),
    ],
)
def test_an_unfit_item_is_refused_with_its_reason(bench, take_in, changes, reason):
    bench.add("a")
    bench.change("a", **changes)
    bench.add("b")
    report = take_in()
    assert (report.added, [entry.item for entry in report.refused]) == (1, ["a"])
    assert reason in report.refused[0].reason


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ["a/b", "..", "", "x" * 65, "a b", "\u202e", "a\n"])
def test_an_id_that_could_not_stand_in_an_address_is_refused(bench, take_in, name):
    bench.add("a")
    bench.items = {name: replace(bench.items["a"], id=name)}
    assert "its id" in take_in().refused[0].reason


def test_an_id_that_stands_twice_is_refused(bench, take_in):
    bench.items = {"1": bench.add("a"), "2": bench.add("a")}
    report = take_in()
    assert (report.added, len(report.refused)) == (0, 2)


def test_a_malformed_row_does_not_stop_the_others(three, take_in, database):
    three.add("d")
    workspace = three.write()
    frame = pd.read_parquet(workspace.items)
    frame.loc[frame["id"] == "a", "details"] = "{not json"
    frame.loc[frame["id"] == "b", "details"] = '[{"unknown": 1}]'
    frame.to_parquet(workspace.items)
    report = import_items.import_workspace(workspace, import_items.Reporter(quiet=True))
    assert (report.added, [entry.item for entry in report.refused]) == (1, ["a", "b"])
    assert report.vanished == []


def test_a_table_that_is_none_is_named(bench, database):
    workspace = bench.write()
    workspace.items.write_bytes(b"PAR1 and no more")
    with pytest.raises(WorkspaceError, match=r"items\.parquet: cannot be read"):
        import_items.import_workspace(workspace, import_items.Reporter(quiet=True))


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("case", "is_shown"),
    [
        ("patient101-ED", True),
        ("00000013_005", True),
        ("1.2.840.113619.2.55", False),
        ("scan_20190412", False),
        ("scan-2019-04-12-b", False),
        ("jane@example.org", False),
    ],
)
def test_a_case_key_is_shown_unless_it_may_lead_to_a_person(bench, take_in, case, is_shown):
    bench.add("a", case=case)
    take_in()
    assert (version("a").provenance.get("case") == case) is is_shown
    assert (case.encode() in connection.connection.serialize()) is is_shown


def test_in_a_restored_queue_new_items_join_their_cases(bench, take_in, monkeypatch):
    for name in "ab":
        bench.add(name, case="one")
    take_in()
    before = set(Item.objects.values_list("case_key", flat=True))
    monkeypatch.setattr("django.conf.settings.SECRET_KEY", "of a server without the old key")
    bench.add("c", case="one")
    take_in()
    after = set(Item.objects.values_list("case_key", flat=True))
    assert (len(before), len(after), before & after) == (1, 1, set())
    assert Disclosure.objects.count() == 3 * 2


def test_the_hash_of_a_patient_is_never_taken_over(three):
    assert b"patient-hash-sentinel" not in connection.connection.serialize()


def test_a_question_about_a_mark_comes_with_both_pictures(bench, take_in):
    item = bench.add("a")
    bench.samples[item.sample] = replace(bench.samples[item.sample], case="k")
    marked = bench.picture("marked", artefact="outline", case="k")
    bench.add("b")
    bench.change("b", sample=marked.id)
    take_in()
    clean, asks = version("a"), version("b")
    assert (clean.asks_mark, asks.asks_mark) == (False, True)
    assert clean.picture == asks.picture
    assert clean.overlay == asks.overlay is not None
    assert asks.overlay != asks.picture


def test_a_marked_picture_without_a_clean_one_stands_alone(bench, take_in):
    marked = bench.picture("marked", artefact="outline", case="k")
    bench.add("b")
    bench.change("b", sample=marked.id)
    take_in()
    assert (version("b").asks_mark, version("b").overlay) == (False, None)


def test_doubtful_items_come_first(bench, take_in):
    for name in "abcdefgh":
        bench.add(name)
    bench.change("c", warnings=("one", "two"))
    bench.change("d", strategy="knowledge")
    take_in(doubts=ModelDoubts(conflict=frozenset("a"), blind=frozenset("ab")))
    priorities = dict(Item.objects.values_list("id", "priority"))
    assert priorities["a"] == CONFLICT + BLIND
    assert (priorities["b"], priorities["c"], priorities["d"], priorities["e"]) == (
        BLIND,
        WARNED,
        RARE,
        0,
    )
    report = take_in()
    assert (report.reordered, Item.objects.get(pk="a").priority) == (0, CONFLICT + BLIND)
    assert take_in(doubts=ModelDoubts()).reordered == 2
    assert Item.objects.get(pk="a").priority == 0


def test_items_that_get_another_priority_are_moved_together(bench, take_in):
    for name in "abcdef":
        bench.add(name)
    take_in(doubts=ModelDoubts(conflict=frozenset("abcd")))
    with CaptureQueriesContext(connection) as queries:
        assert take_in(doubts=ModelDoubts()).reordered == 4
    moves = [
        entry for entry in queries if entry["sql"].startswith('UPDATE "review_item" SET "priority"')
    ]
    assert len(moves) == 1


def test_an_import_that_was_killed_goes_on(bench, take_in, monkeypatch):
    for number in range(7):
        bench.add(f"i{number}")
    monkeypatch.setattr(import_items, "_AT_ONCE", 2)
    store_calls, store = [], image_store.store_image

    def dies(data):
        if len(store_calls) == 5:
            raise KeyboardInterrupt
        store_calls.append(data)
        return store(data)

    monkeypatch.setattr(image_store, "store_image", dies)
    with pytest.raises(KeyboardInterrupt):
        take_in()
    assert Item.objects.count() == 4
    monkeypatch.setattr(image_store, "store_image", store)
    report = take_in()
    assert (report.added, report.unchanged, Item.objects.count()) == (3, 4, 7)
    assert ItemVersion.objects.count() == 7
    assert not verify_chain().fault


def test_gold_items_are_not_taken_for_vanished(three, take_in, person):
    texts = ("glioma", "meningioma", "abscess", "infarct")
    change = Edit(
        question="Which diagnosis applies to this MRI image?", options=texts, key=2, note="n"
    )
    three.add("0123456789abcdef")
    take_in()
    make_gold("0123456789abcdef", 1, person("manager"), defect="KEY_WRONG", change=change)
    report = take_in()
    assert (report.vanished, report.unchanged) == ([], 4)


@pytest.mark.thorough
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60), name=st.text(max_size=8))
def test_any_text_is_stored_as_it_is_or_refused(bench, take_in, text, name):
    """Never a crash, never half of it; the same items are reused for every example."""
    bench.items, bench.samples = {}, {}
    bench.add("a", question=f"{text} in this MRI image?")
    bench.change("a", variant=name.encode("utf-8", "ignore").decode())
    try:
        report = take_in()
    except UnicodeEncodeError:
        return  # the table itself cannot hold it
    last = ItemVersion.objects.filter(item_id="a").order_by("number").last()
    assert report.refused or last.question == f"{text} in this MRI image?"


def test_the_work_folder_is_left_as_it_was(three):
    names = {path.name for path in three.workspace.root.iterdir()}
    tables = {"samples.parquet", "items.parquet", "open_items.parquet"}
    tables |= {"recipes.jsonl", "raw_files.jsonl"}
    assert names == {"images", "audit.json", *tables}

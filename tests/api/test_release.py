import asyncio
import json
import shutil
import signal
import threading
from types import MappingProxyType

import pytest

import medrcube
from medrcube.api.event_loop import run_beside_loop
from medrcube.api.release import ITEM_COLUMNS, OPEN_ITEM_COLUMNS
from medrcube.api.run import REPLY_COLUMNS
from medrcube.errors import ModelError, ReleaseError, WorkspaceError
from medrcube.evaluate.models.protocol import Reply
from medrcube.evaluate.runner.run_folder import read_asked
from medrcube.forms import OPEN_FORMS
from medrcube.release_format.vocabulary_file import VOCABULARY, release_vocabulary
from medrcube.taxonomy import Anatomy
from medrcube.vocabulary.layers import using


@pytest.fixture(scope="module")
def release(small_demo):
    return medrcube.load_release(small_demo / "demo/release")


@pytest.fixture(scope="module")
def run(release, tmp_path_factory):
    return release.evaluate("baseline/first", tmp_path_factory.mktemp("run") / "first")


class Slow:
    """A model that answers nothing for an hour."""

    name = "test/slow"
    identity = MappingProxyType({"adapter": "test"})

    async def answer(self, _request):
        await asyncio.sleep(3600)
        return Reply(text="A")

    async def close(self):
        pass


def test_items_have_the_documented_columns(release):
    items = release.items()
    assert list(items.columns) == list(ITEM_COLUMNS)
    assert items["item"].is_unique
    choice_items = items[items["options"].map(bool)]
    assert all(
        row.options["ABCD".index(row.key)] == row.answer for row in choice_items.itertuples()
    )
    other = items[~items["options"].map(bool)]
    assert len(choice_items) > 0 < len(other)
    assert set(other["key"]) == {""}
    assert all(other["answer"])


def test_open_items_have_the_documented_columns_and_a_row_in_the_table_of_items(release):
    table, items = release.open_items(), release.items().set_index("item")
    assert list(table.columns) == list(OPEN_ITEM_COLUMNS)
    assert {"point", "box", "option"} <= set(table["form"])
    assert set(table["item"]) < set(items.index)
    assert (table["question"].to_numpy() == items.loc[table["item"], "question"]).all()
    assert table["chance"].between(0, 1).all()
    for row in table[table["form"] != "option"].itertuples():
        target = OPEN_FORMS[row.form].read_target(row.ask, row.truth)
        assert OPEN_FORMS[row.form].right_reply(target) == items.loc[row.item, "answer"]


def test_every_image_of_the_release_opens(release):
    items = release.items().drop_duplicates("image")
    assert items["present"].all()
    assert all(min(release.image(item).size) > 0 for item in items["item"])


def test_an_unknown_item_is_an_error_that_says_what_a_name_looks_like(release):
    with pytest.raises(ReleaseError, match=r"has no item 'x'; expected .* DATASET/ID"):
        release.image("x")


def test_an_image_that_is_withheld_is_told_how_to_rebuild(small_demo, tmp_path):
    shutil.copytree(small_demo / "demo/release", tmp_path / "release")
    shutil.rmtree(tmp_path / "release/VINDR-CXR/pictures")
    release = medrcube.load_release(tmp_path / "release")
    items = release.items()
    withheld = items[~items["present"]]
    assert set(withheld["dataset"]) == {"VINDR-CXR"}
    with pytest.raises(ReleaseError, match="medrcube reconstruct"):
        release.image(withheld["item"].iloc[0])


def test_a_notebook_shows_no_restricted_image(release):
    html = release._repr_html_()
    assert html.count("<img") == 1
    assert "<td>VINDR-CXR</td>" in html


def test_the_accuracy_of_a_run_is_that_of_its_replies(release, run):
    replies = run.replies()
    assert list(replies.columns) == list(REPLY_COLUMNS)
    assert len(replies) == len(release.items())
    assert run.accuracy == pytest.approx((replies["outcome"] == "correct").mean())
    assert run.complete
    assert run.model == "baseline/first"


def test_a_run_that_was_read_again_is_the_same(run):
    again = medrcube.load_run(str(run.path))
    assert again.metrics == run.metrics
    assert {"runs", "slices", "items"} <= again.tables().keys()


def test_a_run_is_not_read_with_another_release(run, release, tmp_path):
    assert medrcube.load_run(run.path, release.path).metrics == run.metrics
    shutil.copytree(release.path, tmp_path / "other")
    table = next((tmp_path / "other").glob("*/test.json"))
    rows = json.loads(table.read_text())
    table.write_text(
        json.dumps([{**row, "question": f"{row['question']} Please."} for row in rows])
    )
    with pytest.raises(WorkspaceError, match="was asked about another release"):
        medrcube.load_run(run.path, tmp_path / "other")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReleaseError):
        medrcube.load_run(run.path, tmp_path / "empty")


def test_a_folder_that_is_a_file_is_no_run(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match=r"is not a run \(manifest.json: Not a directory\)"):
        medrcube.load_run(tmp_path / "file")


def test_names_of_tasks_and_datasets_narrow_the_choice(release, tmp_path):
    run = release.evaluate(
        "baseline/first", tmp_path / "run", tasks=["roi grounding"], datasets=["busi"]
    )
    assert set(run.replies()["task"]) == {"ROI Grounding"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": "nobody/x"}, ModelError, "no provider 'nobody'"),
        ({"conditions": ["dark"]}, WorkspaceError, "no condition 'dark'"),
        ({"tasks": ["Cooking"]}, medrcube.MedrcubeError, "'Cooking' is not a known task"),
    ],
)
def test_a_wrong_name_is_an_error_of_the_package(release, tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        release.evaluate(**{"model": "baseline/first", "out": tmp_path / "run", **options})


def test_a_run_that_is_incomplete_warns(small_demo, tmp_path):
    shutil.copytree(small_demo / "demo/release", tmp_path / "release")
    shutil.rmtree(tmp_path / "release/VINDR-CXR/pictures")
    release = medrcube.load_release(tmp_path / "release")
    with pytest.warns(RuntimeWarning, match="incomplete: too many questions"):
        run = release.evaluate("baseline/first", tmp_path / "run")
    assert not run.complete
    assert run.accuracy is None
    assert "INCOMPLETE" in run._repr_html_()


def test_one_report_shows_several_runs(release, run, tmp_path):
    other = release.evaluate("baseline/longest", tmp_path / "longest")
    page = medrcube.write_report([run, other.path], tmp_path / "report.html", release.path)
    text = page.read_text(encoding="utf-8")
    assert "baseline/first" in text
    assert "baseline/longest" in text
    assert run.report(tmp_path / "alone.html").exists()


def test_a_model_is_asked_where_an_event_loop_is_running(release, tmp_path):
    async def cell():
        return release.evaluate("baseline/first", tmp_path / "run", limit=3)

    assert len(asyncio.run(cell()).replies()) == 3


def test_a_run_on_a_task_from_outside_asks_for_its_release(run, tmp_path):
    folder = shutil.copytree(run.path, tmp_path / "run")
    items = folder / "items.jsonl"
    text = items.read_text(encoding="utf-8")
    items.write_text(text.replace('"Disease Diagnosis"', '"Sign Reading"'), encoding="utf-8")
    with pytest.raises(
        WorkspaceError, match=r"'Sign Reading' is not a known task; .* with  --release"
    ):
        read_asked(folder)


def test_words_of_a_release_are_known_where_an_event_loop_is_running(tmp_path):
    (tmp_path / VOCABULARY).write_text('{"anatomy": [{"name": "Eye"}]}', encoding="utf-8")

    async def cell():
        with using(release_vocabulary(tmp_path)):
            return run_beside_loop(lambda _: "Eye" in Anatomy)

    assert asyncio.run(cell())


@pytest.mark.parametrize("after", [0.01, 1.0], ids=["before-the-first-question", "while-asking"])
def test_an_interrupted_cell_ends_the_run(release, tmp_path, after):
    async def cell():
        main = threading.main_thread().ident
        threading.Timer(after, signal.pthread_kill, (main, signal.SIGINT)).start()
        release.evaluate(Slow(), tmp_path / "run")

    # Not asyncio.run, which hears the signal itself: a kernel leaves it to Python.
    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
    finally:
        loop.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("medrcube")]


def test_an_interrupt_while_the_thread_starts_ends_the_function(monkeypatch):
    start, ended = threading.Thread.start, []

    def interrupted(thread):
        start(thread)
        raise KeyboardInterrupt

    def function(interruption):
        async def wait():
            interruption.attach()
            await asyncio.sleep(20)

        try:
            asyncio.run(wait())
        except asyncio.CancelledError:
            ended.append("cancelled")

    async def cell():
        monkeypatch.setattr(threading.Thread, "start", interrupted)
        run_beside_loop(function)

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
    finally:
        loop.close()
    assert ended == ["cancelled"]

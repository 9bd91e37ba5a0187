"""The failures of a report: what is shown, how much of it, with which picture, found by filters."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.protocol import Reply
from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.questions.conditions import OF_ONE_EDITION
from medrcube.evaluate.reporting import failures as module
from medrcube.evaluate.reporting.failures import failure_section, filter_rules
from medrcube.evaluate.reporting.markup import embedded_images
from medrcube.evaluate.reporting.scored_runs import load_runs
from medrcube.evaluate.runner.run import run_evaluation

REFUSAL = "I'm sorry, I can't assist with that."
OPEN = "A and B are both possible."


class ScriptedModel:
    """Answers by the number in the item's id."""

    def __init__(self, name, replies):
        self.name = name
        self.identity = {"adapter": "test/1", "name": name}
        self._replies = replies

    async def answer(self, request):
        text, reason = self._replies[int(request.item[-3:]) % len(self._replies)]
        return Reply(text=text, finish_reason=reason, usage={}, model=self.name, latency=0.0)

    async def close(self):
        pass


@pytest.fixture
def scored(load, tmp_path):
    """Run models with scripted replies over rows; gives the runs and the benchmark."""

    def make(rows, *scripts):
        benchmark = load(*rows)
        folders = []
        for number, replies in enumerate(scripts):
            folders.append(tmp_path / f"run{number}")
            run_evaluation(
                benchmark, ScriptedModel(f"test/{number}", replies), folders[-1], may_send=["ALPHA"]
            )
        return load_runs(folders), benchmark

    return make


def stop(*texts):
    return [(text, "stop") for text in texts]


def test_every_question_that_went_wrong_is_there_and_no_other(scored, row):
    script = [*stop("A", "A", REFUSAL, OPEN), ("A B", "length"), *stop("B", "C", "D")]
    runs, benchmark = scored([row(n) for n in range(8)], script)
    section = failure_section(runs, benchmark)
    assert [card.item.id for card in section.items] == ["q001", "q002", "q003", "q004"]
    assert section.counts == {
        AnswerOutcome.WRONG: 1,
        AnswerOutcome.REFUSED: 1,
        AnswerOutcome.UNPARSED: 1,
        AnswerOutcome.CUT: 1,
    }
    assert section.total == 4


def test_a_question_without_a_reply_is_no_failure_to_look_at(scored, row, tmp_path):
    _, benchmark = scored([row(0, image_path="pictures/none.png"), row(1)], stop("A"))
    (tmp_path / "r/ALPHA/pictures/none.png").unlink()
    run_evaluation(
        load_benchmark(tmp_path / "r"), ScriptedModel("t/x", stop("A")), tmp_path / "again"
    )
    section = failure_section(load_runs([tmp_path / "again"]), benchmark)
    assert [card.item.id for card in section.items] == ["q001"]


def test_a_card_holds_the_reply_of_every_run(scored, row):
    runs, benchmark = scored([row(0)], stop("A"), stop("B"), stop(REFUSAL))
    card = failure_section(runs, benchmark).items[0]
    assert [result.outcome for _, result in card.replies] == ["correct", "wrong", "refused"]


def test_runs_of_another_benchmark_are_left_out(scored, row, write_release, tmp_path):
    runs, benchmark = scored([row(0)], stop("B"))
    other = write_release(tmp_path / "other", [row(0, question="Something else?")])
    run_evaluation(load_benchmark(other), ScriptedModel("t/o", stop("C")), tmp_path / "o")
    cards = failure_section([*runs, *load_runs([tmp_path / "o"])], benchmark).items
    assert [len(card.replies) for card in cards] == [1]


def test_the_number_is_bounded_and_rare_outcomes_come_first(scored, row, monkeypatch):
    monkeypatch.setattr(module, "MOST", 6)
    script = [*stop(*["A"] * 30), *stop(REFUSAL), ("x", "length")]
    tasks = ("Disease Diagnosis", "View Recognition", "Severity Grading")
    rows = [row(n, task=tasks[n % 3], gt_answer="Mass", correct_index=1) for n in range(32)]
    runs, benchmark = scored(rows, script)
    section = failure_section(runs, benchmark)
    assert (len(section.items), section.total) == (6, 32)
    assert {AnswerOutcome.REFUSED, AnswerOutcome.CUT} <= set(section.counts)
    assert len(section.tasks) == 3
    assert failure_section(runs, benchmark).items == section.items


def test_the_filters_hide_exactly_what_does_not_match(scored, row):
    rows = [row(0), row(1, task="View Recognition")]
    runs, benchmark = scored(rows, stop("B", REFUSAL), stop("A", "A"))
    cards = failure_section(runs, benchmark).items
    marks = {card.item.id: set(card.marks.split()) for card in cards}
    assert marks["q000"] == {"t-DD", "any-wrong", "run0-any", "run0-wrong"}
    assert marks["q001"] == {
        "t-VR", "any-refused", "any-wrong", "run0-any", "run0-refused", "run1-any", "run1-wrong",
    }  # fmt: skip
    rules = filter_rules(2)
    assert ".browse:has(#outcome-refused:checked) .card:not(.any-refused)" in rules
    assert ".browse:has(#run-1:checked):has(#outcome-wrong:checked) .card:not(.run1-wrong)" in rules
    assert ".browse:has(#task-VR:checked) .card:not(.t-VR)" in rules


def test_one_run_has_no_filter_of_runs():
    assert not any("#run-" in rule for rule in filter_rules(1))


def test_a_picture_shared_by_questions_is_on_the_page_once(scored, row):
    runs, benchmark = scored([row(0), row(1)], stop("D"))
    section = failure_section(runs, benchmark)
    assert [card.picture for card in section.items] == [0, 0]
    assert len(section.pictures.uris) == 1
    assert section.pictures.uris[0].startswith("data:image/png;base64,")


def test_a_restricted_picture_is_not_even_opened(scored, row, monkeypatch):
    runs, benchmark = scored([row(0, restricted=True)], stop("D"))
    monkeypatch.setattr(embedded_images, "read_picture", lambda *_, **__: pytest.fail("was opened"))
    card = failure_section(runs, benchmark).items[0]
    assert card.picture is None
    assert "may not be redistributed" in card.why_no_picture


def test_the_pictures_stay_within_their_budget(scored, row, monkeypatch):
    runs, benchmark = scored([row(n) for n in range(12)], stop("E is not there"))
    size = (benchmark.root / "ALPHA/pictures/p0.png").stat().st_size
    monkeypatch.setattr(embedded_images, "MOST_BYTES", 3 * size + 20)
    section = failure_section(runs, benchmark)
    assert len(section.pictures.uris) == 3
    assert {card.why_no_picture for card in section.items if card.picture is None} == {
        "Left out to keep this page small."
    }


@pytest.mark.parametrize("mode", ["RGB", "L", "I;16", "RGBA", "P", "1"])
def test_a_large_picture_is_reduced_and_keeps_its_colours(tmp_path, row, write_release, mode):
    image = pytest.importorskip("PIL.Image")
    picture = image.effect_noise((900, 700), 90)
    if mode == "RGB":
        picture = picture.convert("RGB")
        picture.paste((255, 0, 0), (100, 100, 300, 300))
    elif mode == "I;16":
        picture = picture.convert("I").point(lambda value: value * 16).convert("I;16")
    else:
        picture = picture.convert(mode)
    data = io.BytesIO()
    picture.save(data, "PNG", compress_level=0)
    reduced = embedded_images._reduced(
        embedded_images.ImageFile(
            data=data.getvalue() + b"\0" * 60_000, media_type="image/png", sha256=""
        )
    )
    with image.open(io.BytesIO(reduced.data)) as small_image:
        assert max(small_image.size) == embedded_images.LONGEST_SIDE
        assert small_image.size[1] == pytest.approx(448 * 7 / 9, abs=1)
        if mode == "RGB":
            red, green, blue = small_image.getpixel((100, 100))
            assert (red > 240, green < 20, blue < 20) == (True, True, True)
        if mode == "I;16":
            low, high = small_image.convert("L").getextrema()
            assert (low < 40, high > 215) == (True, True)


def test_what_is_no_picture_inside_is_left_out():
    broken = b"\x89PNG\r\n\x1a\n" + b"\0" * 70_000
    picture = embedded_images.ImageFile(data=broken, media_type="image/png", sha256="")
    assert embedded_images._reduced(picture) is None


@pytest.mark.thorough
def test_hostile_replies_stay_text_and_stay_short(scored, row, tmp_path):
    hostile = [
        "<script>alert(1)</script><style>*{display:none}</style>",
        "\x1b[2J\x1b[31m\u202eesrever\u202c " + "\u200b" * 5000,
        "A" * 3_000_000,
        '" onmouseover="alert(2)" x="',
        "</div></article></main><h1>gone</h1>",
        "Z\u0300\u0301\u0302" * 4000,
    ]
    rows = [row(n, gt_answer="Fracture", correct_index=3) for n in range(6)]
    _, benchmark = scored(rows, [(text, "length") for text in hostile])
    write_report([tmp_path / "run0"], tmp_path / "x.html", benchmark.root)
    text = (tmp_path / "x.html").read_text("utf-8")
    body = text[text.index("<body>") :]
    body = body.partition("<script>")[0] + body.partition("</script>")[2]  # that of the page
    assert not re.search(r"<(script|style|h1>gone)", body)
    assert "\x1b" not in text
    assert not set(text) & set("\u202e\u202c\u200b")
    assert not re.search(r"<[^>]* on\w+=", body)
    assert body.count("</article>") == 6
    assert len(text) < 400_000
    assert "characters left out" in text


@pytest.mark.thorough
def test_a_hostile_name_of_a_model_or_a_source_stays_text(load, row, tmp_path):
    name = '"><script>alert(3)</script>\u202e'
    rows = [row(n, dataset="<b>'\"x", question=f"{n}?") for n in range(4)]
    for number in range(2):
        model = ScriptedModel(f"{number}{name}", stop("B"))
        run_evaluation(load(*rows), model, tmp_path / f"n{number}", conditions=OF_ONE_EDITION)
    runs = [tmp_path / "n0", tmp_path / "n1"]
    for selection in (runs, runs[:1]):
        write_report(selection, tmp_path / "x.html")
        text = (tmp_path / "x.html").read_text("utf-8")
        assert text.count("<script") == 1
        assert "<b>'" not in text
        assert "\u202e" not in text


def test_replies_get_shorter_the_more_runs_there_are(scored, row):
    runs, benchmark = scored([row(0)], stop("B"))
    many = [replace(runs[0], label=str(n)) for n in range(24)]
    assert (
        failure_section(many, benchmark).longest_reply
        < failure_section(runs, benchmark).longest_reply
    )


def test_a_run_without_failures_says_so(scored, row, tmp_path):
    _, benchmark = scored([row(0)], stop("A"))
    write_report([tmp_path / "run0"], tmp_path / "x.html", benchmark.root)
    text = (tmp_path / "x.html").read_text("utf-8")
    assert "No question has a wrong, unparsed, refused or cut reply." in text

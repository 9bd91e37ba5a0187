"""The report: one page that says everything, loads nothing and trusts no text."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser

import pytest

from medrcube.errors import WorkspaceError
from medrcube.evaluate import dataset
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.reporting.markup.colour_scales import shade
from medrcube.evaluate.runner.run import run_evaluation

LONG_AGO = 1_600_000_000
HOSTILE = "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>\"'{{ 7*7 }}"


class Page(HTMLParser):
    """Collects tags, attributes and visible text; complains about unbalanced tags."""

    VOID = frozenset({"meta", "img", "br", "col", "hr", "link", "input"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self._open = [], [], "", []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] != "style":
            self.text += data


@pytest.fixture
def report(load, row, tmp_path):
    def make(rows, *models, pictures=True):
        benchmark = load(*rows)
        runs = []
        for model in models or ("baseline/first",):
            runs.append(tmp_path / model.replace("/", "-"))
            run_evaluation(benchmark, open_model(model), runs[-1])
        out = tmp_path / "report.html"
        write_report(runs, out, benchmark.root if pictures else None)
        return out.read_text(encoding="utf-8")

    return make


def test_the_page_is_well_formed_and_loads_nothing(report, row):
    text = report([row(n) for n in range(12)], "baseline/first", "baseline/random")
    page = Page(text)
    assert not {"link", "iframe", "object", "form"} & set(page.tags)
    assert list(page.tags).count("script") == 1
    assert all(value.startswith("data:image/") for name, value in page.attributes if name == "src")
    assert not re.search(r"url\((?!data:image/)|@import|https?://", text)
    assert "default-src 'none'" in text


def test_hostile_text_stays_text(report, row):
    rows = [row(n, question=HOSTILE, option_A=HOSTILE, option_B=HOSTILE + "b") for n in (2, 3, 6)]
    page = Page(report([r | {"dataset": "ALPHA"} for r in rows]))
    assert list(page.tags).count("script") == 1
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert HOSTILE in page.text


def test_the_headline_has_accuracy_interval_and_chance(report, row):
    text = Page(report([row(n) for n in range(16)])).text
    assert "25.0" in text
    assert re.search(r"95 % interval \d+\.\d to \d+\.\d, 8 images; chance 25\.0 %", text)


def test_a_headline_without_an_interval_says_why(report, row):
    text = Page(report([row(n) for n in range(8)])).text
    assert "no interval: fewer than 5 units (4 images); too few to tell; chance 25.0 %" in text


def test_models_that_cannot_be_told_apart_share_a_letter(report, row):
    text = report([row(n) for n in range(40)], "baseline/first", "baseline/random")
    assert "share a letter" in text


def test_a_cell_shows_accuracy_and_size_and_marks_few_questions(report, row):
    rows = [row(n) for n in range(12)] + [row(20, modality="CT", parts="Lungs")]
    text = report(rows)
    assert 'class="cell"' in text
    assert text.count('class="cell few"') == 1
    assert "Disease Diagnosis, X-ray, Chest: 3 of 12 correct = 25.0 %" in text


def test_every_modality_has_a_panel_and_empty_cells_stay_blank(report, row):
    text = report([row(n) for n in range(4)])
    for modality in ("X-ray", "CT", "MRI", "Ultrasound"):
        assert f"<caption>{modality}</caption>" in text
    assert text.count('<td class="none"></td>') == 4 * 8 * 5 - 1


def test_restricted_pictures_are_never_shown(report, row):
    assert "data:image" not in report([row(n, restricted=True) for n in range(4)])


def test_without_the_release_there_are_no_pictures(report, row):
    assert "data:image" not in report([row(1)], pictures=False)


def test_a_picture_that_is_not_the_one_asked_is_not_shown(report, row, tmp_path):
    assert "data:image" in report([row(1)])
    picture = tmp_path / "r/ALPHA/pictures/p0.png"
    picture.write_bytes(picture.read_bytes() + b"x")
    write_report([tmp_path / "baseline-first"], tmp_path / "two.html", tmp_path / "r")
    text = (tmp_path / "two.html").read_text()
    assert "data:image" not in text
    assert "another image here than the one that was asked" in text


def test_only_images_that_changed_since_the_run_are_read_for_the_digest_of_the_release(
    load, row, tmp_path, monkeypatch
):
    benchmark = load(row(0), row(1, image_path="pictures/pp.png"))
    pictures = [benchmark.root / item.image for item in benchmark.items]
    for picture in pictures:
        os.utime(picture, (LONG_AGO, LONG_AGO))
    run, reread = tmp_path / "run", []
    run_evaluation(benchmark, open_model("baseline/first"), run)
    monkeypatch.setattr(dataset, "digest_image", lambda _, image: reread.append(image))
    write_report([run], tmp_path / "report.html", benchmark.root)
    assert reread == []
    os.utime(pictures[1], (LONG_AGO + 1, LONG_AGO + 1))
    write_report([run], tmp_path / "report.html", benchmark.root)
    assert reread == [benchmark.items[1].image]


def test_lost_questions_are_announced_and_kept_apart(report, row, write_release, tmp_path):
    root = write_release(tmp_path / "r2", [row(n) for n in range(8)])
    for name in ("p0", "p1"):
        (root / f"ALPHA/pictures/{name}.png").unlink()
    run_evaluation(load_benchmark(root), open_model("baseline/first"), tmp_path / "run")
    write_report([tmp_path / "run"], tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text()
    assert "is incomplete" in text
    assert "4 missing image" in text


def test_runs_of_different_benchmarks_are_not_compared_silently(row, write_release, tmp_path):
    for name in "ab":
        root = write_release(tmp_path / name, [row(0, question=f"Which, {name}?")])
        run_evaluation(load_benchmark(root), open_model("baseline/first"), tmp_path / f"run-{name}")
    write_report([tmp_path / "run-a", tmp_path / "run-b"], tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text()
    assert "different releases" in text
    assert "baseline/first (run-a)" in text


def test_provenance_names_digest_prompt_and_version(report, row, tmp_path):
    text = report([row(0)])
    manifest = json.loads((tmp_path / "baseline-first/manifest.json").read_text())
    assert manifest["dataset"]["digest"] in text
    assert manifest["prompt"]["version"] in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize("broken", ["nothing", "unscored"])
def test_a_folder_without_scores_says_what_to_do(tmp_path, benchmark, broken):
    run = tmp_path / "run"
    run.mkdir()
    if broken == "unscored":
        run_evaluation(benchmark, open_model("baseline/first"), tmp_path / "ok")
        run = tmp_path / "ok"
        (run / "metrics.json").unlink()
    with pytest.raises(WorkspaceError, match=r"is not a run|medrcube score"):
        write_report([run], tmp_path / "x.html")


def _contrast(first, second):
    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("percent", range(0, 101, 5))
def test_text_on_every_shade_can_be_read(percent):
    outcome = shade(percent / 100, 0.25)
    assert _contrast(outcome.light, outcome.light_text) >= 4.5
    assert _contrast(outcome.dark, outcome.dark_text) >= 4.5


def test_chance_is_the_neutral_point():
    assert shade(0.25, 0.25) == shade(0.5, 0.5) == shade(0.0, 0.0) == shade(1.0, 1.0)
    assert shade(0.0, 1.0) == shade(0.0, 0.25)
    assert shade(0.0, 0.25) != shade(1.0, 0.25)

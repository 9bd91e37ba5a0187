"""Leaderboard, charts, contrasts and tables of a report, from runs whose numbers are known."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.protocol import Reply
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.questions.conditions import OF_ONE_EDITION
from medrcube.evaluate.reporting.contrasts import contrast_sections, summaries, summary_columns
from medrcube.evaluate.reporting.correlation import correlation_section
from medrcube.evaluate.reporting.credibility import credibility_section
from medrcube.evaluate.reporting.data_tables import tables, write_tables
from medrcube.evaluate.reporting.heat_maps import accuracy_map, contrast_map, signed
from medrcube.evaluate.reporting.leaderboard import leaderboard
from medrcube.evaluate.reporting.markup import svg
from medrcube.evaluate.reporting.parsing_summary import parsing_summary
from medrcube.evaluate.reporting.radar import radar
from medrcube.evaluate.reporting.reply_summary import reply_table
from medrcube.evaluate.reporting.scored_runs import load_runs
from medrcube.evaluate.reporting.usage_table import run_usage, usage_table
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.statistics import published_table
from medrcube.taxonomy import cube_tasks

BASELINES = ("first", "longest", "random")


class Seer:
    """Right with the image but for every third question; ``A`` without."""

    identity = {"adapter": "test/1", "name": "test/seer"}  # noqa: RUF012

    def __init__(self, items, name="test/seer", modulus=3):
        self.name = name
        self._items, self._modulus = items, modulus

    async def answer(self, request):
        item = self._items[request.item]
        key = dict(item.options)[item.key]
        right = next(letter for letter, text in request.options if text == key)
        knows = request.picture is not None and int(item.id[-3:]) % self._modulus
        usage = {"prompt_tokens": 1000, "completion_tokens": 24, "total_tokens": 1024}
        other = next(letter for letter, _ in request.options if letter != right)
        text = right if knows else other if request.picture else "A"
        latency = 0.5 + int(item.id[-3:]) / 100
        return Reply(text=text, finish_reason="stop", usage=usage, model="s-1", latency=latency)

    async def close(self):
        pass


def parsed(drawing):
    return ET.fromstring(drawing)  # noqa: S314 - our own


@pytest.fixture(scope="module")
def rows(row):
    return [row(n, task=cube_tasks()[n % 8].release_name) for n in range(96)]


@pytest.fixture(scope="module")
def folder(rows, write_release, tmp_path_factory):
    """Runs, made once: ``seer`` of every condition, and those of three baselines."""
    root = tmp_path_factory.mktemp("runs")
    benchmark = load_benchmark(write_release(root / "r", rows))
    items = {item.name: item for item in benchmark.items}
    run_evaluation(benchmark, Seer(items), root / "seer", conditions=OF_ONE_EDITION)
    for rule in BASELINES:
        run_evaluation(benchmark, open_model(f"baseline/{rule}"), root / rule)
    return root


@pytest.fixture
def seer(folder, tmp_path):
    """A run of every condition, in a folder that the test may change."""
    return load_runs([shutil.copytree(folder / "seer", tmp_path / "seer")])


@pytest.fixture
def three(folder, tmp_path):
    return load_runs([shutil.copytree(folder / rule, tmp_path / rule) for rule in BASELINES])


def test_the_published_models_stand_best_first_and_the_guesser_last(seer):
    board = leaderboard(seer)
    assert len(board.models) == 34
    assert [name for name, _ in board.models][:1] == ["Lingshu-32B"]
    assert board.models[-1][0] == "Random"
    overall = [cells[0].value for _, cells in board.models[:-1]]
    assert overall == sorted(overall, reverse=True) or abs(overall[4] - overall[3]) < 0.02


def test_published_cells_are_as_printed_and_misprints_are_marked(seer):
    board = leaderboard(seer)
    columns = list(published_table.COUNTS)
    cells = {name: dict(zip(columns, values, strict=True)) for name, values in board.models}
    assert cells["Random"]["Brain"].value == pytest.approx(0.2641)
    assert "24.41" in cells["Random"]["Brain"].misprint
    assert sum(bool(cell.misprint) for row in cells.values() for cell in row.values()) == 6
    assert [name for name in cells if cells[name]["overall"].best] == ["Lingshu-32B"]


def test_margins_of_a_run_leave_out_vr_and_ipr(seer):
    run, _, cells = leaderboard(seer).runs[0]
    of = dict(zip(published_table.COUNTS, cells, strict=True))
    assert (of["overall"].n, of["Xray"].n, of["Chest"].n) == (96, 72, 72)
    assert of["CT"].value is None
    assert of["VR"].value == run.metrics["slices"]["task"]["View Recognition"]["accuracy"]


def test_a_rebuilt_benchmark_is_never_called_the_published_one(seer, tmp_path):
    assert not leaderboard(seer).same_test
    write_report([tmp_path / "seer"], tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text("utf-8")
    assert "Not a common ranking:" in text
    assert seer[0].benchmark[:8] in text


def test_a_run_of_the_published_size_is_told_as_such(seer):
    run = seer[0]
    slices = {
        "task": {
            task.value: {"n": published_table.COUNTS[a]}
            for a, task in published_table.TASKS.items()
        },
        "modality_as_published": {
            m.value: {"n": published_table.COUNTS[a]} for a, m in published_table.MODALITIES.items()
        },
        "parts_as_published": {
            p.value: {"n": published_table.COUNTS[a]} for a, p in published_table.REGIONS.items()
        },
    }
    for groups in slices.values():
        for group in groups.values():
            group |= {"accuracy": 0.5, "small": False, "interval": [0.4, 0.6]}
            group |= {"unit_kinds": {"picture": group["n"]}}
    whole = {**run.metrics["global"], "n": 7626}
    options = {"global": whole, "task": slices["task"]}
    alike = replace(run, metrics={**run.metrics, "slices": slices, "options": options})
    assert leaderboard([alike]).same_test
    assert not leaderboard([alike, run]).same_test


def test_a_radar_has_a_corner_for_each_task_at_its_accuracy(seer):
    outcome = radar(seer)
    assert [task for task, _, _ in outcome.rows] == list(cube_tasks())
    drawing = parsed(outcome.picture)
    shapes = [
        entry.get("points").split() for entry in drawing.iter("polygon") if entry.get("points")
    ]
    area = next(entry for entry in drawing.iter("polygon") if "area" in entry.get("class"))
    x, y = map(float, area.get("points").split()[0].split(","))
    accuracy = seer[0].metrics["slices"]["task"]["Modality Recognition"]["accuracy"]
    assert (x, y) == (220, pytest.approx(200 - 165 * accuracy, abs=0.01))
    assert {len(points) for points in shapes if len(points) != 4} == {8}


def test_a_radar_of_two_tasks_is_not_drawn(load, row, tmp_path):
    benchmark = load(row(0), row(1, task="View Recognition"))
    run_evaluation(benchmark, open_model("baseline/first"), tmp_path / "run")
    assert radar(load_runs([tmp_path / "run"])) is None


def test_image_gain_is_what_the_picture_adds(seer):
    contrasts = {contrast.title: contrast for contrast in contrast_sections(seer[0])}
    assert list(contrasts) == ["Image gain", "Image swap", "Order of the options"]
    name, numbers = contrasts["Image gain"].rows[0]
    assert (name, numbers["first"], numbers["second"]) == ("All questions", 64 / 96, 0.25)
    cells = [
        c for _, rows in contrasts["Image gain"].map.panels for _, row in rows for c in row if c
    ]
    assert {cell.text for cell in cells} <= {signed(n / 12, 0) for n in range(-12, 13)}
    assert all("with the image" in cell.description for cell in cells)


def test_a_condition_that_no_run_has_takes_no_columns(seer):
    asked_again = summary_columns(summaries(seer))
    assert [heading for _, heading in asked_again] == [
        "without the image",
        "with another image",
    ]


def test_runs_of_one_condition_have_no_contrasts(three):
    assert contrast_sections(three[0]) == []
    assert summaries(three) == []


def test_differences_have_a_true_minus_and_zero_has_no_sign():
    assert [signed(v) for v in (0.123, -0.05, 0.0, -0.0001, None)] == [
        "+12.3", "\u22125.0", "0.0", "0.0", "\u2013",
    ]  # fmt: skip


def test_a_cell_without_pairs_says_so(seer):
    voxel = {**seer[0].metrics["voxels"][0], "n": 0, "difference": None, "small": True}
    cells = [
        c for _, rows in contrast_map([voxel], "x").panels for _, row in rows for c in row if c
    ]
    assert [(cell.text, cell.shade) for cell in cells] == [("\u2013", None)]


def test_the_map_of_accuracies_has_every_cell_once(seer):
    cells = [c for _, rows in accuracy_map(seer[0]).panels for _, row in rows for c in row if c]
    assert len(cells) == len(seer[0].metrics["voxels"]) == 8
    assert sum(cell.n for cell in cells) == 96


def test_credibility_draws_a_point_where_it_is(seer):
    outcome = credibility_section(seer)
    point = outcome.rows[0][1]
    drawing = parsed(outcome.picture)
    mark = next(entry for entry in drawing.iter("circle"))
    value = point.row["shortcut_probability"]["value"]
    assert float(mark.get("cx")) == pytest.approx(54 + value * (460 - 54 - 14), abs=0.01)
    assert float(mark.get("cy")) == pytest.approx(
        14 + (1 - point.accuracy) * (380 - 14 - 48), abs=0.01
    )
    assert outcome.correlation == ""


def test_credibility_without_pairs_is_left_out(load, row, tmp_path):
    run_evaluation(load(row(0)), open_model("baseline/first"), tmp_path / "run")
    assert credibility_section(load_runs([tmp_path / "run"])) is None


def test_three_runs_give_a_correlation_and_two_do_not(three):
    outcome = correlation_section(three)
    assert (outcome.models, outcome.cells, outcome.items) == (3, 8, 96)
    assert [name for name, _ in outcome.regions] == ["Chest"]
    assert [name for name, _ in outcome.published] == ["Brain", "Breast", "Chest", "Heart", "Lungs"]
    squares = list(parsed(outcome.picture).iter("rect"))
    assert len(squares) == 8 * 7 / 2
    assert correlation_section(three[:2]) is None
    assert (
        correlation_section([replace(three[0], manifest={"dataset": {"digest": "x"}}), *three])
        is None
    )


def test_cells_too_small_for_a_correlation_say_so(load, row, tmp_path):
    benchmark = load(row(0), row(1))
    for rule in ("first", "longest", "random"):
        run_evaluation(benchmark, open_model(f"baseline/{rule}"), tmp_path / rule)
    runs = load_runs([tmp_path / rule for rule in ("first", "longest", "random")])
    assert "Not computed" in correlation_section(runs).problem


def test_replies_show_only_columns_that_have_numbers(seer, three):
    with_tokens, without = reply_table(seer), reply_table(three)
    assert with_tokens.columns == ["replies", "tokens in", "tokens out", "tokens a reply"]
    assert without.columns == ["replies"]
    _, cells = with_tokens.rows[0]
    # Full is the unturned form of circular, so that 96 questions are asked in six forms.
    assert cells == ["576", "576,000", "13,824", "1,024"]


def test_what_asking_took_is_told_beside_the_report(seer, tmp_path):
    log = tmp_path / "seer/attempts.jsonl"
    failed = {"key": "k", "at": "2026-01-01T00:00:00+00:00", "status": "error", "code": "429"}
    log.write_text(log.read_text() + json.dumps(failed) + "\n")
    took = run_usage(tmp_path / "seer")
    assert took.p95_latency == pytest.approx(1.41)
    columns, (row,) = usage_table([took])
    assert "US $" not in columns
    row_values = dict(zip(columns, row, strict=True))
    assert (row_values["tries"], row_values["failed tries"]) == ("577", "1 x 429")
    assert (row_values["tokens in"], row_values["median s"]) == ("576,000", "0.98")


def test_the_rules_are_counted(three):
    outcome = parsing_summary(three)
    assert outcome.rules[0] == "bare-letter"
    assert outcome.counts[0][1][0] == 96
    assert outcome.judged == []


@pytest.mark.parametrize("name", ["csv", "json", "parquet"])
def test_every_table_is_written_in_every_form(seer, tmp_path, name):
    if name == "parquet":
        pytest.importorskip("pyarrow")
    expected = tables(seer)
    file_names = {path.name for path in write_tables(seer, tmp_path / "data")}
    assert set(expected) == {
        "runs", "slices", "voxels", "items", "leaderboard", "contrasts", "position", "credibility",
    }  # fmt: skip
    assert {f"{table}.{name}" for table in expected} <= file_names
    rows = read(tmp_path / f"data/voxels.{name}", name)
    assert len(rows) == 8
    assert float(rows[0]["accuracy"]) == expected["voxels"][0]["accuracy"]
    assert [row["task"] for row in rows] == [row["task"] for row in expected["voxels"]]


def read(path, form):
    if form == "csv":
        return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    if form == "json":
        return json.loads(path.read_text("utf-8"))
    from pyarrow import parquet  # noqa: PLC0415

    return parquet.read_table(path).to_pylist()


def test_every_presentation_has_a_row(seer):
    rows = tables(seer)["items"]
    assert len(rows) == 96 * (1 + 1 + 4 + 1)
    assert {row["condition"] for row in rows} == {c.value for c in OF_ONE_EDITION}


def test_a_name_cannot_become_a_formula(load, row, tmp_path):
    benchmark = load(row(0, dataset="=HYPERLINK", id="@x"), row(1, dataset="=HYPERLINK"))
    run_evaluation(benchmark, open_model("baseline/first"), tmp_path / "run")
    write_tables(load_runs([tmp_path / "run"]), tmp_path / "data")
    row = read(tmp_path / "data/items.csv", "csv")[0]
    assert (row["dataset"], row["id"]) == ("'=HYPERLINK", "'@x")
    assert read(tmp_path / "data/items.json", "json")[0]["dataset"] == "=HYPERLINK"


def test_a_negative_number_stays_one_in_csv(seer, tmp_path):
    write_tables(seer, tmp_path / "data")
    values = [row["interval_low"] for row in read(tmp_path / "data/contrasts.csv", "csv")]
    assert any(value.startswith("-") for value in values)
    assert not any(value.startswith("'") for value in values)


@pytest.mark.thorough
def test_the_same_run_gives_the_same_bytes(seer, load, rows, tmp_path):
    def report_bytes():
        write_report([tmp_path / "seer"], tmp_path / "x.html", tmp_path / "r", tmp_path / "data")
        files = sorted((tmp_path / "data").iterdir())
        return [(tmp_path / "x.html").read_bytes(), *(file.read_bytes() for file in files)]

    benchmark = load(*rows)
    first = report_bytes()
    shutil.rmtree(tmp_path / "data")
    items = {item.name: item for item in benchmark.items}
    run_evaluation(benchmark, Seer(items), tmp_path / "seer", conditions=OF_ONE_EDITION)
    assert report_bytes() == first


def test_two_runs_of_one_model_and_folder_name_are_told_apart(seer, tmp_path):
    other = shutil.copytree(tmp_path / "seer", tmp_path / "other/seer")
    manifest = json.loads((other / "manifest.json").read_text())
    begun = {**manifest, "started": "2026-01-01T00:00:00+00:00"}
    (other / "manifest.json").write_text(json.dumps(begun))
    runs = load_runs([tmp_path / "seer", other])
    assert [run.label for run in runs] == [
        "test/seer (seer) (run 1)",
        "test/seer (seer) (run 2)",
    ]


def test_a_run_that_was_broken_off_is_announced(seer, tmp_path):
    manifest = json.loads((tmp_path / "seer/manifest.json").read_text())
    (tmp_path / "seer/manifest.json").write_text(json.dumps(manifest | {"ended": None}))
    write_report([tmp_path / "seer"], tmp_path / "x.html")
    assert "was interrupted." in (tmp_path / "x.html").read_text("utf-8")


def test_every_part_of_the_page_that_is_linked_is_there(seer, three, tmp_path):
    folders = [tmp_path / name for name in ("first", "longest", "random")]
    for runs in ([tmp_path / "seer"], folders):
        write_report(runs, tmp_path / "x.html")
        text = (tmp_path / "x.html").read_text("utf-8")
        links = set(re.findall(r'href="#([^"]+)"', text))
        ids = re.findall(r' id="([^"]+)"', text)
        assert links <= set(ids)
        assert len(ids) == len(set(ids))
        assert {f"#{name}" for name in re.findall(r'<h2 id="([^"]+)"', text)} == {
            f"#{name}" for name in links if name != "content"
        }


def test_the_command_writes_the_page_and_its_tables(seer, tmp_path):
    arguments = [
        str(tmp_path / "seer"),
        "--out",
        str(tmp_path / "x.html"),
        "--data",
        str(tmp_path / "t"),
    ]
    ran = CliRunner().invoke(app, ["report", *arguments])
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "x.html").exists()
    assert (tmp_path / "t/voxels.csv").exists()
    assert "tokens in" in ran.stdout


def test_the_command_tells_programs_what_it_wrote_and_what_asking_took(seer, tmp_path):
    out = str(tmp_path / "x.html")
    ran = CliRunner().invoke(app, ["report", str(tmp_path / "seer"), "--out", out, "--json"])
    summary = json.loads(ran.stdout)
    assert (summary["page"], summary["tables"]) == (out, [])
    assert (summary["effort"][0]["run"], summary["effort"][0]["tries"]) == ("seer", 576)


def test_scores_of_another_form_are_made_anew(seer, tmp_path):
    path = tmp_path / "seer/metrics.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 1}))
    with pytest.raises(WorkspaceError, match="medrcube score"):
        load_runs([tmp_path / "seer"])
    CliRunner().invoke(app, ["score", str(tmp_path / "seer")])
    assert load_runs([tmp_path / "seer"])[0].total == seer[0].total


def test_the_pictures_of_the_guide_are_there_and_small():
    docs = Path(__file__).parents[3] / "docs"
    guide = (docs / "how-to/read-a-report.md").read_text("utf-8")
    named = re.findall(r"\]\(\.\./images/([^)]+)\)", guide)
    assert len(named) == 7
    for name in named:
        assert 10_000 < (docs / "images" / name).stat().st_size < 300_000


def test_labels_in_a_drawing_are_escaped():
    drawing = svg.drawing(10, 10, '"<x>', [svg.text((0, -0.001), "<script>&", "a")])
    assert parsed(drawing).get("aria-label") == '"<x>'
    assert parsed(drawing).find("text").text == "<script>&"
    assert 'y="0"' in drawing

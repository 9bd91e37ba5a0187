"""What a site holds and withholds, without a browser."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from open_items import FORMS, open_row, write_open
from PIL import Image

from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.reporting.scored_runs import load_runs
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.site import images as pictures_part
from medrcube.evaluate.site import items as items_part
from medrcube.evaluate.site.images import write_pictures
from medrcube.evaluate.site.items import reply_limit
from medrcube.evaluate.site.leaderboard import leaderboard_rows
from medrcube.evaluate.site.page_names import CellName, model_pages
from medrcube.evaluate.site.write import write_site
from medrcube.evaluate.statistics.ranking import ranking
from medrcube.release_format.errata import FILE as ERRATA
from medrcube.release_format.errata import Erratum, errata_text
from medrcube.taxonomy import Anatomy, Modality, Task


class Page(HTMLParser):
    """Tags, links and scripts of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.links += [value for name, value in attrs if name in {"href", "src"}]


def read(path):
    """The value of a data file."""
    text = path.read_text(encoding="ascii")
    match = re.fullmatch(r'medrcubeData\("[a-z]+(?:-\d+)?",(.*)\);\n', text, re.DOTALL)
    return json.loads(match[1])


def all_pages(demo_site):
    return sorted(demo_site.out.rglob("*.html"))


def test_every_link_is_relative_and_leads_to_a_file(demo_site):
    for page in all_pages(demo_site):
        for link in Page(page.read_text(encoding="utf-8")).links:
            parts = urlsplit(link)
            if link == "data:,":
                continue
            assert not parts.scheme, link
            assert not link.startswith("/"), link
            assert not parts.path or (page.parent / unquote(parts.path)).is_file(), (page, link)


def test_a_picture_of_noise_is_shown_among_10_000_others(load, row, tmp_path, monkeypatch):
    release = load(row(0))
    noise = np.random.default_rng(1).integers(0, 255, (512, 512), dtype=np.uint8)
    Image.fromarray(noise).save(release.root / release.items[0].image)
    monkeypatch.setattr(pictures_part, "MOST_BYTES", pictures_part.MOST_BYTES // 10_000)
    (picture,) = write_pictures(tmp_path / "out", release, {}, release.items).values()
    assert (tmp_path / "out" / picture.file).is_file(), picture.why


def test_no_text_of_others_becomes_markup(demo_site):
    for page in all_pages(demo_site):
        parsed = Page(page.read_text(encoding="utf-8"))
        assert parsed.tags.count("h1") == 1, page
        assert not [name for name in parsed.attributes if name.startswith("on")], page
        assert "x" not in parsed.links, page
        assert not re.search(r"<script[^>]*>\s*[^<\s]", page.read_text(encoding="utf-8")), page


def test_data_files_are_ascii_without_an_opening_tag(demo_site):
    for path in (demo_site.out / "data").iterdir():
        assert b"<" not in path.read_bytes()
        read(path)


def test_keys_are_only_in_the_files_that_a_click_loads(demo_site):
    items = [row for number in range(1) for row in read(demo_site.out / f"data/items-{number}.js")]
    assert len(items) == 48
    assert all("right" not in row and "replies" not in row for row in items)
    answers = read(demo_site.out / "data/answers-0.js")
    keys = {item.name: item.key for item in demo_site.benchmark.items}
    assert [answer["right"] for answer in answers] == [keys[row["name"]] for row in items]
    for page in all_pages(demo_site):
        assert "answers-" not in page.read_text(encoding="utf-8")


def test_replies_are_those_of_the_runs_in_the_order_of_the_leaderboard(demo_site):
    about = read(demo_site.out / "data/about.js")
    runs = {run.label: run for run in load_runs(demo_site.runs)}
    items, answers = (
        read(demo_site.out / "data/items-0.js"),
        read(demo_site.out / "data/answers-0.js"),
    )
    for number, model in enumerate(about["models"]):
        results = {result.item.name: result for result in runs[model["label"]].results}
        for row, answer in zip(items, answers, strict=True):
            result = results[row["name"]]
            _, outcome, letter, rule, _ = answer["replies"][number]
            assert about["outcomes"][outcome] == result.outcome
            assert ord(row["outcomes"][number]) - ord("a") == outcome
            assert about["rules"][rule] == result.rule
            assert letter == result.answer


def test_restricted_pictures_are_nowhere_in_the_site(demo_site):
    rows = {row["name"]: row for row in read(demo_site.out / "data/items-0.js")}
    open_rows = [rows[item.name] for item in demo_site.benchmark.items if not item.restricted]
    withheld = [rows[item.name] for item in demo_site.benchmark.items if item.restricted]
    assert withheld
    assert all(row["picture"] == "" and "redistributed" in row["why"] for row in withheld)
    files = {path.name for path in (demo_site.out / "pictures").iterdir()}
    assert files == {row["picture"] for row in open_rows}
    digests = {
        demo_site.benchmark.image_digests[i.image]
        for i in demo_site.benchmark.items
        if i.restricted
    }
    assert not [name for name in files if any(digest.startswith(name[:20]) for digest in digests)]


def test_models_stand_in_order_with_the_letters_of_the_ranking(demo_site):
    runs = load_runs(demo_site.runs)
    entries = leaderboard_rows(runs, model_pages(run.label for run in runs))
    ranked = ranking({run.label: run.results for run in runs})
    assert [entry.run.label for entry in entries] == [entry.label for entry in ranked]
    assert [entry.letters for entry in entries] == [entry.letters for entry in ranked]
    assert entries[0].letters != entries[-1].letters


def test_labels_that_read_alike_have_pages_of_their_own():
    pages = model_pages(["a/b", "a b", "A-B", "<>", "\u202e"])
    assert len(set(pages.values())) == 5
    assert all(re.fullmatch(r"[a-z0-9-]+\.html", page) for page in pages.values())


def test_every_cell_has_a_name_of_its_own():
    names = [CellName(t, m, p).page for t in Task for m in Modality for p in Anatomy]
    assert len(set(names)) == len(names)


def test_cells_of_words_that_differ_in_signs_alone_have_pages_of_their_own():
    words = [
        Anatomy(name, {"aliases": ()}) for name in ("Eye", "Eye +", "\u773c", "\u809d", "E" * 900)
    ]
    task, modality = next(iter(Task)), next(iter(Modality))
    names = [CellName(task, modality, word).page for word in words]
    assert len(set(names)) == len(names)
    assert all(len(name) < 255 and name.isascii() for name in names)


def test_replies_are_cut_no_more_than_the_budget_asks(monkeypatch):
    replies = ["x" * 3000] * 10
    assert reply_limit(replies) == 4000
    monkeypatch.setattr(items_part, "MOST_REPLY_BYTES", 12_000)
    assert reply_limit([*replies, None, ""]) == 1000


def test_a_site_is_replaced_by_the_next_one(demo_site, tmp_path):
    out = tmp_path / "out"
    write_site(demo_site.runs, demo_site.release, out)
    write_site(demo_site.runs[:1], demo_site.release, out)
    assert len(list((out / "models").iterdir())) == 1


def test_a_folder_that_holds_something_else_is_left_alone(demo_site, tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(WorkspaceError, match="contains something that is not a site"):
        write_site(demo_site.runs, demo_site.release, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_never_taken_for_the_folder_of_a_site(demo_site, tmp_path):
    (tmp_path / "site").write_text("precious")
    with pytest.raises(WorkspaceError, match="is a file; choose a folder"):
        write_site(demo_site.runs, demo_site.release, tmp_path / "site")


def test_a_run_on_other_items_is_refused(demo_site, tmp_path, row, write_release):
    other = write_release(tmp_path / "other", [row(n, question="Another?") for n in range(48)])
    with pytest.raises(WorkspaceError, match="48 of its items are not in"):
        write_site(demo_site.runs, other, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_same_runs_give_the_same_bytes(demo_site, tmp_path):
    copy = tmp_path / "runs"
    runs = [shutil.copytree(run, copy / run.name) for run in demo_site.runs]
    again = tmp_path / "out"
    write_site(runs, demo_site.release, again)
    files = [p.relative_to(demo_site.out) for p in demo_site.out.rglob("*") if p.is_file()]
    assert len(files) == demo_site.site.files
    differing = [p for p in files if (demo_site.out / p).read_bytes() != (again / p).read_bytes()]
    assert differing == []


def test_an_item_of_each_form_shows_what_is_right_and_one_withdrawn_is_gone(
    write_release, row, tmp_path
):
    release = write_release(tmp_path / "release", [row(n) for n in range(8)])
    write_open(release, [open_row(form, n) for n in range(2) for form in FORMS])
    gone = Erratum(dataset="ALPHA", id="point-1", by="maintainer", on="2026-01-01", why="no key")
    (release / ERRATA).write_text(errata_text([gone]))
    run_evaluation(load_benchmark(release), open_model("baseline/first"), tmp_path / "run")
    out = tmp_path / "site"
    write_site([tmp_path / "run"], release, out)
    names = [item["name"] for item in read(out / "data/items-0.js")]
    assert "ALPHA/point-1" not in names
    answers = dict(zip(names, read(out / "data/answers-0.js"), strict=True))
    assert {form: answers[f"ALPHA/{form}-0"]["right"] for form in FORMS} == {
        "number": "23 mm",
        "point": "(312.5, 375)",
        "box": "[250, 250, 500, 500]",
        "order": "Panel B, Panel A, Panel C",
        "pair": "1. yes, 2. no",
    }


def test_the_truth_of_a_point_or_box_is_drawn_where_its_image_is_shown(
    write_release, row, tmp_path
):
    release = write_release(tmp_path / "release", [row(n) for n in range(8)])
    restricted_rows = [{**open_row(form, 1), "restricted": True} for form in ("point", "box")]
    write_open(release, [*(open_row(form) for form in FORMS), *restricted_rows])
    run_evaluation(load_benchmark(release), open_model("baseline/first"), tmp_path / "run")
    out = tmp_path / "site"
    write_site([tmp_path / "run"], release, out)
    items = read(out / "data/items-0.js")
    answers = read(out / "data/answers-0.js")
    drawings = {
        item["name"]: answer["drawn"]
        for item, answer in zip(items, answers, strict=True)
        if answer["drawn"]
    }
    assert set(drawings) == {"ALPHA/point-0", "ALPHA/box-0"}
    box = drawings["ALPHA/box-0"]
    width, height = box["size"]
    assert box["path"] == f"M{width // 4} {height // 4}H{width // 2}V{height // 2}H{width // 4}Z"
    assert "25 to 50 % from the left and 25 to 50 % from the top" in box["words"]


def test_an_open_item_shows_a_right_reply_and_answers_in_words(write_release, row, tmp_path):
    release = write_release(tmp_path / "release", [row(n) for n in range(8)])
    write_open(release, [open_row("number"), open_row("order", 1)])
    benchmark = load_benchmark(release)
    run_evaluation(benchmark, open_model("baseline/first"), tmp_path / "run")
    out = tmp_path / "site"
    write_site([tmp_path / "run"], release, out)
    names = [item["name"] for item in read(out / "data/items-0.js")]
    answers = dict(zip(names, read(out / "data/answers-0.js"), strict=True))
    number, order = answers["ALPHA/number-0"], answers["ALPHA/order-1"]
    assert (number["right"], number["replies"][0][2]) == ("23 mm", "20 mm")
    assert order["right"] == "Panel B, Panel A, Panel C"
    assert order["replies"][0][2] == "Panel A, Panel B, Panel C"

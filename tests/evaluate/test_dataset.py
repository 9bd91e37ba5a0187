"""Loading: whatever could later turn into a wrong number is refused by name."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from medrcube.errors import ReleaseError, UnknownNameError
from medrcube.evaluate.benchmark_item import item_from_json, item_to_json
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.release_format.item_facts import ItemFacts, write_item_facts
from medrcube.release_format.row_reading import read_row
from medrcube.release_format.rows import BadRowError
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.layers import Layer, Vocabulary, using


def test_items_come_in_the_order_of_sorted_sources(load, row):
    benchmark = load(row(1, dataset="ZETA"), row(0), row(2))
    assert [item.name for item in benchmark.items] == ["ALPHA/q000", "ALPHA/q002", "ZETA/q001"]


def test_an_item_keeps_what_the_release_says(load, row):
    (item,) = load(row(5)).items
    assert (item.key, item.image) == ("B", "ALPHA/pictures/p2.png")
    assert (item.task, item.modality, item.parts) == (
        Task("Disease Diagnosis"), Modality("X-ray"), Anatomy("Chest"),
    )  # fmt: skip
    assert item_from_json(json.loads(json.dumps(item_to_json(item)))) == item


@pytest.mark.parametrize("nothing", [None, ""])
def test_absent_options_are_no_options(nothing, load, row):
    (item,) = load(row(0, option_C=nothing, option_D=nothing)).items
    assert item.options == (("A", "Normal"), ("B", "Mass"))


def test_published_spellings_are_read(load, row):
    (item,) = load(row(0, task="Abnormity Diagnosis", parts="Lung")).items
    assert (item.task, item.parts) == (Task("Abnormality Diagnosis"), Anatomy("Lungs"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gt_answer": "Pneumonia"}, "gt_answer 'Pneumonia' is not one of the options"),
        ({"gt_answer": ""}, "gt_answer is ''"),
        ({"correct_index": 1}, "correct_index is 1, but gt_answer is option A"),
        ({"correct_index": True}, "correct_index is True"),
        ({"option_B": "normal "}, "two options have the same text"),
        ({"option_B": None, "option_C": None, "option_D": None}, "has 1 option"),
        ({"option_B": 3}, "option_B is 3; expected a text"),
        ({"task": "Report Generation"}, "task: 'Report Generation' is not a known task"),
        ({"modality": "PET"}, "modality: 'PET' is not a known modality"),
        ({"parts": None}, "parts is None"),
        ({"question": "  "}, "question is"),
        ({"id": None}, "id is None"),
        ({"question": "\ud800"}, "question contains half a character"),
        ({"question": "why " * 10_000}, "question has 40,000 characters"),
        ({"restricted": 1}, "restricted is 1"),
        ({"restricted": "yes"}, "restricted is 'yes'"),
    ],
)
def test_a_broken_item_is_refused_by_name(changes, message, load, row):
    with pytest.raises(ReleaseError, match=r"ALPHA/test\.json item 1") as excinfo:
        load(row(4), row(0, **changes))
    assert message in str(excinfo.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"correct_index": False}, "correct_index is False"),
        ({"correct_index": 0.0}, "correct_index is 0.0"),
        ({"restricted": 0}, "restricted is 0; expected true or false"),
        ({"task": ["x"]}, "task is ['x']; expected a text"),
        ({"original_task": {}}, "original_task is {}; expected a text"),
    ],
)
def test_a_value_is_refused_although_an_equal_one_of_another_type_was_read(
    changes, message, load, row
):
    with pytest.raises(ReleaseError, match=r"ALPHA/test\.json item 1") as excinfo:
        load(row(0, restricted=False), row(0, id="next", **{"restricted": False, **changes}))
    assert message in str(excinfo.value)


def test_the_words_of_one_vocabulary_are_not_read_under_another(row):
    body = row(0, modality="PET")
    word = {"name": "PET", "concept": "PET", "image": "PET image", "words": ["pet"]}
    declared = Layer("x", "x", None, {"modality": [word]})
    for _ in range(2):
        with pytest.raises(BadRowError, match="is not a known modality"):
            read_row(body)
        with using(Vocabulary((declared,))):
            assert read_row(body).modality == "PET"


@pytest.mark.parametrize(
    "path", ["../../secret.png", "/etc/passwd", "pictures/../../x.png", "..\\x.png", "C:/x.png"]
)
def test_a_picture_path_cannot_leave_its_folder(tmp_path, path, row, write_release):
    root = tmp_path / "r"
    write_release(root, [row(0, image_path=path)], pictures=False)
    with pytest.raises(ReleaseError, match="leaves its folder"):
        load_benchmark(root)


def test_an_id_used_twice_is_refused(load, row):
    with pytest.raises(ReleaseError, match="used twice in ALPHA"):
        load(row(0), row(1, id="q000"))


def test_one_id_in_two_sources_is_fine(load, row):
    assert len(load(row(0), row(0, dataset="BETA")).items) == 2


def test_all_problems_are_counted_and_the_first_are_shown(load, row):
    with pytest.raises(ReleaseError, match=r"12 problem\(s\)") as excinfo:
        load(*(row(number, task="?") for number in range(12)))
    assert str(excinfo.value).count("test.json item") == 10
    assert "and 2 more" in str(excinfo.value)


@pytest.mark.parametrize("data", [b"{}", b"[1]", b"not json", b"[" * 10**5, b'["\xff"]', b""])
def test_a_malformed_table_is_refused(tmp_path, data):
    (tmp_path / "ALPHA").mkdir()
    (tmp_path / "ALPHA/test.json").write_bytes(data)
    with pytest.raises(ReleaseError, match=r"ALPHA/test\.json"):
        load_benchmark(tmp_path)


def test_a_folder_without_a_release_says_what_it_expected(tmp_path):
    with pytest.raises(ReleaseError, match=r"no <SOURCE>/test\.json"):
        load_benchmark(tmp_path)


def test_only_direct_sub_folders_are_read(tmp_path, row, write_release):
    root = write_release(tmp_path / "r", [row(0)])
    nested = root / "ALPHA/backup"
    nested.mkdir()
    (nested / "test.json").write_text("broken")
    assert len(load_benchmark(root).items) == 1


def test_the_digest_names_items_and_pixels(tmp_path, row, write_release):
    root = write_release(tmp_path / "r", [row(0), row(1)])
    first = load_benchmark(root).digest
    assert load_benchmark(root).digest == first
    picture = root / "ALPHA/pictures/p0.png"
    picture.write_bytes(picture.read_bytes() + b"x")
    assert load_benchmark(root).digest != first


def test_the_digest_changes_with_a_question(tmp_path, row, write_release):
    digest = load_benchmark(write_release(tmp_path / "a", [row(0)])).digest
    two = load_benchmark(write_release(tmp_path / "b", [row(0, question="Else?")])).digest
    assert digest != two


def test_a_download_of_the_hub_is_read_through_its_links(tmp_path, row, write_release):
    """huggingface_hub keeps ``snapshots/<revision>/FILE`` as a link to ``blobs/<digest>``."""
    root = write_release(tmp_path / "cache/snapshots/main", [row(0)])
    (tmp_path / "cache/blobs").mkdir()
    for number, file in enumerate(sorted(root.rglob("*.*"))):
        blob = tmp_path / f"cache/blobs/{number}"
        file.rename(blob)
        file.symlink_to(os.path.relpath(blob, file.parent))
    assert load_benchmark(root).image_digests["ALPHA/pictures/p0.png"] is not None


def test_a_link_to_another_place_in_the_release_is_followed(release):
    picture = release / "ALPHA/pictures/p0.png"
    picture.rename(release / "ALPHA/other.png")
    picture.symlink_to("../other.png")
    assert load_benchmark(release).image_digests["ALPHA/pictures/p0.png"] is not None


@pytest.mark.parametrize("what", ["ALPHA/pictures/p0.png", "ALPHA/pictures", "ALPHA/test.json"])
def test_a_link_that_leads_out_is_refused(what, release, tmp_path):
    (release / what).rename(tmp_path / "elsewhere")
    (release / what).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ReleaseError, match="a link leads out of the release"):
        load_benchmark(release)


def test_a_store_of_the_hub_that_is_itself_a_link_is_not_trusted(tmp_path, row, write_release):
    root = write_release(tmp_path / "cache/snapshots/main", [row(0)])
    (tmp_path / "private").mkdir()
    (root / "ALPHA/pictures/p0.png").rename(tmp_path / "private/secret.png")
    (tmp_path / "cache/blobs").symlink_to(tmp_path / "private")
    (root / "ALPHA/pictures/p0.png").symlink_to(tmp_path / "cache/blobs/secret.png")
    with pytest.raises(ReleaseError, match="a link leads out of the release"):
        load_benchmark(root)


@pytest.mark.parametrize("what", ["ALPHA/pictures/p0.png", "ALPHA/test.json"])
def test_a_named_pipe_is_refused_and_never_opened(what, release):
    (release / what).unlink()
    os.mkfifo(release / what)
    with pytest.raises(ReleaseError, match="is a named pipe; expected a plain file"):
        load_benchmark(release)


def test_a_table_that_is_a_folder_is_refused(release):
    (release / "ALPHA/test.json").unlink()
    (release / "ALPHA/test.json").mkdir()
    with pytest.raises(ReleaseError, match="is a folder; expected a plain file"):
        load_benchmark(release)


def test_a_table_behind_a_broken_link_is_not_passed_over(release):
    (release / "BETA").mkdir()
    (release / "BETA/test.json").symlink_to("nowhere")
    with pytest.raises(ReleaseError, match=r"BETA/test\.json: is missing"):
        load_benchmark(release)


def test_after_a_thousand_problems_no_further_row_is_read(tmp_path):
    (tmp_path / "ALPHA").mkdir()
    (tmp_path / "ALPHA/test.json").write_text("[" + "[]," * 5000 + "broken")
    with pytest.raises(ReleaseError, match=r"1000 problem\(s\)"):
        load_benchmark(tmp_path)


def test_a_file_that_is_no_picture_has_no_digest(tmp_path, row, write_release):
    root = write_release(tmp_path / "r", [row(0)])
    (root / "ALPHA/pictures/p0.png").write_bytes(b"<html>sorry</html>")
    assert load_benchmark(root).image_digests == {"ALPHA/pictures/p0.png": None}


def test_what_a_release_tells_beside_its_rows_is_kept_and_changes_the_digest(
    tmp_path, row, write_release
):
    root = write_release(tmp_path / "r", [row(0), row(1)])
    bare = load_benchmark(root)
    assert {(item.visible, item.block) for item in bare.items} == {("", "")}
    first, second = bare.items
    fact = ItemFacts(dataset=first.dataset, id=first.id, visible="partly", block="b7")
    write_item_facts(root, [fact])
    outcome = load_benchmark(root)
    assert [(item.visible, item.block) for item in outcome.items] == [("partly", "b7"), ("", "")]
    assert outcome.digest != bare.digest
    assert [item_from_json(item_to_json(item)) for item in outcome.items] == list(outcome.items)
    assert "visible" not in item_to_json(second)


def test_the_unit_of_an_item_is_no_part_of_what_the_benchmark_is(tmp_path, row, write_release):
    root = write_release(tmp_path / "r", [row(0)])
    bare = load_benchmark(root)
    fact = ItemFacts(dataset="ALPHA", id="q000", visible="yes", block="")
    write_item_facts(root, [fact])
    without = load_benchmark(root)
    write_item_facts(root, [replace(fact, unit="patient-0123456789abcdef", fact="0" * 16)])
    outcome = load_benchmark(root)
    assert [item.unit for item in outcome.items] == ["patient-0123456789abcdef"]
    assert outcome.items == without.items != bare.items
    assert outcome.digest == without.digest
    assert item_from_json(item_to_json(outcome.items[0])).unit == "patient-0123456789abcdef"


def test_a_release_that_tells_no_unit_has_its_cases_by_the_recipes(tmp_path, row, write_release):
    root = write_release(tmp_path / "r", [row(0), row(1), row(2)])
    lines = [
        {"image": f"ALPHA/pictures/p{n}.png", "source": "alpha", "case": "one"} for n in range(2)
    ]
    (root / "recipes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    units = [item.unit for item in load_benchmark(root).items]
    assert len(set(units)) == 1
    assert units[0].startswith("case-")


def test_one_mark_restricts_a_picture_for_every_item_that_shows_it(tmp_path, row, write_release):
    rows = [row(number, image_path="pictures/a.png", restricted=number == 1) for number in (0, 1)]
    rows.append(row(2, image_path="pictures/b.png"))
    benchmark = load_benchmark(write_release(tmp_path, rows))
    assert [item.restricted for item in benchmark.items] == [True, True, False]


class TestWordsOfARelease:
    """What ``vocabulary.json`` declares is of that release alone."""

    @pytest.fixture
    def of_eyes(self, write_release, tmp_path, row):
        def make(name, alias):
            root = write_release(tmp_path / name, [row(n, parts="Eye") for n in range(4)])
            words = {"anatomy": [{"name": "Eye", "aliases": [alias]}]}
            (root / "vocabulary.json").write_text(json.dumps(words), encoding="utf-8")
            return root

        return make

    def test_two_releases_of_one_process_do_not_see_each_others_words(self, of_eyes):
        first, second = (load_benchmark(of_eyes(alias, alias)) for alias in ("ocular", "bulb"))
        assert [entry.items[0].parts.aliases for entry in (first, second)] == [
            ("ocular",),
            ("bulb",),
        ]
        assert "Eye" not in Anatomy
        with using(first.vocabulary):
            assert Anatomy.parse("ocular") == "Eye"
            with pytest.raises(UnknownNameError):
                Anatomy.parse("bulb")

    def test_a_report_is_written_under_the_words_of_its_release(self, of_eyes, tmp_path):
        release = of_eyes("a", "ocular")
        run_evaluation(load_benchmark(release), open_model("baseline/first"), tmp_path / "run")
        write_report([tmp_path / "run"], tmp_path / "report.html", release)
        assert "Eye" in (tmp_path / "report.html").read_text(encoding="utf-8")
        assert "Eye" not in Anatomy

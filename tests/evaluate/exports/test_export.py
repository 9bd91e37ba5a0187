"""A release in the forms of other harnesses, which open it themselves where they are at hand.

``MEDRCUBE_LMMS_PYTHON`` and ``MEDRCUBE_LM_EVAL_PYTHON`` name a Python that has that harness.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.exports.export import write_export
from medrcube.evaluate.exports.selection import select_exportable
from medrcube.evaluate.imports.import_run import import_run

HARNESSES = ("vlmevalkit", "lmms-eval", "lm-eval", "inspect")
CANARY = b"CANARY"


@pytest.fixture
def benchmark(load, row):
    return load(
        *(row(n) for n in range(4)),
        row(4, option_D="None", image_path="pictures/p4.png"),
        row(5, restricted=True, image_path="pictures/secret.png"),
        row(6, image_path="pictures/gone.png"),
    )


@pytest.fixture
def release(benchmark):
    pictures = benchmark.root / "ALPHA/pictures"
    (pictures / "gone.png").unlink()
    secret = pictures / "secret.png"
    secret.write_bytes(secret.read_bytes() + CANARY)
    return load_benchmark(benchmark.root)


def table(path):
    text = io.StringIO(path.read_text("utf-8"), newline="")
    return list(csv.DictReader(text, dialect="excel-tab"))


def holds_canary(folder):
    data = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    rows = [row["image"] for path in folder.rglob("*.tsv") for row in table(path)]
    data += [base64.b64decode(image) for image in rows if len(image) > 64]
    for path in folder.rglob("*.parquet"):
        data += [row["image"]["bytes"] for row in pq.read_table(path).to_pylist()]
    return any(CANARY in entry for entry in data)


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_public_export_never_holds_a_restricted_picture(release, tmp_path, harness):
    write_export(select_exportable(release, private=False), tmp_path / "out", harness)
    assert not holds_canary(tmp_path / "out")
    assert not (tmp_path / "out/PRIVATE.md").exists()


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("path", ["pictures/p0.png", "pictures/copy.png"])
def test_a_picture_that_one_item_restricts_is_withheld_from_every_item(
    load, row, tmp_path, harness, path
):
    restricted_release = load(
        row(0, restricted=True), row(1, image_path=path), row(2, image_path="pictures/x.png")
    )
    pictures = restricted_release.root / "ALPHA/pictures"
    secret = (pictures / "p0.png").read_bytes() + CANARY
    for name in {"p0.png", path.rpartition("/")[2]}:
        (pictures / name).write_bytes(secret)
    again = load_benchmark(restricted_release.root)
    public = select_exportable(again, private=False)
    assert [item.id for item in public.items] == ["q002"]
    write_export(public, tmp_path / "out", harness)
    assert not holds_canary(tmp_path / "out")
    assert select_exportable(again, private=True).private


def test_a_private_tree_is_not_called_the_public_edition(release, tmp_path):
    (release.root / "PRIVATE.md").write_text("private", "utf-8")
    arguments = ["export", str(release.root), "--to", "hub", "--out", str(tmp_path / "out")]
    ran = CliRunner().invoke(app, arguments)
    assert "must not be uploaded" in str(ran.exception)


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_private_export_holds_it_and_is_marked(release, tmp_path, harness):
    write_export(select_exportable(release, private=True), tmp_path / "out", harness)
    assert holds_canary(tmp_path / "out")
    assert (tmp_path / "out/PRIVATE.md").exists()


def test_a_public_export_does_not_go_into_a_private_one(release, tmp_path):
    write_export(select_exportable(release, private=True), tmp_path / "out", "vlmevalkit")
    with pytest.raises(WorkspaceError, match="contains restricted images"):
        write_export(select_exportable(release, private=False), tmp_path / "out", "vlmevalkit")


def test_what_is_left_out_is_counted_and_named(release, tmp_path):
    arguments = ["export", str(release.root), "--to", "vlmevalkit", "--out", str(tmp_path / "out")]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, ran.output
    assert "left out 1 item (ALPHA 1): their images may not be redistributed" in ran.output
    assert "left out 1 item (ALPHA 1): their images are not in this release" in ran.output
    assert "5 items" in ran.output


def test_a_release_of_which_nothing_may_be_given_is_refused(load, row):
    benchmark = load(row(0, restricted=True))
    with pytest.raises(ReleaseError, match="no item to export"):
        select_exportable(benchmark, private=False)


def test_a_row_for_vlmevalkit_holds_the_item_and_the_bytes_of_its_picture(release, tmp_path):
    path = write_export(select_exportable(release, private=False), tmp_path / "out", "vlmevalkit")
    rows = table(path)
    assert [row["item"] for row in rows] == [f"ALPHA/q{n:03}" for n in range(5)]
    assert [row["answer"] for row in rows] == ["A", "B", "C", "D", "A"]
    picture = release.root / "ALPHA/pictures/p0.png"
    assert base64.b64decode(rows[0]["image"]) == picture.read_bytes()
    assert rows[1]["image"] == "0", "a shared picture stands once"
    assert rows[4]["D"] == "None ", "pandas takes None for no value"
    md5 = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    assert md5 in (tmp_path / "out/run_vlmevalkit.py").read_text("utf-8")


def test_a_folder_for_inspect_holds_each_picture_once_and_names_it(release, tmp_path):
    write_export(select_exportable(release, private=False), tmp_path / "out", "inspect")
    lines = (tmp_path / "out/items.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["target"] for row in rows] == ["A", "B", "C", "D", "A"]
    assert rows[4]["metadata"]["options"]["D"] == "None"
    images = [row["input"][0]["content"][0]["image"] for row in rows]
    assert len(set(images)) == len(list((tmp_path / "out/pictures").iterdir())) == 3
    picture = release.root / "ALPHA/pictures/p0.png"
    assert (tmp_path / "out" / images[0]).read_bytes() == picture.read_bytes()


def test_the_items_as_csv_hold_every_item_and_say_which_pictures_are_here(release, tmp_path):
    arguments = ["export", str(release.root), "--to", "csv", "--out", str(tmp_path / "items.csv")]
    ran = CliRunner().invoke(app, arguments)
    assert (ran.exit_code, "7 items" in ran.output) == (0, True)
    with (tmp_path / "items.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [item.id for item in release.items]
    assert [row["gt_letter"] for row in rows] == [item.key for item in release.items]
    assert [row["picture"] for row in rows] == ["here"] * 6 + ["absent"]
    assert rows[4]["option_D"] == "None"
    digests = release.image_digests
    assert rows[0]["image_sha256"] == digests[rows[0]["image"]]


@pytest.mark.parametrize("harness", ["lmms-eval", "lm-eval"])
def test_the_parquet_of_a_task_holds_prompt_key_and_bytes(release, tmp_path, harness):
    write_export(select_exportable(release, private=False), tmp_path / "out", harness)
    rows = pq.read_table(tmp_path / "out/test.parquet").to_pylist()
    assert [row["answer"] for row in rows] == ["A", "B", "C", "D", "A"]
    assert rows[0]["image"]["bytes"] == (release.root / "ALPHA/pictures/p0.png").read_bytes()
    assert rows[0]["prompt"].startswith("Question: What does picture 0 show?\nOptions:\nA. Normal")


def test_a_run_is_no_release_and_a_release_no_run(release, tmp_path):
    arguments = ["export", str(release.root), "--to", "inspect", "--out", str(tmp_path / "x.json")]
    ran = CliRunner().invoke(app, arguments)
    assert isinstance(ran.exception, WorkspaceError)
    assert "is not a run" in str(ran.exception)


REPLIES = ("A", "The answer is **B**.", "I cannot tell.", "A", "(A)")
"""To keys A, B, C, D, A: three are right."""

LMMS = """
import json, sys
from lmms_eval import evaluator
from lmms_eval.api.model import lmms
from lmms_eval.loggers import EvaluationTracker
from lmms_eval.tasks import TaskManager

class Fixed(lmms):
    def generate_until(self, requests):
        said = json.loads(sys.argv[2])
        for one in requests:
            _, _, visual, number, task, split = one.args
            assert visual(self.task_dict[task][split][number])[0].size == (8, 8)
        return [said[one.args[3]] for one in requests]
    loglikelihood = generate_until_multi_round = None

Fixed.__abstractmethods__ = frozenset()
tasks = TaskManager("ERROR", include_path=sys.argv[1])
found = evaluator.simple_evaluate(
    model=Fixed(), tasks=["medrcube"], task_manager=tasks, log_samples=True, batch_size=1)
tracker = EvaluationTracker(output_path=sys.argv[3])
tracker.general_config_tracker.model_name_sanitized = "fixed"
tracker.date_id = "d"
tracker.save_results_samples("medrcube", found["samples"]["medrcube"])
print(found["results"]["medrcube"]["medrcube,none"])
"""

LM_EVAL = """
import json, sys
from lm_eval import evaluator
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

class Fixed(LM):
    MULTIMODAL = True
    def generate_until(self, requests, **_):
        said = json.loads(sys.argv[2])
        assert all(one.args[2]["visual"][0].size == (8, 8) for one in requests)
        return [said[one.doc_id] for one in requests]
    loglikelihood = loglikelihood_rolling = None

Fixed.__abstractmethods__ = frozenset()
tasks = TaskManager(include_path=sys.argv[1])
found = evaluator.simple_evaluate(
    model=Fixed(), tasks=["medrcube"], task_manager=tasks, log_samples=True)
tracker = EvaluationTracker(output_path=sys.argv[3])
tracker.general_config_tracker.model_name_sanitized = "fixed"
tracker.date_id = "d"
tracker.save_results_samples("medrcube", found["samples"]["medrcube"])
print(found["results"]["medrcube"]["acc,none"])
"""


@pytest.mark.parametrize(
    ("harness", "variable", "script"),
    [("lmms-eval", "MEDRCUBE_LMMS_PYTHON", LMMS), ("lm-eval", "MEDRCUBE_LM_EVAL_PYTHON", LM_EVAL)],
)
def test_the_harness_gives_our_accuracy_and_its_samples_come_back(
    release, tmp_path, harness, variable, script
):
    if variable not in os.environ:
        pytest.skip(f"{variable} names no Python with {harness}")
    write_export(select_exportable(release, private=False), tmp_path / "out", harness)
    replies = [REPLIES[0], "Answer: B", *REPLIES[2:]]
    arguments = [str(tmp_path / "out"), json.dumps(replies), str(tmp_path / "kept")]
    process = subprocess.run(
        [os.environ[variable], "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"},
    )
    assert process.returncode == 0, process.stderr[-2000:]
    assert float(process.stdout.splitlines()[-1]) == pytest.approx(3 / 5)
    (samples,) = (tmp_path / "kept").rglob("*samples*.jsonl")
    back = import_run(samples, release, tmp_path / "run", model="fixed")
    assert (back.tool, back.replies) == (harness, 5)
    assert back.metrics["global"]["correct"] == 3


def test_without_medrcube_a_letter_counts_and_a_guess_does_not(tmp_path, release):
    write_export(select_exportable(release, private=False), tmp_path / "out", "lm-eval")
    script = (
        "import sys; sys.modules['medrcube'] = None; sys.path.insert(0, sys.argv[1])\n"
        "from medrcube_answers import chosen\n"
        "doc = dict(A='Normal', B='Mass', C='Edema')\n"
        "said = ['A', '(B)', 'The answer is C.', 'Answer: **B**', 'D', 'A mass', '']\n"
        "print([chosen(one, doc) for one in said])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "out")]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "['A', 'B', 'C', 'B', None, None, None]"
    assert process.stderr.startswith(
        "medrcube is not installed here: only a reply that is a letter"
    )


def test_rules_of_an_installed_medrcube_that_cannot_be_read_are_not_replaced(tmp_path, release):
    write_export(select_exportable(release, private=False), tmp_path / "out", "lm-eval")
    script = (
        "import builtins, sys; sys.path.insert(0, sys.argv[1]); real = builtins.__import__\n"
        "def broken(name, *rest):\n"
        "    if name.startswith('medrcube.'): raise ModuleNotFoundError(name='jinja2')\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = broken\n"
        "import medrcube_answers"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "out")]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode != 0
    assert "not installed" not in process.stderr

"""Solved examples before a question: never of its patient, never of its picture, never unasked."""

from __future__ import annotations

import base64
import json
import shutil
import socket
from dataclasses import replace

import numpy as np
import pytest
from begun import begin_run
from PIL import Image
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import ModelError, WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models import image_limits
from medrcube.evaluate.questions import perceptual_hashes
from medrcube.evaluate.questions.conditions import OF_ONE_EDITION, Condition
from medrcube.evaluate.questions.few_shot import FewShotSettings, example_pool
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.questions.selection import ItemFilter
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.runner.run_folder import read_asked
from medrcube.perceptual_hash import MAX_DISTANCE, perceptual_hash
from medrcube.release_format.errata import Erratum
from medrcube.release_format.item_facts import ItemFacts, write_item_facts

PATIENTS = 14
TASKS = ("Disease Diagnosis", "View Recognition")


def picture(seed: int) -> np.ndarray:
    """Blobs that no two seeds share: a smooth random field."""
    coarse = np.random.default_rng(seed).integers(0, 256, (8, 8), np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((96, 96), Image.Resampling.BICUBIC))


@pytest.fixture
def cohort(tmp_path, row, write_release):
    """Two items of each of 14 patients; patient 1 has a paler copy of a picture of patient 0."""
    rows, facts, pixels = [], [], {}
    for number in range(2 * PATIENTS):
        patient = number // 2
        image = f"pictures/n{number}.png"
        rows.append(row(number, image_path=image, task=TASKS[patient > 9]))
        pixels[image] = picture(number)
        facts.append(
            ItemFacts(
                dataset="ALPHA",
                id=f"q{number:03}",
                visible="yes",
                block="",
                unit=f"patient-{patient:016x}",
            )
        )
    pixels["pictures/n2.png"] = (pixels["pictures/n0.png"] * 0.8 + 20).astype(np.uint8)
    root = write_release(tmp_path / "cohort", rows)
    for image, values in pixels.items():
        Image.fromarray(values).save(root / "ALPHA" / image)
    write_item_facts(root, facts)
    return root


def looks_of(root):
    return {
        f"ALPHA/{path.relative_to(root / 'ALPHA').as_posix()}": int(
            perceptual_hash(np.asarray(Image.open(path))), 16
        )
        for path in (root / "ALPHA/pictures").iterdir()
    }


@pytest.mark.parametrize("seed", range(3))
def test_no_example_is_of_the_patient_or_the_picture_that_is_asked_about(
    cohort, tmp_path, scripted_model, seed
):
    model = scripted_model()
    model.takes_shots = True
    benchmark = load_benchmark(cohort)
    items = {item.name: item for item in benchmark.items}
    of_image = {item.image: item for item in benchmark.items}
    perceptual_hashes = looks_of(cohort)
    questions = begin_run(
        tmp_path / "run",
        benchmark,
        model,
        conditions=OF_ONE_EDITION,
        asking=QuestionSetup(shots=FewShotSettings(count=4, seed=seed)),
    )
    assert {entry.presentation.condition for entry in questions} == set(OF_ONE_EDITION)
    for question in questions:
        examples = [items[name] for name, _ in question.shots]
        assert len(examples) == 4
        own_items = [question.item, of_image.get(question.presentation.image, question.item)]
        units = [item.unit for item in examples]
        assert len({*units, *(item.unit for item in own_items)}) == 4 + len(
            {i.unit for i in own_items}
        )
        for example in examples:
            for other in (*own_items, *(e for e in examples if e is not example)):
                apart = (
                    perceptual_hashes[example.image] ^ perceptual_hashes[other.image]
                ).bit_count()
                assert apart > MAX_DISTANCE, (question.item.name, example.name)
    assert read_asked(tmp_path / "run") == questions


def test_examples_come_from_the_cell_where_it_has_enough(cohort, tmp_path, scripted_model):
    model = scripted_model()
    model.takes_shots = True
    begin_run(
        tmp_path / "run",
        load_benchmark(cohort),
        model,
        asking=QuestionSetup(shots=FewShotSettings(count=3)),
    )
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["examples_from"] == {"cell": 3 * 2 * PATIENTS}


def test_another_seed_draws_other_examples_and_the_same_one_the_same(
    cohort, tmp_path, scripted_model
):
    model = scripted_model()
    model.takes_shots = True
    benchmark = load_benchmark(cohort)
    example_sets = [
        tuple(
            entry.shots
            for entry in begin_run(
                tmp_path / f"run{number}",
                benchmark,
                model,
                asking=QuestionSetup(shots=FewShotSettings(count=3, seed=seed)),
            )
        )
        for number, seed in enumerate((0, 0, 1))
    ]
    assert example_sets[0] == example_sets[1] != example_sets[2]


def test_a_solved_example_is_a_turn_with_its_picture_and_right_letter(
    cohort, tmp_path, server, prompt_of
):
    options = ["--base-url", server.url, "--out", str(tmp_path / "run"), "--shots", "2"]
    command = ["evaluate", str(cohort), "--model", "openai/stub", *options]
    result = CliRunner().invoke(app, [*command, "--condition", "full", "--condition", "blind"])
    assert result.exit_code == 0, result.output
    items = {item.question: item for item in load_benchmark(cohort).items}
    count = 0
    for body in server.requests:
        turns = body["messages"]
        assert [turn["role"] for turn in turns] == ["user", "assistant"] * 2 + ["user"]
        kinds = [[part["type"] for part in turn["content"]] for turn in turns[::2]]
        assert kinds in ([["image_url", "text"]] * 3, [["text"]] * 3)
        count += kinds[0] == ["text"]
        for question, answer in zip(turns[::2], turns[1::2], strict=False):
            text = question["content"][-1]["text"]
            item = next(item for question_text, item in items.items() if question_text in text)
            assert answer["content"] == item.key
            if len(question["content"]) == 2:
                image_data = question["content"][0]["image_url"]["url"].partition(",")[2]
                assert base64.b64decode(image_data) == (cohort / str(item.image)).read_bytes()
    assert count == 2 * PATIENTS


def test_claude_has_its_examples_as_turns_too(cohort, tmp_path, server, behaviour):
    body = {
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": "A"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    server.behave = lambda _n, _b: behaviour(body=body)
    options = ["--base-url", server.url, "--out", str(tmp_path / "run"), "--shots", "2"]
    command = ["evaluate", str(cohort), "--model", "anthropic/claude-sonnet-4-5", *options]
    result = CliRunner().invoke(app, [*command, "--limit", "3"])
    assert result.exit_code == 0, result.output
    for request in server.requests:
        turns = request["messages"]
        assert [turn["role"] for turn in turns] == ["user", "assistant"] * 2 + ["user"]
        images = [turn["content"][0]["source"]["data"] for turn in turns[::2]]
        assert len(set(images)) == 3
        assert all(base64.b64decode(data).startswith(b"\x89PNG") for data in images)


def test_too_few_examples_stop_the_run_before_it_begins(release, tmp_path, server):
    options = ["--base-url", server.url, "--out", str(tmp_path / "run"), "--shots", "4"]
    result = CliRunner().invoke(app, ["evaluate", str(release), "--model", "openai/m", *options])
    assert isinstance(result.exception, WorkspaceError)
    assert "ask for fewer" in str(result.exception)
    assert not server.requests
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("count", [0, -1, 17])
def test_a_number_of_examples_out_of_range_is_refused(count):
    with pytest.raises(WorkspaceError, match="--shots"):
        FewShotSettings(count=count)


def test_a_model_that_takes_no_examples_never_loses_them_silently(cohort, tmp_path, scripted_model):
    with pytest.raises(ModelError, match="does not support solved examples"):
        run_evaluation(
            load_benchmark(cohort),
            scripted_model(),
            tmp_path / "run",
            asking=QuestionSetup(shots=FewShotSettings(count=1)),
        )
    assert not (tmp_path / "run").exists()


@pytest.mark.thorough
def test_a_run_goes_on_with_its_own_examples_alone(cohort, tmp_path, server):
    command = ["evaluate", str(cohort), "--model", "openai/m", "--base-url", server.url]
    command += ["--out", str(tmp_path / "run")]
    assert CliRunner().invoke(app, [*command, "--shots", "2"]).exit_code == 0
    count = len(server.requests)
    for options in ([], ["--shots", "3"], ["--shots", "2", "--shots-seed", "5"]):
        message = str(CliRunner().invoke(app, [*command, *options]).exception)
        assert "other examples" in message
        assert "shots" in message
    assert CliRunner().invoke(app, [*command, "--shots", "2"]).exit_code == 0
    assert len(server.requests) == count
    write_report([tmp_path / "run"], tmp_path / "report.html")
    assert "2 solved examples" in (tmp_path / "report.html").read_text()


def test_a_picture_under_contract_is_no_example_without_leave(
    tmp_path, row, write_release, server, monkeypatch
):
    rows = [
        row(
            number,
            dataset="BUSI" if number < 8 else "VINDR-CXR",
            restricted=number >= 8,
            image_path=f"pictures/n{number}.png",
        )
        for number in range(16)
    ]
    root = write_release(tmp_path / "mixed", rows)
    secret = set()
    for number in range(16):
        folder = "BUSI" if number < 8 else "VINDR-CXR"
        path = root / folder / f"pictures/n{number}.png"
        Image.fromarray(picture(number)).save(path)
        if number >= 8:
            secret.add(path.read_bytes())
    resolve = socket.getaddrinfo
    host = "models.example.org"
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda name, *rest, **more: resolve(
            "127.0.0.1" if name in {host, host.encode()} else name, *rest, **more
        ),
    )
    url = server.url.replace("127.0.0.1", host)
    command = ["evaluate", str(root), "--model", "openai/m", "--base-url", url]
    command += ["--source", "BUSI", "--shots", "5"]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "closed")])
    assert result.exit_code == 0, result.output
    assert len(server.requests) == 8
    assert not sent_by(server) & secret
    leave = ["--i-may-send", "vindr-cxr"]
    result = CliRunner().invoke(app, [*command, *leave, "--out", str(tmp_path / "open")])
    assert result.exit_code == 0, result.output
    assert sent_by(server) & secret


def sent_by(server):
    return {
        base64.b64decode(part["image_url"]["url"].partition(",")[2])
        for body in server.requests
        for turn in body["messages"]
        if isinstance(turn["content"], list)
        for part in turn["content"]
        if part["type"] == "image_url"
    }


def test_a_withdrawn_item_is_no_example(cohort, tmp_path, scripted_model):
    model = scripted_model()
    model.takes_shots = True
    benchmark = load_benchmark(cohort)
    names = {item.name for item in benchmark.items[:10]}
    errata = dict.fromkeys(names)
    questions = begin_run(
        tmp_path / "run",
        benchmark,
        model,
        asking=QuestionSetup(shots=FewShotSettings(count=2)),
    )
    assert {name for question in questions for name, _ in question.shots} & names
    outcome = example_pool(
        replace(benchmark, errata=errata), FewShotSettings(count=2), benchmark.items
    )
    assert not {item.name for item in outcome.pool} & names


def test_where_no_patient_is_told_pictures_that_look_alike_are_kept_apart(
    cohort, tmp_path, scripted_model
):
    (cohort / "items.csv").unlink()
    model = scripted_model()
    model.takes_shots = True
    benchmark = load_benchmark(cohort)
    questions = begin_run(
        tmp_path / "run",
        benchmark,
        model,
        asking=QuestionSetup(shots=FewShotSettings(count=16)),
    )
    pairs = {
        (question.item.id, name.partition("/")[2])
        for question in questions
        for name, _ in question.shots
    }
    assert ("q000", "q002") not in pairs
    assert ("q002", "q000") not in pairs
    assert ("q000", "q001") in pairs or ("q001", "q000") in pairs
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["shots"]["apart_by"] == "look alone"
    assert {question.presentation.condition for question in questions} == {Condition.FULL}


@pytest.fixture
def public_cohort(cohort, tmp_path):
    """The cohort without its restricted pictures, those of patient 0; and where they were moved."""
    table = cohort / "ALPHA/test.json"
    rows = json.loads(table.read_text())
    for entry in rows[:2]:
        entry["restricted"] = True
    table.write_text(json.dumps(rows))
    aside = tmp_path / "kept"
    aside.mkdir()
    for number in range(2):
        shutil.move(cohort / f"ALPHA/pictures/n{number}.png", aside)
    return cohort, aside


def bring_back(cohort, aside):
    for path in aside.iterdir():
        shutil.copy(path, cohort / "ALPHA/pictures")


def shots_of(questions):
    return {
        (question.item.name, question.presentation.condition): question.shots
        for question in questions
        if question.shots
    }


def test_a_run_keeps_its_examples_once_pictures_were_reconstructed(
    public_cohort, tmp_path, scripted_model
):
    cohort, aside = public_cohort
    model = scripted_model()
    model.takes_shots = True
    asking = QuestionSetup(shots=FewShotSettings(count=3))
    run = tmp_path / "run"
    first = run_evaluation(load_benchmark(cohort), model, run, asking=asking, may_send=["ALPHA"])
    assert (first.answered, first.missing) == (2 * PATIENTS - 2, 2)
    before = shots_of(read_asked(run))
    bring_back(cohort, aside)
    second = run_evaluation(load_benchmark(cohort), model, run, asking=asking, may_send=["ALPHA"])
    assert (second.reused, second.answered, second.missing) == (2 * PATIENTS - 2, 2, 0)
    after = shots_of(read_asked(run))
    assert before.items() <= after.items()
    came = [shots for key, shots in after.items() if key not in before]
    assert len(came) == 2
    used = {name for shots in after.values() for name, _ in shots}
    assert not used & {"ALPHA/q000", "ALPHA/q001"}


def test_an_example_that_turns_out_to_look_like_the_picture_is_drawn_anew(
    public_cohort, tmp_path, scripted_model
):
    cohort, aside = public_cohort
    (cohort / "items.csv").unlink()
    model = scripted_model()
    model.takes_shots = True
    conditions = [Condition.BLIND]
    shots = {}
    for seed in range(20):
        asking = QuestionSetup(shots=FewShotSettings(count=8, seed=seed))
        run = tmp_path / f"run{seed}"
        begin_run(run, load_benchmark(cohort), model, asking=asking, conditions=conditions)
        shots[run] = shots_of(read_asked(run))["ALPHA/q000", Condition.BLIND]
        if "ALPHA/q002" in dict(shots[run]):
            break
    assert "ALPHA/q002" in dict(shots[run])
    bring_back(cohort, aside)
    now = begin_run(run, load_benchmark(cohort), model, asking=asking, conditions=conditions)
    assert "ALPHA/q002" not in dict(shots_of(now)["ALPHA/q000", Condition.BLIND])


def test_a_withdrawn_example_is_drawn_anew_and_the_run_goes_on(cohort, tmp_path, scripted_model):
    model = scripted_model()
    model.takes_shots = True
    benchmark, asking = load_benchmark(cohort), QuestionSetup(shots=FewShotSettings(count=2))
    run = tmp_path / "run"
    before = shots_of(begin_run(run, benchmark, model, asking=asking))
    gone = next(iter(before.values()))[0][0]
    dataset, _, name = gone.partition("/")
    error = Erratum(dataset=dataset, id=name, by="maintainer", on="2026-01-01", why="wrong key")
    after = shots_of(begin_run(run, replace(benchmark, errata={gone: error}), model, asking=asking))
    for key, shots in after.items():
        assert gone not in dict(shots)
        assert gone in dict(before[key]) or shots == before[key]


def test_pictures_are_hashed_once_for_a_run(cohort, tmp_path, scripted_model, monkeypatch):
    model = scripted_model()
    model.takes_shots = True
    asking = QuestionSetup(shots=FewShotSettings(count=2))
    first = begin_run(tmp_path / "run", load_benchmark(cohort), model, asking=asking)

    def never(_picture):
        raise AssertionError

    monkeypatch.setattr(perceptual_hashes, "thumbnail", never)
    again = begin_run(tmp_path / "run", load_benchmark(cohort), model, asking=asking)
    assert shots_of(again) == shots_of(first)


def test_examples_that_may_no_longer_be_sent_stop_the_run(cohort, tmp_path, scripted_model):
    model = scripted_model()
    model.takes_shots = True
    asking = QuestionSetup(shots=FewShotSettings(count=2))
    table = cohort / "ALPHA/test.json"
    beta = [{**entry, "dataset": "BETA"} for entry in json.loads(table.read_text())[:8]]
    shutil.copytree(cohort / "ALPHA", cohort / "BETA")
    (cohort / "BETA/test.json").write_text(json.dumps(beta))
    benchmark, mine = load_benchmark(cohort), ItemFilter(sources=frozenset({"ALPHA"}))
    begin_run(tmp_path / "run", benchmark, model, asking=asking, choice=mine)
    with pytest.raises(WorkspaceError, match="other examples"):
        begin_run(
            tmp_path / "run",
            benchmark,
            model,
            asking=asking,
            choice=replace(mine, withheld=frozenset({"BETA"})),
        )


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("options", "warned"),
    [
        (("--shots", "2"), True),
        (("--shots", "1"), False),
        (("--shots", "2", "--image-size", "64"), False),
        (("--shots", "2", "--condition", "blind"), False),
    ],
)
def test_pictures_that_are_too_much_together_are_told_before_any_is_sent(
    cohort, tmp_path, monkeypatch, options, warned
):
    largest = max(path.stat().st_size for path in cohort.glob("*/pictures/*"))
    room = replace(image_limits._OPENAI, request=2 * (largest * 4 // 3 + 4))
    monkeypatch.setitem(image_limits._HOSTS, "api.openai.com", room)
    for path in cohort.glob("*/pictures/*"):
        path.write_bytes(path.read_bytes().ljust(largest, b"\0"))
    command = ["evaluate", str(cohort), "--model", "openai/gpt-4.1", "--dry-run", *options]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert ("would be refused by OpenAI for the size of all their images" in text) == warned
    assert "for their size (" not in text

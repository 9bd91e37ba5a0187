"""Degraded images: of known size, the same each time, with every pixel where it was."""

from __future__ import annotations

import hashlib
import io
import json

import numpy as np
import pytest
from PIL import Image

from medrcube.errors import WorkspaceError
from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.protocol import RejectedError
from medrcube.evaluate.questions.conditions import Condition, parse_conditions
from medrcube.evaluate.questions.degradation import OPERATIONS, Degradation
from medrcube.evaluate.questions.degraded_images import degrade
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.statistics.comparison.compare_runs import compare_two
from medrcube.evaluate.stored_scores import read_metrics

EACH = ("noise=0.1", "jpeg=10", "blur=2", "downscale=4")
NOISE = QuestionSetup(degradation=Degradation("noise", 0.1))


def picture(image):
    out = io.BytesIO()
    image.save(out, "PNG")
    data = out.getvalue()
    return ImageFile(data=data, media_type="image/png", sha256=hashlib.sha256(data).hexdigest())


def grey(value=128, size=(96, 64)):
    return picture(Image.new("L", size, value))


def pixels(file):
    with Image.open(io.BytesIO(file.data)) as image:
        return np.asarray(image).astype(float)


def halves(size=(96, 64)):
    image = Image.new("L", size, 40)
    image.paste(200, (size[0] // 2, 0, *size))
    return picture(image)


@pytest.mark.parametrize("text", EACH)
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "P", "1", "I;16"])
def test_width_and_height_stay_in_every_mode(text, mode):
    base = Image.linear_gradient("L").resize((97, 61))
    image = Image.fromarray(np.asarray(base).astype(np.uint16) * 200) if mode == "I;16" else None
    output = degrade(picture(image or base.convert(mode)), Degradation.parse(text))
    with Image.open(io.BytesIO(output.data)) as degraded_image:
        assert (degraded_image.size, degraded_image.format) == ((97, 61), "PNG")


@pytest.mark.parametrize("text", EACH)
def test_an_image_is_degraded_alike_each_time(text):
    first, second = (degrade(halves(), Degradation.parse(text)) for _ in range(2))
    assert first.sha256 == second.sha256


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_noise_has_the_stated_standard_deviation(share):
    values = pixels(degrade(grey(size=(256, 256)), Degradation("noise", share)))
    assert np.std(values) == pytest.approx(255 * share, rel=0.02)
    assert np.mean(values) == pytest.approx(128, abs=0.5)


def test_two_images_get_different_noise():
    first, second = (pixels(degrade(grey(v), Degradation("noise", 0.05))) - v for v in (100, 101))
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.1


def test_noise_of_a_colour_image_is_grey():
    output = pixels(
        degrade(picture(Image.new("RGB", (64, 64), (90, 100, 110))), Degradation("noise", 0.05))
    )
    assert np.ptp(output - [90, 100, 110], axis=2).max() == 0


def test_blur_has_the_stated_width():
    edge = pixels(degrade(halves((192, 8)), Degradation("blur", 4)))[4]
    slope = np.diff(edge)
    places = np.arange(len(slope))
    centre = (slope * places).sum() / slope.sum()
    width = np.sqrt((slope * (places - centre) ** 2).sum() / slope.sum())
    assert width == pytest.approx(4, rel=0.1)
    assert centre == pytest.approx(95, abs=0.6)


def test_a_lower_resolution_moves_nothing():
    edge = pixels(degrade(halves(), Degradation("downscale", 4)))[32]
    middle = np.flatnonzero(edge > 120)[0]
    assert abs(middle - 48) <= 1
    assert (edge[:40].max(), edge[56:].min()) == (40, 200)


def test_a_lower_quality_loses_more():
    noisy = degrade(grey(size=(64, 64)), Degradation("noise", 0.2))
    errors = [
        np.abs(pixels(degrade(noisy, Degradation("jpeg", q))) - pixels(noisy)).mean()
        for q in (90, 10)
    ]
    assert 0 < errors[0] < errors[1]


def test_transparency_is_left_as_it_is():
    image = Image.new("RGBA", (32, 32), (50, 60, 70, 90))
    assert set(pixels(degrade(picture(image), Degradation("noise", 0.1)))[..., 3].ravel()) == {90}


def test_a_broken_image_costs_its_question_alone():
    broken = ImageFile(data=b"\x89PNG\r\n\x1a\n no", media_type="image/png", sha256="0" * 64)
    with pytest.raises(RejectedError, match="cannot be decoded"):
        degrade(broken, Degradation("blur", 1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("noise", "expected an operation and its size"),
        ("noise=much", "expected an operation and its size"),
        ("noise=2", "expected a number from 0.001 to 1"),
        ("noise=nan", "expected a number"),
        ("jpeg=10.5", "expected a whole number from 1 to 95"),
        ("rotate=3", "no degradation 'rotate'; expected one of: noise, jpeg, blur, downscale"),
    ],
)
def test_what_is_no_degradation_is_refused(text, words):
    with pytest.raises(WorkspaceError, match=words):
        Degradation.parse(text)


def test_conditions_and_their_degradation_are_parsed_together():
    assert parse_conditions(["full", "degraded:blur=2"]) == (
        [Condition.FULL, Condition.DEGRADED],
        Degradation("blur", 2),
    )
    with pytest.raises(WorkspaceError, match="one degradation, not"):
        parse_conditions(["degraded:blur=2", "degraded:blur=3"])
    with pytest.raises(WorkspaceError, match="only degraded takes a colon"):
        parse_conditions(["blind:noise=0.1"])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_manifest_keeps_the_degradation(operation):
    degradation = Degradation(operation, OPERATIONS[operation].most)
    assert Degradation.of_manifest(json.loads(json.dumps(degradation.identity))) == degradation
    with pytest.raises(WorkspaceError, match="another run folder"):
        Degradation.of_manifest({**degradation.identity, "rule": "degraded/0"})


def ask(benchmark, model, run, conditions, asking=NOISE):
    return run_evaluation(benchmark, model, run, conditions=conditions, asking=asking)


def test_a_run_shows_the_degraded_image_beside_the_same_question(
    benchmark, tmp_path, scripted_model
):
    model = scripted_model()
    ask(benchmark, model, tmp_path / "run", [Condition.FULL, Condition.DEGRADED])
    digests_by_question = {}
    for request in model.requests:
        digests_by_question.setdefault((request.item, request.prompt), []).append(
            request.picture.sha256
        )
    assert len(digests_by_question) == 8
    assert all(len(set(digests)) == 2 for digests in digests_by_question.values())
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["degradation"]["operation"] == "noise"
    assert manifest["degradation"]["size"] == 0.1


def test_a_run_with_degraded_images_keeps_its_degradation(benchmark, tmp_path, scripted_model):
    run = tmp_path / "run"
    ask(benchmark, scripted_model(), run, [Condition.FULL], QuestionSetup())
    with pytest.raises(WorkspaceError, match="needs an operation and its size"):
        ask(benchmark, scripted_model(), run, [Condition.DEGRADED], QuestionSetup())
    assert ask(benchmark, scripted_model(), run, [Condition.DEGRADED]).reused == 8
    again = scripted_model()
    ask(benchmark, again, run, [Condition.FULL], QuestionSetup())
    assert again.requests == []
    other = QuestionSetup(degradation=Degradation("noise", 0.2))
    with pytest.raises(WorkspaceError, match=r"asked with degraded:noise=0.1, not .*=0.2"):
        ask(benchmark, scripted_model(), run, [Condition.DEGRADED], other)


def test_degraded_answers_are_paired_with_the_plain_ones_and_never_mixed(
    benchmark, tmp_path, scripted_model
):
    plain = {}
    ask(benchmark, first := scripted_model(), tmp_path / "plain", [Condition.FULL])
    plain = {request.item: request.picture.sha256 for request in first.requests}
    keys = {item.name: item.key for item in benchmark.items}

    def seeing(request):
        whole = request.picture.sha256 == plain[request.item]
        return keys[request.item] if whole else "A"

    run = tmp_path / "run"
    ask(benchmark, scripted_model(seeing), run, [Condition.FULL, Condition.DEGRADED])
    metrics = read_metrics(run)
    assert metrics["global"]["accuracy"] == 1
    assert metrics["conditions"]["degraded"]["global"]["accuracy"] == 0.25
    contrast = metrics["contrasts"]["degraded"]["global"]
    assert (contrast["first"], contrast["second"], contrast["n"]) == (1, 0.25, 8)


def test_runs_with_and_without_degradation_are_compared_in_pairs(
    benchmark, tmp_path, scripted_model
):
    ask(benchmark, scripted_model(), tmp_path / "plain", [Condition.FULL], QuestionSetup())
    ask(benchmark, scripted_model(), tmp_path / "noisy", [Condition.DEGRADED])
    compared = compare_two(tmp_path / "plain", tmp_path / "noisy")
    assert (compared["condition"], compared["items"]["common"]) == ("degraded", 8)
    assert [note.partition(": ")[2] for note in compared["notes"][-2:]] == [
        "images as they are",
        "Gaussian noise of SD 0.1 of the grey range",
    ]
    assert [
        "images of condition degraded",
        "",
        "Gaussian noise of SD 0.1 of the grey range (degraded/1)",
    ] in compared["settings"]

"""Smaller pictures: never larger ones, nothing lost but resolution, and a run keeps to its size."""

from __future__ import annotations

import base64
import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import ModelError, WorkspaceError
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.image_files import ImageFile, media_type
from medrcube.evaluate.models.protocol import RejectedError
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.questions.downscaling import shrink, size_within
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.statistics.comparison.compare_runs import compare_two


def picture_of(image: Image.Image, kind: str = "PNG", **options) -> ImageFile:
    out = io.BytesIO()
    image.save(out, kind, **options)
    data = out.getvalue()
    return ImageFile(data=data, media_type=media_type(data) or "", sha256="of the file")


def pixels_of(picture: ImageFile) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(picture.data)))


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(32, 2000))
def test_no_picture_grows_and_its_shape_stays(width, height, longest):
    small = size_within((width, height), longest)
    assert max(small) <= max(longest, 1)
    assert small[0] <= width
    assert small[1] <= height
    if max(width, height) <= longest:
        assert small == (width, height)
    else:
        assert max(small) == longest
        assert abs(small[0] * height - small[1] * width) <= max(width, height)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_every_pixel_is_the_mean_of_its_part(seed):
    values = np.random.default_rng(seed).integers(0, 256, (192, 128), np.uint8)
    small = pixels_of(shrink(picture_of(Image.fromarray(values)), 48))
    means = values.reshape(48, 4, 32, 4).mean(axis=(1, 3))
    assert small.shape == (48, 32)
    # Rows and columns are rounded one after the other.
    assert np.abs(small - means).max() <= 1


def test_a_picture_that_is_small_enough_keeps_its_own_bytes():
    picture = picture_of(Image.new("L", (64, 48), 7), "JPEG")
    assert shrink(picture, 64) is picture
    assert shrink(picture, 63).media_type == "image/png"


def test_a_drawn_outline_is_still_seen():
    values = np.full((1024, 1024, 3), 90, np.uint8)
    values[300:302, 300:700] = values[700:702, 300:700] = (255, 0, 0)
    values[300:700, 300:302] = values[300:700, 700:702] = (255, 0, 0)
    small = pixels_of(shrink(picture_of(Image.fromarray(values)), 256)).astype(int)
    red = small[..., 0] - small[..., 1]
    # Every side of the frame, along its whole length, in pixels of the small picture.
    assert red[75, 76:174].min() > 60
    assert red[175, 76:174].min() > 60
    assert red[76:174, 75].min() > 60
    assert red[76:174, 175].min() > 60


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_kind_of_picture_is_made_smaller(mode):
    grey = Image.fromarray(np.linspace(0, 255, 96 * 64).reshape(64, 96).astype(np.uint8))
    if mode == "I;16":
        image = Image.fromarray(np.linspace(0, 4000, 96 * 64).reshape(64, 96).astype(np.uint16))
    else:
        image = grey.convert(mode)
    small = pixels_of(shrink(picture_of(image), 48))
    assert small.shape[:2] == (32, 48)
    assert small.dtype == np.uint8
    # Deep grey is not cut off, and nothing is inverted.
    first = small if small.ndim == 2 else small[..., 0]
    assert first[:4].mean() < 40
    assert first[-4:].mean() > 215


def test_a_picture_that_is_stored_turned_is_upright():
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = picture_of(Image.new("L", (100, 50)), "JPEG", exif=exif)
    assert pixels_of(shrink(picture, 40)).shape == (40, 20)


def test_a_picture_that_cannot_be_decoded_is_rejected():
    broken = ImageFile(data=b"\x89PNG\r\n\x1a\nnothing", media_type="image/png", sha256="")
    with pytest.raises(RejectedError, match="decoded"):
        shrink(broken, 64)


@pytest.fixture
def large(release):
    for number, path in enumerate(sorted((release / "ALPHA/pictures").iterdir())):
        values = np.random.default_rng(number).integers(0, 256, (100, 160), np.uint8)
        Image.fromarray(values).save(path)
    return release


@pytest.fixture
def evaluate(large, server, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(*options, out="run"):
        command = ["evaluate", str(large), "--model", "openai/stub", "--base-url", server.url]
        return CliRunner().invoke(app, [*command, "--out", str(tmp_path / out), *options])

    return run


def sent_size(body):
    url = body["messages"][0]["content"][0]["image_url"]["url"]
    return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size


@pytest.mark.thorough
def test_a_run_sends_pictures_of_its_size_and_goes_on_with_no_other(evaluate, server, tmp_path):
    assert evaluate("--image-size", "80").exit_code == 0
    assert {sent_size(body) for body in server.requests} == {(80, 50)}
    count = len(server.requests)
    message = str(evaluate("--image-size", "96").exception)
    assert "another image size" in message
    assert "pictures.longest_side: 80 in the run, 96 now" in message
    assert "another image size" in str(evaluate().exception)
    assert evaluate("--image-size", "80").exit_code == 0
    assert len(server.requests) == count
    assert evaluate(out="plain").exit_code == 0
    assert sent_size(server.requests[-1]) == (160, 100)
    write_report([tmp_path / "run", tmp_path / "plain"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "smaller images" in page
    assert "at most 80 pixels a side" in page
    comparison = compare_two(tmp_path / "run", tmp_path / "plain")
    assert [row[0] for row in comparison["settings"]] == ["image size"]
    assert any("image size" in note for note in comparison["notes"])


def test_the_detail_is_a_field_of_each_picture_and_part_of_the_identity(evaluate, server, tmp_path):
    assert evaluate("--image-detail", "low").exit_code == 0
    image_url = server.requests[0]["messages"][0]["content"][0]["image_url"]
    assert image_url["detail"] == "low"
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["model"]["image_detail"] == "low"
    assert 'model.image_detail: "low" in the run, nothing now' in str(evaluate().exception)
    assert evaluate(out="plain").exit_code == 0
    assert "detail" not in server.requests[-1]["messages"][0]["content"][0]["image_url"]


@pytest.mark.parametrize("model", ["baseline/random", "hf/some/model", "anthropic/claude"])
def test_a_model_without_that_field_refuses_a_detail(model):
    with pytest.raises(ModelError, match="--image-size works with every model"):
        open_model(model, ModelSettings(image_detail="low"))


def test_a_detail_that_nobody_knows_is_refused(server):
    with pytest.raises(ModelError, match="low, high, auto"):
        open_model("openai/m", ModelSettings(image_detail="huge", base_url=server.url))


@pytest.mark.parametrize("size", [0, 31, -5])
def test_a_size_at_which_nothing_is_seen_is_refused(size):
    with pytest.raises(WorkspaceError, match="--image-size"):
        QuestionSetup(image_size=size)


def test_a_question_whose_picture_cannot_be_made_smaller_fails_alone(
    benchmark, release, tmp_path, scripted_model
):
    path = release / "ALPHA/pictures/p1.png"
    path.write_bytes(path.read_bytes()[:40])
    state = run_evaluation(
        benchmark, scripted_model(), tmp_path / "run", asking=QuestionSetup(image_size=32)
    )
    assert (state.failed, state.answered) == (2, 6)

"""The pixels that a local model's processor keeps pictures within, as the user asks for them."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import ModelError
from medrcube.evaluate.models.hf.settings import LocalSettings


def test_bounds_are_kept_and_are_part_of_the_identity(tiny, open_tiny, question):
    pytest.importorskip("torch")
    folder = tiny("qwen2-vl")
    plain = open_tiny(folder)
    bounded = open_tiny(folder, min_pixels=28 * 28, max_pixels=28 * 28 * 4)
    processor = bounded.identity["processor"]
    assert processor["size"] == {"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 4}
    assert processor["digest"] != plain.identity["processor"]["digest"]

    def patches(model):
        job = model._engine.job(question(1, size=(280, 280)))
        return len(model._engine.prepare([job]).inputs[0]["pixel_values"])

    assert patches(bounded) <= 4 * 4 < patches(plain)


def test_one_bound_leaves_the_other_as_the_processor_has_it(tiny, open_tiny):
    pytest.importorskip("torch")
    folder = tiny("qwen2-vl")
    before = open_tiny(folder).identity["processor"]["size"]
    after = open_tiny(folder, max_pixels=28 * 28 * 4).identity["processor"]["size"]
    assert after == {**before, "longest_edge": 28 * 28 * 4}


def test_a_processor_without_bounds_refuses_them_by_name(tiny, open_tiny):
    pytest.importorskip("torch")
    with pytest.raises(ModelError, match=r"--max-pixels: \w+ImageProcessor\w*, .*--image-size"):
        open_tiny(tiny("llava"), max_pixels=1000)


@pytest.mark.parametrize(("least", "most"), [(0, None), (None, -1), (10, 9)])
def test_bounds_that_hold_nothing_are_refused(least, most):
    with pytest.raises(ModelError, match="-pixels"):
        LocalSettings(min_pixels=least, max_pixels=most)


def test_bounds_are_not_lost_on_a_model_that_runs_elsewhere(release, tmp_path):
    command = ["evaluate", str(release), "--model", "openai/m", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, [*command, "--max-pixels", "1000"])
    assert isinstance(result.exception, ModelError)
    assert "set the limits on its server" in str(result.exception)

"""Checkpoints open as their makers name their parts, or one message says what to install."""

from __future__ import annotations

import importlib
import json
import shutil

import pytest

from medrcube.errors import MissingExtraError, ModelError


@pytest.fixture
def loading(torch):
    return importlib.import_module("medrcube.evaluate.models.hf.loading")


@pytest.fixture
def processors(torch):
    return importlib.import_module("medrcube.evaluate.models.hf.processors")


@pytest.fixture
def checkpoint(tiny, tmp_path):
    """``checkpoint(family, **names)``: a copy whose image processor is named otherwise."""

    def copy(family, **names):
        folder = tmp_path / family
        shutil.copytree(tiny(family), folder)
        for path in folder.glob("*processor_config.json"):
            data = json.loads(path.read_text())
            inner = data.get("image_processor", data)
            if "image_processor_type" in inner:
                inner |= names
                path.write_text(json.dumps(data))
        return folder

    return copy


def test_a_fast_image_processor_opens_with_and_without_torchvision(checkpoint, open_tiny):
    folder = checkpoint("qwen2-vl", image_processor_type="Qwen2VLImageProcessorFast")
    images = open_tiny(folder).identity["processor"]["images"]
    assert images in {"Qwen2VLImageProcessor", "Qwen2VLImageProcessorPil"}


def test_packages_that_a_processor_needs_are_named_in_one_message(
    tiny, open_tiny, processors, monkeypatch
):
    def refuse(*_, **__):
        raise ImportError("Package `num2words` is required to run SmolVLM processor.")

    monkeypatch.setattr(processors.AutoProcessor, "from_pretrained", refuse)
    monkeypatch.setattr(processors.AutoTokenizer, "from_pretrained", refuse)
    monkeypatch.setattr(processors, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match="torchvision and num2words") as excinfo:
        open_tiny(tiny("qwen2-vl"))
    assert "pip install 'medrcube[local]'" in str(excinfo.value)


def test_a_package_that_is_there_is_not_called_missing(tiny, open_tiny, processors, monkeypatch):
    def refuse(*_, **__):
        raise ImportError("needs torchvision 99")

    monkeypatch.setattr(processors.AutoProcessor, "from_pretrained", refuse)
    monkeypatch.setattr(processors, "find_spec", lambda _name: object())
    with pytest.raises(ModelError, match="cannot be opened: needs torchvision 99"):
        open_tiny(tiny("qwen2-vl"))


@pytest.mark.parametrize(
    ("attention", "expected"), [(None, {"vision_config": "eager"}), ("sdpa", "sdpa")]
)
def test_phi_4_sees_eagerly_unless_told_otherwise(loading, attention, expected):
    transformers = pytest.importorskip("transformers")
    settings = loading.LocalSettings(attention=attention)
    assert loading._attention(transformers.Phi4MultimodalConfig(), settings) == expected
    assert loading._attention(transformers.Qwen2VLConfig(), settings) == attention


def test_phi_4_is_opened_as_a_model_of_many_kinds_of_input(loading):
    transformers = pytest.importorskip("transformers")
    kind = loading._class_of(transformers.Phi4MultimodalConfig())
    assert kind is transformers.AutoModelForMultimodalLM
    assert loading._class_of(transformers.LlamaConfig()) is None
    assert (
        loading._class_of(transformers.Qwen2VLConfig()) is transformers.AutoModelForImageTextToText
    )


@pytest.mark.parametrize(("beside", "refused"), [("vision-lora", True), ("other", False)])
def test_phi_4_beside_the_adapter_that_it_sees_by_is_refused(loading, tmp_path, beside, refused):
    config = pytest.importorskip("transformers").Phi4MultimodalConfig()
    (tmp_path / beside).mkdir()
    with pytest.raises(ModelError) as excinfo:
        loading._check(str(tmp_path), config, object())
    assert ("merge it into the weights" in str(excinfo.value)) == refused


def test_phi_4_of_the_hub_is_refused(loading):
    config = pytest.importorskip("transformers").Phi4MultimodalConfig()
    with pytest.raises(ModelError, match="needs the adapter vision-lora"):
        loading._check("microsoft/Phi-4-multimodal-instruct", config, object())

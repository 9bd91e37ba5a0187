"""Load transformers processors, even if the video packages are not installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from medrcube.errors import MissingExtraError, ModelError
from medrcube.evaluate.models.hf.settings import LocalSettings

try:
    import transformers
    from transformers import AutoImageProcessor, AutoProcessor, AutoTokenizer
except ImportError as error:
    raise MissingExtraError(error.name or "transformers", "local") from error

__all__ = ["bound_pixels", "chat_template", "open_processor"]

_PROCESSING = ("torchvision", "num2words")
"""Packages that processors of real checkpoints need; installed by the extra."""


def open_processor(path: str, config: Any, common: Mapping[str, Any]) -> Any:
    """Return the processor of a model, without its video part if that cannot be loaded.

    Args:
        path: folder or name on the hub.
        config: the model's configuration.
        common: keyword arguments for every part.

    Raises:
        MissingExtraError: it needs packages that are not installed.
        ImportError | ValueError | OSError: it cannot be created.
    """
    try:
        return AutoProcessor.from_pretrained(path, **common)
    # A missing package raises ImportError; a class name that ends in "Fast" raises ValueError.
    except (ImportError, ValueError) as error:
        absent = [name for name in _PROCESSING if find_spec(name) is None]
        if not any(name in str(error).lower() for name in absent):
            raise
        try:
            return _still_processor(path, config, common, error)
        except Exception:  # noqa: BLE001 - whatever else it lacks without these packages
            raise MissingExtraError(" and ".join(absent), "local") from error


def _still_processor(path: str, config: Any, common: Mapping[str, Any], error: Exception) -> Any:
    """Return a processor without its video part, which needs torchvision and is never used here."""
    mapping = transformers.models.auto.processing_auto.PROCESSOR_MAPPING
    if type(config) not in mapping:
        raise error
    base = mapping[type(config)]

    def check(self: Any, name: str, part: object) -> Any:
        if name == "video_processor" and part is None:
            return None
        return base.check_argument_for_proper_class(self, name, part)

    kind: Any = type(base.__name__, (base,), {"check_argument_for_proper_class": check})
    parts = {
        "image_processor": AutoImageProcessor.from_pretrained(path, backend="pil", **common),
        "tokenizer": AutoTokenizer.from_pretrained(path, **common),
    }
    settings, _ = kind.get_processor_dict(path, **common)
    processor = kind.from_args_and_dict(
        [parts.get(name) for name in kind.get_attributes()], settings
    )
    if template := chat_template(processor):
        # Some processors use their video part for any prompt; fail here, not at the first question.
        content = [{"type": "image"}, {"type": "text", "text": "?"}]
        processor.apply_chat_template(
            [{"role": "user", "content": content}], chat_template=template
        )
    return processor


def bound_pixels(processor: Any, settings: LocalSettings) -> None:
    """Apply the user's pixel limits to a processor.

    Raises:
        ModelError: its image processor has no such setting.
    """
    limits = {"min_pixels": settings.min_pixels, "max_pixels": settings.max_pixels}
    requested = {name: pixels for name, pixels in limits.items() if pixels is not None}
    if not requested:
        return
    images = processor.image_processor
    supported = getattr(getattr(images, "valid_kwargs", None), "__annotations__", {})
    absent = [f"--{name.replace('_', '-')}" for name in requested if name not in supported]
    if absent:
        raise ModelError(
            f"{' and '.join(absent)}: {type(images).__name__}, the image processor of this model, "
            "has no such setting; leave it out, or use --image-size"
        )
    bounded = type(images)(**{**images.to_dict(), **requested})
    facts = bounded.to_dict()
    size = facts.get("size") or {}
    actual = {
        "min_pixels": facts.get("min_pixels") or size.get("shortest_edge"),
        "max_pixels": facts.get("max_pixels") or size.get("longest_edge"),
    }
    for name, pixels in requested.items():
        if actual[name] != pixels:
            raise ModelError(
                f"--{name.replace('_', '-')} {pixels}: {type(images).__name__} still has "
                f"{actual[name]}; leave it out, or use --image-size"
            )
    processor.image_processor = bounded


def chat_template(processor: Any) -> Any:
    """Return the chat template of a processor, or ``None``."""
    return getattr(processor, "chat_template", None) or getattr(
        processor.tokenizer, "chat_template", None
    )

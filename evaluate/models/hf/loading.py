"""Load a model's files from a folder or the Hugging Face hub, and record exactly what they are.

Weights are loaded last and separately, because the identity of a model is needed before, and often
without, asking any question.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.errors import MissingExtraError, ModelError
from medrcube.evaluate.models.hf.processors import bound_pixels, chat_template, open_processor
from medrcube.evaluate.models.hf.settings import LocalSettings
from medrcube.evaluate.models.protocol import Json

try:
    import torch
    import transformers
    from transformers import (
        AutoConfig,
        AutoModelForImageTextToText,
        AutoModelForMultimodalLM,
        GenerationConfig,
    )
except ImportError as error:
    raise MissingExtraError(error.name or "transformers", "local") from error

__all__ = [
    "OpenedModel",
    "choose_device",
    "choose_dtype",
    "digest_files",
    "dtype_name",
    "load_weights",
    "model_facts",
    "open_files",
]

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_TEXTS = (".json", ".jinja", ".model", ".txt", ".py", ".tiktoken")
_SAMPLES, _SAMPLE = 64, 16_384
_PROCESSOR_KEYS = (
    "size",
    "crop_size",
    "min_pixels",
    "max_pixels",
    "patch_size",
    "merge_size",
    "do_resize",
    "do_image_splitting",
    "max_image_size",
    "image_seq_length",
)


_ATTENTION: Mapping[str, Mapping[str, str]] = {"phi4_multimodal": {"vision_config": "eager"}}
"""Attention implementation of models whose default is wrong.

``Phi4MultimodalVisionAttention`` is marked as causal (transformers 5.23), which SDPA obeys for an
image that fills its tiles: such an image is processed differently next to one that does not.
"""

_ADAPTERS: Mapping[str, str] = {"phi4_multimodal": "vision-lora"}
"""Folder of the adapter that a model needs for images, by model type.

Without it Phi-4-multimodal still answers (see its hub page, folder ``vision-lora``).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedModel:
    """A model without its weights.

    Attributes:
        path: folder or hub name, as transformers takes it.
        name: hub name, or the last part of the folder's path.
        revision: commit on the hub, or ``files:`` and a digest of the folder's files.
        config: the model's configuration.
        generation: the model's generation config.
        processor: turns text and images into tensors.
        device: device of the computation.
        dtype: data type of the weights.
    """

    path: str
    name: str
    revision: str
    config: Any
    generation: Any
    processor: Any
    device: Any
    dtype: Any


def open_files(path: str, settings: LocalSettings) -> OpenedModel:
    """Load everything except the weights.

    Raises:
        ModelError: there is no such model, it takes no images, it has no chat template, or it needs
            code that is not trusted.
    """
    common = _common(path, settings)
    try:
        config = AutoConfig.from_pretrained(path, **common)
        processor = open_processor(path, config, common)
    # torchvision built for a different torch raises RuntimeError.
    except (OSError, ValueError, ImportError, KeyError, RuntimeError) as error:
        raise ModelError(f"{_where(path)}: cannot be opened: {_short(error)}") from error
    _check(path, config, processor)
    bound_pixels(processor, settings)
    local = Path(path).is_dir()
    commit = getattr(config, "_commit_hash", None)
    device = choose_device(settings.device)
    return OpenedModel(
        path=path,
        name=Path(path).resolve().name if local else path,
        revision=f"files:{digest_files(Path(path))}" if local else str(commit or "unknown"),
        config=config,
        generation=_generation(path, config, common),
        processor=processor,
        device=device,
        dtype=choose_dtype(settings.dtype, device),
    )


def load_weights(opened: OpenedModel, settings: LocalSettings) -> Any:
    """Load the weights of a model, in evaluation mode.

    Raises:
        ModelError: the weights are missing or broken, or do not fit into memory.
    """
    common = _common(opened.path, settings)
    if (attention := _attention(opened.config, settings)) is not None:
        common["attn_implementation"] = attention
    transformers.utils.logging.disable_progress_bar()
    try:
        kind = _class_of(opened.config)
        model = kind.from_pretrained(opened.path, dtype=opened.dtype, **common)
        return model.to(opened.device).eval()
    except (OSError, ValueError, ImportError, KeyError, RuntimeError) as error:
        raise ModelError(
            f"{_where(opened.path)}: the weights cannot be loaded on {opened.device} as "
            f"{dtype_name(opened.dtype)}: {_short(error)}"
        ) from error


def choose_device(name: str) -> Any:
    """Return the requested device; ``auto`` takes the best available.

    Raises:
        ModelError: torch does not know the device, or it is not available.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(f"device {name!r} cannot be used: {_short(error)}") from error
    return device


def choose_dtype(name: str, device: Any) -> Any:
    """Return the requested data type; ``auto`` takes the one that suits the device."""
    if name != "auto":
        return getattr(torch, name)
    if device.type == "cuda" and not torch.cuda.is_bf16_supported():
        return torch.float16
    return torch.float32 if device.type == "cpu" else torch.bfloat16


def dtype_name(dtype: Any) -> str:
    """Return the name of a data type without torch's prefix, such as ``bfloat16``."""
    return str(dtype).removeprefix("torch.")


def model_facts(opened: OpenedModel, settings: LocalSettings) -> dict[str, Json]:
    """Return the facts of a model's files, device and libraries that may change a reply."""
    architectures = getattr(opened.config, "architectures", None) or [type(opened.config).__name__]
    return {
        "revision": opened.revision,
        "architecture": architectures[0],
        "device": opened.device.type,
        "dtype": dtype_name(opened.dtype),
        "attention": _attention(opened.config, settings) or "default",
        "processor": _processor_facts(opened.processor),
        "chat_template": _digest(chat_template(opened.processor))[:12],
        "packages": {"torch": torch.__version__, "transformers": transformers.__version__},
        "trust_remote_code": settings.trust_remote_code,
    }


def digest_files(folder: Path) -> str:
    """Compute a short digest of every file that affects a model's replies.

    Small files are hashed completely; for weights, name, size and 64 evenly spaced chunks of 16
    KiB: training changes all of them, and hashing 15 GB would take longer than many runs.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in _WEIGHTS:
            digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
            for piece in _pieces(path):
                digest.update(piece)
        elif path.suffix in _TEXTS:
            digest.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _pieces(path: Path) -> Iterator[bytes]:
    size = path.stat().st_size
    with path.open("rb") as file:
        for number in range(_SAMPLES):
            file.seek(max(0, size - _SAMPLE) * number // (_SAMPLES - 1))
            yield file.read(_SAMPLE)


def _common(path: str, settings: LocalSettings) -> dict[str, Any]:
    # A local folder must never be looked up on the hub, whatever it lacks.
    return {
        "trust_remote_code": settings.trust_remote_code,
        "revision": settings.revision or "main",
        "local_files_only": Path(path).is_dir(),
    }


def _generation(path: str, config: Any, common: Mapping[str, Any]) -> Any:
    try:
        return GenerationConfig.from_pretrained(
            path, revision=common["revision"], local_files_only=common["local_files_only"]
        )
    except OSError:
        return GenerationConfig.from_model_config(config)


def _check(path: str, config: Any, processor: Any) -> None:
    adapter = _ADAPTERS.get(config.model_type)
    if adapter and (not Path(path).is_dir() or (Path(path) / adapter).exists()):
        raise ModelError(
            f"{_where(path)}: needs the adapter {adapter} for images, which is not loaded here; "
            "merge it "
            f"into the weights and name a folder without {adapter}, or use a server that loads it"
        )
    if _class_of(config) is None:
        raise ModelError(
            f"{_where(path)}: is a {config.model_type} model; expected one that transformers "
            f"{transformers.__version__} knows as AutoModelForImageTextToText"
        )
    if not hasattr(processor, "tokenizer") or not hasattr(processor, "image_processor"):
        raise ModelError(
            f"{_where(path)}: its processor takes no images; expected a tokenizer and an image "
            "processor"
        )
    if not chat_template(processor):
        raise ModelError(
            f"{_where(path)}: has no chat template; expected an instruction-tuned model, or put "
            "its template into chat_template.jinja beside the weights"
        )


def _attention(config: Any, settings: LocalSettings) -> str | dict[str, str] | None:
    """Return the attention implementation of user or model; ``None`` uses transformers' own."""
    needed = _ATTENTION.get(config.model_type)
    return settings.attention or (None if needed is None else dict(needed))


def _class_of(config: Any) -> Any:
    """Return the class that loads a model; ``None`` if transformers has none that takes images."""
    for kind in (AutoModelForImageTextToText, AutoModelForMultimodalLM):
        own = kind.__name__ in (getattr(config, "auto_map", None) or {})
        if own or type(config) in kind._model_mapping:  # noqa: SLF001 - no public list
            return kind
    return None


def _processor_facts(processor: Any) -> dict[str, Json]:
    images = processor.image_processor
    facts = json.loads(images.to_json_string())
    kept_facts = {key: facts[key] for key in _PROCESSOR_KEYS if facts.get(key) is not None}
    return {
        "name": type(processor).__name__,
        "images": type(images).__name__,
        **kept_facts,
        "digest": _digest(facts)[:12],
    }


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _where(path: str) -> str:
    return path if Path(path).is_absolute() else f"hf/{path}"


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:600]

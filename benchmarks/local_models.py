"""A local model in batches, against one question at a time as upstream's adapter asks.

Usage: ``python local_models.py [--size tiny|2b|7b] [--device auto] [--items 64] [--batch 16]
[--tokens 1 64 256] [--out FILE]``. Needs ``medrcube[local]`` and no download: the model has the
architecture of Qwen2-VL and random weights, the images are noise of a few common shapes. Both
ways use the same weights in the same memory. Prints one line of JSON for each length of reply;
``--tokens`` is that length: 1 is a bare letter, 256 a short argument. The default is tiny and takes
a minute on a processor; the figure that counts is ``--size 7b`` on a GPU. From a checkout that is
not installed, ``PYTHONPATH=.dev`` is enough (``make .dev/medrcube`` makes it).
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import io
import json
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForImageTextToText,
    PreTrainedTokenizerFast,
    Qwen2VLConfig,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.hf.engine import TransformersEngine
from medrcube.evaluate.models.hf.loading import OpenedModel, open_files
from medrcube.evaluate.models.hf.model import HFModel
from medrcube.evaluate.models.hf.settings import LocalSettings
from medrcube.evaluate.models.protocol import ModelRequest
from medrcube.evaluate.models.settings import ModelSettings

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
VISION = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
CHAT = """\
{% for message in messages %}<|im_start|>{{ message.role }}
{% for part in message.content %}{% if part.type == 'image' %}\
<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}\
{% endfor %}<|im_end|>
{% endfor %}<|im_start|>assistant
"""
QUESTION = """\
Question: Please look at the picture. Which of these findings does the marked region show?
Options:
A. Pleural effusion
B. Pneumothorax
C. Consolidation of the lower lobe
D. No finding
Answer with the letter of the one best option."""
SHAPES = ((512, 512), (512, 512), (512, 640), (768, 768), (1024, 1024))
TEXT = {
    "tiny": (64, 128, 2, 4, 2, 512, [2, 3, 3]),
    "2b": (1536, 8960, 28, 12, 2, 151_936, [16, 24, 24]),
    "7b": (3584, 18_944, 28, 28, 4, 152_064, [16, 24, 24]),
}
EYES = {"tiny": (2, 32, 2), "2b": (32, 1280, 16), "7b": (32, 1280, 16)}
LARGEST = {"tiny": 64, "2b": 1280, "7b": 1280}


def main() -> None:
    args = arguments()
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), args.size)
        local = LocalSettings(batch_size=args.batch, device=args.device, dtype=args.dtype)
        opened = open_files(folder, local)
        model = build(opened)
        requests = questions(args.items)
        lines = []
        for tokens in args.tokens:
            settings = ModelSettings(max_tokens=tokens, local=local)
            lines.append(compare(opened, model, settings, requests, args))
            print(json.dumps(lines[-1]), flush=True)
    if args.out:
        versions = {"torch": torch.__version__, "transformers": transformers.__version__}
        report = {"versions": versions, "results": lines}
        args.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=sorted(TEXT), default="tiny")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--items", type=int, default=32)
    parser.add_argument("--single", type=int, default=16, help="items asked one at a time")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def compare(
    opened: OpenedModel,
    model: Any,
    settings: ModelSettings,
    requests: Sequence[ModelRequest],
    args: argparse.Namespace,
) -> dict[str, Any]:
    tokens = settings.max_tokens or 1
    engine = TransformersEngine(opened, settings, model)
    adapter = HFModel(
        engine,
        identity={"name": f"hf/random-{args.size}", "revision": "none"},
        batch_size=args.batch,
    )
    few = requests[: args.single]
    single(opened, model, few[:1], tokens)
    alone = measured(opened, lambda: single(opened, model, few, tokens))
    asyncio.run(batched(adapter, requests[: args.batch]))
    together = measured(opened, lambda: asyncio.run(batched(adapter, requests)))
    single_s, batch_s = alone["seconds"] / len(few), together["seconds"] / len(requests)
    equal = sum(a == b for a, b in zip(alone["texts"], together["texts"], strict=False))
    return {
        "model": f"qwen2-vl {args.size}, random weights",
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "device": device_name(opened),
        "dtype": str(opened.dtype).removeprefix("torch."),
        "reply_tokens": tokens,
        "batch": args.batch,
        "one_by_one": {**figures(alone, len(few), tokens), "items": len(few)},
        "batched": {**figures(together, len(requests), tokens), "items": len(requests)},
        "times_faster": round(single_s / batch_s, 2),
        "same_text": f"{equal} of {len(few)}",
    }


def single(
    opened: OpenedModel, model: Any, requests: Sequence[ModelRequest], tokens: int
) -> list[str]:
    """What upstream's adapter does: decode, process, generate, decode; then the next."""
    processor, texts = opened.processor, []
    for request in requests:
        data = request.picture.data if request.picture else b""
        content = [{"type": "image"}, {"type": "text", "text": request.prompt}]
        text = processor.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
        image = Image.open(io.BytesIO(data)).convert("RGB")
        inputs = processor(text=[text], images=[image], padding=True, return_tensors="pt")
        inputs = inputs.to(opened.device, dtype=opened.dtype)
        with torch.inference_mode():
            tokens_out = model.generate(**inputs, max_new_tokens=tokens, do_sample=False)
        new = tokens_out[:, inputs["input_ids"].shape[1] :]
        texts.append(processor.batch_decode(new, skip_special_tokens=True)[0].strip())
    return texts


async def batched(adapter: HFModel, requests: Sequence[ModelRequest]) -> list[str]:
    """All questions by the adapter, with as many under way as it suggests."""
    slots = asyncio.Semaphore(adapter.suggested_connections)

    async def one(request: ModelRequest) -> str:
        async with slots:
            return (await adapter.answer(request)).text

    try:
        return await asyncio.gather(*map(one, requests))
    finally:
        await adapter.close()


def measured(opened: OpenedModel, work: Any) -> dict[str, Any]:
    """Texts, seconds, and the largest memory of the device (of the process, on a processor)."""
    on_gpu = opened.device.type == "cuda"
    if on_gpu:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    texts = work()
    if on_gpu:
        torch.cuda.synchronize()
    seconds = time.perf_counter() - started
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    peak = torch.cuda.max_memory_allocated() if on_gpu else resident
    return {"texts": texts, "seconds": seconds, "peak": peak}


def figures(run: dict[str, Any], items: int, tokens: int) -> dict[str, float]:
    seconds = run["seconds"]
    return {
        "seconds": round(seconds, 2),
        "items_per_second": round(items / seconds, 3),
        "new_tokens_per_second": round(items * tokens / seconds, 1),
        "peak_gib": round(run["peak"] / 2**30, 2),
    }


def build(opened: OpenedModel) -> Any:
    """The model with random weights, made where it will compute."""
    torch.manual_seed(0)
    with torch.device(opened.device):
        model = AutoModelForImageTextToText.from_config(opened.config, dtype=opened.dtype)
    return model.to(opened.device).eval()


def device_name(opened: OpenedModel) -> str:
    if opened.device.type == "cuda":
        return torch.cuda.get_device_name(opened.device)
    return f"{opened.device.type}, {torch.get_num_threads()} threads"


def questions(count: int) -> list[ModelRequest]:
    """Questions on noise, in an order that mixes the shapes."""
    names = ("Pleural effusion", "Pneumothorax", "Consolidation of the lower lobe", "No finding")
    return [
        ModelRequest(
            item=f"bench/{number}",
            prompt=QUESTION,
            options=tuple(zip("ABCD", names, strict=True)),
            picture=noise(*SHAPES[number % len(SHAPES)]),
        )
        for number in range(count)
    ]


def noise(width: int, height: int) -> ImageFile:
    buffer = io.BytesIO()
    Image.effect_noise((width, height), 60).save(buffer, "PNG")
    data = buffer.getvalue()
    return ImageFile(data=data, media_type="image/png", sha256=hashlib.sha256(data).hexdigest())


def write_files(folder: Path, size: str) -> None:
    """Configuration, tokenizer and image processor; no weights."""
    tokens = make_tokenizer()
    start, end, image, video = tokens.convert_tokens_to_ids(list(VISION))
    hidden, inner, layers, heads, key_heads, vocabulary, sections = TEXT[size]
    depth, width, eye_heads = EYES[size]
    config = Qwen2VLConfig(
        text_config={
            "hidden_size": hidden,
            "intermediate_size": inner,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": key_heads,
            "vocab_size": vocabulary,
            "max_position_embeddings": 32_768,
            "rope_parameters": {"rope_type": "default", "mrope_section": sections},
            "bos_token_id": None,
            "eos_token_id": tokens.eos_token_id,
            "pad_token_id": tokens.pad_token_id,
        },
        vision_config={
            "depth": depth,
            "embed_dim": width,
            "hidden_size": hidden,
            "num_heads": eye_heads,
        },
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
        architectures=["Qwen2VLForConditionalGeneration"],
    )
    config.save_pretrained(folder)
    tokens.save_pretrained(folder)
    limits = {"shortest_edge": 28 * 28 * 4, "longest_edge": 28 * 28 * LARGEST[size]}
    Qwen2VLImageProcessorPil(size=limits).save_pretrained(folder)


def make_tokenizer() -> Any:
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[*SPECIAL, *VISION],
        show_progress=False,
    )
    bpe.train_from_iterator([QUESTION] * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, chat_template=CHAT, eos_token=SPECIAL[2], pad_token=SPECIAL[0]
    )


if __name__ == "__main__":
    main()

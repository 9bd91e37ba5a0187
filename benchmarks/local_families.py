"""Families of local models: is a batch of eight what eight single questions are?

Usage: ``python local_families.py [FAMILY...]`` (``make local-families``). Needs ``medrcube[local]``
and no download. Each family is written with the class names and keys of published checkpoints in
``config.json``, ``preprocessor_config.json`` and ``processor_config.json``, with sizes made tiny, a
tokenizer made here, and random weights. Chat templates say the same as the published ones, in words
of our own. Prints a row of a Markdown table for each family, and exits with 1 where a reply or a
log-probability of a batch differs, or where replies do not differ from question to question.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.hf.model import HFModel, open_hf
from medrcube.evaluate.models.hf.settings import LocalSettings
from medrcube.evaluate.models.protocol import ModelRequest, Reply
from medrcube.evaluate.models.registry import ModelSettings

BATCH, QUESTIONS, TOKENS = 8, 16, 12
LIKE = 1e-3
"""Log-probabilities of float32 that differ by less are equal but for rounding."""

TEXT = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "initializer_range": 0.4,
}
EYE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 56,
    "patch_size": 14,
}
HALF = [0.5, 0.5, 0.5]
CHATML = """\
{% for message in messages %}<|im_start|>{{ message.role }}
{% for part in message.content %}{% if part.type == 'image' %}IMAGE{% else %}{{ part.text }}\
{% endif %}{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
GEMMA = """\
{{ bos_token }}{% for message in messages %}<start_of_turn>{{ message.role }}
{% for part in message.content %}{% if part.type == 'image' %}<start_of_image>{% else %}\
{{ part.text }}{% endif %}{% endfor %}<end_of_turn>
{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}"""
PALIGEMMA = """\
{% for message in messages %}{% for part in message.content %}{% if part.type == 'image' %}<image>\
{% else %}answer en {{ part.text }}{% endif %}{% endfor %}{% endfor %}"""
LLAMA = """\
{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>

{% for part in message.content %}{% if part.type == 'image' %}<|image|>{% else %}{{ part.text }}\
{% endif %}{% endfor %}<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>\
assistant<|end_header_id|>

{% endif %}"""
PHI = """\
{% for message in messages %}<|{{ message.role }}|>{% for part in message.content %}\
{% if part.type == 'image' %}<|image|>{% else %}{{ part.text }}{% endif %}{% endfor %}<|end|>\
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"""


def tokenizer(special: Sequence[str], chat: str, **names: Any) -> Any:
    """A byte-level BPE with the family's own special tokens."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330 + len(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(special),
        show_progress=False,
    )
    bpe.train_from_iterator(["Question: What does picture 0 show? Options: A. Normal"], trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, chat_template=chat, additional_special_tokens=list(special), **names
    )


def write(
    folder: Path, config: Any, tok: Any, images: dict[str, Any], processor: dict[str, Any]
) -> None:
    """Put a checkpoint together; files are named and filled as on the hub."""
    with torch.device("cpu"):
        torch.manual_seed(0)
        model = transformers.AutoModelForMultimodalLM.from_config(config, dtype=torch.float32)
    model.save_pretrained(folder)
    tok.save_pretrained(folder)
    put(folder / "preprocessor_config.json", {**images, **processor})
    put(folder / "processor_config.json", processor)


def put(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def ends(tok: Any, end: str, pad: str, begin: str | None = None) -> dict[str, Any]:
    return {
        "bos_token_id": tok.convert_tokens_to_ids(begin) if begin else None,
        "eos_token_id": tok.convert_tokens_to_ids(end),
        "pad_token_id": tok.convert_tokens_to_ids(pad),
    }


CHATML_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
QWEN = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
QWEN_CHAT = CHATML.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>")
QWEN_NAMES = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}


def qwen_text(tok: Any, sections: Sequence[int], **rope: Any) -> dict[str, Any]:
    return {
        **TEXT,
        **ends(tok, "<|im_end|>", "<|endoftext|>"),
        "vocab_size": len(tok),
        "rope_parameters": {"rope_type": "default", "mrope_section": list(sections), **rope},
    }


def qwen_ids(tok: Any) -> dict[str, int]:
    names = ("vision_start_token_id", "vision_end_token_id", "image_token_id", "video_token_id")
    return dict(zip(names, tok.convert_tokens_to_ids(list(QWEN)), strict=True))


def qwen2_5_vl(folder: Path) -> None:
    tok = tokenizer((*CHATML_TOKENS, *QWEN), QWEN_CHAT, **QWEN_NAMES)
    config = transformers.Qwen2_5_VLConfig(
        text_config=qwen_text(tok, (1, 1, 2)),
        vision_config={
            "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2,
            "out_hidden_size": 32, "window_size": 56, "fullatt_block_indexes": [1],
            "initializer_range": 0.2,
        },
        **qwen_ids(tok),
    )  # fmt: skip
    images = {
        "image_processor_type": "Qwen2VLImageProcessor",
        "min_pixels": 28 * 28, "max_pixels": 28 * 28 * 64,
        "patch_size": 14, "temporal_patch_size": 2, "merge_size": 2,
        "image_mean": HALF, "image_std": HALF,
    }  # fmt: skip
    write(folder, config, tok, images, {"processor_class": "Qwen2_5_VLProcessor"})


def qwen3_vl(folder: Path) -> None:
    tok = tokenizer((*CHATML_TOKENS, *QWEN), QWEN_CHAT, **QWEN_NAMES)
    config = transformers.Qwen3VLConfig(
        text_config={**qwen_text(tok, (2, 1, 1), mrope_interleaved=True), "head_dim": 8},
        vision_config={
            "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2,
            "out_hidden_size": 32, "patch_size": 16, "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0], "initializer_range": 0.2,
        },
        **qwen_ids(tok),
    )  # fmt: skip
    images = {
        "image_processor_type": "Qwen2VLImageProcessorFast",
        "size": {"longest_edge": 32 * 32 * 64, "shortest_edge": 32 * 32},
        "patch_size": 16, "temporal_patch_size": 2, "merge_size": 2,
        "image_mean": HALF, "image_std": HALF,
    }  # fmt: skip
    write(folder, config, tok, images, {"processor_class": "Qwen3VLProcessor"})
    put(
        folder / "video_preprocessor_config.json",
        {**images, "video_processor_type": "Qwen3VLVideoProcessor"},
    )


def internvl3(folder: Path) -> None:
    own = ("<img>", "</img>", "<IMG_CONTEXT>", "<video>")
    chat = CHATML.replace("IMAGE", "<IMG_CONTEXT>\n")
    tok = tokenizer(
        (*CHATML_TOKENS, *own), chat, **QWEN_NAMES,
        extra_special_tokens={
            "start_image_token": "<img>", "end_image_token": "</img>",
            "context_image_token": "<IMG_CONTEXT>", "video_token": "<video>",
        },
    )  # fmt: skip
    config = transformers.InternVLConfig(
        text_config={
            "model_type": "qwen2", **TEXT, **ends(tok, "<|im_end|>", "<|endoftext|>"),
            "vocab_size": len(tok),
        },
        vision_config={
            "model_type": "internvl_vision", **EYE, "image_size": [56, 56], "patch_size": [14, 14],
            "initializer_range": 0.2,
        },
        image_token_id=tok.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )  # fmt: skip
    images = {
        "image_processor_type": "GotOcr2ImageProcessorFast",
        "size": {"height": 56, "width": 56}, "crop_to_patches": True,
        "min_patches": 1, "max_patches": 4, "image_mean": HALF, "image_std": HALF,
    }  # fmt: skip
    write(
        folder, config, tok, images, {"processor_class": "InternVLProcessor", "image_seq_length": 4}
    )
    put(
        folder / "video_preprocessor_config.json",
        {"video_processor_type": "InternVLVideoProcessor", "size": {"height": 56, "width": 56}},
    )


def llava_onevision(folder: Path) -> None:
    chat = CHATML.replace("IMAGE", "<image>\n")
    tok = tokenizer(
        (*CHATML_TOKENS, "<image>", "<video>"), chat, **QWEN_NAMES,
        extra_special_tokens={"image_token": "<image>", "video_token": "<video>"},
    )  # fmt: skip
    grid = [[56 * i, 56 * j] for i in range(1, 4) for j in range(1, 4)]
    config = transformers.LlavaOnevisionConfig(
        text_config={
            "model_type": "qwen2", **TEXT, **ends(tok, "<|im_end|>", "<|endoftext|>"),
            "vocab_size": len(tok),
        },
        vision_config={"model_type": "siglip_vision_model", **EYE, "vision_use_head": False},
        image_token_index=tok.convert_tokens_to_ids("<image>"),
        video_token_index=tok.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=grid,
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
        vision_aspect_ratio="anyres_max_9",
    )  # fmt: skip
    images = {
        "image_processor_type": "LlavaOnevisionImageProcessor",
        "size": {"height": 56, "width": 56}, "image_grid_pinpoints": grid, "do_pad": True,
        "image_mean": HALF, "image_std": HALF,
    }  # fmt: skip
    processor = {
        "processor_class": "LlavaOnevisionProcessor",
        "num_image_tokens": 16,
        "vision_feature_select_strategy": "full",
        "vision_aspect_ratio": "anyres_max_9",
    }
    write(folder, config, tok, images, processor)
    put(
        folder / "video_preprocessor_config.json",
        {
            "video_processor_type": "LlavaOnevisionVideoProcessor",
            "size": {"height": 56, "width": 56},
        },
    )


IDEFICS = ("<image>", "<fake_token_around_image>", "<end_of_utterance>", "<global-img>")
TILES = tuple(f"<row_{i}_col_{j}>" for i in range(1, 4) for j in range(1, 4))


def idefics(folder: Path, name: str) -> None:
    chat = CHATML.replace("IMAGE", "<image>").replace("<|im_end|>", "<end_of_utterance>")
    tok = tokenizer(
        (*CHATML_TOKENS, *IDEFICS, *TILES), chat,
        eos_token="<end_of_utterance>", pad_token="<|im_end|>",
        extra_special_tokens={
            "image_token": "<image>", "fake_image_token": "<fake_token_around_image>",
            "end_of_utterance_token": "<end_of_utterance>", "global_image_token": "<global-img>",
        },
    )  # fmt: skip
    config = getattr(transformers, f"{name}Config")(
        text_config={
            "model_type": "llama", **TEXT, **ends(tok, "<end_of_utterance>", "<|im_end|>"),
            "vocab_size": len(tok),
        },
        vision_config={**EYE, "initializer_range": 0.2},
        scale_factor=2,
        image_token_id=tok.convert_tokens_to_ids("<image>"),
        pad_token_id=tok.pad_token_id,
    )  # fmt: skip
    images = {
        "image_processor_type": f"{name}ImageProcessor",
        "size": {"longest_edge": 112}, "max_image_size": {"longest_edge": 56},
        "do_image_splitting": True, "image_mean": HALF, "image_std": HALF,
    }  # fmt: skip
    write(folder, config, tok, images, {"processor_class": f"{name}Processor", "image_seq_len": 4})


def idefics3(folder: Path) -> None:
    idefics(folder, "Idefics3")


def smolvlm(folder: Path) -> None:
    idefics(folder, "SmolVLM")
    put(
        folder / "video_preprocessor_config.json",
        {
            "video_processor_type": "SmolVLMVideoProcessor",
            "size": {"longest_edge": 56},
            "max_image_size": {"longest_edge": 56},
            "fps": 1,
            "num_frames": 8,
            "video_sampling": {"fps": 1, "max_frames": 8, "video_size": {"longest_edge": 56}},
        },
    )


GEMMA_TOKENS = (
    "<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>",
    "<start_of_image>", "<end_of_image>", "<image_soft_token>",
)  # fmt: skip


def gemma3(folder: Path) -> None:
    tok = tokenizer(
        GEMMA_TOKENS, GEMMA, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>",
        extra_special_tokens={
            "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>",
            "image_token": "<image_soft_token>",
        },
    )  # fmt: skip
    config = transformers.Gemma3Config(
        text_config={
            **TEXT, **ends(tok, "<end_of_turn>", "<pad>", "<bos>"), "vocab_size": len(tok),
            "head_dim": 8, "sliding_window": 64, "query_pre_attn_scalar": 8,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        vision_config={"model_type": "siglip_vision_model", **EYE, "vision_use_head": False},
        mm_tokens_per_image=4,
        tie_word_embeddings=False,
        boi_token_index=tok.convert_tokens_to_ids("<start_of_image>"),
        eoi_token_index=tok.convert_tokens_to_ids("<end_of_image>"),
        image_token_index=tok.convert_tokens_to_ids("<image_soft_token>"),
        eos_token_id=tok.convert_tokens_to_ids(["<eos>", "<end_of_turn>"]),
    )  # fmt: skip
    images = {
        "image_processor_type": "Gemma3ImageProcessor", "image_seq_length": 4,
        "size": {"height": 56, "width": 56}, "image_mean": HALF, "image_std": HALF,
    }  # fmt: skip
    write(
        folder, config, tok, images, {"processor_class": "Gemma3Processor", "image_seq_length": 4}
    )


def paligemma2(folder: Path) -> None:
    tok = tokenizer(
        ("<pad>", "<eos>", "<bos>", "<image>"), PALIGEMMA,
        bos_token="<bos>", eos_token="<eos>", pad_token="<pad>",
        extra_special_tokens={"image_token": "<image>"},
    )  # fmt: skip
    tok.add_tokens([f"<loc{i:04}>" for i in range(1024)] + [f"<seg{i:03}>" for i in range(128)])
    config = transformers.PaliGemmaConfig(
        text_config={
            "model_type": "gemma2", **TEXT, **ends(tok, "<eos>", "<pad>", "<bos>"),
            "vocab_size": len(tok), "head_dim": 8, "query_pre_attn_scalar": 8,
            "sliding_window": 64,
        },
        vision_config={
            "model_type": "siglip_vision_model", **EYE, "vision_use_head": False,
            "projection_dim": 32, "num_image_tokens": 16,
        },
        projection_dim=32,
        tie_word_embeddings=False,
        image_token_index=tok.convert_tokens_to_ids("<image>"),
        **ends(tok, "<eos>", "<pad>", "<bos>"),
    )  # fmt: skip
    images = {
        "image_processor_type": "SiglipImageProcessor", "image_seq_length": 16,
        "size": {"height": 56, "width": 56}, "image_mean": HALF, "image_std": HALF,
    }  # fmt: skip
    write(folder, config, tok, images, {"processor_class": "PaliGemmaProcessor"})


def llama_3_2_vision(folder: Path) -> None:
    special = (
        "<|begin_of_text|>", "<|end_of_text|>", "<|finetune_right_pad_id|>", "<|eot_id|>",
        "<|start_header_id|>", "<|end_header_id|>", "<|python_tag|>", "<|image|>",
    )  # fmt: skip
    tok = tokenizer(
        special, LLAMA, bos_token="<|begin_of_text|>", eos_token="<|eot_id|>",
        pad_token="<|finetune_right_pad_id|>", extra_special_tokens={"image_token": "<|image|>"},
    )  # fmt: skip
    config = transformers.MllamaConfig(
        text_config={
            **TEXT,
            **ends(tok, "<|eot_id|>", "<|finetune_right_pad_id|>", "<|begin_of_text|>"),
            "vocab_size": len(tok), "num_hidden_layers": 3, "cross_attention_layers": [1],
            "rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0},
        },
        vision_config={
            "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
            "num_global_layers": 1, "attention_heads": 2, "image_size": 56, "patch_size": 14,
            "max_num_tiles": 4, "intermediate_layers_indices": [0, 1], "vision_output_dim": 96,
            "supported_aspect_ratios": [
                [1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1],
            ],
            "initializer_range": 0.2,
        },
        image_token_index=tok.convert_tokens_to_ids("<|image|>"),
    )  # fmt: skip
    images = {
        "image_processor_type": "MllamaImageProcessor", "max_image_tiles": 4,
        "size": {"height": 56, "width": 56}, "image_mean": HALF, "image_std": HALF,
    }  # fmt: skip
    write(folder, config, tok, images, {"processor_class": "MllamaProcessor"})


def phi_4_multimodal(folder: Path) -> None:
    special = ("<|endoftext|>", "<|user|>", "<|assistant|>", "<|end|>", "<|image|>", "<|audio|>")
    tok = tokenizer(
        special, PHI, bos_token="<|endoftext|>", eos_token="<|end|>", pad_token="<|endoftext|>",
        extra_special_tokens={"image_token": "<|image|>", "audio_token": "<|audio|>"},
    )  # fmt: skip
    config = transformers.Phi4MultimodalConfig(
        **TEXT, **ends(tok, "<|end|>", "<|endoftext|>", "<|endoftext|>"), vocab_size=len(tok),
        sliding_window=None,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 1.0},
        vision_config={
            **EYE, "image_size": 448, "crop_size": 448,
            "image_token_id": tok.convert_tokens_to_ids("<|image|>"),
            "num_img_tokens": 256,
        },
        audio_config={
            "hidden_size": 32, "intermediate_size": 32, "num_blocks": 1, "num_attention_heads": 2,
            "audio_token_id": tok.convert_tokens_to_ids("<|audio|>"),
        },
    )  # fmt: skip
    images = {
        "image_processor_type": "Phi4MultimodalImageProcessorFast",
        "feature_extractor_type": "Phi4MultimodalFeatureExtractor",
        "size": {"height": 448, "width": 448}, "patch_size": 14, "dynamic_hd": 4,
        "image_mean": HALF, "image_std": HALF,
    }  # fmt: skip
    write(folder, config, tok, images, {"processor_class": "Phi4MultimodalProcessor"})


FAMILIES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "qwen2.5-vl": ("Qwen2.5-VL", qwen2_5_vl),
    "qwen3-vl": ("Qwen3-VL", qwen3_vl),
    "internvl3": ("InternVL3 (`-hf`)", internvl3),
    "llava-onevision": ("LLaVA-OneVision (`-hf`)", llava_onevision),
    "idefics3": ("Idefics3", idefics3),
    "smolvlm": ("SmolVLM", smolvlm),
    "gemma3": ("Gemma 3, MedGemma", gemma3),
    "paligemma2": ("PaliGemma 2", paligemma2),
    "llama-3.2-vision": ("Llama 3.2 Vision", llama_3_2_vision),
    "phi-4-multimodal": ("Phi-4-multimodal", phi_4_multimodal),
}


ALWAYS_SHOWN = ("paligemma2",)
"""Families whose processor takes no question without an image."""


def questions(*, blind: bool) -> list[ModelRequest]:
    """Prompts of unlike length on images of unlike size; every fifth is blind, where it may."""
    return [
        ModelRequest(
            item=f"family/{n}",
            prompt=f"Question: {'what ' * (n % 7)}does picture {n} show?\nOptions:\nA. Normal\n"
            "B. Mass\nAnswer with the letter.",
            options=(("A", "Normal"), ("B", "Mass")),
            picture=None
            if blind and n % 5 == 4
            else picture(40 + 30 * (n % 5), 40 + 50 * (n % 3), n),
        )
        for n in range(QUESTIONS)
    ]


def picture(width: int, height: int, seed: int) -> ImageFile:
    image = Image.radial_gradient("L").resize((width, height)).rotate(seed * 40)
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "PNG")
    data = buffer.getvalue()
    return ImageFile(data=data, media_type="image/png", sha256=hashlib.sha256(data).hexdigest())


def ask(model: HFModel, requests: Sequence[ModelRequest], *, together: bool) -> list[Reply]:
    async def session() -> list[Reply]:
        try:
            if together:
                return await asyncio.gather(*map(model.answer, requests))
            return [await model.answer(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(session())


def hold(family: str) -> tuple[str, bool]:
    """A row of the table, and whether all is well."""
    title, build = FAMILIES[family]
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        settings = ModelSettings(
            max_tokens=TOKENS, local=LocalSettings(batch_size=BATCH, device="cpu", dtype="float32")
        )
        model = open_hf(folder, settings)
        requests = questions(blind=family not in ALWAYS_SHOWN)
        alone = ask(model, requests, together=False)
        batched = ask(model, requests, together=True)
    equal = sum(a.text == b.text for a, b in zip(alone, batched, strict=True))
    gap = max(
        abs(a.scores[letter] - b.scores[letter])
        for a, b in zip(alone, batched, strict=True)
        for letter in a.scores
    )
    distinct = len({reply.text for reply in alone})
    processor = model.identity["processor"]
    if not isinstance(processor, dict):
        raise TypeError(f"{title}: its identity names no processor")
    row = (
        f"| {title} | `{processor['name']}` | `{processor['images']}` "
        f"| {equal} of {len(requests)} | {distinct} | {gap:.0e} |"
    )
    return row, equal == len(requests) and distinct > len(requests) // 2 and gap < LIKE


def main() -> None:
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    well = True
    for family in sys.argv[1:] or FAMILIES:
        try:
            row, held = hold(family)
        except Exception:  # noqa: BLE001 - the others are tried all the same
            traceback.print_exc()
            row, held = f"| {FAMILIES[family][0]} | | | failed | | |", False
        print(row, flush=True)
        well &= held
    sys.exit(not well)


if __name__ == "__main__":
    main()

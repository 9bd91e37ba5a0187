"""Tiny checkpoints of the families that speak ChatML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import transformers

from families.checkpoint import CHATML, CHATML_TOKENS, EYE, HALF, TEXT, ends, put, tokenizer, write

__all__ = ["idefics3", "internvl3", "llava_onevision", "qwen2_5_vl", "qwen3_vl", "smolvlm"]

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

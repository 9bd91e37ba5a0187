"""Tiny checkpoints of the families with a chat template of their own."""

from __future__ import annotations

from pathlib import Path

import transformers

from families.checkpoint import (
    EYE,
    GEMMA,
    HALF,
    LLAMA,
    PALIGEMMA,
    PHI,
    TEXT,
    ends,
    tokenizer,
    write,
)

__all__ = ["gemma3", "llama_3_2_vision", "paligemma2", "phi_4_multimodal"]

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

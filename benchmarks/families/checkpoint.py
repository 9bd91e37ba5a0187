"""Parts of a tiny checkpoint: sizes, chat templates, tokenizer and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

__all__ = [
    "CHATML",
    "CHATML_TOKENS",
    "EYE",
    "GEMMA",
    "HALF",
    "LLAMA",
    "PALIGEMMA",
    "PHI",
    "TEXT",
    "ends",
    "put",
    "tokenizer",
    "write",
]

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

"""Tiny models of real architectures, made here: random weights, own tokenizer and template."""

from __future__ import annotations

import hashlib
import importlib
import io
import os
from pathlib import Path

import pytest

# Before torch comes in: two cores are shared by the workers of the test run.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.hf.settings import LocalSettings
from medrcube.evaluate.models.protocol import ModelRequest
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings

TEXTS = (
    "Question: What does picture 0 show?",
    "Options: A. Normal B. Mass C. Edema D. Fracture",
    "Answer with the letter of the one best option.",
)
CHAT = """\
{% for message in messages %}<|im_start|>{{ message.role }}
{% for part in message.content %}\
{% if part.type == 'image' %}IMAGE{% else %}{{ part.text }}{% endif %}\
{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
BLANK, _, END = SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEXT_MODEL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    # Larger than usual, so that different questions get different replies.
    "initializer_range": 0.4,
}


def library():
    return pytest.importorskip("transformers", reason="needs  pip install 'medrcube[local]'")


def part(name):
    """A module of transformers: its image processors that need no torchvision."""
    return importlib.import_module(f"transformers.models.{name}")


def tokenizer(*special, image, **attributes):
    """A byte-level BPE that knows a few words, with a chat template that places the picture."""
    tokenizers = pytest.importorskip("tokenizers")
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320,
        initial_alphabet=alphabet,
        special_tokens=[*SPECIAL, *special],
        show_progress=False,
    )
    bpe.train_from_iterator(TEXTS, trainer)
    return library().PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        chat_template=CHAT.replace("IMAGE", image),
        eos_token=END,
        pad_token=BLANK,
        **attributes,
    )


def ends(tok):
    return {
        "bos_token_id": None,
        "eos_token_id": tok.convert_tokens_to_ids(END),
        "pad_token_id": tok.convert_tokens_to_ids(BLANK),
    }


def make_qwen2_vl(folder):
    """Pictures keep their shape: the number of visual tokens differs from picture to picture."""
    names = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    tok = tokenizer(*names, image="<|vision_start|><|image_pad|><|vision_end|>")
    start, end, image, video = tok.convert_tokens_to_ids(list(names))
    config = library().Qwen2VLConfig(
        text_config={
            **TEXT_MODEL,
            **ends(tok),
            "vocab_size": len(tok),
            "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2]},
        },
        vision_config={"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2},
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    library().Qwen2VLForConditionalGeneration(config).save_pretrained(folder)
    size = {"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 64}
    part("qwen2_vl.image_processing_pil_qwen2_vl").Qwen2VLImageProcessorPil(
        size=size
    ).save_pretrained(folder)
    tok.save_pretrained(folder)


def make_llava(folder):
    """Pictures are cropped to a square: all have the same number of visual tokens."""
    tok = tokenizer("<image>", image="<image>\n", extra_special_tokens={"image_token": "<image>"})
    config = library().LlavaConfig(
        text_config={"model_type": "llama", **TEXT_MODEL, **ends(tok), "vocab_size": len(tok)},
        vision_config={
            "model_type": "clip_vision_model",
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 56,
            "patch_size": 14,
        },
        image_token_index=tok.convert_tokens_to_ids("<image>"),
        **{k: v for k, v in ends(tok).items() if k != "bos_token_id"},
    )
    library().LlavaForConditionalGeneration(config).save_pretrained(folder)
    side = {"height": 56, "width": 56}
    library().LlavaProcessor(
        image_processor=part("clip.image_processing_pil_clip").CLIPImageProcessorPil(
            size={"shortest_edge": 56}, crop_size=side
        ),
        tokenizer=tok,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    ).save_pretrained(folder)
    tok.save_pretrained(folder)


def make_idefics3(folder):
    """Pictures are cut into tiles, whose number depends on the shape."""
    tok = tokenizer(
        "<image>",
        "<fake_token_around_image>",
        "<end_of_utterance>",
        "<global-img>",
        image="<image>",
        extra_special_tokens={
            "image_token": "<image>",
            "fake_image_token": "<fake_token_around_image>",
            "end_of_utterance_token": "<end_of_utterance>",
            "global_image_token": "<global-img>",
        },
    )
    config = library().Idefics3Config(
        text_config={"model_type": "llama", **TEXT_MODEL, **ends(tok), "vocab_size": len(tok)},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 56,
            "patch_size": 14,
        },
        scale_factor=2,
        image_token_id=tok.convert_tokens_to_ids("<image>"),
        pad_token_id=tok.pad_token_id,
    )
    library().Idefics3ForConditionalGeneration(config).save_pretrained(folder)
    library().Idefics3Processor(
        image_processor=part("idefics3.image_processing_pil_idefics3").Idefics3ImageProcessorPil(
            size={"longest_edge": 112}, max_image_size={"longest_edge": 56}
        ),
        tokenizer=tok,
        image_seq_len=4,
    ).save_pretrained(folder)
    tok.save_pretrained(folder)


FAMILIES = {"qwen2-vl": make_qwen2_vl, "llava": make_llava, "idefics3": make_idefics3}


@pytest.fixture(scope="session")
def torch():
    """Imported when a test wants it: every worker collects these files, few run them."""
    return pytest.importorskip("torch", reason="needs  pip install 'medrcube[local]'")


@pytest.fixture
def hf_engine(torch):
    return importlib.import_module("medrcube.evaluate.models.hf.engine")


@pytest.fixture
def hf_scoring(torch):
    return importlib.import_module("medrcube.evaluate.models.hf.option_scoring")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory, torch):
    """``tiny(family)`` is the folder of a model, made once a session."""
    library().utils.logging.disable_progress_bar()
    folders = {}

    def folder(family) -> Path:
        if family not in folders:
            folders[family] = tmp_path_factory.mktemp("models") / family
            torch.manual_seed(0)
            FAMILIES[family](folders[family])
        return folders[family]

    return folder


@pytest.fixture(
    params=[
        "llava",
        *(pytest.param(name, marks=pytest.mark.thorough) for name in ("idefics3", "qwen2-vl")),
    ]
)
def family(request, tiny):
    """The folder of each family in turn."""
    return tiny(request.param)


def make_picture(width, height, seed=0):
    images = pytest.importorskip("PIL.Image")
    image = images.radial_gradient("L").resize((width, height)).rotate(seed * 40)
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "PNG")
    data = buffer.getvalue()
    return ImageFile(data=data, media_type="image/png", sha256=hashlib.sha256(data).hexdigest())


@pytest.fixture
def picture():
    return make_picture


def make_request(number, *, blind=False, size=None, prompt=None, options=4):
    width, height = size or (40 + 30 * (number % 5), 40 + 50 * (number % 3))
    names = ("Normal", "Mass", "Edema of the lung", "Fracture")
    return ModelRequest(
        item=f"ALPHA/q{number}",
        prompt=prompt or f"Question: {'what ' * (number % 7)}does picture {number} show?",
        options=tuple(zip("ABCD", names, strict=True))[:options],
        picture=None if blind else make_picture(width, height, number),
    )


@pytest.fixture
def question():
    return make_request


@pytest.fixture
def open_tiny():
    """``open_tiny(folder, batch_size=..., ...)`` opens it as the command line does."""

    def opened(folder, *, max_tokens=12, temperature=0.0, seed=None, **local):
        settings = ModelSettings(
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            local=LocalSettings(**{"batch_size": 4, **local}),
        )
        return open_model(f"hf/{folder}", settings)

    return opened

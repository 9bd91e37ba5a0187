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
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import transformers
from families.chatml import idefics3, internvl3, llava_onevision, qwen2_5_vl, qwen3_vl, smolvlm
from families.own_chat import gemma3, llama_3_2_vision, paligemma2, phi_4_multimodal
from PIL import Image

from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.hf.model import HFModel, open_hf
from medrcube.evaluate.models.hf.settings import LocalSettings
from medrcube.evaluate.models.protocol import ModelRequest, Reply
from medrcube.evaluate.models.settings import ModelSettings

BATCH, QUESTIONS, TOKENS = 8, 16, 12
LIKE = 1e-3
"""Log-probabilities of float32 that differ by less are equal but for rounding."""


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
            row, is_invariant = hold(family)
        except Exception:  # noqa: BLE001 - the others are tried all the same
            traceback.print_exc()
            row, is_invariant = f"| {FAMILIES[family][0]} | | | failed | | |", False
        print(row, flush=True)
        well &= is_invariant
    sys.exit(not well)


if __name__ == "__main__":
    main()

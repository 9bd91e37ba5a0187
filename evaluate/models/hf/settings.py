"""Settings of a local model; does not import torch, so that every command can read them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from medrcube.errors import ModelError

__all__ = ["DTYPES", "LocalSettings", "Scoring"]

DTYPES = ("auto", "bfloat16", "float16", "float32")
"""Data types of weights; ``auto`` is bfloat16 if the device supports it, else float32."""


class Scoring(StrEnum):
    """How the answer of a local model is obtained."""

    GENERATE = "generate"
    """Generate the reply token by token, as an endpoint does."""

    LIKELIHOOD = "likelihood"
    """Choose the option whose letter is the likeliest first token."""

    TEXT = "text"
    """Choose the option whose text has the highest mean log-probability per token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """Settings of a local model.

    Attributes:
        batch_size: maximum number of questions in a batch.
        dtype: one of ``DTYPES``.
        device: as torch names it, or ``auto``: CUDA before MPS before CPU.
        attention: attention implementation as transformers names it; ``None`` leaves it to
            transformers.
        scoring: how the answer is obtained, a value of ``Scoring``.
        trust_remote_code: whether Python code shipped with the weights may run.
        revision: branch, tag or commit on the hub; ``None`` takes its main branch.
        min_pixels: pixels to which the processor enlarges smaller images; ``None`` leaves its
            default.
        max_pixels: pixels to which it shrinks larger images.

    Raises:
        ModelError: a value is not allowed.
    """

    batch_size: int = 8
    dtype: str = "auto"
    device: str = "auto"
    attention: str | None = None
    scoring: str = Scoring.GENERATE
    trust_remote_code: bool = False
    revision: str | None = None
    min_pixels: int | None = None
    max_pixels: int | None = None

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ModelError(f"batch size is {self.batch_size}; expected at least 1")
        if self.dtype not in DTYPES:
            raise ModelError(f"no dtype {self.dtype!r}; expected one of: {', '.join(DTYPES)}")
        if self.scoring not in set(Scoring):
            raise ModelError(f"no scoring {self.scoring!r}; expected one of: {', '.join(Scoring)}")
        for option, pixels in (
            ("--min-pixels", self.min_pixels),
            ("--max-pixels", self.max_pixels),
        ):
            if pixels is not None and pixels < 1:
                raise ModelError(f"{option} {pixels}: expected at least 1")
        if self.min_pixels and self.max_pixels and self.min_pixels > self.max_pixels:
            raise ModelError(
                f"--min-pixels {self.min_pixels} is more than --max-pixels {self.max_pixels}"
            )

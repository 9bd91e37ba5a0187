"""Settings of a local model; imports no torch, so that every command can read them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from medrcube.errors import ModelError

DTYPES = ("auto", "bfloat16", "float16", "float32")
"""Number formats of weights; ``auto`` is bfloat16 where the device computes in it, else float32."""


class Scoring(StrEnum):
    """How an answer is taken from a local model."""

    GENERATE = "generate"
    """The reply is written token by token, as an endpoint does it."""

    LIKELIHOOD = "likelihood"
    """The option whose letter is the likeliest first token."""

    TEXT = "text"
    """The option whose text has the highest mean log-probability of its tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """How to run a model on this machine.

    Attributes:
        batch_size: most questions that are computed together.
        dtype: one of ``DTYPES``.
        device: as torch names it, or ``auto``: CUDA before MPS before the processor.
        attention: implementation of attention as transformers names it; ``None`` leaves it to
            transformers.
        scoring: how an answer is taken, a value of ``Scoring``.
        trust_remote_code: whether Python code that comes with the weights may run.
        revision: branch, tag or commit on the hub; ``None`` takes its main branch.
        min_pixels: pixels to which a smaller picture is enlarged by the model's processor; ``None``
            leaves it as the processor has it.
        max_pixels: pixels to which a larger picture is made smaller by it.

    Raises:
        ModelError: a value is none of those that are known.
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

"""Log-likelihood of each option, by its letter or by its text.

By letter, one forward pass over question and image covers all options. By text, each option needs a
few more tokens; question and image are computed once and cached if the model's cache allows it,
which is verified on the first question.
"""

from __future__ import annotations

import inspect
import itertools
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

__all__ = [
    "ROUGH_TOLERANCE",
    "TOLERANCE",
    "FirstToken",
    "TextScorer",
    "best_option",
    "continuation_tokens",
    "letter_tokens",
]

TOLERANCE = {"float32": 1e-3}
"""Maximum difference between the two scoring methods, in nats per token, by data type."""

ROUGH_TOLERANCE = 0.1
"""The same for 16-bit data types."""

_log = logging.getLogger(__name__)


def letter_tokens(
    tokenizer: Any, text: str, options: Sequence[tuple[str, str]]
) -> dict[str, tuple[int, ...]]:
    """Return first tokens of a reply beginning with each option's letter, with and without blank.

    A spelling whose first token is the same for two letters is excluded. Empty if no spelling
    distinguishes the letters.
    """
    spellings: dict[str, tuple[int, ...]] = {letter: () for letter, _ in options}
    for blank in ("", " "):
        tokens = {
            letter: continuation_tokens(tokenizer, text, blank + letter)[:1] for letter in spellings
        }
        firsts = [continuation[0] for continuation in tokens.values() if continuation]
        if len(set(firsts)) == len(spellings):
            spellings = {k: tuple(dict.fromkeys((*v, *tokens[k]))) for k, v in spellings.items()}
    all_tokens = list(itertools.chain.from_iterable(spellings.values()))
    distinct = all_tokens and len(set(all_tokens)) == len(all_tokens)
    return spellings if distinct else {}


def continuation_tokens(tokenizer: Any, text: str, more: str) -> list[int]:
    """Return the tokens of ``more`` as a continuation of ``text``.

    If a token spans the boundary, the tokens of ``more`` alone.
    """
    before = tokenizer(text, add_special_tokens=False)["input_ids"]
    after = tokenizer(text + more, add_special_tokens=False)["input_ids"]
    if after[: len(before)] == before:
        return list(after[len(before) :])
    return list(tokenizer(more, add_special_tokens=False)["input_ids"])


def best_option(scores: Mapping[str, float]) -> str:
    """Return the option with the highest score; the first on a tie."""
    return max(scores, key=lambda letter: scores[letter])


class FirstToken:
    """Logits processor that records the log-probabilities of the first token."""

    def __init__(self) -> None:
        self._log_probabilities: Any = None

    def __call__(self, ids: Any, scores: Any) -> Any:
        """Called by transformers for each token; returns the scores unchanged."""
        del ids
        if self._log_probabilities is None:
            self._log_probabilities = torch.log_softmax(scores.float(), dim=-1).cpu()
        return scores

    def scores(self, row: int, spellings: Mapping[str, Sequence[int]]) -> dict[str, float]:
        """Return the log-probability of each letter, summed over its spellings."""
        return {
            letter: float(torch.logsumexp(self._log_probabilities[row, list(tokens)], dim=0))
            for letter, tokens in spellings.items()
        }


class TextScorer:
    """Mean log-probability of the tokens of each option after a question.

    Args:
        model: the model.
        dtype: number format of its weights.
    """

    def __init__(self, *, model: Any, dtype: Any) -> None:
        self._model = model
        self._tolerance = TOLERANCE.get(str(dtype).removeprefix("torch."), ROUGH_TOLERANCE)
        self._keeps_prefix: bool | None = None

    def scores(
        self, inputs: Mapping[str, Any], options: Mapping[str, Sequence[int]]
    ) -> dict[str, float]:
        """Score the options of one question.

        Args:
            inputs: the processor's tensors for one question, without padding.
            options: tokens of each option, at least one.
        """
        # Without an image there is little to save, and some models would then continue from the
        # positions of their previous image.
        way = _each_whole
        if any(value.is_floating_point() for value in inputs.values()):
            if self._keeps_prefix is None:
                self._keeps_prefix = self._prefix_holds(inputs, options)
            way = _after_prefix if self._keeps_prefix else _each_whole
        scores = way(self._model, inputs, list(options.values()))
        return dict(zip(options, scores, strict=True))

    def _prefix_holds(
        self, inputs: Mapping[str, Any], options: Mapping[str, Sequence[int]]
    ) -> bool:
        tokens = list(options.values())
        plain = _each_whole(self._model, inputs, tokens)
        try:
            with_prefix = _after_prefix(self._model, inputs, tokens)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - caches differ from model to model
            _log.info("the prefix is computed anew for each option: %r", error)
            return False
        pairs = zip(plain, with_prefix, strict=True)
        return all(math.isclose(a, b, rel_tol=0, abs_tol=self._tolerance) for a, b in pairs)


def _each_whole(
    model: Any, inputs: Mapping[str, Any], options: Sequence[Sequence[int]]
) -> list[float]:
    """One pass per option over question, image and option: correct for every model."""
    ids = inputs["input_ids"]
    scores = []
    for tokens in options:
        more = torch.tensor([list(tokens)], device=ids.device)
        whole = {
            name: torch.cat([value, _extension(name, value, more)], dim=1)
            if _is_per_token(value, ids)
            else value
            for name, value in inputs.items()
        }
        logits = model(**whole, use_cache=False).logits[0, ids.shape[1] - 1 : -1]
        scores.append(_mean(logits, more[0]))
    return scores


def _after_prefix(
    model: Any, inputs: Mapping[str, Any], options: Sequence[Sequence[int]]
) -> list[float]:
    """One pass over question and image, then one over all options as a batch."""
    ids = inputs["input_ids"]
    last_only = "logits_to_keep" in inspect.signature(model.forward).parameters
    prefix = model(**inputs, use_cache=True, **({"logits_to_keep": 1} if last_only else {}))
    first = prefix.logits[0, -1:]
    longest = max(map(len, options))
    if longest == 1:
        return [_mean(first, torch.tensor(tokens, device=ids.device)) for tokens in options]
    cache = prefix.past_key_values
    cache.batch_repeat_interleave(len(options))
    # Padding follows the option, where no scored token attends to it, so no mask is needed.
    more = torch.zeros((len(options), longest), dtype=ids.dtype, device=ids.device)
    for row, tokens in enumerate(options):
        more[row, : len(tokens)] = torch.tensor(tokens, device=ids.device)
    logits = model(input_ids=more, past_key_values=cache, use_cache=True).logits
    return [
        _mean(torch.cat([first, logits[row, : len(tokens) - 1]]), more[row, : len(tokens)])
        for row, tokens in enumerate(options)
    ]


def _is_per_token(value: Any, ids: Any) -> bool:
    return bool(value.shape[:2] == ids.shape) and not value.is_floating_point()


def _extension(name: str, value: Any, more: Any) -> Any:
    if name == "input_ids":
        return more
    # Option tokens are not image tokens, and all of them are attended to.
    filled = torch.ones_like if name == "attention_mask" else torch.zeros_like
    return filled(more).to(value.dtype)


def _mean(logits: Any, tokens: Any) -> float:
    each = torch.log_softmax(logits.float(), dim=-1).gather(1, tokens[:, None])
    return float(each.mean())

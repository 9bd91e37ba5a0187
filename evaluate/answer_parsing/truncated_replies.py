"""Parse a reply truncated by the token limit: it counts only if it had already answered.

Text on the way to an answer is not an answer: an option under consideration, or a list of the
options, looks like one until the next sentence is read, and that sentence is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from medrcube.evaluate.answer_parsing import ParsedAnswer, extract
from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning

__all__ = ["extract_truncated"]

_OUTRIGHT = frozenset({"boxed", "declared", "element", "json", "singled-out", "verdict"})
_LAST_WORD = re.compile(r"\S+\Z")
_JOINING_END = re.compile(
    r"(?:\b(?:and|or|und|oder|et|ou)|[,/&+(]|和|或者?|还是|還是|与|與|か|と|또는|와|과)\s*\Z",
    re.IGNORECASE,
)


def extract_truncated(reply: str, options: Sequence[tuple[str, str]]) -> ParsedAnswer:
    """Return the letter that a truncated reply gave before it ended.

    Args:
        reply: text of the model, including reasoning.
        options: (letter, text) of the item's own options.

    Returns:
        A letter with the rule that found it, or no letter and the rule ``finish-reason``.
    """
    none = ParsedAnswer(None, "finish-reason")
    visible = strip_reasoning(reply)
    if not visible.closed:
        return none
    # The last word may be incomplete, and the sentence may have continued: "B or", "A chest".
    whole_words = _LAST_WORD.sub("", visible.text)
    answer = extract(visible.text, options)
    if answer.letter is None or extract(whole_words, options).letter != answer.letter:
        return none
    if _JOINING_END.search(visible.text) and any(
        extract(f"{visible.text} {letter}", options).letter != answer.letter
        for letter, _ in options
        if letter != answer.letter
    ):
        return none
    if answer.rule in _OUTRIGHT:
        return answer
    first, _, _ = visible.text.partition("\n")
    alone = extract(first, options) == ParsedAnswer(answer.letter, "bare-letter")
    return answer if alone else none

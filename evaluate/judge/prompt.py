"""LLM judge: second parsing of unparsed replies, by a model that never sees the key.

Off by default. The judge gets the options as shown and the reply without its reasoning: no
question, no image, no key. It answers with one of the letters or "none". Its replies are stored
with the run, so that each reply is judged only once and scores can be recomputed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from medrcube.evaluate.answer_parsing.markup_removal import strip_markup
from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning
from medrcube.evaluate.models.protocol import Json, Model
from medrcube.evaluate.outcomes import AnswerOutcome, Result
from medrcube.evaluate.questions.prompts import prompt_version, render_data
from medrcube.evaluate.runner.attempt_log import read_attempts

__all__ = [
    "FILE",
    "LONGEST",
    "NONE_RULE",
    "PROMPT",
    "RULE",
    "Judge",
    "JudgeQuestion",
    "is_unread",
    "read_judge",
    "read_judgements",
    "read_verdict",
]

FILE = "judgements.jsonl"
PROMPT = "judge"
RULE = "judge"
"""Rule name of a result whose letter comes from a judge."""

NONE_RULE = "judge-none"
"""Rule name of a result for which the judge found no letter either."""

LONGEST = 8000
"""Characters of a reply passed to a judge, from its beginning and end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """Question to a judge about one reply.

    Attributes:
        key: SHA-256 of the judge, its parameters and the prompt.
        prompt: full text.
        options: (letter, text) of the options as shown.
    """

    key: str
    prompt: str
    options: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A judge model and its verdicts so far.

    Attributes:
        identity: everything that may change its verdicts; contains no secret.
        verdicts: its replies by key.
    """

    identity: Mapping[str, Any]
    verdicts: Mapping[str, str] = field(default_factory=dict)

    def question(self, result: Result) -> JudgeQuestion:
        """Return the question to the judge about a result with a reply."""
        options = result.item.options
        options_by_letter: dict[str, Json] = dict(options)
        data: Mapping[str, Json] = {
            "options": options_by_letter,
            "reply": _shortened(result.reply or ""),
        }
        prompt = render_data(PROMPT, data)
        request = {"judge": dict(self.identity), "prompt": prompt}
        key = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        return JudgeQuestion(key=key, prompt=prompt, options=options)

    def rescored(self, results: Iterable[Result]) -> list[Result]:
        """Return the results with the judge's letter where the rules found none."""
        return [self._rescored(result) if is_unread(result) else result for result in results]

    def account(self, results: Iterable[Result]) -> dict[str, Any]:
        """Return the ``judge`` object of ``metrics.json``.

        Args:
            results: all presentations, scored by the rules only.
        """
        unread = [result for result in results if is_unread(result)]
        texts = [(r, self.verdicts.get(self.question(r).key)) for r in unread]
        answers = [(read_verdict(text, r.item.options), text) for r, text in texts]
        letters = sum(letter is not None for letter, _ in answers)
        none = sum(text is not None and _bare(text) == "none" for _, text in answers)
        judged = sum(text is not None for _, text in answers)
        return {
            "used": True,
            "identity": dict(self.identity),
            "prompt": {"name": PROMPT, "version": prompt_version(PROMPT)},
            "unparsed": len(unread),
            "judged": judged,
            "letters": letters,
            "none": none,
            "unreadable": judged - letters - none,
            "not_judged": len(unread) - judged,
        }

    def _rescored(self, result: Result) -> Result:
        text = self.verdicts.get(self.question(result).key)
        if text is None:
            return result
        letter = read_verdict(text, result.item.options)
        if letter is None:
            return replace(result, rule=NONE_RULE)
        outcome = AnswerOutcome.CORRECT if letter == result.item.key else AnswerOutcome.WRONG
        return replace(result, outcome=outcome, answer=letter, rule=RULE)


def is_unread(result: Result) -> bool:
    """Whether a judge may be asked about a result: it has a reply that the rules did not parse.

    Refusals, truncated replies, questions without a reply and items without options are excluded.
    """
    return (
        result.outcome is AnswerOutcome.UNPARSED
        and bool(result.item.options)
        and bool((result.reply or "").strip())
    )


def read_judge(run: Path, model: Model) -> Judge:
    """Return a judge with its stored verdicts on a run.

    Raises:
        WorkspaceError: the file of judgements was changed by something else.
    """
    identity = dict(model.identity)
    verdicts = {record["key"]: str(record["text"]) for record in read_judgements(run)}
    return Judge(identity=identity, verdicts=verdicts)


def read_judgements(run: Path) -> Iterator[Mapping[str, Any]]:
    """Return every judgement of a run, by any judge.

    Raises:
        WorkspaceError: the file was changed by something else.
    """
    return (record for record in read_attempts(run / FILE) if "key" in record)


def read_verdict(text: str | None, options: Iterable[tuple[str, str]]) -> str | None:
    """Return the letter in a judge's reply; ``None`` for anything but one letter of the item."""
    if text is None:
        return None
    letter = _bare(text).upper()
    return letter if letter in {letter for letter, _ in options} else None


def _bare(text: str) -> str:
    visible = strip_reasoning(text)
    match = _VERDICT.fullmatch(strip_markup(visible.text)) if visible.closed else None
    return match["verdict"].casefold() if match else ""


def _shortened(reply: str) -> str:
    text = strip_reasoning(reply).text
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}\n[...]\n{text[-half:]}"


_VERDICT = re.compile(
    r"[^\w]{0,20}(?:(?:answer|option)\s*:?\s*)?[^\w]{0,5}(?P<verdict>[A-Za-z]|none)[^\w]{0,20}",
    re.IGNORECASE,
)

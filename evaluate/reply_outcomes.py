"""Outcome of each question, from the reply to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from medrcube.evaluate.answer_parsing.refusals import is_refusal
from medrcube.evaluate.answer_parsing.reply_forms import read_reply, read_truncated_reply
from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.outcomes import AnswerOutcome, Result, score_answer
from medrcube.evaluate.runner.conversations import said_text, standing_replies
from medrcube.evaluate.runner.run_folder import AskedQuestion

__all__ = [
    "EARLIER_STEP",
    "NOT_TRIED",
    "NO_REPLY",
    "score_attempts",
    "score_replies",
    "score_reply",
]

NO_REPLY = "no-reply"
"""Rule of a question that was tried and has no reply."""

NOT_TRIED = "not-tried"
"""Rule of a question that has not been tried yet."""

EARLIER_STEP = "earlier-step"
"""Rule of a step of a chain that was not reached."""


def score_attempts(
    questions: Iterable[AskedQuestion], attempts: Iterable[Mapping[str, Any]]
) -> list[Result]:
    """Return the results of the questions; the last reply to each counts."""
    questions = list(questions)
    return score_replies(questions, *standing_replies(questions, attempts))


def score_reply(
    question: AskedQuestion, reply: Mapping[str, Any] | None, *, tried: bool = True
) -> Result:
    """Return the result of one presentation; ``tried`` says whether it was sent at all."""
    if question.key is None:
        return _result_without_answer(question, AnswerOutcome.MISSING_IMAGE, "no-picture")
    if reply is None:
        if tried:
            return _result_without_answer(question, AnswerOutcome.FAILED, NO_REPLY)
        return _result_without_answer(question, AnswerOutcome.NOT_ASKED, NOT_TRIED)
    text, reason = reply["text"], reply["finish_reason"]
    outcome, answer, rule, cut = _outcome_of(text, reason, question.item)
    return Result(question=question, outcome=outcome, answer=answer, rule=rule, reply=text, cut=cut)


def score_replies(
    questions: Iterable[AskedQuestion],
    replies: Mapping[str, Mapping[str, Any]],
    tried: Collection[str] | None,
) -> list[Result]:
    """Return the results of the questions, in order.

    Args:
        questions: every presentation.
        replies: the reply that counts, by the key of its question.
        tried: keys of the questions that were sent; ``None`` if unknown, as in an imported run, in
            which case each counts as sent.
    """

    def was_tried(question: AskedQuestion) -> bool:
        return tried is None or question.key in tried

    def reply_to(question: AskedQuestion) -> Mapping[str, Any] | None:
        return None if question.key is None else replies.get(question.key)

    results = []
    for question in questions:
        broken = next((s for s in question.before if not _goes_on(reply_to(s))), None)
        if broken is None:
            result = score_reply(question, reply_to(question), tried=was_tried(question))
        elif broken.key is not None and reply_to(broken) is None and not was_tried(broken):
            result = _result_without_answer(question, AnswerOutcome.NOT_ASKED, NOT_TRIED)
        else:
            result = _result_without_answer(question, AnswerOutcome.NOT_REACHED, EARLIER_STEP)
        results.append(result)
    return results


def _goes_on(reply: Mapping[str, Any] | None) -> bool:
    """Whether a conversation can continue after a reply."""
    return reply is not None and said_text(reply) != ""


class _Outcome(NamedTuple):
    outcome: AnswerOutcome
    answer: str | None
    rule: str
    cut: bool = False


_SHORT = 200
"""Maximum length of a reply whose outcome is cached for items with the same options and key."""
_MOST_CACHED = 1 << 14

_outcomes: dict[tuple[object, ...], _Outcome] = {}


def _outcome_of(text: str, reason: str | None, item: BenchmarkItem) -> _Outcome:
    """Return the outcome of a reply; many replies of a run are equal, such as a lone letter."""
    if item.target is not None or len(text) > _SHORT:
        return _new_outcome(text, reason, item)
    same = (text, reason, item.options, item.key)
    outcome = _outcomes.get(same)
    if outcome is None:
        outcome = _new_outcome(text, reason, item)
        if len(_outcomes) >= _MOST_CACHED:
            _outcomes.clear()
        _outcomes[same] = outcome
    return outcome


def _new_outcome(text: str, reason: str | None, item: BenchmarkItem) -> _Outcome:
    if reason == "length":
        answer, rule = read_truncated_reply(text, item)
        return _Outcome(_passed(item, answer) or AnswerOutcome.CUT, answer, rule, cut=True)
    if reason in {"content_filter", "refusal"}:
        return _Outcome(AnswerOutcome.REFUSED, None, "finish-reason")
    visible = strip_reasoning(text)
    if not visible.closed:
        return _Outcome(AnswerOutcome.CUT, None, "unclosed-reasoning", cut=True)
    answer, rule = read_reply(text, item)
    outcome = _passed(item, answer)
    if outcome is None:
        refused = is_refusal(visible.text)
        outcome = AnswerOutcome.REFUSED if refused else AnswerOutcome.UNPARSED
    return _Outcome(outcome, answer, rule)


def _passed(item: BenchmarkItem, answer: str | None) -> AnswerOutcome | None:
    """Return whether an answer is right; ``None`` without one."""
    if answer is None:
        return None
    return AnswerOutcome.CORRECT if score_answer(item, answer).passed else AnswerOutcome.WRONG


def _result_without_answer(question: AskedQuestion, outcome: AnswerOutcome, rule: str) -> Result:
    return Result(question=question, outcome=outcome, answer=None, rule=rule, reply=None)

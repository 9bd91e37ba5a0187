"""Outcome of each question, from the reply to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from medrcube.evaluate.answer_parsing.refusals import is_refusal
from medrcube.evaluate.answer_parsing.reply_forms import read_reply, read_truncated_reply
from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning
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
        return _result_without_answer(question, AnswerOutcome.MISSING_IMAGE, "no-picture", None)
    if reply is None:
        if tried:
            return _result_without_answer(question, AnswerOutcome.FAILED, NO_REPLY, None)
        return _result_without_answer(question, AnswerOutcome.NOT_ASKED, NOT_TRIED, None)
    text, reason = reply["text"], reply["finish_reason"]
    if reason == "length":
        answer, rule = read_truncated_reply(text, question.item)
        return replace(_answer_result(question, answer, rule, text, AnswerOutcome.CUT), cut=True)
    if reason in {"content_filter", "refusal"}:
        return _result_without_answer(question, AnswerOutcome.REFUSED, "finish-reason", text)
    if not strip_reasoning(text).closed:
        return replace(
            _result_without_answer(question, AnswerOutcome.CUT, "unclosed-reasoning", text),
            cut=True,
        )
    answer, rule = read_reply(text, question.item)
    refused = answer is None and is_refusal(strip_reasoning(text).text)
    return _answer_result(
        question, answer, rule, text, AnswerOutcome.REFUSED if refused else AnswerOutcome.UNPARSED
    )


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
            result = _result_without_answer(question, AnswerOutcome.NOT_ASKED, NOT_TRIED, None)
        else:
            result = _result_without_answer(question, AnswerOutcome.NOT_REACHED, EARLIER_STEP, None)
        results.append(result)
    return results


def _goes_on(reply: Mapping[str, Any] | None) -> bool:
    """Whether a conversation can continue after a reply."""
    return reply is not None and said_text(reply) != ""


def _answer_result(
    question: AskedQuestion, answer: str | None, rule: str, reply: str, otherwise: AnswerOutcome
) -> Result:
    """Return the result of a parsed reply; ``otherwise`` is the outcome without an answer."""
    if answer is None:
        return _result_without_answer(question, otherwise, rule, reply)
    passed = score_answer(question.item, answer).passed
    outcome = AnswerOutcome.CORRECT if passed else AnswerOutcome.WRONG
    return Result(asked=question, outcome=outcome, answer=answer, rule=rule, reply=reply)


def _result_without_answer(
    question: AskedQuestion, outcome: AnswerOutcome, rule: str, reply: str | None
) -> Result:
    return Result(asked=question, outcome=outcome, answer=None, rule=rule, reply=reply)

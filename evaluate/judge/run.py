"""Ask the LLM judge about every unparsed reply of a run, each once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from medrcube.errors import ModelError
from medrcube.evaluate.judge.prompt import FILE, PROMPT, Judge, JudgeQuestion, is_unread, read_judge
from medrcube.evaluate.models.protocol import (
    Model,
    ModelRequest,
    RejectedError,
    Reply,
    TransientError,
)
from medrcube.evaluate.models.single_request import send_request
from medrcube.evaluate.outcomes import Result
from medrcube.evaluate.questions.prompts import prompt_version
from medrcube.evaluate.runner.attempt_log import AttemptLog, open_log
from medrcube.evaluate.runner.run_folder import now
from medrcube.evaluate.runner.scheduling.retry_policy import RATE_LIMIT, RetryPolicy

__all__ = ["ask_judge"]


def ask_judge(
    run: Path,
    model: Model,
    results: Sequence[Result],
    *,
    max_connections: int = 8,
    retry: RetryPolicy | None = None,
) -> Judge:
    """Ask a judge about the replies that the rules could not parse.

    A failed judgement is not stored: the same command asks for it again.

    Args:
        run: run folder.
        model: the judge.
        results: all presentations, scored by the rules only.
        max_connections: maximum number of concurrent questions.
        retry: retry policy.

    Returns:
        The judge with all its verdicts.

    Raises:
        ModelError: the judge cannot be used; its verdicts so far are stored.
        WorkspaceError: the judgements cannot be written, or were changed by something else.
    """
    judge = read_judge(run, model)
    questions = {q.key: q for q in map(judge.question, filter(is_unread, results))}
    todo = [question for key, question in questions.items() if key not in judge.verdicts]
    if not todo:
        return judge
    with open_log(run / FILE) as log:
        verdicts = asyncio.run(_ask_all(model, todo, log, max_connections, retry or RetryPolicy()))
    return replace(judge, verdicts={**judge.verdicts, **verdicts})


async def _ask_all(
    model: Model, todo: Sequence[JudgeQuestion], log: AttemptLog, workers: int, retry: RetryPolicy
) -> dict[str, str]:
    verdicts: dict[str, str] = {}
    rest = iter(todo)
    try:
        # The first one alone, so that a mistyped name fails at once.
        await _work(model, iter([next(rest)]), log, verdicts, retry)
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(_work(model, rest, log, verdicts, retry))
    except ExceptionGroup as errors:
        error = _innermost(errors)
        raise error from error.__cause__
    finally:
        await model.close()
    return verdicts


async def _work(
    model: Model,
    rest: Iterator[JudgeQuestion],
    log: AttemptLog,
    verdicts: dict[str, str],
    retry: RetryPolicy,
) -> None:
    for question in rest:
        reply = await _ask(model, question, retry)
        if reply is None:
            continue
        await log.append(
            {
                "key": question.key,
                "at": now(),
                "judge": model.name,
                "prompt": prompt_version(PROMPT),
                "text": reply.text,
                "finish_reason": reply.finish_reason,
                "usage": dict(reply.usage),
                "model": reply.model,
                "latency": round(reply.latency, 3),
            }
        )
        verdicts[question.key] = reply.text


async def _ask(model: Model, question: JudgeQuestion, retry: RetryPolicy) -> Reply | None:
    """Return the judge's reply; ``None`` if this question is refused.

    Raises:
        ModelError: the judge does not answer.
    """
    request = ModelRequest(
        item=question.key, prompt=question.prompt, options=question.options, picture=None
    )
    refusals = errors = 0
    while True:
        try:
            return await send_request(model, request)
        except RejectedError:
            return None
        except TransientError as error:
            limited = error.code == RATE_LIMIT
            refusals, errors = refusals + limited, errors + (not limited)
            wait = retry.wait(error, refusals if limited else errors)
            if wait is None:
                raise ModelError(
                    f"{model.name}: the judge does not respond: {error}\nits earlier replies are "
                    "kept; run the same command again to continue"
                ) from error
        await asyncio.sleep(wait)


def _innermost(errors: BaseException) -> BaseException:
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return errors

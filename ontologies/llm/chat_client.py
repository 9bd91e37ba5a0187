"""Client for the OpenAI chat-completions protocol: retries, limits, no key in any message.

The API key comes from the environment and is removed from everything that the server sends.
Response bodies are read up to ``MOST_BYTES`` and never decompressed, so no server can exhaust
memory.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from medrcube.build_settings import LlmSettings
from medrcube.errors import MissingExtraError, ModelError
from medrcube.model_endpoint import is_official, printable_line, retry_after, scrub
from medrcube.ontologies.llm.proposal_log import FINAL, REPLY, TRUNCATED

try:
    import openai
    from openai.types.chat import ChatCompletion
except ImportError as error:
    raise MissingExtraError("openai", "evaluate") from error

__all__ = ["CONNECTIONS", "MOST_BYTES", "STOP_AFTER", "Completion", "RetryTimes", "ask_all"]

MOST_BYTES = 1_000_000
"""Maximum response size in bytes; a list of names needs about a thousandth of it."""

CONNECTIONS = 4
STOP_AFTER = 4
"""Number of consecutive unanswered prompts after which the session ends."""

_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_COUNTED = ("prompt_tokens", "completion_tokens")
_TRANSIENT = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryTimes:
    """Number of attempts per prompt, and the waits between them in seconds.

    ``longest_wait`` also caps the delay that the server asks for.
    """

    tries: int = 4
    first_wait: float = 1.0
    longest_wait: float = 30.0

    def wait(self, demanded: float | None, tries: int) -> float:
        """Return the seconds to wait before the next attempt."""
        spread = random.uniform(0.5, 1.0)  # noqa: S311 - keeps workers from knocking in step
        own = self.first_wait * 2.0 ** (tries - 1) * spread
        return min(own if demanded is None else demanded, self.longest_wait)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Outcome of one prompt after ``tries`` requests; ``outcome`` is one word.

    ``detail`` says why it failed; ``again``, whether a retry may succeed.
    """

    outcome: str
    reply: str = ""
    detail: str = ""
    model: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    tries: int = 1
    again: bool = False
    retry_after: float | None = None


@dataclass(slots=True, kw_only=True)
class SessionUsage:
    """Requests of a session; ``stopped`` says why prompts were left unanswered, if any were."""

    requests: int = 0
    failed: int = 0
    in_a_row: int = 0
    stopped: str = ""


def ask_all(
    prompts: Iterable[str],
    settings: LlmSettings,
    parameters: Mapping[str, int],
    keep: Callable[[str, Completion], None],
    patience: RetryTimes | None = None,
) -> SessionUsage:
    """Send prompts until all are answered or a limit is reached.

    Args:
        prompts: prompts in order of priority.
        settings: endpoint and limits.
        parameters: request parameters besides the prompt.
        keep: called with a prompt and its final answer.
        patience: retry policy for transient errors.

    Raises:
        ModelError: the endpoint requires another key, model or payment; answers kept so far remain.
    """
    key = os.environ.get(settings.api_key_env, "").strip()
    if not key and is_official(settings.base_url):
        raise ModelError(
            f"no API key: set the environment variable {settings.api_key_env}, name another one "
            "with api_key_env in [llm], or give the base_url of a server that needs none"
        )
    session = _Session(
        settings=settings,
        parameters=dict(parameters),
        key=key,
        keep=keep,
        patience=patience or RetryTimes(),
        bill=SessionUsage(),
    )
    asyncio.run(session.ask_all(list(prompts)))
    return session.bill


class _TooLargeError(Exception):
    """A response body is longer than ``MOST_BYTES``, or compressed."""


@dataclass(slots=True, kw_only=True)
class _Session:
    settings: LlmSettings
    parameters: dict[str, Any]
    key: str
    keep: Callable[[str, Completion], None]
    patience: RetryTimes
    bill: SessionUsage

    async def ask_all(self, prompts: list[str]) -> None:
        queue = iter(prompts)
        # The SDK requires a key even if the server does not.
        client = openai.AsyncOpenAI(
            api_key=self.key or "none",
            base_url=self.settings.base_url,
            max_retries=0,
            timeout=self.settings.timeout,
            default_headers={"Accept-Encoding": "identity"},
            http_client=openai.DefaultAsyncHttpxClient(event_hooks={"response": [_bound]}),
        )
        async with client:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(CONNECTIONS, len(prompts))):
                        group.create_task(self._work(client, queue))
            except BaseExceptionGroup as errors:
                raise _first(errors) from None

    async def _work(self, client: openai.AsyncOpenAI, queue: Iterator[str]) -> None:
        for prompt in queue:
            answer = await self._ask(client, prompt)
            if answer is None:
                return
            self.keep(prompt, answer)
            answered = answer.outcome in FINAL
            self.bill.failed += not answered
            self.bill.in_a_row = 0 if answered else self.bill.in_a_row + 1
            if self.bill.in_a_row >= STOP_AFTER:
                self.bill.stopped = f"no answer {STOP_AFTER} times in a row: {answer.detail}"

    async def _ask(self, client: openai.AsyncOpenAI, prompt: str) -> Completion | None:
        """Return the final answer to one prompt, or ``None`` if a limit prevents asking at all."""
        answer: Completion | None = None
        for tries in range(1, self.patience.tries + 1):
            if not self.bill.stopped and self.bill.requests >= self.settings.max_requests:
                self.bill.stopped = f"max_requests = {self.settings.max_requests} is reached"
            if self.bill.stopped:
                break
            self.bill.requests += 1
            answer = replace(await self._once(client, prompt), tries=tries)
            if not answer.again or tries == self.patience.tries:
                break
            await asyncio.sleep(self.patience.wait(answer.retry_after, tries))
        return answer

    async def _once(self, client: openai.AsyncOpenAI, prompt: str) -> Completion:
        started = time.monotonic()
        try:
            # The SDK's timeout applies to each chunk; this one to the whole response.
            async with asyncio.timeout(self.settings.timeout):
                completion = await client.chat.completions.create(
                    model=self.settings.model,
                    messages=[{"role": "user", "content": prompt}],
                    **self.parameters,
                )
        except (TimeoutError, openai.APITimeoutError):
            detail = f"no whole reply within {self.settings.timeout:g} s"
            return Completion(outcome="timeout", detail=detail, again=True)
        except _TooLargeError as error:
            return Completion(outcome="too-large", detail=str(error))
        except openai.APIStatusError as error:
            return self._status(error)
        except openai.APIConnectionError as error:
            cause = error.__cause__
            if isinstance(cause, _TooLargeError):  # openai 2 wraps the exceptions of hooks
                return Completion(outcome="too-large", detail=str(cause))
            detail = self._clean(str(cause or error))
            return Completion(outcome="connection", detail=f"no connection: {detail}", again=True)
        except (openai.APIError, ValueError, RecursionError) as error:
            return self._malformed(str(error))
        return self._read(completion, time.monotonic() - started)

    def _read(self, completion: Any, seconds: float) -> Completion:
        if not isinstance(completion, ChatCompletion) or not completion.choices:
            return self._malformed(str(getattr(completion, "error", None) or completion))
        try:
            # The SDK does not validate what the server sent.
            choice: Any = completion.choices[0]
            text, refusal, reason = (
                choice.message.content,
                choice.message.refusal,
                choice.finish_reason,
            )
            usage: Any = completion.usage
        except (AttributeError, LookupError, TypeError):
            return self._malformed(str(completion))
        text = text if isinstance(text, str) else ""
        outcome = REPLY
        if isinstance(refusal, str) and refusal:
            outcome, text = "refusal", refusal
        elif reason == "content_filter":
            outcome = "filtered"
        elif reason == "length":
            outcome = TRUNCATED
        elif not text.strip():
            outcome = "empty"
        counts = {name: getattr(usage, name, None) for name in _COUNTED}
        return Completion(
            outcome=outcome,
            reply=scrub(text, self.key),
            model=self._clean(str(completion.model or "")),
            usage={name: n for name, n in counts.items() if type(n) is int and n >= 0},
            seconds=seconds,
        )

    def _status(self, error: openai.APIStatusError) -> Completion:
        """Classify an HTTP error: transient, permanent, or to be fixed by the user."""
        status, body = error.status_code, error.body
        inner = body.get("message") if isinstance(body, Mapping) else None
        message = self._clean(str(inner or body or error.message))
        if status in {401, 402, 403, 404} or error.code in _SPENT:
            self._refuse(status, message)
        detail = f"{status}: {message}"
        if error.code in _FILTERED:
            return Completion(outcome="filtered", detail=detail)
        if status in _TRANSIENT or status >= 500:
            outcome = "rate-limited" if status == 429 else "server-error"
            wait = retry_after(error.response.headers)
            return Completion(outcome=outcome, detail=detail, again=True, retry_after=wait)
        return Completion(outcome="rejected", detail=detail)

    def _refuse(self, status: int, message: str) -> NoReturn:
        """Stop for an error that only the user can fix.

        Raises:
            ModelError: always.
        """
        settings = self.settings
        mend = (
            "base_url and model"
            if status == 404
            else f"the key in {settings.api_key_env} and its permissions"
        )
        raise ModelError(
            f"[llm]: {settings.base_url} answered {status} for model {settings.model!r}: "
            f"{message}\n"
            f"check {mend}, or remove [llm] from medrcube.toml"
        ) from None

    def _malformed(self, body: str) -> Completion:
        detail = f"reply is not a chat completion: {self._clean(body)}"
        return Completion(outcome="malformed", detail=detail, again=True)

    def _clean(self, text: str) -> str:
        return printable_line(scrub(text, self.key))


async def _bound(response: Any) -> None:
    """Make reading a response fail if it is compressed or too long."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _TooLargeError("the body is packed although that was not asked for")
    read_chunks = response.aiter_raw

    async def bounded(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in read_chunks(chunk_size):
            size += len(chunk)
            if size > MOST_BYTES:
                raise _TooLargeError(f"the body is longer than {MOST_BYTES:,} bytes")
            yield chunk

    response.aiter_raw = bounded


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of a group; the others are the same problem in other workers."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error

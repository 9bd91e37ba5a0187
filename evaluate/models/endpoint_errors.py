"""Classify an endpoint's errors by who can fix them.

Every server has its own error format: OpenAI and most others use ``error``, Google the same inside
a list, Anthropic ``type`` as the code, SGLang a flat object, web frameworks ``detail``. Single
requests and lines of a batch follow the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from medrcube.errors import ModelError
from medrcube.evaluate.models.protocol import AnswerError, RejectedError, TransientError
from medrcube.model_endpoint import printable_line, scrub

__all__ = ["EndpointProblem", "Sender", "read_problem"]

_LONGEST = 500
_TRANSIENT_STATUS = {408, 409, 425, 429}
_SPENT = {"insufficient_quota", "billing_hard_limit_reached", "billing_error"}
_FILTERED = {
    "content_filter",
    "content_policy_violation",
    "invalid_prompt",
    "ResponsibleAIPolicyViolation",
}
_ADVICE = {
    "temperature": "set --temperature to a value that it accepts, or to none",
    "max_tokens": "set --max-tokens to a value that it accepts, or to none",
    "max_completion_tokens": "set --max-tokens to a value that it accepts, or to none",
    "seed": "leave out --seed",
    "logprobs": "leave out --logprobs",
    "top_logprobs": "leave out --logprobs",
}
_NO_MODEL = re.compile(r"model\b.{0,200}\b(not found|does not exist)", re.DOTALL | re.IGNORECASE)
_NO_KEY = re.compile(r"api key (not valid|expired|not found)|invalid api key", re.IGNORECASE)
_NO_MONEY = re.compile(
    r"credit balance is too low|reached your specified API usage limits", re.IGNORECASE
)
_BLOCKED = re.compile(
    r"ContentPolicyViolationError|blocked by content filtering policy", re.IGNORECASE
)
_FIELD = re.compile(rf"\W({'|'.join(sorted(_ADVICE, key=len, reverse=True))})\b", re.IGNORECASE)
_UNWANTED = re.compile(
    r"not support|unsupported|deprecated|extra inputs|cannot find field|not permitted|unrecognized",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointProblem:
    """Error response of a server.

    Attributes:
        status: HTTP status.
        message: error message, on one line.
        codes: error codes, the most specific first.
        param: offending field of the request; empty if unknown.
        retry_after: delay in seconds requested in the body.
        daily: whether a daily quota is exhausted.
    """

    status: int
    message: str
    codes: tuple[str, ...] = ()
    param: str = ""
    retry_after: float | None = None
    daily: bool = False

    @property
    def filtered(self) -> bool:
        """Whether a content filter of the provider stopped the question or its reply."""
        return bool(_FILTERED & set(self.codes)) or bool(_BLOCKED.search(self.message))


def read_problem(status: int, body: object) -> EndpointProblem:
    """Parse the body of an error response, whatever its format."""
    outer = body[0] if isinstance(body, list) and body else body
    error = outer.get("error", outer) if isinstance(outer, Mapping) else outer
    if not isinstance(error, Mapping):
        return EndpointProblem(status=status, message=printable_line(str(error or ""), _LONGEST))
    within = error.get("innererror")
    names = (
        within.get("code") if isinstance(within, Mapping) else None,
        *(error.get(name) for name in ("code", "status", "type")),
    )
    message = printable_line(str(error.get("message") or error.get("detail") or error), _LONGEST)
    param = error.get("param")
    field = _FIELD.search(f" {message}") if _UNWANTED.search(message) else None
    return EndpointProblem(
        status=status,
        message=message,
        codes=tuple(name for name in names if isinstance(name, str) and name),
        param=param if isinstance(param, str) else field[1].lower() if field else "",
        retry_after=_retry_delay(error.get("details")),
        daily="PerDay" in str(error.get("details", "")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Endpoint, model and key of a request, for error messages.

    Attributes:
        url: address of the endpoint.
        model: requested model name.
        key: API key; never shown.
        key_env: environment variable that holds the key.
    """

    url: str
    model: str
    key: str
    key_env: str

    def scrub(self, text: str) -> str:
        """Remove the key from the text."""
        return scrub(text, self.key)

    def error(
        self, problem: EndpointProblem, retry_after: float | None = None
    ) -> AnswerError | ModelError:
        """Return the error to raise.

        Args:
            problem: the error response.
            retry_after: delay in seconds requested in its headers.

        Returns:
            ``TransientError`` if a retry may help, ``RejectedError`` if this question will never be
            answered, ``ModelError`` if no question will be.
        """
        status, message = problem.status, self.scrub(problem.message)
        codes = set(problem.codes)
        where = f"{self.url} answered {status} for model {self.model!r}: {message}"
        no_access = status in {401, 402, 403} or codes & (_SPENT | {"FAILED_PRECONDITION"})
        client = 400 <= status < 500
        if no_access or problem.daily or (client and _tells(message, _NO_KEY, _NO_MONEY)):
            return ModelError(f"{where}\ncheck the key in {self.key_env} and its permissions")
        no_model = status == 400 and _NO_MODEL.search(message)
        if status == 404 or "model_not_found" in codes or no_model:
            return ModelError(f"{where}\ncheck --base-url and the name of the model")
        if status in _TRANSIENT_STATUS or status >= 500:
            hint = problem.retry_after if retry_after is None else retry_after
            return TransientError(f"{status}: {message}", code=str(status), retry_after=hint)
        if problem.param in _ADVICE:
            return ModelError(f"{where}\n{_ADVICE[problem.param]}")
        return RejectedError(f"{status}: {message}", code=str(status))


def _tells(message: str, *patterns: re.Pattern[str]) -> bool:
    return any(pattern.search(message) for pattern in patterns)


def _retry_delay(details: object) -> float | None:
    """Return the seconds of a ``google.rpc.RetryInfo``, such as ``23s``."""
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str) and re.fullmatch(r"\d+(\.\d+)?s", delay):
            return float(delay[:-1])
    return None

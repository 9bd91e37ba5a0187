"""Conformance check of a model adapter: what the runner relies on.

For use in the tests of a model adapter::

    def test_my_model_keeps_the_contract():
        assert check_model(open_mine("tiny", ModelSettings())) == []
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import re
import time
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import replace

from medrcube.errors import MedrcubeError
from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.protocol import (
    AnswerError,
    Exchange,
    Model,
    ModelRequest,
    RejectedError,
    Reply,
)
from medrcube.evaluate.models.sample_requests import open_requests, sample_requests

__all__ = ["LATEST", "PATIENCE", "REASONS", "check_model", "sample_requests"]

REASONS = {"stop", "length", "content_filter", "refusal"}
"""Finish reasons; see ``Reply``."""

PATIENCE = 300.0
"""Timeout in seconds for each step, so that a hanging model is reported."""

LATEST = 2.0
"""Longest time in seconds that a model may block the event loop."""

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_SHORTEST_SECRET = 8


def check_model(model: Model, *, repeats: bool = True) -> list[str]:
    """Ask a model a few questions about generated images and list violations of the protocol.

    Args:
        model: the model; it gets about fifty short questions, of every answer form.
        repeats: whether the same question always gets the same answer; false for a model that
            samples.

    Returns:
        Violations, in words; empty for a conforming model.
    """
    findings = [*_identity(model), *_place(model)]
    for check in (_answers, _company, _second_session):
        try:
            findings += asyncio.run(_limited(check(model, repeats=repeats)))
        except TimeoutError:
            findings.append(f"{check.__doc__} no end after {PATIENCE:g} s")
        except (MedrcubeError, AnswerError) as error:
            findings.append(f"{check.__doc__} {type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - this is what the check looks for
            findings.append(
                f"{check.__doc__} an exception that the protocol does not allow: "
                f"{type(error).__name__}: {error}"
            )
    return findings


def _identity(model: Model) -> Iterator[str]:
    provider, slash, name = model.name.partition("/")
    if not (provider and slash and name):
        yield f"name is {model.name!r}; expected PROVIDER/NAME"
    identity = dict(model.identity)
    try:
        text = json.dumps(identity, allow_nan=False)
    except (TypeError, ValueError) as error:
        yield f"identity cannot be written as JSON: {error}"
        text = str(identity)
    if dict(model.identity) != identity:
        yield "identity changes from one reading to the next"
    if not identity.get("adapter"):
        yield "identity has no 'adapter': the name and version of the code that asks"
    if identity.get("name") != model.name:
        yield f"identity names {identity.get('name')!r}; expected the model's name {model.name!r}"
    for variable, value in os.environ.items():
        if _SECRET.search(variable) and len(value) >= _SHORTEST_SECRET:
            if value in text:
                yield f"identity holds the value of the environment variable {variable}"
            if value in repr(model):
                yield f"repr holds the value of the environment variable {variable}"


def _place(model: Model) -> Iterator[str]:
    if not isinstance(here := getattr(model, "runs_here", False), bool):
        yield f"runs_here is {here!r}; expected True if no image leaves this machine, or False"


async def _answers(model: Model, *, repeats: bool) -> list[str]:
    """One question at a time."""
    findings = []
    try:
        for request in sample_requests():
            findings += _reply(request, await model.answer(request))
        for request in open_requests():
            findings += await _open_question(model, request)
        findings += await _odd_picture(model)
        findings += await _conversation(model)
        request = sample_requests()[0]
        first, second = await model.answer(request), await model.answer(request)
        if repeats and first.text != second.text:
            findings.append(
                f"one question got {first.text[:60]!r} and then {second.text[:60]!r}; for a model "
                "that draws its answers, check with repeats=False"
            )
    finally:
        await model.close()
    return findings


async def _company(model: Model, *, repeats: bool) -> list[str]:
    """Many questions at once."""
    requests = sample_requests()
    try:
        alone = [await model.answer(request) for request in requests]
        watch = asyncio.ensure_future(_lateness())
        together = await asyncio.gather(*(model.answer(request) for request in requests))
        watch.cancel()
        late = await watch
        cancelled = asyncio.ensure_future(model.answer(requests[0]))
        await asyncio.sleep(0)
        cancelled.cancel()
        after, _ = await asyncio.gather(
            model.answer(requests[1]), cancelled, return_exceptions=True
        )
    finally:
        await model.close()
    findings = [
        f"{request.item}: {single.text[:60]!r} alone, {joint.text[:60]!r} among others"
        for request, single, joint in zip(requests, alone, together, strict=True)
        if repeats and single.text != joint.text
    ]
    if late > LATEST:
        findings.append(
            f"the event loop was blocked for {late:.1f} s while questions were answered; move "
            "computing and waiting to a thread"
        )
    if not isinstance(after, Reply):
        findings.append(f"after a question was cancelled the next one got {after!r}")
    return findings


async def _second_session(model: Model, *, repeats: bool) -> list[str]:
    """Use after close, in another event loop."""
    del repeats
    request = sample_requests()[0]
    findings = _reply(request, await model.answer(request))
    await model.close()
    await model.close()
    return findings


async def _lateness() -> float:
    """Measure the longest delay of a short sleep in seconds, until cancelled."""
    worst, step = 0.0, 0.01
    began = time.monotonic()
    try:
        while True:
            began = time.monotonic()
            await asyncio.sleep(step)
            worst = max(worst, time.monotonic() - began - step)
    except asyncio.CancelledError:
        return max(worst, time.monotonic() - began - step)


async def _conversation(model: Model) -> list[str]:
    """Check a later question of a conversation, if the model says it accepts conversations."""
    if not getattr(model, "takes_history", False):
        return []
    earlier, later = sample_requests()[:2]
    turn = Exchange(prompt=earlier.prompt, reply="A", picture=earlier.picture)
    request = replace(later, history=(turn,))
    return _reply(request, await model.answer(request))


async def _open_question(model: Model, request: ModelRequest) -> list[str]:
    """Check a question without options; the model may refuse it, but not fail."""
    try:
        return _reply(request, await model.answer(request))
    except RejectedError:
        return []
    except (AnswerError, MedrcubeError):
        raise
    except Exception as error:  # noqa: BLE001 - this is what the check looks for
        finding = (
            f"{request.item}: a question without options raised {type(error).__name__}: {error}; "
            "expected a reply to what request.ask asks for, or RejectedError"
        )
        return [finding]


async def _odd_picture(model: Model) -> list[str]:
    request = sample_requests()[0]
    data = b"\x89PNG\r\n\x1a\n" + b"this is no picture"
    broken = ImageFile(data=data, media_type="image/png", sha256=hashlib.sha256(data).hexdigest())
    odd = ModelRequest(
        item=request.item, prompt=request.prompt, options=request.options, picture=broken
    )
    try:
        return _reply(odd, await model.answer(odd))
    except (AnswerError, MedrcubeError):
        return []
    except Exception as error:  # noqa: BLE001 - this is what the check looks for
        kind = type(error).__name__
        return [f"a damaged image raised {kind}: {error}; expected a subclass of AnswerError"]


def _reply(request: ModelRequest, reply: Reply) -> list[str]:
    findings = []
    if not isinstance(reply.text, str):
        findings.append(f"text is {type(reply.text).__name__}; expected str")
    if reply.finish_reason not in REASONS:
        findings.append(
            f"finish reason is {reply.finish_reason!r}; expected one of {sorted(REASONS)}"
        )
    if not _are_counts(reply.usage):
        findings.append(f"usage is {reply.usage!r}; expected counts of tokens by name")
    if strange := reply.scores.keys() - {letter for letter, _ in request.options}:
        findings.append(f"scores of {sorted(strange)}, which are not options of the question")
    if not all(math.isfinite(value) and value <= 1e-6 for value in reply.scores.values()):
        findings.append(f"scores are {dict(reply.scores)}; expected log-probabilities")
    if not reply.model:
        findings.append("the reply does not say which model gave it")
    if not (math.isfinite(reply.latency) and reply.latency >= 0):
        findings.append(f"latency is {reply.latency}; expected seconds")
    return [f"{request.item}: {finding}" for finding in findings]


def _are_counts(usage: Mapping[str, int]) -> bool:
    return all(type(n) is int and n >= 0 for n in usage.values())


async def _limited(check: Awaitable[list[str]]) -> list[str]:
    async with asyncio.timeout(PATIENCE):
        return await check

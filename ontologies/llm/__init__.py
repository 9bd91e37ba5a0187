"""Distractors proposed by a language model, for questions with too few safe options.

A proposal is a guess: language models readily write a second right answer (arXiv 2501.03462). It
must resolve to a concept of the user's ontologies (``name_resolution``) and pass every safety
condition like any other candidate.

Prompts are sent before any item is composed, one per key, region and modality, and replies are
logged, so that rebuilding the same workspace produces the same items without any request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from medrcube.build_settings import LlmSettings
from medrcube.model_endpoint import is_official
from medrcube.ontologies.distractor_safety import DistractorRequest, SafetyRules
from medrcube.ontologies.llm.proposal_log import (
    FINAL,
    REPLY,
    TRUNCATED,
    ProposalLog,
    open_proposal_log,
    request_key,
)
from medrcube.ontologies.llm.reply_parser import names_in
from medrcube.ontologies.terms import Terms
from medrcube.taxonomy import Anatomy, Modality
from medrcube.templates import render_prompt

__all__ = [
    "LLM",
    "PROPOSALS",
    "LlmProposals",
    "PromptTarget",
    "ProposalBatch",
    "fetch_proposals",
    "name_resolution",
    "prompt_target",
    "proposal_prompt",
]

LLM = "llm"
"""Strategy name of options that a language model proposed."""

PROPOSALS = 12
"""Number of names requested per prompt; the rules reject most of them."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class PromptTarget:
    """Subject of one prompt: a key, and the kind of image that shows it."""

    key: str
    anatomy: Anatomy
    modality: Modality


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalBatch:
    """Proposals of a build, from the log and the endpoint.

    Attributes:
        names: proposed names for each target that was answered with a list.
        requests_sent: requests sent now, including retries.
        left: targets without an answer: a limit was reached, or the endpoint did not answer.
        stopped: why targets were left, if a limit was reached.
        outcomes: answers by outcome; ``prose`` is a reply without a list.
        spent: requests and tokens spent on these targets over all builds, as counted by the server.
    """

    names: Mapping[PromptTarget, tuple[str, ...]]
    requests_sent: int = 0
    left: int = 0
    stopped: str = ""
    outcomes: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmProposals:
    """Candidates proposed by a model and found in an index; see ``CandidateSource``."""

    labels: Mapping[PromptTarget, Sequence[str]]
    strategy: str = LLM

    def candidates(self, request: DistractorRequest, rules: SafetyRules) -> Sequence[str]:
        """Return proposals for the key on such an image, for tasks that accept proposed options."""
        if request.task is None or not request.task.declaration.model_proposals:
            return ()
        return tuple(
            label
            for label in self.labels.get(prompt_target(request), ())
            if label not in rules.relations.synonyms(request.key)
        )


def prompt_target(request: DistractorRequest) -> PromptTarget:
    """Return the prompt target of a question."""
    ground = request.ground
    return PromptTarget(key=request.key, anatomy=ground.anatomy, modality=ground.modality)


def proposal_prompt(place: PromptTarget, terms: Terms) -> str:
    """Return the prompt for a target; names are inserted as JSON strings."""
    data = {
        "anatomy": place.anatomy.value,
        "modality": place.modality.value,
        "right_answer": terms[place.key].name,
    }
    return render_prompt("distractors", data=data, count=PROPOSALS)


def fetch_proposals(
    places: Iterable[PromptTarget], terms: Terms, settings: LlmSettings, path: Path
) -> ProposalBatch:
    """Answer every target from the log, and ask the endpoint for the rest within the limits.

    Args:
        places: prompt targets; asked in order, so that a limit always cuts off the same ones.
        terms: term table.
        settings: endpoint and limits.
        path: the log, ``proposals.jsonl`` of the workspace.

    Raises:
        ModelError: the endpoint requires another key, model or payment.
        WorkspaceError: the log is damaged or cannot be written.
        MissingExtraError: there is something to ask and openai is not installed.
    """
    parameters = _parameters(settings)
    prompts = {place: proposal_prompt(place, terms) for place in sorted(set(places))}
    keys = {
        place: request_key(settings.model, settings.base_url, prompt, parameters)
        for place, prompt in prompts.items()
    }
    if not keys:
        return ProposalBatch(names={})
    with open_proposal_log(path) as store:
        todo = {
            keys[place]: prompts[place] for place in prompts if keys[place] not in store.answers
        }
        number, stopped = _ask(todo, settings, parameters, store) if todo else (0, "")
    answers = {place: store.answers[key] for place, key in keys.items() if key in store.answers}
    results = {place: _read(record) for place, record in answers.items()}
    spent: Counter[str] = Counter()
    for key in sorted(set(keys.values())):
        spent.update(store.spent.get(key, {}))
    return ProposalBatch(
        names={place: names for place, (_, names) in results.items() if names},
        requests_sent=number,
        left=len(keys) - len(answers),
        stopped=stopped,
        outcomes=Counter(outcome for outcome, _ in results.values()),
        spent=spent,
    )


def _ask(
    todo: Mapping[str, str],
    settings: LlmSettings,
    parameters: Mapping[str, int],
    store: ProposalLog,
) -> tuple[int, str]:
    """Send the prompts and log the replies; return number of requests, and why some were left."""
    # openai is needed only in a workspace with [llm], and only if the log lacks something.
    from medrcube.ontologies.llm.chat_client import Completion, ask_all  # noqa: PLC0415

    keys = {prompt: key for key, prompt in todo.items()}

    def keep(prompt: str, answer: Completion) -> None:
        store.keep(
            {
                "key": keys[prompt],
                "prompt": prompt,
                "model": settings.model,
                "base_url": settings.base_url,
                "parameters": dict(parameters),
                "outcome": answer.outcome,
                "reply": answer.reply,
                "detail": answer.detail,
                "answered_by": answer.model,
                "requests": answer.tries,
                "usage": dict(answer.usage),
                "seconds": round(answer.seconds, 3),
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
            }
        )

    bill = ask_all(todo.values(), settings, parameters, keep)
    return bill.requests, bill.stopped


def _parameters(settings: LlmSettings) -> dict[str, int]:
    """Return the request parameters besides the prompt; the official endpoint renamed the limit."""
    official = is_official(settings.base_url)
    return {"max_completion_tokens" if official else "max_tokens": settings.max_tokens}


def _read(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return outcome and names of a final record; a cut-off reply counts if its list is whole."""
    outcome: str = record["outcome"]
    assert outcome in FINAL  # noqa: S101 - the store keeps no other among its answers
    if outcome not in (REPLY, TRUNCATED):
        return outcome, ()
    names = names_in(record["reply"])
    if names is None:
        return ("prose" if outcome == REPLY else TRUNCATED), ()
    return REPLY, names

"""Distractors proposed by a language model, for questions with too few safe options.

A proposal is a guess: language models readily write a second right answer (arXiv 2501.03462). It
must resolve to a concept of the user's ontologies (``name_resolution``) and pass every safety
condition like any other candidate.

Prompts are sent before any item is composed, one per key, region and modality, and replies are
logged: rebuilding the same workspace gives the same items without a request.
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
    "WANTED",
    "LlmProposals",
    "PromptTarget",
    "ProposalBatch",
    "fetch_proposals",
    "name_resolution",
    "prompt_target",
    "proposal_prompt",
]

LLM = "llm"
"""Strategy of options that a language model proposed."""

WANTED = 12
"""Names asked for in one prompt; most fall to the rules."""


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
        names: proposed names of each place that was answered with a list.
        sent: requests sent now, repeated ones too.
        left: places without an answer: a bound was reached, or nobody answered.
        stopped: why places were left, where a bound was reached.
        outcomes: answers by outcome; ``prose`` is a reply that holds no list.
        spent: requests and tokens that these places ever took, by the server's own count.
    """

    names: Mapping[PromptTarget, tuple[str, ...]]
    sent: int = 0
    left: int = 0
    stopped: str = ""
    outcomes: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmProposals:
    """Candidates that a model proposed and an index knows; see ``CandidateSource``."""

    labels: Mapping[PromptTarget, Sequence[str]]
    strategy: str = LLM

    def candidates(self, request: DistractorRequest, rules: SafetyRules) -> Sequence[str]:
        """Proposals for the key on such an image, for tasks whose options a model may propose."""
        if request.task is None or not request.task.declaration.model_proposals:
            return ()
        return tuple(
            label
            for label in self.labels.get(prompt_target(request), ())
            if label not in rules.relations.synonyms(request.key)
        )


def prompt_target(request: DistractorRequest) -> PromptTarget:
    """The place of a question."""
    ground = request.ground
    return PromptTarget(key=request.key, anatomy=ground.anatomy, modality=ground.modality)


def proposal_prompt(place: PromptTarget, terms: Terms) -> str:
    """The prompt of a place; names stand in it as JSON strings."""
    data = {
        "anatomy": place.anatomy.value,
        "modality": place.modality.value,
        "right_answer": terms[place.key].name,
    }
    return render_prompt("distractors", data=data, count=WANTED)


def fetch_proposals(
    places: Iterable[PromptTarget], terms: Terms, settings: LlmSettings, path: Path
) -> ProposalBatch:
    """Answer every place from the store, and ask the endpoint for the rest within its bounds.

    Args:
        places: what to ask; asked in their order, so that a bound always cuts the same.
        terms: term table.
        settings: whom to ask, and within what bounds.
        path: the store, ``proposals.jsonl`` of the workspace.

    Raises:
        ModelError: the endpoint wants another key, model or payment.
        WorkspaceError: the store is damaged or cannot be written.
        MissingExtraError: something is to be asked and openai is not installed.
    """
    sent = _parameters(settings)
    prompts = {place: proposal_prompt(place, terms) for place in sorted(set(places))}
    keys = {
        place: request_key(settings.model, settings.base_url, prompt, sent)
        for place, prompt in prompts.items()
    }
    if not keys:
        return ProposalBatch(names={})
    with open_proposal_log(path) as store:
        todo = {
            keys[place]: prompts[place] for place in prompts if keys[place] not in store.answers
        }
        number, stopped = _ask(todo, settings, sent, store) if todo else (0, "")
    answers = {place: store.answers[key] for place, key in keys.items() if key in store.answers}
    read = {place: _read(record) for place, record in answers.items()}
    spent: Counter[str] = Counter()
    for key in sorted(set(keys.values())):
        spent.update(store.spent.get(key, {}))
    return ProposalBatch(
        names={place: names for place, (_, names) in read.items() if names},
        sent=number,
        left=len(keys) - len(answers),
        stopped=stopped,
        outcomes=Counter(outcome for outcome, _ in read.values()),
        spent=spent,
    )


def _ask(
    todo: Mapping[str, str],
    settings: LlmSettings,
    sent: Mapping[str, int],
    store: ProposalLog,
) -> tuple[int, str]:
    """Send the prompts and keep what comes back; number of requests, and why some were left."""
    # Only a workspace with [llm], and only when the store lacks something, needs openai.
    from medrcube.ontologies.llm.chat_client import Completion, ask_all  # noqa: PLC0415

    keys = {prompt: key for key, prompt in todo.items()}

    def keep(prompt: str, answer: Completion) -> None:
        store.keep(
            {
                "key": keys[prompt],
                "prompt": prompt,
                "model": settings.model,
                "base_url": settings.base_url,
                "parameters": dict(sent),
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

    bill = ask_all(todo.values(), settings, sent, keep)
    return bill.requests, bill.stopped


def _parameters(settings: LlmSettings) -> dict[str, int]:
    """What is sent beside the prompt; the official endpoint renamed the limit."""
    official = is_official(settings.base_url)
    return {"max_completion_tokens" if official else "max_tokens": settings.max_tokens}


def _read(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Outcome and names of a final record; a truncated reply counts when its list is whole."""
    outcome: str = record["outcome"]
    assert outcome in FINAL  # noqa: S101 - the store keeps no other among its answers
    if outcome not in (REPLY, TRUNCATED):
        return outcome, ()
    names = names_in(record["reply"])
    if names is None:
        return ("prose" if outcome == REPLY else TRUNCATED), ()
    return REPLY, names

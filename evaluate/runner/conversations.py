"""Conversations of a run: the earlier replies that later steps of a chain build on.

The key of a step is derived from the keys of the steps before it, so it is known before anything is
asked. The reply to a later step records the digest of the earlier replies it was given after; if an
earlier step is asked again and answered differently, the later reply no longer counts, and the step
is asked again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medrcube.evaluate.runner.run_folder import AskedQuestion

__all__ = ["Conversations", "history_digest", "said_text", "standing_replies"]


def said_text(record: Mapping[str, Any]) -> str:
    """Return the text of a reply that stays in the conversation, without reasoning.

    Empty if the conversation cannot continue, for example if a filter withheld the reply, or the
    token limit truncated it within its reasoning.
    """
    # Takes a quarter of a second to import, which a run without conversations does not need.
    from medrcube.evaluate.answer_parsing.thinking_blocks import (  # noqa: PLC0415
        strip_reasoning,
    )

    visible = strip_reasoning(record["text"])
    return visible.text.strip() if visible.closed else ""


def history_digest(texts: Sequence[str]) -> str:
    """Return a digest of the replies to the earlier steps."""
    return hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()


@dataclass(slots=True, kw_only=True)
class Conversations:
    """The replies so far to the steps of chains.

    Attributes:
        earlier: keys of steps that others follow; only their replies are kept.
        texts: ``said_text`` of the reply that counts, by key.
        given_up: keys of the steps without a reply after all attempts of this session.
    """

    earlier: frozenset[str] = frozenset()
    texts: dict[str, str] = field(default_factory=dict)
    given_up: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, questions: Iterable[AskedQuestion]) -> Conversations:
        """Return the conversations of some questions, without any replies yet."""
        steps = (step for question in questions for step in question.before)
        return cls(earlier=frozenset(step.key for step in steps if step.key is not None))

    def hear(self, key: str, record: Mapping[str, Any]) -> None:
        """Store the text of a reply, if other steps follow it."""
        if key in self.earlier:
            self.texts[key] = said_text(record)

    def give_up(self, key: str) -> None:
        """Record that a question got no reply in this session."""
        self.given_up.add(key)

    def forget(self, questions: Iterable[AskedQuestion]) -> None:
        """Drop the replies to questions that are asked again."""
        for question in questions:
            self.texts.pop(str(question.key), None)

    def history(self, question: AskedQuestion) -> tuple[str, ...] | None:
        """Return the replies to the preceding steps; ``None`` while one has no text."""
        texts = tuple(self.texts.get(str(step.key), "") for step in question.before)
        return texts if all(texts) else None

    def broke_off(self, question: AskedQuestion) -> bool:
        """Whether the conversation ended before this question, so that it cannot be reached."""
        return any(
            step.key is None or step.key in self.given_up or self.texts.get(step.key) == ""
            for step in question.before
        )


def standing_replies(
    questions: Iterable[AskedQuestion], attempts: Iterable[Mapping[str, Any]]
) -> tuple[dict[str, Mapping[str, Any]], set[str]]:
    """Return the reply that counts for each question by key, and the keys that were tried.

    The last reply counts; for a later step of a chain, the last one given after the replies that
    count for the preceding steps, and only attempts made after them.
    """
    questions = list(questions)
    keys = {question.key: question.key for question in questions}
    later = {str(q.key): q for q in questions if q.before and q.key is not None}
    records: dict[str, list[Mapping[str, Any]]] = {}
    replies, tried = dict[str, Mapping[str, Any]](), set[str]()
    for record in attempts:
        key = record["key"]
        if key in later:
            records.setdefault(key, []).append(record)
        elif (own := keys.get(key)) is not None:
            tried.add(own)
            if record["status"] == "reply":
                replies[own] = record
    conversations = Conversations.of(questions)
    for key in conversations.earlier & replies.keys():
        conversations.hear(key, replies[key])
    for key, question in sorted(later.items(), key=lambda entry: len(entry[1].before)):
        after = _after(conversations.history(question), records.get(key, ()))
        tried.update([key] if after else [])
        for record in after:
            if record["status"] == "reply":
                replies[key] = record
                conversations.hear(key, record)
    return replies, tried


def _after(
    history: tuple[str, ...] | None, records: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the attempts at a step that followed these replies to the preceding steps."""
    digest = None if history is None else history_digest(history)
    return [record for record in records if digest and record.get("history") == digest]

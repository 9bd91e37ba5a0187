"""Conversations of a run: which replies of earlier steps the later steps of a chain build on.

The key of a step is made of the keys of the steps before it, so it is known before anything is
asked. A reply of a later step holds the digest of the replies that it was given after; where an
earlier step was asked again and answered otherwise, it counts no longer, and the step is asked
again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning
from medrcube.evaluate.runner.run_folder import AskedQuestion

__all__ = ["Conversations", "history_digest", "said_text", "standing_replies"]


def said_text(record: Mapping[str, Any]) -> str:
    """What of a reply stays in the conversation: its text without reasoning.

    Empty where there is nothing to go on from, as in a reply that a filter withheld, or that the
    limit of tokens cut before its reasoning ended.
    """
    visible = strip_reasoning(record["text"])
    return visible.text.strip() if visible.closed else ""


def history_digest(texts: Sequence[str]) -> str:
    """Digest of the replies to the earlier steps."""
    return hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()


@dataclass(slots=True, kw_only=True)
class Conversations:
    """What was said at the steps of the chains so far.

    Attributes:
        earlier: keys of the steps that others come after; of no other reply anything is kept.
        said: ``said_text`` of the reply that counts, by key.
        given_up: keys of the steps without a reply after all tries of this session.
    """

    earlier: frozenset[str] = frozenset()
    said: dict[str, str] = field(default_factory=dict)
    given_up: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, questions: Iterable[AskedQuestion]) -> Conversations:
        """Conversations of some questions, in which nothing was said yet."""
        steps = (step for question in questions for step in question.before)
        return cls(earlier=frozenset(step.key for step in steps if step.key is not None))

    def hear(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep what a reply says, if other steps come after it."""
        if key in self.earlier:
            self.said[key] = said_text(record)

    def give_up(self, key: str) -> None:
        """Keep that a question got no reply in this session."""
        self.given_up.add(key)

    def forget(self, questions: Iterable[AskedQuestion]) -> None:
        """Drop what was said at questions that are asked again."""
        for question in questions:
            self.said.pop(str(question.key), None)

    def history(self, asked: AskedQuestion) -> tuple[str, ...] | None:
        """What was said at the steps before; ``None`` while one of them says nothing."""
        texts = tuple(self.said.get(str(step.key), "") for step in asked.before)
        return texts if all(texts) else None

    def broke_off(self, asked: AskedQuestion) -> bool:
        """Whether the conversation ended before this question, so that it cannot be reached."""
        return any(
            step.key is None or step.key in self.given_up or self.said.get(step.key) == ""
            for step in asked.before
        )


def standing_replies(
    questions: Iterable[AskedQuestion], attempts: Iterable[Mapping[str, Any]]
) -> tuple[dict[str, Mapping[str, Any]], set[str]]:
    """Reply that counts of each question by key, and the keys that were tried.

    The last reply counts; of a later step of a chain, the last one that was given after the replies
    that count of the steps before, and only such tries.
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
    """Tries of a step after these replies to the steps before."""
    digest = None if history is None else history_digest(history)
    return [record for record in records if digest and record.get("history") == digest]

"""Match the replies of a file with the items of a release."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from medrcube.evaluate.dataset import BenchmarkItem
from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun

__all__ = ["MatchedReplies", "Question", "match_replies"]

Question = tuple[str, int, int]
"""Name of an item, epoch, and by how many places its options are rotated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedReplies:
    """The replies of a file, held against the items of a release.

    Attributes:
        replies: a question -> its reply, with a text.
        unknown: names in the file that no item of the release has.
        ambiguous: ids without a source that items of several sources have.
        repeated: items that the file answers more than once, always alike; one reply is taken.
        conflicting: items with different replies; none is taken.
        differing: items whose question or options the file shows otherwise; none is taken.
        withdrawn: items with a reply that the errata of the release withdraw.
        missing: items of the release that stand and have no reply that was taken.
        bad: rows that could not be read, each with its place and the reason.
    """

    replies: Mapping[Question, ForeignReply]
    unknown: tuple[str, ...]
    ambiguous: tuple[str, ...]
    repeated: tuple[str, ...]
    conflicting: tuple[str, ...]
    withdrawn: tuple[str, ...]
    missing: tuple[str, ...]
    bad: tuple[str, ...]
    differing: tuple[str, ...] = ()

    @property
    def ignored(self) -> int:
        """Names and rows of the file from which nothing was taken."""
        unmatched = (self.unknown, self.ambiguous, self.conflicting, self.differing, self.bad)
        return sum(map(len, unmatched))


def match_replies(
    run: ForeignRun, items: Sequence[BenchmarkItem], withdrawn: Collection[str] = ()
) -> MatchedReplies:
    """Sort the replies of a file by the items of a release.

    Args:
        run: the replies.
        items: all items of the release.
        withdrawn: names of those that count no more.
    """
    names = {item.name for item in items}
    by_id: dict[str, list[str]] = {}
    for item in items:
        by_id.setdefault(item.id, []).append(item.name)
    groups: dict[Question, list[ForeignReply]] = {}
    unknown: dict[str, None] = {}
    ambiguous: dict[str, None] = {}
    for reply in run.replies:
        fitting = [reply.item] if reply.item in names else by_id.get(reply.item, [])
        if len(fitting) == 1:
            groups.setdefault((fitting[0], reply.epoch, reply.turn), []).append(reply)
        else:
            (ambiguous if fitting else unknown)[reply.item] = None
    texts = {key: {reply.text for reply in group} for key, group in groups.items()}
    replies = {
        key: groups[key][0]
        for key, reply_texts in texts.items()
        if len(reply_texts) == 1 and None not in reply_texts and key[0] not in withdrawn
    }
    answered = {name for name, _, _ in replies}
    return MatchedReplies(
        replies=replies,
        unknown=tuple(unknown),
        ambiguous=tuple(ambiguous),
        repeated=_names(key for key in replies if len(groups[key]) > 1),
        conflicting=_names(
            key
            for key, reply_texts in texts.items()
            if len(reply_texts) > 1 and key[0] not in withdrawn
        ),
        withdrawn=_names(key for key in texts if key[0] in withdrawn),
        missing=tuple(
            item.name for item in items if item.name not in answered and item.name not in withdrawn
        ),
        bad=run.bad,
    )


def _names(keys: Iterable[Question]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name, _, _ in keys))

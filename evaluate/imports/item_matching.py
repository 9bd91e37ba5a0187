"""Match the replies in a file with the items of a release."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun

__all__ = ["MatchedReplies", "Question", "match_replies"]

Question = tuple[str, int, int]
"""Item name, epoch, and number of positions by which its options are rotated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedReplies:
    """Replies of a file, matched with the items of a release.

    Attributes:
        replies: question -> its reply, which has a text.
        unknown: names in the file that the release does not have.
        ambiguous: ids without a source that occur in several sources.
        repeated: items with several equal replies; one is used.
        conflicting: items with different replies; none is used.
        differing: items whose question or options differ in the file; no reply is used.
        withdrawn: items with a reply that the errata of the release withdraw.
        missing: items of the release, not withdrawn, without a usable reply.
        bad: unreadable rows, each with its position and the reason.
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
        """Number of names and rows of the file that were not used."""
        unmatched = (self.unknown, self.ambiguous, self.conflicting, self.differing, self.bad)
        return sum(map(len, unmatched))


def match_replies(
    run: ForeignRun, items: Sequence[BenchmarkItem], withdrawn: Collection[str] = ()
) -> MatchedReplies:
    """Match the replies in a file with the items of a release.

    Args:
        run: the replies.
        items: all items of the release.
        withdrawn: names of withdrawn items.
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

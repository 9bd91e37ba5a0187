"""Blind answers of the queue as a run ``human/GROUP``, beside the runs of models.

Only answers that were given before anything that answers the item was shown count, one for each
reader and item. Of an item with several readers one answer, drawn by lot, stands for the item: so
the accuracy is that of a single reader, not of a panel, and not of whoever came first. How far the
readers agree, and what their majority would score, stands beside it.

A release that took only what these readers accepted was chosen by these very answers: then the
figure is an upper bound, and it says so.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from medrcube.evaluate.dataset import Benchmark, BenchmarkItem
from medrcube.evaluate.imports.import_run import ImportedRun, write_run
from medrcube.evaluate.imports.item_matching import match_replies
from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun
from medrcube.evaluate.questions.selection import ItemFilter
from medrcube.review.errors import ReviewError
from medrcube.review.exchange.released_items import versions_of
from medrcube.review.models import BlindAnswer, User
from medrcube.review.quality.agreement import ac1, alpha, raw, share
from medrcube.review.quality.rating_counts import ratings
from medrcube.review.reviewing.sql.batches import batches
from medrcube.review.reviewing.sql.cursor import one_moment
from medrcube.review.reviewing.state_machine import State

__all__ = ["FEWEST_READERS", "TOOL", "HumanRun", "write_human_run"]

TOOL = "human"

FEWEST_READERS = 2
"""The accuracy of one reader alone is that person's, and no group's."""

CANNOT_TELL = "I cannot tell."
"""Reply of a reader who chose no option; no rule reads a letter in it."""

_GROUP = re.compile(r"[a-z0-9][a-z0-9-]{1,39}")
_VOIDED = "voided"
_NONE = "none"
_LET_IN = (State.ACCEPTED, State.RELEASED)


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanRun:
    """A run that was written.

    Attributes:
        run: what was imported, with its metrics.
        readers: what stands in the manifest: group, readers, items, answers, rule, agreement.
    """

    run: ImportedRun
    readers: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Given:
    """One blind answer; ``letter`` is ``None`` for "cannot tell"."""

    reader: str
    letter: str | None


def write_human_run(benchmark: Benchmark, out: Path, *, group: str) -> HumanRun:
    """Write the folder of a run from the blind answers to the items of a release, and score it.

    Args:
        benchmark: the release; only items that the queue words alike have answers.
        out: folder of the new run.
        group: name of the group of readers; never a person's.

    Raises:
        ReviewError: the name is none of a group, or fewer than ``FEWEST_READERS`` readers answered.
        WorkspaceError: ``out`` holds something.
    """
    _check_group(group)
    with one_moment():
        answers, let_in = _answers(benchmark)
    readers = {given.reader for told in answers.values() for given in told}
    if len(readers) < FEWEST_READERS:
        raise ReviewError(
            f"{len(readers)} readers answered items of {benchmark.root} blind; expected at least "
            f"{FEWEST_READERS}: the accuracy of one reader is that person's own"
        )
    chosen = {name: _drawn(name, told) for name, told in answers.items()}
    replies = tuple(
        ForeignReply(item=name, text=given.letter or CANNOT_TELL)
        for name, given in sorted(chosen.items())
    )
    found = ForeignRun(tool=TOOL, model=group, replies=replies, prompt="of the review pages")
    items = {item.name: item for item in benchmark.items}
    told = {
        "group": group,
        "readers": len(readers),
        "items": len(answers),
        "answers": sum(map(len, answers.values())),
        "rule": "one answer of each item, drawn by lot among its readers",
        "agreement": _agreement(answers),
        "majority": _majority(answers, items),
        "let_in_by_these_answers": len(let_in),
    }
    run = write_run(
        found,
        match_replies(found, benchmark.items, benchmark.errata),
        benchmark,
        out,
        digest=hashlib.sha256(json.dumps([asdict(one) for one in replies]).encode()).hexdigest(),
        choice=ItemFilter(ids=frozenset(answers)),
        about={"readers": told},
    )
    return HumanRun(run=run, readers=told)


def _check_group(group: str) -> None:
    if _GROUP.fullmatch(group) is None:
        raise ReviewError(
            f"--group {group}: expected a name of a group in a-z, 0-9 and -, such as "
            "radiologists; never a person's name or address"
        )
    people = User.objects.values_list("email", "pseudonym")
    if any(group in {email.partition("@")[0].casefold(), name} for email, name in people):
        raise ReviewError(f"--group {group}: is the name of an account; name the group instead")


def _answers(benchmark: Benchmark) -> tuple[dict[str, list[_Given]], set[str]]:
    """Answers by item, and the items that were let into a release after them."""
    versions = versions_of(benchmark.standing)
    name_of = {version.pk: name for name, version in versions.items()}
    letters = {item.name: [letter for letter, _ in item.options] for item in benchmark.standing}
    answers: dict[str, dict[str, _Given]] = {}
    for part in batches(sorted(name_of)):
        rows = (
            BlindAnswer.objects.filter(claim__version__in=part, claim__blinded=True)
            .exclude(claim__outcome=_VOIDED)
            .order_by("answered_at", "pk")
            .values_list("claim__version", "claim__user__pseudonym", "option")
        )
        for version, reader, option in rows:
            name = name_of[version]
            letter = None if option is None else letters[name][option]
            # Whoever gets an item again brings the answer along: the first is the answer.
            answers.setdefault(name, {}).setdefault(reader, _Given(reader, letter))
    found = {name: list(told.values()) for name, told in sorted(answers.items())}
    let_in = {name for name in found if versions[name].item.state in _LET_IN}
    return found, let_in


def _drawn(name: str, given: Sequence[_Given]) -> _Given:
    """One of the answers, by a hash of item and reader."""

    def lot(one: _Given) -> bytes:
        return hashlib.sha256(f"{name}\0{one.reader}".encode()).digest()

    return min(given, key=lot)


def _agreement(answers: Mapping[str, Sequence[_Given]]) -> dict[str, Any]:
    """Agreement of the readers on the option: raw, AC1 and alpha, of items with two or more."""
    readers = sorted({given.reader for told in answers.values() for given in told})
    rows = []
    for told in answers.values():
        by_reader = {given.reader: given.letter or _NONE for given in told}
        rows.append([by_reader.get(reader) for reader in readers])
    table = ratings(rows)
    return {found.name: asdict(found) for found in (raw(table), ac1(table), alpha(table))}


def _majority(
    answers: Mapping[str, Sequence[_Given]], items: Mapping[str, BenchmarkItem]
) -> dict[str, Any]:
    """How often most readers of an item chose the key, of items with three readers or more."""
    votes = {
        name: Counter(given.letter for given in told)
        for name, told in answers.items()
        if len(told) > 2
    }
    right = sum(2 * count[items[name].key] > count.total() for name, count in votes.items())
    return asdict(share("majority", right, len(votes)))

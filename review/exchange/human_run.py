"""Blind answers as an evaluation run ``human/GROUP``, comparable with runs of models.

Only blind answers count, given before the answer was disclosed in any way, one per reviewer and
item. If an item has several reviewers, one answer is drawn at random: the accuracy is that of a
single reviewer, not of a panel or of whoever came first. Reviewer agreement and the score of the
majority are reported in addition.

A release that contains only items accepted by these reviewers was selected by the same answers; the
figure is then an upper bound, and the run states this.
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

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.imports.import_run import ImportedRun, write_run
from medrcube.evaluate.imports.item_matching import match_replies
from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun
from medrcube.evaluate.questions.selection import ItemFilter
from medrcube.forms import form_of
from medrcube.forms.protocol import Json
from medrcube.review.errors import ReviewError
from medrcube.review.exchange.released_items import queue_versions
from medrcube.review.models import BlindAnswer, User
from medrcube.review.quality.agreement import (
    gwet_ac1,
    krippendorff_alpha,
    raw_agreement,
    share_estimate,
)
from medrcube.review.quality.rating_counts import rating_table
from medrcube.review.reviewing.open_answers import OTHER, RIGHT
from medrcube.review.reviewing.sql.batches import batches
from medrcube.review.reviewing.sql.cursor import read_snapshot
from medrcube.review.reviewing.state_machine import ReviewState

__all__ = ["FEWEST_REVIEWERS", "TOOL", "HumanRun", "write_human_run"]

TOOL = "human"

FEWEST_REVIEWERS = 2
"""Minimum number of reviewers: the accuracy of a single one would identify a person."""

CANNOT_TELL = "I cannot tell."
"""Reply of a reviewer who chose no option; no parsing rule finds a letter in it."""

_OUTCOMES = {RIGHT: "right", OTHER: "other"}
"""Outcome of an answer to an item without options, in place of a letter."""

_GROUP = re.compile(r"[a-z0-9][a-z0-9-]{1,39}")
_VOIDED = "voided"
_NONE = "none"
_LET_IN = (ReviewState.ACCEPTED, ReviewState.RELEASED)


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanRun:
    """A run that was written.

    Attributes:
        run: the imported run with its metrics.
        reviewers: entry in the manifest: group, reviewers, items, answers, rule, agreement.
    """

    run: ImportedRun
    reviewers: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _HumanAnswer:
    """One blind answer.

    Attributes:
        reviewer: pseudonym of the reviewer.
        letter: letter of the option, or whether an answer without options is right; ``None`` for
            "cannot tell".
        reply: the answer as a model would reply it.
    """

    reviewer: str
    letter: str | None
    reply: str


def write_human_run(benchmark: Benchmark, out: Path, *, group: str) -> HumanRun:
    """Write a run folder from the blind answers to the items of a release, and score it.

    Args:
        benchmark: the release; only items with the same wording in the queue have answers.
        out: folder of the new run.
        group: name of the group of reviewers, never of a person.

    Raises:
        ReviewError: ``group`` is not a valid group name, or fewer than ``FEWEST_REVIEWERS``
            reviewers answered.
        WorkspaceError: ``out`` is not empty.
    """
    _check_group(group)
    with read_snapshot():
        answers, let_in = _answers(benchmark)
    reviewers = {answer.reviewer for item_answers in answers.values() for answer in item_answers}
    if len(reviewers) < FEWEST_REVIEWERS:
        raise ReviewError(
            f"{len(reviewers)} reviewers answered items of {benchmark.root} blind; expected at "
            f"least {FEWEST_REVIEWERS}: the accuracy of one reviewer is that person's own"
        )
    drawn_answers = {
        name: _draw_answer(name, item_answers) for name, item_answers in answers.items()
    }
    replies = tuple(
        ForeignReply(item=name, text=answer.reply) for name, answer in sorted(drawn_answers.items())
    )
    foreign_run = ForeignRun(tool=TOOL, model=group, replies=replies, prompt="of the review pages")
    items = {item.name: item for item in benchmark.items}
    summary = {
        "group": group,
        "reviewers": len(reviewers),
        "items": len(answers),
        "answers": sum(map(len, answers.values())),
        "rule": "one answer per item, drawn at random among its reviewers",
        "agreement": _agreement(answers),
        "majority": _majority(answers, items),
        "let_in_by_these_answers": len(let_in),
    }
    run = write_run(
        foreign_run,
        match_replies(foreign_run, benchmark.items, benchmark.errata),
        benchmark,
        out,
        digest=hashlib.sha256(
            json.dumps([asdict(reply) for reply in replies]).encode()
        ).hexdigest(),
        choice=ItemFilter(ids=frozenset(answers)),
        about={"reviewers": summary},
    )
    return HumanRun(run=run, reviewers=summary)


def _check_group(group: str) -> None:
    if _GROUP.fullmatch(group) is None:
        raise ReviewError(
            f"--group {group}: expected a group name of a-z, 0-9 and -, such as "
            "radiologists; never a person's name or address"
        )
    people = User.objects.values_list("email", "pseudonym")
    if any(group in {email.partition("@")[0].casefold(), name} for email, name in people):
        raise ReviewError(f"--group {group}: is the name of an account; choose a group name")


def _answers(benchmark: Benchmark) -> tuple[dict[str, list[_HumanAnswer]], set[str]]:
    """Return the answers by item, and the items that were accepted after these answers."""
    versions = queue_versions(benchmark.standing)
    name_of = {version.pk: name for name, version in versions.items()}
    items = {item.name: item for item in benchmark.standing}
    answers: dict[str, dict[str, _HumanAnswer]] = {}
    for part in batches(sorted(name_of)):
        rows = (
            BlindAnswer.objects.filter(claim__version__in=part, claim__blinded=True)
            .exclude(claim__outcome=_VOIDED)
            .order_by("answered_at", "pk")
            .values_list("claim__version", "claim__user__pseudonym", "option", "value")
        )
        for version, reviewer, option, value in rows:
            name = name_of[version]
            letter, reply = _reply(items[name], option, value)
            # A reviewer who gets an item again keeps the earlier answer: the first one counts.
            given_answer = _HumanAnswer(reviewer, letter, reply)
            answers.setdefault(name, {}).setdefault(reviewer, given_answer)
    by_item = {name: list(by_reviewer.values()) for name, by_reviewer in sorted(answers.items())}
    let_in = {name for name in by_item if versions[name].item.state in _LET_IN}
    return by_item, let_in


def _reply(item: BenchmarkItem, option: int | None, value: Json) -> tuple[str | None, str]:
    """Return the letter of an answer, and the answer as a reply."""
    if option is None:
        return None, CANNOT_TELL
    if item.target is None:
        letter = item.options[option][0]
        return letter, letter
    return _OUTCOMES[option], form_of(item.target).show(value, item.target.ask)


def _draw_answer(name: str, answers: Sequence[_HumanAnswer]) -> _HumanAnswer:
    """Draw one of the answers by a hash of item and reviewer."""

    def lot(answer: _HumanAnswer) -> bytes:
        return hashlib.sha256(f"{name}\0{answer.reviewer}".encode()).digest()

    return min(answers, key=lot)


def _agreement(answers: Mapping[str, Sequence[_HumanAnswer]]) -> dict[str, Any]:
    """Compute raw agreement, AC1 and alpha on the option, over items with two or more reviewers."""
    reviewers = sorted(
        {answer.reviewer for item_answers in answers.values() for answer in item_answers}
    )
    rows = []
    for item_answers in answers.values():
        by_reviewer = {answer.reviewer: answer.letter or _NONE for answer in item_answers}
        rows.append([by_reviewer.get(reviewer) for reviewer in reviewers])
    table = rating_table(rows)
    return {
        estimate.name: asdict(estimate)
        for estimate in (raw_agreement(table), gwet_ac1(table), krippendorff_alpha(table))
    }


def _majority(
    answers: Mapping[str, Sequence[_HumanAnswer]], items: Mapping[str, BenchmarkItem]
) -> dict[str, Any]:
    """Compute how often the majority chose the key, over items with three or more reviewers."""
    votes = {
        name: Counter(answer.letter for answer in item_answers)
        for name, item_answers in answers.items()
        if len(item_answers) > 2
    }
    keys = {name: items[name].key or _OUTCOMES[RIGHT] for name in votes}
    right = sum(2 * count[keys[name]] > count.total() for name, count in votes.items())
    return asdict(share_estimate("majority", right, len(votes)))

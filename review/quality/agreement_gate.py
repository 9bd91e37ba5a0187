"""Release gate: agreement of each stratum against the thresholds of the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django.db.models import F, QuerySet
from numpy.typing import NDArray

from medrcube.review.models import Review
from medrcube.review.quality.agreement import (
    IntervalEstimate,
    RatingTable,
    agreement_panel,
    pairs_table,
    share_estimate,
)
from medrcube.review.reviewing.policy import Policy, current_policy
from medrcube.review.reviewing.questionnaire import Decision

__all__ = [
    "BLIND_ACCURACY",
    "LABELS",
    "REASONS",
    "GateCondition",
    "GateDecision",
    "StratumAgreement",
    "agreement_by_stratum",
    "agreement_of",
    "gate_decision",
]

LABELS = tuple(decision.value for decision in Decision)
BLIND_ACCURACY = "blind_accuracy"
_REJECTS = f"specific_{Decision.REJECT.value}"
_AT_ONCE = 10_000
_Row = tuple[str, str, str, bool | None]
"""Item, pseudonym, decision, and whether the answer was the key (``None`` if not blind)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCondition:
    """One condition of a release; ``passed`` is ``None`` if the reviews cannot decide it."""

    passed: bool | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """Whether a stratum may be released.

    Attributes:
        passed: ``None`` if no condition fails but one is undecided; a person then decides.
        conditions: one condition per figure of the policy.
    """

    passed: bool | None
    conditions: tuple[GateCondition, ...]

    @property
    def words(self) -> str:
        """Return the verdict in a few words."""
        if self.passed is None:
            return "not known yet"
        return "may be released" if self.passed else "not good enough to be released"


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumAgreement:
    """Agreement statistics of one stratum.

    Attributes:
        stratum: name of the stratum; empty for all together.
        raters: pseudonyms of its reviewers.
        estimates: coefficients by name, see ``agreement.agreement_panel``, and ``blind_accuracy``.
        pairs: (accept, revise, reject) twice, see ``rating_counts.pairs_table``.
        verdict: decision of the release gate.
    """

    stratum: str
    raters: tuple[str, ...]
    estimates: Mapping[str, IntervalEstimate]
    pairs: NDArray[np.int64]
    verdict: GateDecision


def agreement_of(stratum: str) -> StratumAgreement:
    """Compute the agreement of one stratum from valid reviews of current versions, without gold."""
    reviews = _valid_reviews().filter(claim__version__item__stratum=stratum).values_list(*_FIELDS)
    return _stratum_agreement(stratum, [_row(*row[1:]) for row in reviews], current_policy())


def agreement_by_stratum() -> tuple[StratumAgreement, list[StratumAgreement]]:
    """Compute the agreement of all strata together and of each stratum with a review, by name."""
    rules = current_policy()
    parts: dict[str, list[_Row]] = {}
    for row in _valid_reviews().values_list(*_FIELDS).iterator(chunk_size=_AT_ONCE):
        parts.setdefault(row[0], []).append(_row(*row[1:]))
    everything = [row for rows in parts.values() for row in rows]
    strata = [_stratum_agreement(name, parts[name], rules) for name in sorted(parts)]
    return _stratum_agreement("", everything, rules), strata


def gate_decision(estimates: Mapping[str, IntervalEstimate], rules: Policy) -> GateDecision:
    """Check the three figures of the policy; one alone would pass the wrong strata."""
    ac1, rejects, blind = estimates["ac1"], estimates[_REJECTS], estimates[BLIND_ACCURACY]
    conditions = (
        _gate_condition("Lower bound of AC1", ac1.low, rules.ac1_lower, ac1.reason),
        _gate_condition(
            "Agreement on rejects", rejects.value, rules.reject_agreement, rejects.reason
        ),
        _gate_condition("Blind answers that equal the key", blind.value, rules.blind_accuracy, ""),
    )
    outcomes = {condition.passed for condition in conditions}
    passed = False if False in outcomes else None if None in outcomes else True
    return GateDecision(passed=passed, conditions=conditions)


REASONS = {
    "no_pairs": "no item has two reviews yet",
    "no_variation": "all reviews say the same",
    "not_two_raters": "more than two reviewers took part",
    "not_used": "nobody chose it",
    "too_few": "nobody disagrees, or there are too few items",
}
"""Reason code for a missing coefficient or interval -> text."""

_FIELDS = (
    "claim__version__item__stratum",
    "claim__version__item",
    "claim__user__pseudonym",
    "decision",
    "claim__blind__option",
    "claim__version__key",
    "claim__blinded",
)


def _valid_reviews() -> QuerySet[Review]:
    return Review.objects.filter(
        claim__released_at=None,
        claim__version__number=F("claim__version__item__version"),
        claim__version__item__gold_defect="",
    )


def _row(item: str, rater: str, decision: str, *answer: int | None) -> _Row:
    option, key, blinded = answer
    return item, rater, decision, option == key if blinded else None


def _stratum_agreement(stratum: str, rows: list[_Row], rules: Policy) -> StratumAgreement:
    raters = sorted({rater for _, rater, _, _ in rows})
    columns = {rater: at for at, rater in enumerate(raters)}
    places: dict[str, int] = {}
    for item, *_ in rows:
        places.setdefault(item, len(places))
    values = np.full((len(places), len(raters)), -1, dtype=np.int8)
    for item, rater, decision, _ in rows:
        values[places[item], columns[rater]] = LABELS.index(decision)
    table = RatingTable(values=values, labels=LABELS)
    estimates = agreement_panel(table, Decision.REJECT.value)
    blind = [right for *_, right in rows if right is not None]
    estimates[BLIND_ACCURACY] = share_estimate(BLIND_ACCURACY, sum(blind), len(blind))
    return StratumAgreement(
        stratum=stratum,
        raters=tuple(raters),
        estimates=estimates,
        pairs=pairs_table(table),
        verdict=gate_decision(estimates, rules),
    )


def _gate_condition(name: str, value: float | None, least: float, reason: str) -> GateCondition:
    if value is None:
        why = REASONS.get(reason, "there is no review yet")
        return GateCondition(
            passed=None, words=f"{name}: not known: {why}; at least {least:.2f} required."
        )
    words = f"{name}: {value:.2f}; at least {least:.2f} required."
    return GateCondition(passed=value >= least, words=words)

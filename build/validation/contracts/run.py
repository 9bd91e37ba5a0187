"""Table contracts: evaluates the rules of ``rules`` with pandas only.

``great_expectations`` compiles the same rules to Great Expectations, as an independent check. A
record holds the rule, the result, and the number and ids of the failing rows; never a value, which
could identify a patient.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from medrcube.build.validation.contracts.kinds import ContractRule, RuleKind, Table
from medrcube.build.validation.contracts.rules import CONTRACT_RULES
from medrcube.errors import ReleaseError

__all__ = [
    "CONTRACTS",
    "ContractResult",
    "anchored",
    "contracts_record",
    "require_contracts",
    "run_contracts",
]

CONTRACTS = "contracts.json"
"""Name of the record in a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractResult:
    """Result of a rule on a table.

    Attributes:
        table: name of the table.
        rule: the rule.
        holds: whether no row breaks it.
        ids: sorted unique ids of the rows that break it.
        failing: number of these rows.
    """

    table: Table
    rule: ContractRule
    holds: bool
    ids: tuple[str, ...] = ()
    failing: int = 0


def run_contracts(table: Table, frame: pd.DataFrame) -> tuple[ContractResult, ...]:
    """Evaluate every rule of a table with pandas only.

    Args:
        table: name of the list of rules.
        frame: the table as returned by ``views``, with a column ``id``.
    """
    return tuple(_verdict(table, rule, frame) for rule in CONTRACT_RULES[table])


def contracts_record(verdicts: Iterable[ContractResult]) -> dict[str, Any]:
    """Return the results, ready for JSON; independent of the order of the rows."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for verdict in verdicts:
        row = {
            "rule": verdict.rule.id,
            "level": verdict.rule.level,
            "holds": verdict.holds,
            "failing": verdict.failing,
            "ids": list(verdict.ids),
        }
        tables.setdefault(verdict.table, []).append(row)
    return {"schema": 1, "tables": dict(sorted(tables.items()))}


def require_contracts(verdicts: Sequence[ContractResult]) -> None:
    """Raise an error if an error-level rule fails.

    Raises:
        ReleaseError: names the first broken rule, and the number of others.
    """
    broken = [result for result in verdicts if not result.holds and result.rule.level == "error"]
    if broken:
        first, more = broken[0], len(broken) - 1
        names = f", such as {', '.join(first.ids[:3])}" if first.ids else ""
        raise ReleaseError(
            f"{first.table}, rule {first.rule.id}: {first.failing} row(s) break it{names}: "
            f"{first.rule.message}" + (f" (and {more} more rules are broken)" if more else "")
        )


def _verdict(table: Table, rule: ContractRule, frame: pd.DataFrame) -> ContractResult:
    if rule.kind is RuleKind.ROWS:
        return ContractResult(table=table, rule=rule, holds=_within(len(frame), rule))
    if any(column not in frame.columns for column in rule.columns):
        return ContractResult(table=table, rule=rule, holds=False, failing=len(frame))
    bad = _broken(rule, frame)
    if not bad.any():
        return ContractResult(table=table, rule=rule, holds=True)
    ids = frame["id"][bad] if "id" in frame.columns else frame.index[bad]
    return ContractResult(
        table=table,
        rule=rule,
        holds=False,
        ids=tuple(sorted({str(name) for name in ids})),
        failing=int(bad.sum()),
    )


def _broken(rule: ContractRule, frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Mask of the rows that break a rule."""
    column = frame[rule.column]
    filled: NDArray[np.bool_] = column.notna().to_numpy()
    bad: NDArray[np.bool_]
    if rule.kind is RuleKind.PRESENT:
        bad = ~filled
    elif rule.kind is RuleKind.UNIQUE:
        bad = filled & column.duplicated(keep=False).to_numpy()
    elif rule.kind is RuleKind.TOGETHER:
        columns = list(rule.columns)
        some = frame[columns].notna().any(axis=1) & frame.duplicated(columns, keep=False)
        bad = some.to_numpy()
    elif rule.kind in {RuleKind.EQUAL, RuleKind.BELOW}:
        other = frame[rule.other[0]]
        pairs = zip(column, other, strict=True)
        good = (_fits(rule.kind, left, right) for left, right in pairs)
        bad = (filled | other.notna().to_numpy()) & ~np.fromiter(good, bool, len(frame))
    else:
        good = (_allowed(rule, value) for value in column)
        bad = filled & ~np.fromiter(good, bool, len(frame))
    return bad


def _fits(kind: RuleKind, left: Any, right: Any) -> bool:
    if kind is RuleKind.EQUAL:
        return bool(left == right)
    return isinstance(left, (int, float)) and isinstance(right, (int, float)) and left < right


def _allowed(rule: ContractRule, value: Any) -> bool:
    match rule.kind:
        case RuleKind.ONE_OF:
            return value in rule.allowed
        case RuleKind.MATCHES:
            return re.search(anchored(rule.pattern), str(value)) is not None
        case RuleKind.LENGTH:
            return _within(len(str(value)), rule)
        case _:
            return isinstance(value, (int, float)) and _within(value, rule)


def anchored(pattern: str) -> str:
    """Anchor a pattern to the whole text: ``$`` would also match before a final line feed."""
    return rf"\A(?:{pattern})\Z"


def _within(value: float, rule: ContractRule) -> bool:
    above = rule.low is None or value >= rule.low
    return above and (rule.high is None or value <= rule.high)

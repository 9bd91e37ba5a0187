"""Table contracts compiled to Great Expectations (extra ``validate``).

Imported only when it is used, since that takes seconds. No data leave the machine and nothing is
written: the context is in memory, analytics are off, and results are boolean only, since other
result formats copy the failing values.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import pandas as pd

from medrcube.build.validation.contracts.kinds import ContractRule, RuleKind, Table
from medrcube.build.validation.contracts.rules import CONTRACT_RULES
from medrcube.build.validation.contracts.run import anchored
from medrcube.errors import MedrcubeError, MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["TooOldError", "run_expectations"]

OLDEST = (1, 7)
"""Oldest supported version; earlier ones send usage statistics to a server by default."""

_PACKAGE = "great-expectations"


class TooOldError(MedrcubeError):
    """The installed Great Expectations is a version that sends usage statistics."""


def run_expectations(table: Table, frame: pd.DataFrame) -> Mapping[str, bool]:
    """Run every rule of a table with Great Expectations.

    Args:
        table: name of the list of rules.
        frame: the table as returned by ``views``.

    Returns:
        Id of each rule -> whether it holds.

    Raises:
        MissingExtraError: Great Expectations is not installed.
        TooOldError: it is older than 1.7.
    """
    _check_version()
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with warnings.catch_warnings():
        # Deprecation warnings about its own dependencies are nothing that our users can fix.
        warnings.simplefilter("ignore")
        import great_expectations as gx  # noqa: PLC0415 - takes seconds
        import great_expectations.expectations as gxe  # noqa: PLC0415
        from great_expectations.data_context.types.base import (  # noqa: PLC0415
            ProgressBarsConfig,
        )

        context = gx.get_context(mode="ephemeral")
        context.variables.analytics_enabled = False
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        asset = context.data_sources.add_pandas("tables").add_dataframe_asset(table)
        batch = asset.add_batch_definition_whole_dataframe("all").get_batch(
            batch_parameters={"dataframe": frame}
        )
        rules = CONTRACT_RULES[table]
        suite = gx.ExpectationSuite(
            name=table, expectations=[_expectation(rule, gxe) for rule in rules]
        )
        results = batch.validate(suite, result_format="BOOLEAN_ONLY").results
    success_of = {_rule_of(result): bool(result.success) for result in results}
    return {rule.id: success_of[rule.id] for rule in rules}


def _rule_of(result: Any) -> str:
    return str(result.expectation_config.meta["rule"])


def _check_version() -> None:
    try:
        installed = version(_PACKAGE)
    except PackageNotFoundError:
        raise MissingExtraError("great_expectations", "validate") from None
    parts = tuple(int(part) for part in installed.split(".")[:2] if part.isdigit())
    if parts < OLDEST:
        raise TooOldError(
            f"{_PACKAGE} {installed} is installed, which sends usage reports; expected 1.7 "
            "or newer:  pip install --upgrade 'medrcube[validate]'"
        )


def _expectation(rule: ContractRule, gxe: ModuleType) -> Any:
    name, arguments = _compiled(rule)
    return getattr(gxe, name)(**arguments, meta={"rule": rule.id})


def _compiled(rule: ContractRule) -> tuple[str, dict[str, Any]]:
    column = {"column": rule.column}
    bounds = {"min_value": rule.low, "max_value": rule.high}
    pair = (rule.column, *rule.other[:1])
    arguments: dict[RuleKind, dict[str, Any]] = {
        RuleKind.PRESENT: column,
        RuleKind.UNIQUE: column,
        RuleKind.ONE_OF: {**column, "value_set": list(rule.allowed)},
        RuleKind.MATCHES: {**column, "regex": anchored(rule.pattern)},
        RuleKind.BETWEEN: {**column, **bounds},
        RuleKind.LENGTH: {**column, **bounds},
        RuleKind.EQUAL: dict(zip(("column_A", "column_B"), pair, strict=False)),
        RuleKind.BELOW: dict(zip(("column_B", "column_A"), pair, strict=False)),
        RuleKind.TOGETHER: {"column_list": list(rule.columns)},
        RuleKind.ROWS: bounds,
    }
    return _NAMES[rule.kind], arguments[rule.kind]


_NAMES = {
    RuleKind.PRESENT: "ExpectColumnValuesToNotBeNull",
    RuleKind.UNIQUE: "ExpectColumnValuesToBeUnique",
    RuleKind.ONE_OF: "ExpectColumnValuesToBeInSet",
    RuleKind.MATCHES: "ExpectColumnValuesToMatchRegex",
    RuleKind.BETWEEN: "ExpectColumnValuesToBeBetween",
    RuleKind.LENGTH: "ExpectColumnValueLengthsToBeBetween",
    RuleKind.EQUAL: "ExpectColumnPairValuesToBeEqual",
    RuleKind.BELOW: "ExpectColumnPairValuesAToBeGreaterThanB",
    RuleKind.TOGETHER: "ExpectCompoundColumnsToBeUnique",
    RuleKind.ROWS: "ExpectTableRowCountToBeBetween",
}
"""Rule kind -> equivalent expectation."""

"""Group runs by the questions they were asked, and test which runs differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.reporting.question_setup import changed_settings
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.evaluate.runner.run_state import FAILURE_GATE
from medrcube.evaluate.statistics.comparison.answer_matrix import answer_table
from medrcube.evaluate.statistics.comparison.compare_many_runs import compare_table
from medrcube.evaluate.statistics.comparison.verdict_text import short_name
from medrcube.evaluate.statistics.comparison.verdict_text_many import detectable
from medrcube.evaluate.statistics.grouping import Axis

__all__ = ["INCOMPLETE", "ComparableRuns", "SettingsTable", "comparable_runs", "runs_by_questions"]

INCOMPLETE = f"Not ranked: more than {100 * FAILURE_GATE:.0f} % of the questions have no reply"
_AXES: tuple[Axis, ...] = ("task", "voxel")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsTable:
    """Comparison of runs in the groups of one axis.

    Attributes:
        title: kind of the groups.
        tests: tests in all groups, which are adjusted together.
        rows: (name, number of questions, accuracy and letters of each run); for cells, only those
            in which some runs differ.
        alike: number of tested groups left out because no runs differ.
    """

    title: str
    tests: int
    rows: Sequence[tuple[str, int, Sequence[tuple[float, str]]]]
    alike: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparableRuns:
    """Runs with the same questions, or the incomplete runs.

    Attributes:
        title: their questions in words, or why they are not ranked.
        manner: their questions in words; empty for incomplete runs.
        runs: in the order of the report.
        letters: compact letters by label; runs that share one are not distinguishable. Empty for a
            single run, and if no question was answered by all.
        detectable: minimum detectable difference, in words.
        tables: the same comparison by groups of an axis.
    """

    title: str
    manner: str
    runs: Sequence[ScoredRun]
    letters: Mapping[str, str]
    detectable: str
    tables: Sequence[SettingsTable]


def comparable_runs(runs: Sequence[ScoredRun]) -> list[ComparableRuns]:
    """Return groups of runs with equal questions, in order of appearance, incomplete runs last."""
    groups = [
        _comparable(members, manner)
        for manner, members in runs_by_questions([run for run in runs if not run.incomplete])
    ]
    if incomplete := [run for run in runs if run.incomplete]:
        groups.append(
            ComparableRuns(
                title=INCOMPLETE, manner="", runs=incomplete, letters={}, detectable="", tables=[]
            )
        )
    return groups


def runs_by_questions(runs: Sequence[ScoredRun]) -> list[tuple[str, list[ScoredRun]]]:
    """Return (questions in words, runs) of each group, in order of appearance."""
    groups: dict[object, list[ScoredRun]] = {}
    for run in runs:
        names = frozenset(result.item.name for result in run.results)
        how = tuple(changed_settings(run).items())
        groups.setdefault((run.benchmark, run.condition, names, how), []).append(run)
    releases = {run.manifest["dataset"]["digest"] for run in runs}
    return [
        (_questions_text(members[0], several=len(releases) > 1), members)
        for members in groups.values()
    ]


def _comparable(runs: Sequence[ScoredRun], manner: str) -> ComparableRuns:
    overall: Mapping[str, Any] | None = None
    tables: list[SettingsTable] = []
    if len(runs) > 1:
        answers = answer_table({run.label: run.results for run in runs})
        order = [run.label for run in runs]
        try:
            for axis in _AXES:
                compared = compare_table(answers, axis)
                overall = compared["overall"]
                tables.append(_table(compared, order))
        except WorkspaceError:
            overall = None
    return ComparableRuns(
        title=f"Asked {manner}",
        manner=manner,
        runs=runs,
        letters={run["label"]: run["letters"] for run in overall["runs"]} if overall else {},
        detectable=detectable(overall) if overall else "",
        tables=[table for table in tables if table.tests],
    )


def _questions_text(run: ScoredRun, *, several: bool) -> str:
    text = ", ".join((_item_count_text(run), *changed_settings(run).values()))
    if run.condition is not Condition.FULL:
        text = f"{text}, {run.condition.value}"
    return f"{text}, release {run.manifest['dataset']['digest'][:8]}" if several else text


def _item_count_text(run: ScoredRun) -> str:
    whole = run.manifest["dataset"]["items"]
    selected_count = run.selection["items"] if run.selection else whole
    questions = (
        f"{selected_count:,} chosen questions of {whole:,}"
        if run.selection
        else f"{whole:,} questions"
    )
    count = run.total["n"] + len(run.withdrawn)
    if count < selected_count:
        return f"a sample of {count:,} of {questions}"
    return questions if run.selection else f"all {questions}"


def _table(comparison: Mapping[str, Any], order: Sequence[str]) -> SettingsTable:
    axis: Axis = comparison["axis"]
    tested = [group for group in comparison["groups"] if not group["small"]]
    groups = tested
    if axis == "voxel":
        groups = [group for group in tested if any(pair["apart"] for pair in group["pairs"])]
    return SettingsTable(
        title="task" if axis == "task" else "cell",
        tests=comparison["correction"]["group_tests"],
        rows=[(short_name(axis, group), group["n"], _cells(group, order)) for group in groups],
        alike=len(tested) - len(groups),
    )


def _cells(group: Mapping[str, Any], order: Sequence[str]) -> list[tuple[float, str]]:
    by_label = {run["label"]: (run["accuracy"], run["letters"]) for run in group["runs"]}
    return [by_label[label] for label in order]

"""Blocks of the leaderboard: only runs with the same questions are ranked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medrcube.evaluate.reporting.question_setup import PLAIN, changed_settings
from medrcube.evaluate.reporting.run_settings import INCOMPLETE, runs_by_questions
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.evaluate.statistics.ranking import ranking

__all__ = ["RankingBlock", "differing_settings", "ranking_blocks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingBlock:
    """Runs that are ranked together.

    Attributes:
        title: why they are below the ranking; empty for the ranking itself.
        manner: their questions, in words; empty for incomplete runs.
        runs: best first.
    """

    title: str
    manner: str
    runs: Sequence[ScoredRun]

    def letters(self) -> Mapping[str, str]:
        """Compact letters by label; runs that share one do not differ. Empty if incomplete."""
        if len(self.runs) == 1 or not self.manner:
            return {}
        return {
            ranked.label: ranked.letters
            for ranked in ranking({r.label: r.results for r in self.runs})
        }


def ranking_blocks(runs: Sequence[ScoredRun]) -> list[RankingBlock]:
    """Return the blocks of runs with the same questions.

    First the runs with the most questions, then one block per other selection, sample, prompt or
    setting that changes the questions, and last the incomplete runs.
    """
    groups = runs_by_questions([run for run in runs if not run.incomplete])
    groups.sort(key=lambda group: (-group[1][0].total["n"], -len(group[1]), group[0]))
    blocks = [
        RankingBlock(
            title=f"Asked {manner}" if place else "", manner=manner, runs=_best_first(members)
        )
        for place, (manner, members) in enumerate(groups)
    ]
    if incomplete := [run for run in runs if run.incomplete]:
        blocks.append(RankingBlock(title=INCOMPLETE, manner="", runs=_best_first(incomplete)))
    return blocks


def differing_settings(runs: Sequence[ScoredRun]) -> Mapping[str, Sequence[str]]:
    """Return, by label, settings in which a run differs from most runs; omits reviewers."""
    settings = {run.label: _settings(run) for run in runs if run.reviewers is None}
    usual = Counter(text for words in settings.values() for text in words.items())
    half = len(settings) / 2
    return {
        run.label: [
            text
            for name, text in settings.get(run.label, {}).items()
            if usual[name, text] < len(settings) and usual[name, text] <= half
        ]
        for run in runs
    }


def _settings(run: ScoredRun) -> dict[str, str]:
    """Return the settings of a run that change its questions, in a few words each."""
    return {**PLAIN, **changed_settings(run), "condition": run.condition.value}


def _best_first(runs: Sequence[ScoredRun]) -> list[ScoredRun]:
    return sorted(runs, key=lambda run: (-(run.total["accuracy"] or 0), run.label))

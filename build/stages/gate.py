"""Yield gate: sources that yielded nothing, or lost more of their cases than allowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from medrcube.build.build_report import SourceReport
from medrcube.build.stages.reasons import reason_lines
from medrcube.build.stages.source_result import SourceBuild
from medrcube.facts import BAD_ROW, QuarantineRow
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.gate import USUAL_SHARE
from medrcube.workspace import WorkspaceFolder

__all__ = ["gate_failures", "gate_of"]


def gate_of(workspace: WorkspaceFolder, card: Card) -> tuple[float, str]:
    """Return the share of cases that may be lost, and where it is stated."""
    own = workspace.settings.quarantine_gate
    if own is not None:
        return own, f"quarantine_gate = {own:g} in medrcube.toml"
    if card.gate is not None:
        return card.gate.share, (
            f"[gate] share = {card.gate.share:g} of its card ({card.gate.reason}; quarantine_gate "
            "in medrcube.toml goes before it)"
        )
    return USUAL_SHARE, f"quarantine_gate = {USUAL_SHARE:g} (the default of medrcube.toml)"


def gate_failures(
    reports: Sequence[SourceReport],
    parts: Sequence[SourceBuild],
    gates: Mapping[str, tuple[float, str]],
) -> Iterator[str]:
    """Yield which sources yielded nothing, or lost more of their cases than their gate allows."""
    for part in parts:
        facts = part.facts
        share, limit = gates[facts.source]
        bad = [problem.message for problem in facts.set_aside if problem.code == BAD_ROW]
        if len(bad) > share * (facts.cases + len(bad)):
            yield (
                f"{facts.source}: {len(bad):,} of {facts.cases + len(bad):,} cases have a row that "
                f"cannot be used, more than {limit} allows; the first: {bad[0]}"
            )
        if not part.samples:
            codes = Counter(problem.code for problem in (*facts.set_aside, *facts.problems))
            codes["absent"] = facts.absent
            why = ", ".join(f"{count:,} {code}" for code, count in codes.most_common() if count)
            reasons = "; ".join(reason_lines((*facts.set_aside, *facts.problems)))
            yield (
                f"{facts.source}: no image was made ({why or 'no case was found'})"
                f"{f'; {reasons}' if reasons else ''}"
            )
    problems = {part.facts.source: part.facts.problems for part in parts}
    for report in reports:
        share, limit = gates[report.source]
        if report.cases and report.failed / report.cases > share:
            yield (
                f"{report.source}: {report.failed} of {report.cases} cases could not be rendered, "
                f"more than {limit} allows; the most frequent reason: "
                f"{_most_frequent(problems[report.source])}"
            )


def _most_frequent(problems: Iterable[QuarantineRow]) -> str:
    """Return the most frequent message of cases that could not be rendered, and their number."""
    messages = Counter(problem.message for problem in problems if problem.stage == "render")
    ((message, count),) = messages.most_common(1)
    return f"{message} ({count:,})"

"""What the scan of a copy says of a case that it does not yield."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from medrcube.build.stages.reasons import reason_lines
from medrcube.facts import BAD_ROW, QuarantineRow

__all__ = ["other_causes", "problem_of"]


def problem_of(case: str, problems: Sequence[QuarantineRow]) -> QuarantineRow | None:
    """Return the problem of a case, else that of the row or file that several cases share.

    ``p05-4CH`` is set aside as one row if the table of the view is damaged; its cases are
    ``p05-4CH-ED`` and ``p05-4CH-ES``.
    """
    alike = [
        problem
        for problem in problems
        if problem.case == case
        or (case.startswith(problem.case) and not case[len(problem.case)].isalnum())
    ]
    return max(alike, key=lambda problem: len(problem.case), default=None)


def other_causes(problems: Sequence[QuarantineRow]) -> Iterator[str]:
    """Yield what the rows that the scan could not use say, for a case that none of them names."""
    for reason in reason_lines(problem for problem in problems if problem.code == BAD_ROW):
        yield f"the scan set rows aside: {reason}"

"""``medrcube review reviewers``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from medrcube.cli.options.shared import Here, Json, Wide
from medrcube.cli.review.queue import NO_REVIEWERS, open_queue

__all__ = ["reviewers"]


def reviewers(directory: Here = Path(), wide: Wide = False, json_output: Json = False) -> None:
    """Compare reviewers: time, defects, agreement.

    "defects" counts those caught in gold items; "blind" is the accuracy before the key was shown.
    """
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from django.utils import timezone

    from medrcube.review.quality.reviewer_figures import FEW, count_figures

    reporter = Reporter(json_output=json_output, wide=wide)
    now, table = timezone.now(), count_figures()
    reporter.table(
        ("reviewer", "reviews", "median s", "fast", "defects caught", "agreement", "AC1", "blind"),
        [
            (
                row.pseudonym,
                row.reviews,
                "" if row.seconds is None else row.seconds,
                row.fast,
                *(
                    ""
                    if estimate.value is None
                    else f"{estimate.value:.2f} of {estimate.items}"
                    + (" (few)" if estimate.items < FEW else "")
                    for estimate in (row.all_caught, row.agreement, row.ac1, row.blind)
                ),
            )
            for row in table.reviewers
        ],
        empty=NO_REVIEWERS,
    )
    reporter.result(f"fast: reviews under {table.fast_seconds} s; few: fewer than {FEW}")
    reporter.data({**asdict(table), "at": now.isoformat(), "few": FEW})

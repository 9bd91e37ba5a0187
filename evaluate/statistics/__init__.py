"""Statistics of outcomes: estimates, intervals, tests and their limits."""

__all__ = [
    "bootstrap",
    "chain_metrics",
    "clustered_inference",
    "condition_contrasts",
    "credibility",
    "form_metrics",
    "grouping",
    "intervals",
    "item_sets",
    "metrics",
    "paired_tests",
    "power",
    "published_table",
    "ranking",
    "units",
]

"""Comparison of runs: two of them item by item, or several at once."""

__all__ = [
    "answer_matrix",
    "compare_many_runs",
    "compare_runs",
    "verdict_text",
    "verdict_text_many",
]

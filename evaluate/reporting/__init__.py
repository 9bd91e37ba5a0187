"""Parts of a report: pure functions from scored runs to template values."""

__all__ = [
    "comparable_blocks",
    "contrasts",
    "correlation",
    "credibility",
    "data_tables",
    "failures",
    "form_panels",
    "heat_maps",
    "interval_text",
    "latex",
    "leaderboard",
    "parsing_summary",
    "radar",
    "reply_summary",
    "run_settings",
    "scored_runs",
    "usage_table",
]

"""Options that several commands share."""

__all__ = [
    "batch",
    "before_run",
    "endpoint",
    "item_selection",
    "local_model",
    "models",
    "pacing",
    "prompting",
    "releases",
    "runs",
    "shared",
    "values",
]

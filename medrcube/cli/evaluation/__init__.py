"""Commands on runs: ask models, score, compare, report, exchange; and their parts."""

__all__ = ["compare", "evaluate", "export", "import_run", "report", "score", "site", "validate_run"]

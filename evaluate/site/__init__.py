"""Static site of many runs on one release: leaderboard, models, cells and items."""

__all__ = ["run_digests", "run_validation", "write"]

"""Static site of many runs on one release: leaderboard, models, cells and items."""

"""A static site about many runs on one release: leaderboard, models, cells and items."""

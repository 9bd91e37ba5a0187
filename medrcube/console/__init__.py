"""Progress, messages and tables on a terminal."""

"""Statistics of outcomes: estimates, intervals, tests and their limits."""

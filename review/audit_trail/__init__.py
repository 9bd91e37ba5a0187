"""The hash chain of events, and its replay against the tables."""

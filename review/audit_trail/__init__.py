"""Hash chain of events, and its replay against the tables."""

__all__ = ["event_chain", "replay"]

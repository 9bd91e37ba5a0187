"""Running questions through a provider's batch API."""

__all__ = ["ledger", "polling", "session"]

"""Run through a provider's batch API."""

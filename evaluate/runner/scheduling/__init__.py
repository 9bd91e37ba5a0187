"""Scheduling: the next question, the concurrency, and retries."""

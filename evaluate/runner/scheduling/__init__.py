"""Scheduling: the next question, the concurrency, and retries."""

__all__ = [
    "adaptive_concurrency",
    "question_queue",
    "retry_policy",
    "shared_loads",
    "stall_watchdog",
]

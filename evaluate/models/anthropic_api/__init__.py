"""Anthropic's Messages API."""

__all__ = ["batches", "model"]

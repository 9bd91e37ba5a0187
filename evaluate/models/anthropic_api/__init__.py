"""Anthropic's Messages interface."""

__all__ = ["batches", "model"]

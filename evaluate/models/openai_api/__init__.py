"""Endpoints that speak the OpenAI chat-completions protocol."""

__all__ = ["batches", "client", "model", "providers", "reply", "request_body"]

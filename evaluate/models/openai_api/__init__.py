"""Endpoints that implement the OpenAI chat-completions protocol."""

__all__ = ["batches", "client", "model", "providers", "reply", "request_body"]

"""Endpoints that speak the OpenAI chat-completions protocol."""

"""Blind chance of open questions, and draws that keep it low."""

__all__ = ["blind_chance", "even_lots"]

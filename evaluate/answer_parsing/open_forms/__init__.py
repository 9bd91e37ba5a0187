"""Replies to questions without options: numbers, places, orders and pairs."""

__all__ = ["number_reply", "open_replies"]

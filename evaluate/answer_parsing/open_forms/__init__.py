"""Replies to questions without options: numbers, places, orders and pairs."""
